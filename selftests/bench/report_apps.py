#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write tables and one JSON file from all rounds of apps.sh.

report_apps.py --out DIR ROUND...

The tables are reStructuredText. A figure that an application does not report is missing; a cell
names the number of rounds that have it, if not all do, and is not compared with others.

A run that was stopped counts with its throughput so far. Its longest operation took at least as
long as the longest time in which it completed none, where its output proves such a time: stall().
The load ends when a run is stopped, and an operation that waited for it may then complete. All these
times are printed with a ">".

Exit with 1 if the output of a run cannot be read.
"""

import argparse
import glob
import json
import math
import os
import re
import statistics
import sys

# name of a driver: column
VARIANTS = {
    "stock": "stock",
    "stock-chain": "stock, chain",
    "uplift": "stock, knobs",
    "f2fs-unfair": "UNFAIR_RWSEM",
    "cp-expedite": "ours",
    "eb": "ours: tree locks",
    "eb-roots": "EXPEDITE=0",
    "eb-roots-expedite": "ours",
}
# of which ours must be better than the better one
PEERS = ("stock", "uplift")
OURS = ("cp-expedite", "eb-roots-expedite")
# name: unit of the throughput
APPS = {
    "fio": "fsyncs/s",
    "fs_mark": "files/s",
    "sqlite": "transactions/s",
    "fillsync": "writes/s",
    "readwhilewriting": "writes/s",
    "pgbench": "transactions/s",
    "pg_test_fsync": "fsyncs/s",
    "etcd": "writes/s",
    "fio-64": "requests/s",
    "dbench": "MB/s",
    "fs_mark-nosync": "files/s",
    "untar": "trees/s",
}
# name of a task: its kind in the table of waits for locks
TASKS = {
    r"fio$|fs_mark|sqlite3|db_bench|rocksdb|postgres|pgbench|etcd|dbench": "the application",
    r"f2fs_ckpt|f2fs_flush|btrfs-transacti": "the committer",
    r"stress-ng": "low priority",
}
# figure: title; times are in ms
FIGURES = {
    "throughput": "Throughput",
    "p99": "99 % of the operations took at most, ms",
    "p999": "99.9 % of the operations took at most, ms",
    "max": "Longest operation, ms",
    "fsync": "Longest fsync alone, ms",
    "open": "Opening the database, ms",
    "low": "Work of the low-priority tasks, stress-ng's operations per second. Their time begins\n"
           "before that of the application, and ends after it, so the columns cannot be compared\n"
           "where the application takes longer in one of them",
}


def found(pattern, text):
    """Return the groups of the pattern as numbers."""
    match = re.search(pattern, text)
    if not match:
        raise ValueError("no '%s'" % pattern)
    return [float(g) for g in match.groups()]


def of_times(times):
    """Return the figures of a list of times in ms."""
    times = sorted(times)
    if not times:
        return {}

    def percentile(thousandths):
        return times[math.ceil(len(times) * thousandths / 1000) - 1]
    return {"p99": percentile(990), "p999": percentile(999), "max": times[-1]}


def fio_job(text):
    """Return what fio's JSON has of its jobs."""
    return json.loads(text[text.index("{"):text.rindex("}") + 1])["jobs"][0]


def fio_rate(app, job):
    """Return the requests per second: an fsync follows each write, or both are synchronous."""
    return job["write"]["iops"] + (job["read"]["iops"] if app == "fio-64" else 0)


def fio(app, text, _path):
    """Read the times of the fsyncs, or with O_SYNC of the writes."""
    job = fio_job(text)
    latency = job["sync"]["lat_ns"] if app == "fio" else job["write"]["clat_ns"]
    figures = {"throughput": fio_rate(app, job)}
    # fio has no percentiles if no request was completed before it ended
    if "percentile" in latency:
        figures.update({"p99": latency["percentile"]["99.000000"] / 1e6,
                        "p999": latency["percentile"]["99.900000"] / 1e6,
                        "max": latency["max"] / 1e6})
    return figures


def fs_mark_lines(text):
    """Return the columns of each line."""
    return [line.split() for line in text.splitlines() if re.match(r" +\d+ +\d+ +\d+ ", line)]


