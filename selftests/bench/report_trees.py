# SPDX-License-Identifier: GPL-2.0
"""Sections of report.py: commits, balances and fsyncs on the copy-on-write tree."""

from report_common import (LOCKS, bars, count_text, less, plt, ratio_text, table, time_text,
                           write_figure)


def section_csum(run, out, png):
    """Return the plot, a text and the table."""
    fig, ax = plt.subplots(figsize=(8.6, 3.0))
    bars(ax, run, "round_max", 1e-6, "longest commit (ms, log scale)", log=True,
         text=lambda name, shown: "%.3g ms" % shown)
    ax.set_title("%s, Linux %s" % (run["title"], run["sysinfo"]["release"]), loc="left",
                 fontsize=11, pad=18)
    svg = write_figure(fig, run, out, "Longest commit, " + run["title"], png)
    rows = []
    for name, v in run["locks"].items():
        rows.append((name, [LOCKS[name][0], time_text(v["p50"]), time_text(v["p99"]),
                            time_text(v["max"]), count_text(v["commits"]),
                            count_text(v["reads_per_s"]), count_text(v["writes_per_s"]),
                            "%.2f %%" % (100 * v["missed"] / v["committed"]
                                         if v["committed"] else 0), count_text(v["pending"]),
                            count_text(v["over_memory_high"])]))
    return svg, "A line goes from the round with the shortest to the round with the longest " \
        "commit. Pending: the largest number of freed blocks that could not yet be reused.", \
        table(["readers search", "commit p50", "p99", "max", "commits", "reads/s", "writes/s",
               "misses", "pending", "over memory.high"], rows)


def section_balance(run, out, png):
    """Return the plot, a text and the table."""
    par, rows = run["parameters"], []
    fig, axes = plt.subplots(1, 2, figsize=(10, 1.9), sharey=True)
    bars(axes[0], run, "dirty", 1e-3, "dirty blocks (thousands)",
         text=lambda name, shown: "%.4gk" % shown)
    bars(axes[1], run, "time", 1e-9, "time of the balance (s)",
         text=lambda name, shown: "%.3g s" % shown)
    fig.suptitle("%s, Linux %s" % (run["title"][:1].upper() + run["title"][1:],
                                   run["sysinfo"]["release"]), x=0.01, ha="left", fontsize=11)
    fig.tight_layout()
    svg = write_figure(fig, run, out, "Dirty blocks and time, " + run["title"], png)
    for name, v in run["locks"].items():
        rows.append((name, [LOCKS[name][0], count_text(v["relocated"]), count_text(v["swapped"]),
                            count_text(v["dirty"]["median"]), time_text(v["time"]["median"])]))
    before, after = (run["locks"][n] for n in ("subtree", "diff"))
    say = "%d snapshots of a tree of %s keys, with %d changes in each. The balance relocates the " \
          "blocks in %d groups, one after the other: %.1f %% fewer dirty blocks, %.1f %% less " \
          "time." % (
              par["snapshots"], count_text(par["keys"]), par["files"], par["groups"],
              less(before["dirty"]["median"], after["dirty"]["median"]),
              less(before["time"]["median"], after["time"]["median"]))
    if "delayed" in run["locks"]:
        say += " Delayed: only the %d %% of the swapped subtrees that change before the commit " \
               "are traced, and a block is marked once for all trees." % par["percent"]
    if "published" in run and par["groups"] > 1:
        dirty, seconds = run["published"]["dirty"], run["published"]["seconds"]
        rows += [(None, ["btrfs, published: before", "", "", count_text(dirty[0]),
                         "%.1f s" % seconds[0]]),
                 (None, ["btrfs, published: after", "", "", count_text(dirty[1]),
                         "%.1f s" % seconds[1]])]
        say += " btrfs published %.1f %% and %.1f %% for the same number of snapshots." % (
            less(*dirty), less(*seconds))
    if par["groups"] == 1:
        say += " All blocks are relocated at once, so the diff cannot skip any."
    return svg, say, table(["marked dirty", "blocks relocated", "subtrees swapped",
                            "dirty blocks", "time (median)"], rows)


