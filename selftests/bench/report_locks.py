# SPDX-License-Identifier: GPL-2.0
"""Sections of report.py: ckptlat and lockbench."""

from report_common import (FuncFormatter, LOCKS, PEERS, bars, count_text, plt, ratio_text,
                           table, time_text, write_figure)
# report_common has selected matplotlib's backend
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter


def tail_of(lock):
    """Return points (wait, share of waits at least that long); the share falls within bins only."""
    bins, longest = lock["writer_histogram"], max(lock["writer_wait"]["max"], 8)
    left = total = sum(n for _, n in bins)
    xs, ys = [], []
    for upper, n in bins:
        # eight bins per octave, see samples_print_json()
        octave = 8
        while octave * 2 < upper:
            octave *= 2
        xs.append(min(upper - octave / 8, longest))
        ys.append(left / total)
        left -= n
        if left:
            xs.append(upper)
            ys.append(left / total)
    # the longest wait is known exactly
    return xs + [longest, longest], ys + [ys[-1], 1 / total]


def plot_waits(run, out, png):
    """Plot the share of waits that took at least a given time, for all locks."""
    fig, ax = plt.subplots(figsize=(8.6, 4.8))
    handles = []
    for name, lock in run["locks"].items():
        label, colour, line, marker = LOCKS[name]
        width = 2.6 if name == "unfair" else 1.7
        xs, ys = tail_of(lock)
        ax.plot(xs, ys, color=colour, linestyle=line, linewidth=width, zorder=3)
        ax.plot(xs[-1], ys[-1], marker=marker, color=colour, markersize=8, zorder=4,
                markeredgecolor="white", clip_on=False)
        handles.append(Line2D([], [], color=colour, linestyle=line, linewidth=width,
                              marker=marker, label=label))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.axhline(0.01, color="#444444", linewidth=0.9, zorder=2)
    ax.text(1.01, 0.01, "p99", ha="left", va="center", fontsize=10, color="#222222",
            transform=ax.get_yaxis_transform())
    ax.xaxis.set_major_locator(LogLocator(10, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: time_text(v)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: "%g %%" % (v * 100)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(top=1.3)
    ax.grid(True, which="major", color="#d8d8d8", linewidth=0.7)
    ax.set_xlabel("wait of the checkpoint writer (log scale)")
    ax.set_ylabel("share of waits at least that long (log scale)")
    ax.set_title("%s, Linux %s" % (run["title"], run["sysinfo"]["release"]), loc="left",
                 fontsize=11, pad=30)
    fig.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncol=4,
               bbox_transform=ax.transAxes, frameon=False, fontsize=9, handlelength=3.2,
               columnspacing=1.4, borderaxespad=0.2)
    alt = "Distribution of the writer's wait, " + run["title"]
    return write_figure(fig, run, out, alt, png)


def plot_mix(run, out, png):
    """Plot writes, reads, and their cost, the longest wait of a reader."""
    fig, axes = plt.subplots(1, 3, figsize=(11.5, 2.9), sharey=True)

    def with_ratio(figure):
        def text(name, shown):
            ratio = run["locks"][name].get(figure + "_ratio")
            return "%.3gk" % shown + (" (%.2f×)" % ratio["median"] if ratio else "")
        return text

    bars(axes[0], run, "writes", 1e-3, "writes (thousands a second)", text=with_ratio("writes"))
    bars(axes[1], run, "reads", 1e-3, "reads (thousands a second)", text=with_ratio("reads"))
    bars(axes[2], run, "reader_wait_max", 1e-6, "longest wait of a reader (ms, log scale)",
         log=True, text=lambda name, shown: "%.3g ms" % shown)
    fig.suptitle("Write-heavy mix, Linux %s; in brackets: ratio to rw_semaphore" %
                 run["sysinfo"]["release"], x=0.01, ha="left", fontsize=11)
    fig.tight_layout()
    alt = "Writes, reads and the longest wait of a reader in the write-heavy mix"
    return write_figure(fig, run, out, alt, png)


def plot_bound(run, out, png):
    """Plot the longest wait of a reader and its limit."""
    limit = run["parameters"]["limit_ns"] / 1e6
    fig, ax = plt.subplots(figsize=(8.6, 2.6))
    bars(ax, run, "reader_wait_max", 1e-6, "longest wait of the reader (ms, log scale)", log=True,
         text=lambda name, shown: "%.3g ms" % shown)
    ax.axvline(limit, color="#111111", linewidth=1.3, linestyle=(0, (4, 2)), zorder=4)
    ax.text(limit, ax.get_ylim()[1], "limit of ours: %.1f ms" % limit, ha="center", va="bottom",
            fontsize=9)
    ax.set_title("%s, Linux %s" % (run["title"], run["sysinfo"]["release"]), loc="left",
                 fontsize=11, pad=18)
    alt = "Longest wait of a reader, " + run["title"]
    return write_figure(fig, run, out, alt, png)


def p99(run, name):
    """Return the writer's p99, or 0 if that lock did not run."""
    return run["locks"].get(name, {}).get("writer_wait", {}).get("p99", 0)


def section_ckptlat(run, out, png):
    """Return the plot, a text and the table."""
    ours = run["locks"].get("unfair")
    rows = []
    for name, lock in run["locks"].items():
        w, r = lock["writer_wait"], lock["reader_wait"]
        rows.append((name, [LOCKS[name][0], time_text(w["p50"]), time_text(w["p99"]),
                            time_text(w["max"]), count_text(lock["writes"]),
                            count_text(lock["reads"]), time_text(r["p99"]), time_text(r["max"])] +
                     ([ratio_text(w["p99"], ours["writer_wait"]["p99"]),
                       ratio_text(w["max"], ours["writer_wait"]["max"])] if ours else [])))
    head = ["lock", "writer's wait p50", "p99", "max", "writes", "reads", "reader's wait p99",
            "max"] + (["p99 to ours", "max to ours"] if ours else [])
    say = "A line further left means shorter waits of a checkpoint. A line crosses 1 % at its " \
          "p99, and the mark at its end is the longest wait"
    if ours and any(n in run["locks"] for n in PEERS):
        worst = max((n for n in PEERS if n in run["locks"]), key=lambda n: p99(run, n))
        say += ": one checkpoint in a hundred waited %s or more for unfair_rwsem and %s for %s, " \
               "and the longest waits were %s and %s" % (
                   time_text(p99(run, "unfair")), time_text(p99(run, worst)), LOCKS[worst][0],
                   time_text(ours["writer_wait"]["max"]),
                   time_text(run["locks"][worst]["writer_wait"]["max"]))
    return plot_waits(run, out, png), say + ".", table(head, rows)


def section_mix(run, out, png):
    """Return the plot, a text and the table."""
    par, rows = run["parameters"], []
    for name, v in run["locks"].items():
        def ratio(figure, v=v):
            return "%.3f (%.3f–%.3f)" % (v[figure]["median"], v[figure]["min"],
                                         v[figure]["max"]) if figure in v else "–"
        rows.append((name, [LOCKS[name][0], count_text(v["writes"]["median"]),
                            ratio("writes_ratio"), count_text(v["reads"]["median"]),
                            ratio("reads_ratio"), time_text(v["writer_wait_max"]["max"]),
                            time_text(v["reader_wait_max"]["max"])]))
    say = "Longer bars are better on the left and in the middle, shorter bars on the right. " \
          "%d writers and %d readers run sections of %d µs without a pause, so more writes mean " \
          "fewer reads" % (par["writers"], par["readers"], par["section_us"])
    if "writes_ratio" in run["locks"].get("unfair", {}):
        say += ". unfair_rwsem did %.2f of rw_semaphore's writes and %.2f of its reads" % (
            run["locks"]["unfair"]["writes_ratio"]["median"],
            run["locks"]["unfair"]["reads_ratio"]["median"])
    return plot_mix(run, out, png), \
        say + ". Bars: median of %d rounds; thin lines: lowest to highest round." % par["rounds"], \
        table(["lock", "writes/s", "to rw_semaphore", "reads/s", "to rw_semaphore",
               "writer's wait max", "reader's wait max"], rows)


def section_bound(run, out, png):
    """Return the plot, a text and the table."""
    par, rows = run["parameters"], []
    for name, v in run["locks"].items():
        w = v["reader_wait_max"]
        rows.append((name, [LOCKS[name][0], time_text(w["max"]), time_text(w["median"]),
                            time_text(w["min"]), count_text(v["reads"]["median"]),
                            count_text(v["writes"]["median"])]))
    say = "The dashed line is the limit that unfair_rwsem promises to a running reader: bound %s " \
          "+ window %s + one write section %s. The bar of unfair_rwsem must end before it; the " \
          "other locks promise nothing. A wait includes the time in which the reader is runnable " \
          "but not on a CPU; here it %s." % (
              time_text(par["bound_us"] * 1e3), time_text(par["window_us"] * 1e3),
              time_text(par["section_us"] * 1e3),
              "has its own CPU" if par["apart"] else
              "shares two CPUs with %d writers" % par["writers"])
    return plot_bound(run, out, png), say, \
        table(["lock", "reader's longest wait: worst round", "median round", "best round",
               "reads/s", "writes/s"], rows)


def section_pairs(run, _out, _png):
    """Return no plot, a text and the table."""
    base, rows = run["locks"].get("rwsem"), []
    for name, v in run["locks"].items():
        cells = [LOCKS[name][0]]
        for fig in ("read_pair", "write_pair"):
            cells += ["%.2f" % v[fig]["min"],
                      ratio_text(v[fig]["min"], base[fig]["min"]) if base else "–"] \
                if fig in v else ["–", "–"]
        rows.append((name, cells))
    say = "Lower is better. An uncontended lock and unlock, in %s: the minimum of %d rounds of " \
          "%s pairs, including the loop. The last row is the empty loop.%s" % (
              run["unit"], run["parameters"]["rounds"], count_text(run["parameters"]["pairs"]),
              " A write lock of percpu_rw_semaphore waits for a grace period and is left out."
              if "percpu" in run["locks"] else "")
    return "", say, table(["lock", "read pair (%s)" % run["unit"], "to rw_semaphore",
                           "write pair (%s)" % run["unit"], "to rw_semaphore"], rows)


def section_scaling(run, _out, _png):
    """Return no plot, a text and the table."""
    rows = [(name, [LOCKS[name][0], "%.2f" % (v["one_cpu"]["median"] / 1e6),
                    "%.2f" % (v["two_cpus"]["median"] / 1e6),
                    "%.2f (%.2f–%.2f)" % (v["speedup"]["median"], v["speedup"]["min"],
                                          v["speedup"]["max"])])
            for name, v in run["locks"].items()]
    return "", "Read pairs on one lock, in millions per second. A ratio of 2 means that the CPUs " \
        "do not slow each other down; below 1, two CPUs do less than one. If other programs take " \
        "CPU time from the guest, the ratio looks better than it is.", \
        table(["lock", "one CPU", "two CPUs at once", "ratio (lowest–highest round)"], rows)


def longest(run, name):
    """Return the writer's longest wait, or 0 if that lock did not run."""
    return run["locks"].get(name, {}).get("writer_wait", {}).get("max", 0)


def target_waits(run):
    """Check p99 for readers at nice 19, and the maximum for all."""
    ours, f2fs, rwsem = (p99(run, n) for n in ("unfair", "f2fs", "rwsem"))
    peers = [n for n in PEERS if n in run["locks"]]
    if not ours or not f2fs or not rwsem:
        return
    plain = "--reader-" not in run["cmdline"] and "-p " not in run["cmdline"]
    if plain:
        yield "writer's p99 no worse than f2fs-style", "%s to %s" % (
            time_text(ours), time_text(f2fs)), ours <= f2fs
        yield "writer's p99 100 times better than rw_semaphore", \
            ratio_text(rwsem, ours), rwsem >= 100 * ours
    ours, f2fs, best = longest(run, "unfair"), longest(run, "f2fs"), \
        min(longest(run, n) for n in peers)
    if plain and run["boot"] == "uml":
        yield "longest wait of a writer below 1 ms", time_text(ours), ours < 1000000
        yield "longest wait of a writer 500 times below the best peer's", \
            ratio_text(best, ours), best >= 500 * ours
    elif "--reader-section=2000" in run["cmdline"]:
        yield "longest wait 50 times below f2fs-style", "%s (%s to %s)" % (
            ratio_text(f2fs, ours), time_text(ours), time_text(f2fs)), f2fs >= 50 * ours
    else:
        yield "longest wait no worse than f2fs-style", "%s to %s" % (
            time_text(ours), time_text(f2fs)), ours <= f2fs
    for what in ("writes", "reads"):
        ours, best = run["locks"]["unfair"][what], max(run["locks"][n][what] for n in peers)
        yield "%s at least the best peer's" % what, "%s to %s" % (
            count_text(ours), count_text(best)), ours >= best


def target_scaling(run):
    """Check the read rate of two CPUs."""
    ratio = run["locks"].get("unfair", {}).get("speedup")
    if ratio:
        yield "two CPUs read 1.8 times as much as one", "%.2f" % ratio["median"], \
            ratio["median"] >= 1.8


def target_mix(run):
    """Check reads and writes: each at least 0.95 of rw_semaphore's."""
    for what in ("writes", "reads"):
        ratio = run["locks"].get("unfair", {}).get(what + "_ratio")
        if ratio:
            yield "mix: %s at least 0.95 of rw_semaphore" % what, \
                "%.3f" % ratio["median"], ratio["median"] >= 0.95


def target_bound(run):
    """Check that waits stay within bound, window and one write section."""
    ours = run["locks"].get("unfair")
    if ours and run["parameters"]["bound_us"]:
        rounds, within = run["parameters"]["rounds"], run["parameters"]["rounds_within"]
        yield "longest wait of a reader within bound, window and the round's longest " \
            "write section (%s)" % (
                "CPU of its own" if run["parameters"]["apart"] else "shared CPUs"), \
            "%s; %d of %d rounds" % (time_text(ours["reader_wait_max"]["max"]), within, rounds), \
            within == rounds


def target_pairs(run):
    """Check the ratio of counted instructions; times do not count."""
    for what in ("read_pair", "write_pair"):
        ours, rwsem = (run["locks"].get(n, {}).get(what) for n in ("unfair", "rwsem"))
        if run["unit"] == "instructions" and ours and rwsem:
            ratio = ours["min"] / rwsem["min"]
            yield "uncontended %s at most 1.1 of rw_semaphore's instructions" % \
                what.replace("_", " "), "%.2f" % ratio, ratio <= 1.1


SECTIONS = {"ckptlat": section_ckptlat, "mix": section_mix, "bound": section_bound,
            "pairs": section_pairs, "scaling": section_scaling}
TARGETS = {"ckptlat": target_waits, "mix": target_mix, "bound": target_bound,
           "pairs": target_pairs, "scaling": target_scaling}