def run_time(text):
    """Return the seconds that the application ran."""
    return found(r"elapsed (\d+) cs", text)[0] / 100


def fs_mark_files(text):
    """Return how many files there are in the end: also those after the last line."""
    return found(r"(?m)^files (\d+)$", text)[0]


def fs_mark(_, text, _path):
    """A line for each ten files, with the longest call that creates, writes, syncs or closes one."""
    lines = fs_mark_lines(text)
    if not lines:
        raise ValueError("no line of fs_mark")
    return {"throughput": fs_mark_files(text) / run_time(text),
            "fsync": max(int(v[13]) for v in lines) / 1e3,
            "max": max(int(v[i]) for v in lines for i in (7, 10, 13, 19)) / 1e3}


def fs_mark_nosync(_, text, _path):
    """A line of each call of fs_mark, with the number and the rate of its files."""
    lines = fs_mark_lines(text)
    return {"throughput": sum(int(v[1]) for v in lines) /
                          sum(int(v[1]) / float(v[3]) for v in lines)}


def sqlite(_, text, _path):
    """The times of the statements, to 1 ms."""
    times = [1e3 * float(t) for t in re.findall(r"Run Time: real ([0-9.]+)", text)]
    return {"throughput": len(times) / run_time(text), **of_times(times)}


def db_bench(app, text, _path):
    """Of readwhilewriting the statistics, because its histogram is of the reads."""
    rate, = found(app + r" *:.* (\d+) ops/sec", text)
    if app == "fillsync":
        p99, p999 = found(r"P99: ([0-9.]+) P99.9: ([0-9.]+)", text)
        longest, = found(r"Median: [0-9.]+ +Max: (\d+)", text)
        return {"throughput": rate, "p99": p99 / 1e3, "p999": p999 / 1e3, "max": longest / 1e3}
    p99, longest, count = found(r"rocksdb.db.write.micros .*P99 : ([0-9.]+) P100 : ([0-9.]+) "
                                r"COUNT : (\d+)", text)
    seconds, = found(app + r" *:.* ([0-9.]+) seconds", text)
    return {"throughput": count / seconds, "p99": p99 / 1e3, "max": longest / 1e3}


def pgbench(_, text, path):
    """The times in the log of transactions, in µs."""
    with open(path[:-len(".said")] + ".log", encoding="utf-8") as f:
        times = [int(t) / 1e3 for t in f.read().split() if t.isdigit()]
    rate = found(r"tps = ([0-9.]+)", text)[0] if times else 0
    return {"throughput": rate, **of_times(times)}


def pg_test_fsync(_, text, _path):
    """The fsyncs of one 8 kB write."""
    return {"throughput": found(r"\bfsync +([0-9.]+) ops/sec", text)[0]}


def etcd(_, text, _path):
    """Return its throughput, its slowest request, and its verdict: without one, it gave up."""
    if not re.search(r"^(PASS|FAIL)$", text, re.M):
        return {"verdict": "no verdict"}
    rate, = found(r"Throughput (?:is|too low:) (\d+) writes/s", text)
    slowest, = found(r"Slowest request took (?:too long: )?([0-9.]+)s", text)
    return {"throughput": rate, "max": 1e3 * slowest,
            "verdict": re.findall(r"^(PASS|FAIL)$", text, re.M)[-1]}


def dbench(_, text, _path):
    """Its maximum is of any operation."""
    rate, longest = found(r"Throughput ([0-9.]+) MB/sec.*max_latency=([0-9.]+) ms", text)
    return {"throughput": rate, "max": longest}


def untar(_, text, _path):
    """The clock of the guest."""
    times = [int(t) / 100 for t in re.findall(r"untar\+rm (\d+) cs", text)]
    return {"throughput": len(times) / sum(times)}


READERS = {"fio": fio, "fio-64": fio, "fs_mark": fs_mark,
           "fs_mark-nosync": fs_mark_nosync,
           "sqlite": sqlite, "fillsync": db_bench, "readwhilewriting": db_bench,
           "pgbench": pgbench, "pg_test_fsync": pg_test_fsync, "etcd": etcd, "dbench": dbench,
           "untar": untar}