def section_growth(run, out, png):
    """Return the plot, a text and the table."""
    fig, ax = plt.subplots(figsize=(8.6, 4.4))
    sizes = sorted({p["keys"] for p in run["points"]})
    colours = ("#c44e00", "#a8527f", "#0065a3", "#006d4e", "#777777")
    for i, keys in enumerate(sizes):
        points = [p for p in run["points"] if p["keys"] == keys]
        colour, marker = colours[i % 5], "sD^ov"[i % 5]
        ax.plot([p["new"] for p in points], [p["reads"] for p in points], color=colour,
                marker=marker, linewidth=1.5, label="%s keys" % count_text(keys))
        ax.axhline(points[0]["all"], color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
    most = max(p["new"] for p in run["points"])
    ax.plot([1, most], [2, 2 * most], color="#111111", linewidth=0.9, linestyle=(0, (1, 2)),
            label="twice what changed")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("new blocks (log scale)")
    ax.set_ylabel("blocks read (log scale)")
    ax.grid(True, which="major", color="#d8d8d8", linewidth=0.7)
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("%s, Linux %s" % (run["title"][:1].upper() + run["title"][1:],
                                   run["sysinfo"]["release"]), loc="left", fontsize=11)
    svg = write_figure(fig, run, out, "Blocks read against blocks changed", png)
    rows = [(None, [count_text(p["keys"]), count_text(p["changes"]), count_text(p["all"]),
                    count_text(p["new"]), count_text(p["old"]), count_text(p["reads"]),
                    time_text(p["ns"])]) for p in run["points"]]
    return svg, "A line for each size of the tree. A dashed line is the number of blocks that a " \
        "walk of both whole trees reads.", \
        table(["keys", "changes", "blocks of both trees", "new", "gone", "read", "time"], rows)


def target_csum(run):
    """Check that a commit takes about as long as without readers."""
    top = {n: v["max"] for n, v in run["locks"].items()}
    ours = top["commit-root"]
    yield "longest commit 100 times below live search with rw_semaphore", "%s (%s to %s)" % (
        ratio_text(top["live-rwsem"], ours), time_text(ours), time_text(top["live-rwsem"])), \
        top["live-rwsem"] >= 100 * ours
    yield "longest commit below that of readers behind rw_semaphore", "%s to %s" % (
        time_text(ours), time_text(top["behind-rwsem"])), ours < top["behind-rwsem"]
    yield "longest commit at most 2 times that without readers", ratio_text(ours, top["alone"]), \
        ours <= 2 * top["alone"]
    if "--memory-high" in run["cmdline"]:
        return
    ours, still = (run["locks"][n]["reads_per_s"] for n in ("commit-root", "live-still"))
    yield "reads/s at least those of live search without writers", "%s to %s" % (
        count_text(ours), count_text(still)), ours >= still


def target_balance(run):
    """Check the gain for 64 snapshots and trees in four groups."""
    if run["parameters"]["snapshots"] != 64 or run["parameters"]["groups"] != 4:
        return
    for what, figure in (("dirty blocks at least 50 % fewer", "dirty"),
                         ("time at least 50 % less", "time")):
        before, after = (run["locks"][n][figure]["median"] for n in ("subtree", "diff"))
        yield "64 snapshots: " + what, "%.1f %%" % less(before, after), before >= 2 * after


def target_growth(run):
    """Check the number of blocks read, for each tree."""
    worst = max(run["points"], key=lambda p: p["reads"] / (2 * p["new"] + p["heights"]))
    yield "diff reads at most 2 x new blocks + 2 x height", "%s of %s" % (
        count_text(worst["reads"]), count_text(2 * worst["new"] + worst["heights"])), \
        all(p["reads"] <= 2 * p["new"] + p["heights"] for p in run["points"])


def section_share(run, out, png):
    """Return the plot, a text and the table."""
    jobs = sorted(run["jobs"], key=int)
    fig, ax = plt.subplots(figsize=(8.6, 3.6))
    for name in ("always", "gate", "never"):
        label, colour, line, marker = LOCKS[name]
        rates = [run["jobs"][j][name]["fsyncs_per_s"] for j in jobs]
        ax.errorbar([int(j) for j in jobs], [r["median"] for r in rates],
                    yerr=[[r["median"] - r["min"] for r in rates],
                          [r["max"] - r["median"] for r in rates]], color=colour,
                    linestyle=line, marker=marker, label=label, linewidth=1.7, elinewidth=0.8)
    ax.set_xscale("log", base=2)
    ax.set_xticks([int(j) for j in jobs], jobs)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("jobs")
    ax.set_ylabel("fsyncs a second")
    ax.grid(True, axis="y", color="#d8d8d8", linewidth=0.7)
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("%s, Linux %s" % (run["title"][:1].upper() + run["title"][1:],
                                   run["sysinfo"]["release"]), loc="left", fontsize=11)
    svg = write_figure(fig, run, out, "Fsyncs a second, " + run["title"], png)
    rows = []
    for j in jobs:
        always, gate, never = (run["jobs"][j][n] for n in ("always", "gate", "never"))
        published = run["published"].get(j)
        rows.append((None, [j] + [count_text(m["fsyncs_per_s"]["median"])
                                  for m in (always, gate, never)] +
                     ["%+.0f %%" % gain(run, j), count_text(gate["locked"]),
                      "%.3f" % (always["slept"] / always["fsyncs"]),
                      "%.3f" % (gate["slept"] / gate["fsyncs"]),
                      "%.1f to %.1f (%+.0f %%)" % (*published, 100 * (published[1] /
                                                   published[0] - 1)) if published else ""]))
    return svg, "Medians; the lines go from the slowest to the fastest round. The last column " \
        "is what btrfs published for its change, in MiB/s, on eight CPUs and a disk.", \
        table(["jobs", "always locked", "share gate", "never locked", "gate against always",
               "sections locked by the gate", "sleeps per fsync, always", "with the gate",
               "published"], rows)


def gain(run, jobs):
    """Return the gain of the gate over the lock, in percent."""
    always, gate = (run["jobs"][jobs][n]["fsyncs_per_s"]["median"] for n in ("always", "gate"))
    return 100 * (gate / always - 1)


def target_share(run):
    """Check the gate with nothing shared."""
    if run["shared_percent"]:
        return
    locked = sum(j["gate"]["locked"] for j in run["jobs"].values())
    yield "sections that lock with nothing shared: none", count_text(locked), not locked
    if "128" in run["jobs"]:
        yield "fsyncs with 128 jobs at least 100 % more", "%+.0f %%" % gain(run, "128"), \
            gain(run, "128") >= 100
    if "1" in run["jobs"]:
        yield "fsyncs with 1 job at most 2 % less", "%+.1f %%" % gain(run, "1"), \
            gain(run, "1") >= -2


SECTIONS = {"csum": section_csum, "balance": section_balance, "growth": section_growth,
            "share": section_share}
TARGETS = {"csum": target_csum, "balance": target_balance, "growth": target_growth,
           "share": target_share}
