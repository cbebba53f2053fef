# SPDX-License-Identifier: GPL-2.0
"""Sections of report.py: fsync on real filesystems."""

import html
import statistics

from report_common import (FuncFormatter, count_text, plt, ratio_text, table, time_text,
                           write_figure)

# name: (shown, colour, ours)
VARIANTS = {
    "stock": ("stock", "#c44e00", False),
    "uplift": ("stock, its priority uplift", "#a8527f", False),
    "stock-chain": ("stock, FSYNC=chain", "#7d7d7d", False),
    "f2fs-unfair": ("F2FS_UNFAIR_RWSEM", "#0065a3", False),
    "cp": ("ours: cp_rwsem, not expedited", "#7fb8a4", True),
    "cp-expedite": ("ours: cp_rwsem", "#006d4e", True),
    "cp-nolinks": ("ours: cp_rwsem, without links", "#7fb8a4", True),
    "all": ("ours: all, not expedited", "#7fb8a4", True),
    "all-expedite": ("ours: all", "#006d4e", True),
}
BEST = "cp-expedite"
# operations that count as fsync: of the folder, and of the file
FSYNCS = ("dir", "file")


def over_ops(run, who, figure, ops=FSYNCS):
    """Return a figure of a task in one round: the worst of @ops, or the sum of their counts."""
    of = [run["timed"][who][op][figure] for op in ops if run["timed"][who][op]["count"]]
    if figure == "count":
        return sum(of)
    return max(of) if of else 0


def rounds_of(runs, who, figure, ops=FSYNCS):
    """Return over_ops() of each round."""
    return [over_ops(r, who, figure, ops) for r in runs]


def median_and_range(values):
    """Return times as text, for example 12 ms (8 ms – 1.2 s)."""
    return "%s (%s – %s)" % (time_text(statistics.median(values)), time_text(min(values)),
                             time_text(max(values)))


def work(runs):
    """Return the number of files that the low-priority tasks wrote, in the median round."""
    return statistics.median(r["low"]["files"] for r in runs)


def check_fsync(run):
    """Raise an exception if a value is missing that the report needs."""
    for load in run["runs"].values():
        for name, runs in load.items():
            if name.startswith("cp-"):
                VARIANTS.setdefault(name, ("ours: cp_rwsem, " + name[3:], "#7fb8a4", True))
            VARIANTS[name]  # pylint: disable=pointless-statement
            for r in runs:
                r["low"]["files"]  # pylint: disable=pointless-statement
                for timed in r["timed"].values():
                    for op in ("dir", "file", "write", "sync"):
                        timed[op]["p50"], timed[op]["p99"], timed[op]["max"], timed[op]["count"]


def load_text(load):
    """Return a load as text, for example "8 low-priority tasks, nice:19"."""
    n, _, what = load.partition("-")
    if what == "alone":
        return "%s tasks at nice 0, no busy ones" % n
    if what == "rt":
        return "%s tasks at nice 0, a SCHED_FIFO task on each CPU" % n
    return "%s low-priority tasks, %s" % (n, what.replace("-", ":", 1))


def plot_fsync(run, out, png):
    """Plot the maximum of each variant, by load, with a line from the best to the worst round."""
    loads = list(run["runs"])
    fig, axes = plt.subplots(1, len(loads), figsize=(4.2 + 2.3 * len(loads), 3.9), sharey=True,
                             squeeze=False)
    names = [n for n in VARIANTS if any(n in run["runs"][l] for l in loads)]
    for ax, load in zip(axes[0], loads):
        for y, name in enumerate(reversed(names)):
            if name not in run["runs"][load]:
                continue
            runs = run["runs"][load][name]
            who = next(iter(runs[0]["timed"]))
            at = [v / 1e6 for v in rounds_of(runs, who, "max")]
            _, colour, ours = VARIANTS[name]
            middle = statistics.median(at)
            ax.barh(y, middle, height=0.62, color=colour, hatch=None if ours else "//",
                    edgecolor="white", linewidth=0, zorder=2)
            ax.plot([min(at), max(at)], [y, y], color="#111111", linewidth=1.3, marker="|",
                    markersize=7, zorder=3)
        ax.set_yticks(range(len(names)))
        ax.set_yticklabels([VARIANTS[n][0] for n in reversed(names)], fontsize=9)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: "%g" % v))
        ax.set_title(load_text(load).replace("low-priority tasks, ", "× "), fontsize=9)
        ax.set_xlabel("slowest fsync, ms")
        ax.grid(True, axis="x", color="#d8d8d8", linewidth=0.7, zorder=0)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    fig.suptitle("Slowest fsync of a nice -20 task, Linux %s" % run["sysinfo"]["release"],
                 x=0.01, ha="left", fontsize=11)
    fig.tight_layout()
    return write_figure(fig, run, out, "Slowest fsync by variant and load", png)