def rates(path):
    """Return (time, operations in the second until then) of each line of db_bench, or None."""
    try:
        with open(path[:-len("said")] + "rate", encoding="utf-8") as f:
            return [tuple(map(float, line.split(","))) for line in f if line[0].isdigit()]
    except OSError:
        return None


def longest_gap(lines):
    """Return the longest time without an operation, from pairs (s, rate since the last pair)."""
    longest = begin = 0
    for now, rate in lines:
        if rate:
            begin = now
        longest = max(longest, now - begin)
    return longest


def stall(app, text, path):
    """Return (operations, the longest time in s that one took at least), of a run that was stopped.

    The second is 0 if the output does not say. sqlite3 rounds each time to 1 ms, fs_mark a mean to 1
    us, db_bench the time of a report to 1 s.
    """
    elapsed = run_time(text)
    if app == "fs_mark":
        lines = fs_mark_lines(text)
        unknown = elapsed - sum(int(v[4]) + 10 * sum(int(v[i]) + 1 for i in (6, 9, 12, 18))
                                for v in lines) / 1e6
        # one of the calls since the last line: four for each file, and the create of the next one
        begun = max(fs_mark_files(text) - 10 * len(lines), 0)
        return fs_mark_files(text), unknown / (4 * begun + 1)
    if app == "sqlite":
        times = re.findall(r"Run Time: real ([0-9.]+)", text)
        return len(times), elapsed - sum(float(t) + 0.001 for t in times)
    if app == "fillsync":
        lines = rates(path) or []
        return sum(rate for _, rate in lines), longest_gap(lines) - 1
    # each client has a transaction under way
    lines = [tuple(map(float, v)) for v in
             re.findall(r"progress: ([0-9.]+) s, ([0-9.]+) tps", text)]
    return sum(rate for _, rate in lines), longest_gap(lines)


def stopped_run(app, text, path):
    """Return the figures of a run that reached its limit: most programs report nothing then."""
    # fio reports what it did, unless it had to be killed
    if app in ("fio", "fio-64") and "{" in text:
        return fio(app, text, path)
    if app == "etcd":
        return {"verdict": "no verdict"}
    if app not in ("fs_mark", "sqlite", "fillsync", "pgbench"):
        return {}
    count, longest = stall(app, text, path)
    run = {"throughput": count / run_time(text)}
    completed = READERS[app](app, text, path).get("max", 0) if app == "sqlite" and count or \
        app == "fs_mark" and fs_mark_lines(text) else 0
    if max(1e3 * longest, completed) > 0:
        run["max"] = max(1e3 * longest, completed)
    return run


def open_time(path, text):
    """Return how long a database took to open, from its log, and whether it was not yet open.

    Then it is the time that the program took until it was stopped. None if it has no such log.
    """
    try:
        with open(path[:-len("said")] + "open", encoding="utf-8") as f:
            lines = f.read().splitlines()
    except OSError:
        return None
    seconds = [sum(float(n) * s for n, s in zip(line.split()[0][-15:].split(":"), (3600, 60, 1)))
               for line in lines]
    if len(seconds) == 2:
        return 1e3 * ((seconds[1] - seconds[0]) % 86400), False
    return 1e3 * run_time(text), True


def lock_waits(text):
    """Return {kind of task: (total, longest)} in ms, from the table of perf lock contention -t."""
    units = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}
    waits = {}
    for total, unit, longest, unit2, comm in re.findall(
            r"(?m)^ +\d+ +([0-9.]+) (\w+) +([0-9.]+) (\w+) +[0-9.]+ \w+ +-?\d+ +(\S+)", text):
        kind = "others"
        for pattern, name in TASKS.items():
            if re.match(pattern, comm):
                kind = name
        was = waits.get(kind, (0, 0))
        waits[kind] = (was[0] + float(total) * units[unit],
                       max(was[1], float(longest) * units[unit2]))
    return waits


