# SPDX-License-Identifier: GPL-2.0
"""Read the figures of applications from what they printed: the files of apps_guest.sh.

A run that was stopped counts with its throughput so far. Its longest operation took at least as
long as the longest time in which it completed none, where its output proves such a time. The load
ends when a run is stopped, and an operation that waited for it may then complete. All these times
begin with ">". A figure that an application does not report is missing.
"""
import glob
import json
import math
import os
import re


def numbers(pattern, text):
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
    return {"p99": times[math.ceil(len(times) * 0.99) - 1], "max": times[-1]}


def run_time(text):
    """Return the seconds that the application ran."""
    return numbers(r"elapsed (\d+) cs", text)[0] / 100


def side_file(path, kind):
    """Return the text of the file beside NAME.said with this ending, or ""."""
    try:
        with open(path[:-len("said")] + kind, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


def longest_gap(lines):
    """Return the longest time without an operation, from pairs (s, rate since the last pair)."""
    longest = begin = 0
    for now, rate in lines:
        if rate:
            begin = now
        longest = max(longest, now - begin)
    return longest


def of_gap(seconds):
    """Return the longest operation, which is unknown if the run did not get that far."""
    return {"max": 1e3 * seconds} if seconds > 0 else {}


def fio(text, _path, stopped):
    """Return the times of the fsyncs, or with O_SYNC of the writes."""
    if stopped and "{" not in text:
        return {}
    job = json.loads(text[text.index("{"):text.rindex("}") + 1])["jobs"][0]
    latency = job["sync"]["lat_ns"]
    figures = {"throughput": job["write"]["iops"]}
    if not latency.get("max"):
        latency = job["write"]["clat_ns"]
        figures["throughput"] += job["read"]["iops"]
    # fio has no percentiles if no request was completed before it ended
    if "percentile" in latency:
        figures.update({"p99": latency["percentile"]["99.000000"] / 1e6,
                        "max": latency["max"] / 1e6})
    return figures


def fs_mark(text, _path, stopped):
    """Return the longest call that creates, writes, syncs or closes a file: a line for each ten."""
    lines = [line.split() for line in text.splitlines() if re.match(r" +\d+ +\d+ +\d+ ", line)]
    files = numbers(r"(?m)^files (\d+)$", text)[0]
    if not lines and not stopped:
        raise ValueError("no line of fs_mark")
    longest = max((int(v[i]) for v in lines for i in (7, 10, 13, 19)), default=0) / 1e3
    if stopped:
        # fs_mark rounds a mean to 1 us
        unknown = run_time(text) - sum(int(v[4]) + 10 * sum(int(v[i]) + 1 for i in (6, 9, 12, 18))
                                       for v in lines) / 1e6
        # one of the calls since the last line: four for each file, and the create of the next
        begun = max(files - 10 * len(lines), 0)
        longest = max(longest, 1e3 * unknown / (4 * begun + 1))
    return {"throughput": files / run_time(text), "max": longest}


def sqlite(text, _path, stopped):
    """Return the times of the statements, which sqlite3 rounds to 1 ms."""
    times = [1e3 * float(t) for t in re.findall(r"Run Time: real ([0-9.]+)", text)]
    rate = len(times) / run_time(text)
    if stopped:
        times.append(1e3 * run_time(text) - sum(t + 1 for t in times))
    return {"throughput": rate, **of_times(times)}


def fillsync(text, path, stopped):
    """Return db_bench's own figures; its report of each second has the longest gap."""
    if stopped:
        lines = [tuple(map(float, line.split(",")))
                 for line in side_file(path, "rate").splitlines() if line[:1].isdigit()]
        # no line while it opens the database
        return {"throughput": sum(rate for _, rate in lines) / run_time(text),
                **of_gap(longest_gap(lines) - 1)}
    rate, = numbers(r"fillsync *:.* (\d+) ops/sec", text)
    p99, = numbers(r"P99: ([0-9.]+)", text)
    longest, = numbers(r"Median: [0-9.]+ +Max: (\d+)", text)
    return {"throughput": rate, "p99": p99 / 1e3, "max": longest / 1e3}


def pgbench(text, path, stopped):
    """Return the times in the log of transactions, in us; each client has one under way."""
    times = [int(t) / 1e3 for t in side_file(path, "log").split() if t.isdigit()]
    if not stopped:
        return {"throughput": numbers(r"tps = ([0-9.]+)", text)[0] if times else 0,
                **of_times(times)}
    lines = [tuple(map(float, v))
             for v in re.findall(r"progress: ([0-9.]+) s, ([0-9.]+) tps", text)]
    return {"throughput": sum(rate for _, rate in lines) / run_time(text),
            **of_gap(longest_gap(lines))}


def etcd(text, _path, _stopped):
    """Return its throughput, its slowest request, and its verdict: without one, it gave up."""
    verdict = re.findall(r"^(PASS|FAIL)$", text, re.M)
    if not verdict:
        return {"verdict": "none"}
    rate, = numbers(r"Throughput (?:is|too low:) (\d+) writes/s", text)
    slowest, = numbers(r"Slowest request took (?:too long: )?([0-9.]+)s", text)
    return {"throughput": rate, "max": 1e3 * slowest, "verdict": verdict[-1]}


def dbench(text, _path, stopped):
    """Return MB/s, and its maximum, which is of any operation."""
    if stopped:
        return {}
    rate, longest = numbers(r"Throughput ([0-9.]+) MB/sec.*max_latency=([0-9.]+) ms", text)
    return {"throughput": rate, "max": longest}


def untar(text, _path, _stopped):
    """Return trees per second by the clock of the guest."""
    times = [int(t) / 100 for t in re.findall(r"untar\+rm (\d+) cs", text)]
    return {"throughput": len(times) / sum(times)} if times else {}


# the function that reads the output, and the unit of the throughput
APPS = {"fio": (fio, "fsyncs/s"), "fio-64": (fio, "requests/s"), "fs_mark": (fs_mark, "files/s"),
        "sqlite": (sqlite, "transactions/s"), "fillsync": (fillsync, "writes/s"),
        "pgbench": (pgbench, "transactions/s"), "etcd": (etcd, "writes/s"),
        "dbench": (dbench, "MB/s"), "untar": (untar, "trees/s")}
# low: operations of the tasks in the background
UNITS = {"p99": "ms", "max": "ms", "verdict": "-", "low": "operations/s"}


def read_run(app, path):
    """Return {figure: value} of a run."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    stopped = "\nstopped after " in text
    figures = APPS[app][0](text, path, stopped)
    low = re.findall(r"bogo-ops-per-second-real-time: ([0-9.]+)", side_file(path, "low"))
    if low:
        figures["low"] = sum(map(float, low))
    values = {name: v if isinstance(v, str) else "%.6g" % v for name, v in figures.items()}
    if stopped or "\nload ended after " in text:
        for name in ("p99", "max"):
            if name in figures and figures[name] == figures.get("max"):
                values[name] = ">" + values[name]
    return values


def read_folder(folder):
    """Yield (run, driver, figure, unit, value) of the applications that ran in a guest."""
    for path in sorted(glob.glob(os.path.join(folder, "*.said"))):
        app, load, module = os.path.basename(path)[:-len(".said")].split(".", 2)
        # the module is named by filesystem and driver
        for figure, value in read_run(app, path).items():
            unit = UNITS.get(figure, APPS[app][1])
            yield "%s,%s" % (app, load), module.partition("-")[2], figure, unit, value