def rows_of(load, who):
    """Return a row for each variant."""
    rows = []
    for name in VARIANTS:
        if name not in load:
            continue
        runs = load[name]
        shown, _, ours = VARIANTS[name]
        times = [median_and_range(rounds_of(runs, who, f)) for f in ("p50", "p99", "max")]
        files = work(runs)
        ratios = ["%.2f" % (files / work(load[peer])) if peer in load and work(load[peer])
                  else "–" for peer in ("f2fs-unfair", "stock")]
        rows.append(("unfair" if ours else None, [shown] + times + [
            count_text(statistics.median(rounds_of(runs, who, "count"))),
            time_text(statistics.median(rounds_of(runs, who, "max", ("write",)))),
            time_text(statistics.median(rounds_of(runs, who, "max", ("sync",)))),
            count_text(files)] + ratios))
    return rows


def held_table(load):
    """Return a table of the longest time that a task held each lock of f2fs, or nothing."""
    locks = sorted({lock for runs in load.values() for r in runs for lock in r.get("held_ms", {})})
    rows = []
    for name in (n for n in VARIANTS if n in load):
        most = [max(r.get("held_ms", {}).get(lock, 0) for r in load[name]) for lock in locks]
        rows.append(("unfair" if VARIANTS[name][2] else None,
                     [VARIANTS[name][0]] + ["%d ms" % m if m else "–" for m in most]))
    return "<p>Longest time that a task held a lock, by f2fs_lock_elapsed_time. No figure: below " \
        "1 ms, or a lock without the event.</p>" + table(["variant"] + locks, rows, (0,)) \
        if locks else ""


def section_fsync(run, out, png):
    """Return the plot, a text and the tables."""
    tables = []
    for load, of_load in run["runs"].items():
        for who in next(iter(of_load.values()))[0]["timed"]:
            tables.append("<h3>%s; %s task</h3>" % (html.escape(load_text(load)),
                                                    html.escape(who)) + table(
                ["variant", "fsync p50", "p99", "max", "fsyncs", "write max", "sync max",
                 "low tasks' files", "to F2FS_UNFAIR", "to stock"], rows_of(of_load, who), (0,)))
        tables.append(held_table(of_load))
    rounds = max(len(r) for l in run["runs"].values() for r in l.values())
    return plot_fsync(run, out, png), "Lower is better. Median of %d rounds, and the range from " \
        "the best to the worst. A figure is the slower of a folder's fsync, which needs a " \
        "checkpoint, and a file's fsync. A run takes %g s on a new filesystem. An fsync that did " \
        "not return counts with its time so far, so no figure exceeds the length of a run. After " \
        "each run the filesystem is unmounted, checked by fsck, mounted and verified." % (
            rounds, run["parameters"]["duration_s"]), "".join(tables)


def target_fsync(run):
    """Compare ours with the better of stock and F2FS_UNFAIR_RWSEM, for each load."""
    for load, of in run["runs"].items():
        if BEST not in of or not {"stock", "f2fs-unfair"} <= set(of):
            continue
        if load.endswith("-alone"):
            ratio = work(of[BEST]) / max(work(of["stock"]), 1)
            yield "%s: work at least 0.95 of stock" % load_text(load), "%.2f" % ratio, \
                ratio >= 0.95
            continue
        who = next(iter(of[BEST][0]["timed"]))
        for figure, times in (("max", 20), ("p99", 1)):
            ours = statistics.median(rounds_of(of[BEST], who, figure))
            peer = min(statistics.median(rounds_of(of[p], who, figure))
                       for p in ("stock", "f2fs-unfair"))
            what = "20 times below" if times > 1 else "no worse than"
            yield "%s: %s of fsync %s the better peer" % (load_text(load), figure, what), \
                "%s, %s: %s" % (time_text(ours), time_text(peer), ratio_text(peer, ours)), \
                peer >= times * ours
        ratio = work(of[BEST]) / max(work(of["f2fs-unfair"]), 1)
        yield "%s: low tasks' work at least 0.9 of F2FS_UNFAIR_RWSEM" % load_text(load), \
            "%.2f" % ratio, ratio >= 0.9


SECTIONS = {"fsync": section_fsync}
TARGETS = {"fsync": target_fsync}