def read_run(app, path):
    """Return the figures of a run."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    stopped = "\nstopped after " in text
    run = stopped_run(app, text, path) if stopped else READERS[app](app, text, path)
    opened = open_time(path, text)
    if opened:
        run["open"] = opened[0]
    # at least as long: the figures with a ">"
    at_least = ["open"] if opened and opened[1] else []
    if stopped or "\nload ended after " in text:
        at_least += ["max", "fsync"] + [p for p in ("p99", "p999")
                                        if p in run and run[p] == run.get("max")]
    if any(figure in run for figure in at_least):
        run["cut"] = [figure for figure in at_least if figure in run]
    if os.path.exists(path[:-len("said")] + "low"):
        with open(path[:-len("said")] + "low", encoding="utf-8") as f:
            low = re.findall(r"bogo-ops-per-second-real-time: ([0-9.]+)", f.read())
        run["low"] = sum(float(r) for r in low)
    if os.path.exists(path[:-len("said")] + "locks"):
        with open(path[:-len("said")] + "locks", encoding="utf-8") as f:
            run["locks"] = lock_waits(f.read())
    return run


def read_runs(rounds):
    """Return {(app, load): {variant: [run of each round]}}, and what is wrong with the others.

    A round without a run of the variant has an empty one.
    """
    runs, wrong = {}, []
    for n, folder in enumerate(rounds):
        # the rounds of an application are in a folder of their own
        same = [r for r in rounds if os.path.dirname(r) == os.path.dirname(folder)]
        for path in sorted(glob.glob(os.path.join(folder, "*.said"))):
            app, variant, load = os.path.basename(path)[:-len(".said")].split(".")
            try:
                run = read_run(app, path)
            except (ValueError, LookupError, ZeroDivisionError) as e:
                wrong.append("%s: %s" % (path, e))
                continue
            of = runs.setdefault((app, load), {}).setdefault(variant, [{} for _ in same])
            of[same.index(rounds[n])] = run
    order = list(APPS)
    return {k: runs[k] for k in sorted(runs, key=lambda k: (
        order.index(k[0]), k[1] != "none", k[1]))}, wrong


def median(of, figure):
    """Return the median of the rounds, or None if a round does not have it."""
    values = [run[figure] for run in of if figure in run]
    return statistics.median(values) if values and len(values) == len(of) else None


def number(v):
    """Return a number with three digits."""
    return "%.0f" % v if v >= 100 else "%.3g" % v


def worst(of, figure):
    """Return the highest value of all rounds, or None if a round does not have it."""
    return max(run[figure] for run in of) if of and all(figure in run for run in of) else None


def cut(of, figure, pick=median):
    """Return whether the value that is picked, or a part of it, is of a run that was cut short."""
    values = [run[figure] for run in of if figure in run]
    # the median of an even number is the mean of two
    value = max(values, default=0) if pick is worst else \
        statistics.median_high(values) if values else 0
    return any(figure in run.get("cut", []) and run[figure] <= value for run in of)


def cell(of, figure):
    """Return the median, and with more rounds the highest and lowest."""
    values = [run[figure] for run in of if figure in run]
    verdicts = [run["verdict"] for run in of if "verdict" in run]
    if not values:
        return verdicts[0] if figure == "throughput" and verdicts else "–"
    text = number(statistics.median(values))
    if cut(of, figure):
        text = "> " + text
    if len(values) > 1:
        text += " (%s-%s)" % (number(min(values)), number(max(values)))
    if len(values) < len(of):
        text += " %d of %d" % (len(values), len(of))
    if figure == "throughput" and verdicts:
        text += " " + "/".join(sorted(set(verdicts)))
    return text


def ratio(cells, figure, pick=median):
    """Return how much better ours is than the better of the peers, as (sign, number), or None.

    More of a rate is better, and less of a time. The sign is ">" or "<" if a run was cut short. None
    if a round of one of them does not have the figure, or if both were cut short.
    """
    ours = [(pick(cells[v], figure), cut(cells[v], figure, pick)) for v in OURS if v in cells]
    peers = [(pick(cells[v], figure), cut(cells[v], figure, pick)) for v in PEERS if v in cells]
    if not peers or not ours or any(v is None for v, _ in ours[:1] + peers):
        return None
    if figure == "throughput":
        best = max(peers)[0]
        return ("", ours[0][0] / best) if best else None
    (of_peers, peer_cut), (of_ours, ours_cut) = min(peers), ours[0]
    if not of_ours or (peer_cut and ours_cut):
        return None
    return "> " * peer_cut + "< " * ours_cut, of_peers / of_ours


def ratio_text(found_ratio):
    """Return a ratio with two digits behind the point."""
    return "%s%.2f" % found_ratio if found_ratio else "–"


def summary(ratios):
    """Return a sentence about the ratios of all cells."""
    numbers = sorted(r[1] for r in ratios if r)
    if len(numbers) < 2:
        return ""
    undecided = len(ratios) - len(numbers)
    return "%d cells%s: %.2f in the median, %.2f in the worst, below 1 in %d.\n" % (
        len(numbers), " and %d undecided" % undecided if undecided else "",
        statistics.median(numbers), numbers[0], sum(n < 1 for n in numbers))


def table(rows):
    """Return a simple table of reStructuredText."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    rule = "  ".join("=" * w for w in widths)
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]
    return "\n".join([rule, lines[0], rule] + lines[1:] + [rule])


