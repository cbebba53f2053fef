#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Draw plots and write one self-contained HTML page from the JSON of the benchmarks.

report.py --out DIR FILE.json...

The page has the files in the given order. A missing file is an error.
"""
import argparse
import html
import json
import os
import re

import report_fs
import report_locks
import report_reuse
import report_trees
from report_common import (FIGURES, LOCKS, fatal, kind_of, matplotlib, table)

SECTIONS = {**report_locks.SECTIONS, **report_trees.SECTIONS, **report_reuse.SECTIONS,
            **report_fs.SECTIONS}
TARGETS = {**report_locks.TARGETS, **report_trees.TARGETS, **report_reuse.TARGETS,
           **report_fs.TARGETS}

CSS = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-top: 1px solid #bbb; padding-top: 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
tr.ours td { font-weight: 600; background: #eef6f2; }
.scroll { overflow-x: auto; } figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
figcaption, .note { color: #333; } code { font-size: .85rem; overflow-wrap: anywhere; }
.met::before { content: "\\2713  "; } .missed::before { content: "\\2717  "; }
.missed { color: #a40000; font-weight: 600; }
"""


def load(path):
    """Return a complete result, or exit with an error that names the file."""
    try:
        with open(path, encoding="utf-8") as f:
            run = json.load(f)
    except OSError as e:
        fatal("%s: %s (the program that writes it did not run, or failed)" % (path, e.strerror))
    except ValueError as e:
        fatal("%s: invalid or incomplete JSON: %s" % (path, e))
    try:
        check(run)
    except KeyError as e:
        fatal("%s: not a complete result of a benchmark: %s is missing or unknown" % (path, e))
    except (TypeError, IndexError, AttributeError) as e:
        fatal("%s: not a result of a benchmark: %s" % (path, e))
    run["path"] = path
    # the file's folder is the guest's name
    run["boot"] = os.path.basename(os.path.dirname(os.path.abspath(path)))
    run["id"] = re.sub("[^A-Za-z0-9]+", "-", run["boot"] + "-" +
                       os.path.splitext(os.path.basename(path))[0])
    run["title"] = run["title"] or run["id"]
    return run


def check(run):
    """Raise an exception if a value is missing that the report needs."""
    for key in ("cmdline", "title", "start_time", "end_time"):
        run[key]  # pylint: disable=pointless-statement
    for key in ("release", "version", "machine", "cpus"):
        run["sysinfo"][key]  # pylint: disable=pointless-statement
    if run.get("part") == "fsync":
        report_fs.check_fsync(run)
        return
    if run.get("part") == "share":
        for job in run["jobs"].values():
            for name in ("always", "gate", "never"):
                job[name]["fsyncs_per_s"]["median"], job[name]["locked"], job[name]["slept"]
        return
    if not run["locks"]:
        raise KeyError("locks")
    for name, lock in run["locks"].items():
        LOCKS[name]  # pylint: disable=pointless-statement
        if "part" in run:
            of_part = report_reuse.figures_of(run) if run["part"] == "reuse" else \
                FIGURES[run["part"]]
            for fig in of_part:
                optional = fig in ("writes_ratio", "reads_ratio") and \
                    "rwsem" not in run["locks"]
                if not optional:
                    lock[fig]["min"], lock[fig]["median"], lock[fig]["max"]
        else:
            for who in ("writer_wait", "reader_wait"):
                lock[who]["p50"], lock[who]["p99"], lock[who]["max"]
            lock["writes"], lock["reads"], lock["writer_histogram"][0][1]
    if run.get("part") == "bound":
        run["parameters"]["limit_ns"]  # pylint: disable=pointless-statement
    if run.get("part") == "growth":
        for point in run["points"]:
            point["keys"], point["new"], point["reads"], point["heights"], point["all"]


def page(runs, out, png):
    """Return the page, and a line for each target."""
    rows, verdicts, body = [], [], []
    for run in runs:
        for what, value, met in TARGETS.get(kind_of(run), lambda r: ())(run):
            rows.append((None, [run["boot"], what, value, '<span class="%s">%s</span>' % (
                ("met", "met") if met else ("missed", "not met"))]))
            verdicts.append("%-8s %-12s %-62s %s" % ("met" if met else "NOT MET", run["boot"],
                                                     what, value))
    body.append("<h2>Targets</h2>" + table(["guest", "target", "measured", ""], rows, (0, 1, 3)))
    for run in runs:
        svg, say, numbers = SECTIONS[kind_of(run)](run, out, png)
        body.append('<h2 id="%s">%s <small>(%s)</small></h2>' % (
            run["id"], html.escape(run["title"][:1].upper() + run["title"][1:]),
            html.escape(run["boot"])))
        body.append("<figure>%s<figcaption>%s</figcaption></figure>%s" % (
            svg, html.escape(say), numbers))
    kernels = {r["boot"]: r["sysinfo"] for r in runs}
    body.append("<h2>Kernels</h2>" + table(
        ["guest", "release", "version", "machine", "CPUs"],
        [(None, [b, i["release"], i["version"], i["machine"], str(i["cpus"])])
         for b, i in kernels.items()], (0, 1, 2, 3)))
    body.append("<h2>Commands</h2><p><code>make bench</code> runs them in the guests.</p>" + table(
        ["guest", "command", "seconds"],
        [(None, [r["boot"], "<code>%s</code>" % html.escape(r["cmdline"]),
                 str(r["end_time"] - r["start_time"])]) for r in runs], (0, 1)))
    return "<!DOCTYPE html>\n<!-- SPDX-License-Identifier: GPL-2.0 -->\n" \
        '<html lang="en"><head><meta charset="utf-8"><title>fscommit: make bench</title>' \
        '<meta name="viewport" content="width=device-width"><style>%s</style></head><body>' \
        "<h1>fscommit and its peers, measured</h1>" \
        '<p class="note">All lock types took turns in the same boot. Compare figures within a ' \
        "table, not between tables. QEMU without hardware virtualisation is slow: its ratios are " \
        "usable, but its times mean little. User-Mode Linux runs at native speed, but per-CPU " \
        "operations and interrupt masking are slow there. So percpu_rw_semaphore, and wakeups " \
        "under a spinlock, look worse.</p>%s</body></html>\n" % (CSS, "\n".join(body)), verdicts


def main():
    """Read all files, then write the report."""
    parser = argparse.ArgumentParser(prog="report.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", required=True, help="folder for report.html and the plots")
    parser.add_argument("--png", action="store_true", help="also write the plots as PNG")
    parser.add_argument("file", nargs="+", help="JSON of a benchmark, in the order of the page")
    args = parser.parse_args()
    matplotlib.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif",
                                "font.size": 10, "hatch.linewidth": 0.8})
    runs = [load(path) for path in args.file]
    ids = [r["id"] for r in runs]
    for run in runs:
        if ids.count(run["id"]) > 1:
            fatal("%s: its folder and name are those of another file, too" % run["path"])
    try:
        text, verdicts = page(runs, args.out, args.png)
        path = os.path.join(args.out, "report.html")
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(path + ".tmp", path)
    except OSError as e:
        fatal("%s: %s" % (e.filename or args.out, e.strerror))
    print("\n".join(verdicts))
    print("report: " + path)


if __name__ == "__main__":
    main()
