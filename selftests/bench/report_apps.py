#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write tables and one JSON file from all rounds of apps.sh.

report_apps.py --out DIR ROUND...

The tables are reStructuredText. A figure that an application does not report is missing.
"""

import argparse
import glob
import json
import os
import re
import statistics
import sys

# name of a driver: column
VARIANTS = {
    "stock": "stock",
    "uplift": "stock, knobs",
    "f2fs-unfair": "UNFAIR_RWSEM",
    "cp-expedite": "ours",
    "eb": "ours: tree locks",
    "eb-roots": "ours",
}
# of which ours must be better than the better one
PEERS = ("stock", "uplift")
OURS = ("cp-expedite", "eb-roots")
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
# figure: title, digits; times are in ms
FIGURES = {
    "throughput": "Throughput",
    "p99": "99 % of the sync operations took at most, ms",
    "p999": "99.9 % of the sync operations took at most, ms",
    "max": "Longest sync operation, ms",
    "low": "Work of the low-priority tasks, stress-ng's operations per second",
}


def found(pattern, text, what):
    """Return the groups of the pattern as numbers."""
    match = re.search(pattern, text)
    if not match:
        sys.exit("report_apps.py: " + "%s: no '%s'" % (what, pattern))
    return [float(g) for g in match.groups()]


def of_times(times):
    """Return the figures of a list of times in ms."""
    times = sorted(times)

    def percentile(p):
        return times[min(len(times) - 1, int(len(times) * p))]
    return {"p99": percentile(0.99), "p999": percentile(0.999), "max": times[-1]}


def fio(app, text, path):
    """fio's JSON: the fsyncs, or with O_SYNC the writes."""
    try:
        job = json.loads(text[text.index("{"):text.rindex("}") + 1])["jobs"][0]
    except ValueError:
        sys.exit("report_apps.py: " + "%s: not the JSON of fio" % path)
    if app == "fio":
        latency, rate = job["sync"]["lat_ns"], job["write"]["iops"]
    else:
        latency, rate = job["write"]["clat_ns"], job["read"]["iops"] + job["write"]["iops"]
    return {"throughput": rate, "p99": latency["percentile"]["99.000000"] / 1e6,
            "p999": latency["percentile"]["99.900000"] / 1e6, "max": latency["max"] / 1e6}


def fs_mark(app, text, path):
    """A line of each call of fs_mark; the fifteenth column is the longest fsync."""
    lines = [line.split() for line in text.splitlines() if re.match(r" +\d+ +\d+ +\d+ ", line)]
    if not lines:
        sys.exit("report_apps.py: " + "%s: no line of fs_mark" % path)
    seconds = sum(int(v[1]) / float(v[3]) for v in lines)
    run = {"throughput": sum(int(v[1]) for v in lines) / seconds}
    if app == "fs_mark":
        run["max"] = max(int(v[13]) for v in lines) / 1e3
    return run


def sqlite(_, text, path):
    """The times of the statements, to 1 ms."""
    times = [1e3 * float(t) for t in re.findall(r"Run Time: real ([0-9.]+)", text)]
    seconds, = found(r"elapsed (\d+) cs", text, path)
    return {"throughput": 100 * len(times) / seconds, **of_times(times)}


def db_bench(app, text, path):
    """Of readwhilewriting the statistics, because its histogram is of the reads."""
    rate, = found(app + r" *:.* (\d+) ops/sec", text, path)
    if app == "fillsync":
        p99, p999 = found(r"P99: ([0-9.]+) P99.9: ([0-9.]+)", text, path)
        longest, = found(r"Median: [0-9.]+ +Max: (\d+)", text, path)
        return {"throughput": rate, "p99": p99 / 1e3, "p999": p999 / 1e3, "max": longest / 1e3}
    p99, longest, count = found(r"rocksdb.db.write.micros .*P99 : ([0-9.]+) P100 : ([0-9.]+) "
                                r"COUNT : (\d+)", text, path)
    seconds, = found(app + r" *:.* ([0-9.]+) seconds", text, path)
    return {"throughput": count / seconds, "p99": p99 / 1e3, "max": longest / 1e3}


def pgbench(_, text, path):
    """The times in the log of transactions, in µs."""
    with open(path[:-len(".said")] + ".log", encoding="utf-8") as f:
        times = [int(t) / 1e3 for t in f.read().split() if t.isdigit()]
    return {"throughput": found(r"tps = ([0-9.]+)", text, path)[0], **of_times(times)}


def pg_test_fsync(_, text, path):
    """The fsyncs of one 8 kB write."""
    return {"throughput": found(r"\bfsync +([0-9.]+) ops/sec", text, path)[0]}


def etcd(_, text, path):
    """Return its throughput, its slowest request, and its verdict: without one, it gave up."""
    if not re.search(r"^(PASS|FAIL)$", text, re.M):
        return {"verdict": "no verdict"}
    rate, = found(r"Throughput (?:is|too low:) (\d+) writes/s", text, path)
    slowest, = found(r"Slowest request took (?:too long: )?([0-9.]+)s", text, path)
    return {"throughput": rate, "max": 1e3 * slowest,
            "verdict": re.findall(r"^(PASS|FAIL)$", text, re.M)[-1]}


