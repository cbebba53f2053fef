# SPDX-License-Identifier: GPL-2.0
"""Sections of report.py: reuse of freed objects."""

from report_common import (FuncFormatter, LOCKS, OURS, count_text, plt, table, time_text,
                           write_figure)

# XFS, 2022, allocations per minute of one thread: without a wait, and with a grace period per batch
XFS = {8: (218299, 134469), 32: (397909, 152267), 128: (469077, 289365), 512: (931328, 878933)}


def figures_of(run):
    """Return the figures that each variant must have."""
    return ["%s_%d%s" % (where, batch, what) for where in ("alone", "beside")
            for batch in run["parameters"]["batches"] for what in ("", "_ratio")]


def plot_reuse(run, out, png):
    """Plot the rate by the size of a batch, alone and beside tasks that look up paths."""
    fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.2), sharey=True)
    batches = run["parameters"]["batches"]
    for ax, where in zip(axes, ("alone", "beside")):
        for name, v in run["locks"].items():
            label, colour, line, marker = LOCKS[name]
            at = [v["%s_%d" % (where, b)] for b in batches]
            ax.plot(batches, [a["median"] for a in at], color=colour, linestyle=line,
                    marker=marker, linewidth=2.6 if name in OURS else 1.7, label=label,
                    markersize=7 if name in OURS else 6, zorder=4 if name in OURS else 3)
            ax.vlines(batches, [a["min"] for a in at], [a["max"] for a in at], color=colour,
                      linewidth=1.2)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks(batches)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: "%g" % v))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: "{:,.0f}".format(v)))
        ax.set_xlabel("objects in a batch (log scale)")
        ax.set_title("alone" if where == "alone" else "beside %d tasks that look up paths" %
                     run["parameters"]["tasks"], fontsize=10)
        ax.grid(True, which="major", color="#d8d8d8", linewidth=0.7)
    axes[0].set_ylabel("allocations a minute (log scale)")
    fig.suptitle("%s, Linux %s" % (run["title"], run["sysinfo"]["release"]), x=0.01, ha="left",
                 fontsize=11)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.05, -0.12), ncol=3,
               frameon=False, fontsize=9, handlelength=3.2)
    fig.tight_layout()
    return write_figure(fig, run, out, "Allocations a minute, " + run["title"], png)


def section_reuse(run, out, png):
    """Return the plot, a text and the table."""
    batches, rows = run["parameters"]["batches"], []
    for where in ("alone", "beside"):
        for name, v in run["locks"].items():
            more = [v["%s_%d_more" % (where, b)] for b in batches]
            rows.append((name, [LOCKS[name][0], where] + ["%s (%.3g)" % (
                count_text(v["%s_%d" % (where, b)]["median"]),
                v["%s_%d_ratio" % (where, b)]["median"]) for b in batches] + [
                    "%.0f %%" % (100 * sum(m["reused"] for m in more) /
                                 max(sum(m["allocated"] for m in more), 1)),
                    count_text(max(m["peak"] for m in more)),
                    time_text(max(m["longest_ns"] for m in more))]))
    for i, what in enumerate(("no wait", "a grace period for each batch")):
        rows.append((None, ["XFS, 2022: " + what, "alone"] + [
            "%s (%.3g)" % (count_text(XFS[b][i]), XFS[b][i] / XFS[b][0]) if b in XFS else "–"
            for b in batches] + ["–", "–", "–"]))
    return plot_reuse(run, out, png), "Higher is better. The first row is unsafe. Allocations " \
        "per minute, and in brackets the ratio to those without a wait in the same round; median " \
        "of %d rounds. At once: the largest number of objects at one time, including those that " \
        "wait. The last rows are published figures of XFS on another machine; compare only " \
        "their ratios." % run["parameters"]["rounds"], \
        table(["freed objects are used again", "neighbour"] + ["batch %d" % b for b in batches] +
              ["reused", "at once", "longest batch"], rows, (0, 1))


def target_reuse(run):
    """Check the rate with real work between allocations, and the bound of the queue."""
    par = run["parameters"]
    ours, sync = run["locks"]["reuse-queue"], run["locks"]["synchronize"]
    if par["work_ns"]:
        for b in par["batches"]:
            fig = "beside_%d_ratio" % b
            yield "batch %d: allocations beside the neighbour at least 0.9 of no wait" % b, \
                "%.3f (synchronize_rcu(): %.3g)" % (ours[fig]["median"], sync[fig]["median"]), \
                ours[fig]["median"] >= 0.9
    if par["max"]:
        peak = max(v["peak"] for name, v in ours.items() if name.endswith("_more"))
        limit = par["max"] + max(par["batches"])
        yield "objects in the queue and in use within its bound%s" % (
            "" if par["work_ns"] else ", no work"), "%s of %s" % (
                count_text(peak), count_text(limit)), peak <= limit


SECTIONS = {"reuse": section_reuse}
TARGETS = {"reuse": target_reuse}
