#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write a table, a plot and one JSON file from all rounds of btrfs.sh, or a table of fsyncs.

report_btrfs.py --out DIR ROUND...
"""

import argparse
import glob
import json
import os
import statistics

from report_common import count_text, fatal, plt, time_text

# What the report calls a variant, and its colour; another variant has its own name
LABELS = {
    "stock": ("stock", "#c44e00"),
    "eb": ("ours: tree block locks", "#7fb8a4"),
    "roots": ("ours: commit roots", "#3d9275"),
    "eb-roots": ("ours: both", "#006d4e"),
    "eb-roots-expedite": ("ours: the default", "#00543b"),
    "eb-roots-csum": ("ours: both, and checksums", "#003d2b"),
    "all": ("ours: all options", "#001f16"),
}


def label(name):
    """Return what the report calls a variant, and its colour."""
    return LABELS.get(name, (name, "#777777"))


def waits_of(path):
    """Return {cause: (times, total, longest)}, with times in ns."""
    waits = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                cause, times, total, longest = line.split()
                waits[cause] = (int(times), int(total) * 1000, int(longest) * 1000)
    return waits


def commit_stats(path):
    """Return {name: value}."""
    with open(path, encoding="utf-8") as f:
        return {name: int(value) for name, value in (line.split() for line in f)}


def read_runs(rounds):
    """Return {variant: [run of each round]}."""
    runs = {}
    for folder in rounds:
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            with open(path, encoding="utf-8") as f:
                run = json.load(f)
            if run.get("part") != "btrfs":
                fatal("%s: not a result of syncbench" % path)
            base = path[:-len(".json")]
            run["waits"] = waits_of(base + ".waits")
            run["commit_stats"] = commit_stats(base + ".commit_stats")
            runs.setdefault(run["variant"], []).append(run)
    order = [name for name in LABELS if name in runs]
    return {name: runs[name] for name in order + sorted(set(runs) - set(order))}


def row(name, runs):
    """Return the medians of the rounds, and for the maximum and the waits also the worst round."""
    def median(of):
        return statistics.median(of(r) for r in runs)

    def switch(run):
        return sum(total for cause, (_, total, _) in run["waits"].items()
                   if cause in ("switch_commit_roots", "publish_commit_roots"))

    return (label(name)[0],
            count_text(median(lambda r: r["sync"]["count"])),
            time_text(median(lambda r: r["sync"]["p50_ns"])),
            time_text(median(lambda r: r["sync"]["p99_ns"])),
            time_text(median(lambda r: r["sync"]["max_ns"])),
            time_text(max(r["sync"]["max_ns"] for r in runs)),
            time_text(1e6 * max(r["commit_stats"]["max_commit_ms"] for r in runs)),
            time_text(median(switch)), time_text(max(switch(r) for r in runs)),
            time_text(median(lambda r: sum(w[1] for w in r["waits"].values()))),
            count_text(median(lambda r: r["reads"])),
            time_text(1e3 * median(lambda r: r["memory_some_us"])),
            time_text(1e3 * median(lambda r: r["io_some_us"])))


HEAD = ("variant", "syncs", "p50", "p99", "max", "worst", "worst commit",
        "waits in the switch", "worst", "lock waits", "reads",
        "memory pressure", "I/O pressure")


def write_table(runs, path):
    """Write and print the table as plain text."""
    rows = [HEAD] + [row(name, of) for name, of in runs.items()]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEAD))]
    with open(path, "w", encoding="utf-8") as f:
        for r in rows:
            line = "  ".join(c.ljust(w) if not i else c.rjust(w)
                             for i, (c, w) in enumerate(zip(r, widths)))
            f.write(line + "\n")
            print(line)


def plot(runs, path):
    """Plot the longest sync, and the waits in the switch of roots."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 0.6 * len(runs) + 1.4), sharey=True)
    names = list(reversed(runs))
    for y, name in enumerate(names):
        colour = label(name)[1]
        worst = [r["sync"]["max_ns"] / 1e6 for r in runs[name]]
        waits = [sum(w[1] for c, w in r["waits"].items() if "commit_roots" in c) / 1e6
                 for r in runs[name]]
        for ax, values in zip(axes, (worst, waits)):
            ax.barh(y, statistics.median(values), height=0.6, color=colour)
            ax.plot([min(values), max(values)], [y, y], color="#111111", marker="|")
            ax.text(max(values), y, "  %.4g" % statistics.median(values), va="center")
        axes[0].set_yticks(range(len(names)))
    axes[0].set_yticklabels([label(n)[0] for n in names])
    axes[0].set_xlabel("longest sync of a round, ms (median; line: all rounds)")
    axes[1].set_xlabel("waits in the switch of roots, ms of a round")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(x=0.2)
    fig.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(fig)


def write_fsyncs(rounds, path):
    """Write and print a table of the fsyncs a second of each variant and number of jobs."""
    runs = {}
    for folder in rounds:
        for file in glob.glob(os.path.join(folder, "*.fsync.json")):
            with open(file, encoding="utf-8") as f:
                job = json.load(f)["jobs"][0]
            with open(file.replace(".fsync.json", ".gates"), encoding="utf-8") as f:
                gates = dict(line.split() for line in f)
            variant, jobs = os.path.basename(file).split(".")[0].split("-")
            late = job["sync"]["lat_ns"]["percentile"]
            runs.setdefault((int(jobs), variant), []).append(
                (job["write"]["iops"], late["50.000000"], late["99.000000"],
                 int(gates["sections_skipped"]), int(gates["sections_locked"])))
    if not runs:
        return False
    with open(path, "w", encoding="utf-8") as f:
        for (jobs, variant), of in sorted(runs.items()):
            rates, p50, p99, skipped, locked = zip(*of)
            line = "%4d jobs  %-7s %6.0f fsyncs/s (%.0f to %.0f)  p50 %s  p99 %s" % (
                jobs, variant, statistics.median(rates), min(rates), max(rates),
                time_text(statistics.median(p50)), time_text(statistics.median(p99)))
            line += "  sections skipped %d, locked %d" % (sum(skipped), sum(locked))
            f.write(line + "\n")
            print(line)
    return True


def main():
    """Read all rounds, and write three files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("rounds", nargs="+")
    args = parser.parse_args()
    if write_fsyncs(args.rounds, os.path.join(args.out, "fsync.txt")):
        return
    runs = read_runs(args.rounds)
    if not runs:
        fatal("no results in %s" % " ".join(args.rounds))
    with open(os.path.join(args.out, "sync.json"), "w", encoding="utf-8") as f:
        json.dump({"part": "btrfs", "runs": runs}, f, indent=1)
    write_table(runs, os.path.join(args.out, "sync.txt"))
    plot(runs, os.path.join(args.out, "sync.svg"))


if __name__ == "__main__":
    main()