def dbench(_, text, path):
    """Its maximum is of any operation."""
    rate, longest = found(r"Throughput ([0-9.]+) MB/sec.*max_latency=([0-9.]+) ms", text, path)
    return {"throughput": rate, "max": longest}


def untar(_, text, _path):
    """The clock of the guest."""
    times = [int(t) / 100 for t in re.findall(r"untar\+rm (\d+) cs", text)]
    return {"throughput": len(times) / sum(times)}


READERS = {"fio": fio, "fio-64": fio, "fs_mark": fs_mark, "fs_mark-nosync": fs_mark,
           "sqlite": sqlite, "fillsync": db_bench, "readwhilewriting": db_bench,
           "pgbench": pgbench, "pg_test_fsync": pg_test_fsync, "etcd": etcd, "dbench": dbench,
           "untar": untar}


def read_runs(rounds):
    """Return {(app, load): {variant: [run of each round]}}."""
    runs = {}
    for path in [p for r in rounds for p in sorted(glob.glob(os.path.join(r, "*.said")))]:
        app, variant, load = os.path.basename(path)[:-len(".said")].split(".")
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        # an application that was stopped reported nothing; this is the least that it waited
        stopped = re.search(r"^stopped after (\d+) s$", text, re.M)
        run = {"max": 1e3 * int(stopped.group(1)), "stopped": True} if stopped else \
            READERS[app](app, text, path)
        if os.path.exists(path[:-len("said")] + "low"):
            with open(path[:-len("said")] + "low", encoding="utf-8") as f:
                rates = re.findall(r"bogo-ops-per-second-real-time: ([0-9.]+)", f.read())
            run["low"] = sum(float(r) for r in rates)
        runs.setdefault((app, load), {}).setdefault(variant, []).append(run)
    order = list(APPS)
    return {k: runs[k] for k in sorted(runs, key=lambda k: (
        order.index(k[0]), k[1] != "none", k[1]))}


def median(of, figure):
    """Return the median of the rounds, or None."""
    values = [run[figure] for run in of if figure in run]
    return statistics.median(values) if values else None


def number(v):
    """Return a number with three digits."""
    return "%.0f" % v if v >= 100 else "%.3g" % v


def cell(of, figure):
    """Return the median, and with more rounds the highest and lowest."""
    values = [run[figure] for run in of if figure in run]
    verdicts = [run["verdict"] for run in of if "verdict" in run]
    if not values:
        return verdicts[0] if figure == "throughput" and verdicts else "–"
    text = number(statistics.median(values))
    if figure == "max" and any("stopped" in run for run in of):
        text = "stopped after " + text
    if len(values) > 1:
        text += " (%s-%s)" % (number(min(values)), number(max(values)))
    if figure == "throughput" and verdicts:
        text += " " + "/".join(sorted(set(verdicts)))
    return text


def ratio(cells, figure):
    """Return how much better ours is than the better of the peers: higher or shorter."""
    ours = [median(cells[v], figure) for v in OURS if v in cells]
    peers = [median(cells[v], figure) for v in PEERS if v in cells]
    peers = [p for p in peers if p is not None]
    if not peers or not ours or not ours[0]:
        return "–"
    if figure in ("throughput", "low"):
        return "%.2f" % (ours[0] / max(peers)) if max(peers) else "–"
    return "%.2f" % (min(peers) / ours[0])


def table(rows):
    """Return a simple table of reStructuredText."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    rule = "  ".join("=" * w for w in widths)
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]
    return "\n".join([rule, lines[0], rule] + lines[1:] + [rule])


def tables(runs):
    """Return all tables."""
    shown = [v for v in VARIANTS if any(v in cells for cells in runs.values())]
    text = []
    for figure, title in FIGURES.items():
        rows = [["application", "beside"] + [VARIANTS[v] for v in shown] + ["better"]]
        for (app, load), cells in runs.items():
            if not any(figure in run for of in cells.values() for run in of):
                continue
            name = app + (", " + APPS[app] if figure == "throughput" else "")
            rows.append([name, load] + [cell(cells.get(v, []), figure) for v in shown] +
                        [ratio(cells, figure)])
        if len(rows) > 1:
            text.append("%s:\n\n%s\n" % (title, table(rows)))
    return "\n".join(text)


def main():
    """Read all rounds, and write two files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("rounds", nargs="+")
    args = parser.parse_args()
    runs = read_runs(args.rounds)
    if not runs:
        sys.exit("report_apps.py: " + "no results in %s" % " ".join(args.rounds))
    with open(os.path.join(args.out, "apps.json"), "w", encoding="utf-8") as f:
        json.dump({"part": "apps", "runs": {" ".join(k): v for k, v in runs.items()}}, f, indent=1)
    text = tables(runs)
    with open(os.path.join(args.out, "apps.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text)


if __name__ == "__main__":
    main()