def tables(runs):
    """Return all tables."""
    shown = [v for v in VARIANTS if any(v in cells for cells in runs.values())]
    several = any(len(of) > 1 for cells in runs.values() for of in cells.values())
    text = []
    for figure, title in FIGURES.items():
        # of the longest operations, compare the longest of all rounds, too
        picks = [("better", median)] if figure != "low" else []
        if figure == "max" and several:
            picks.append(("worst round", worst))
        rows = [["application", "beside"] + [VARIANTS[v] for v in shown] + [p[0] for p in picks]]
        ratios = {p[0]: [] for p in picks}
        for (app, load), cells in runs.items():
            if not any(figure in run for of in cells.values() for run in of):
                continue
            for name, pick in picks:
                ratios[name].append(ratio(cells, figure, pick))
            name = app + (", " + APPS[app] if figure == "throughput" else "")
            rows.append([name, load] + [cell(cells.get(v, []), figure) for v in shown] +
                        [ratio_text(ratios[p[0]][-1]) for p in picks])
        if len(rows) > 1:
            text.append("%s:\n\n%s\n" % (title, table(rows)))
            text += ["*%s*, %s" % (name, summary(r)) for name, r in ratios.items() if summary(r)]
    return "\n".join(text + lock_tables(runs))


def lock_tables(runs):
    """Return a table of the waits for locks, as perf saw them, if it did."""
    shown = [v for v in VARIANTS if any(v in cells for cells in runs.values())]
    rows = [["application", "beside", "task"] + [VARIANTS[v] for v in shown]]
    for (app, load), cells in runs.items():
        tasks = sorted({t for of in cells.values() for run in of for t in run.get("locks", {})})
        for task in tasks:
            waits = []
            for v in shown:
                of = [run["locks"].get(task, (0, 0)) for run in cells.get(v, []) if "locks" in run]
                waits.append("%s (%s)" % (number(statistics.median(w[0] for w in of)),
                                          number(max(w[1] for w in of))) if of else "–")
            rows.append([app, load, task] + waits)
    if len(rows) == 1:
        return []
    return ["Waits for locks by perf lock contention, of all tasks of a kind, in ms: the sum of\n"
            "the median round, and the longest of all rounds:\n\n%s\n" % table(rows)]


def read_about(rounds):
    """Return the lines about the rounds. More than one of a kind means that rounds differ."""
    lines = []
    for folder in rounds:
        try:
            with open(os.path.join(folder, "about"), encoding="utf-8") as f:
                lines += [line for line in f.read().splitlines() if line not in lines]
        except OSError:
            lines += [line for line in ["sources: unknown"] if line not in lines]
    return sorted(lines)


def main():
    """Read all rounds, and write two files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("rounds", nargs="+")
    args = parser.parse_args()
    runs, wrong = read_runs(args.rounds)
    if not runs:
        sys.exit("\n".join(wrong + ["report_apps.py: no results in " + " ".join(args.rounds)]))
    about = read_about(args.rounds)
    with open(os.path.join(args.out, "apps.json"), "w", encoding="utf-8") as f:
        json.dump({"part": "apps", "about": about,
                   "runs": {" ".join(k): v for k, v in runs.items()}}, f, indent=1)
    text = "\n".join(about) + "\n\n" + tables(runs)
    with open(os.path.join(args.out, "apps.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text)
    if wrong:
        sys.exit("\n".join("report_apps.py: " + w for w in wrong))


if __name__ == "__main__":
    main()
