#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Plots and one self-contained HTML page from the JSON of ckptlat and lockbench.

report.py --out DIR FILE.json...      in the order of the page; each must be there
"""
import argparse
import html
import json
import os
import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("report.py: no matplotlib for %s: apt-get install python3-matplotlib, and run "
             "it by /usr/bin/python3" % sys.executable)
matplotlib.use("svg")
# pylint: disable=wrong-import-position
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# Told apart by colour (Okabe and Ito's, darkened), by line and by marker.
LOCKS = {
    "rwsem": ("rw_semaphore", "#c44e00", (0, (6, 2)), "s"),
    "percpu": ("percpu_rw_semaphore", "#a8527f", (0, (1.2, 1.5)), "D"),
    "f2fs": ("f2fs-style unfair", "#0065a3", (0, (6, 2, 1.2, 2)), "^"),
    "unfair": ("unfair_rwsem (ours)", "#006d4e", "-", "o"),
    "empty": ("(empty loop)", "#777777", "-", "x"),
    # where the readers of checksums search
    "alone": ("no readers", "#777777", "-", "x"),
    "live-still": ("live tree, no writers", "#767676", (0, (1, 2)), "v"),
    "live-rwsem": ("live tree, rw_semaphore", "#c44e00", (0, (6, 2)), "s"),
    "live-unfair": ("live tree, unfair_rwsem", "#a8527f", (0, (1.2, 1.5)), "D"),
    "behind-rwsem": ("committed, behind rw_semaphore", "#0065a3", (0, (6, 2, 1.2, 2)), "^"),
    "commit-root": ("commit-root search (ours)", "#006d4e", "-", "o"),
    # what a balance marks dirty
    "subtree": ("whole subtrees", "#c44e00", (0, (6, 2)), "s"),
    "diff": ("COW diff (ours)", "#006d4e", "-", "o"),
}
OURS = ("unfair", "commit-root", "diff")
PEERS = ("rwsem", "percpu", "f2fs")
FIGURES = {
    "pairs": ("read_pair",),
    "scaling": ("one_cpu", "two_cpus", "speedup"),
    "mix": ("writes", "reads", "writes_ratio", "reads_ratio", "reader_wait_max"),
    "bound": ("writes", "reads", "reader_wait_max"),
    "csum": ("round_max",),
    "balance": ("dirty", "time"),
    "growth": (),
}
CSS = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid #bbb; padding-top: 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
tr.ours td { font-weight: 600; background: #eef6f2; }
.scroll { overflow-x: auto; } figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
figcaption, .note { color: #333; } code { font-size: .85rem; overflow-wrap: anywhere; }
.met::before { content: "\\2713  "; } .missed::before { content: "\\2717  "; }
.missed { color: #a40000; font-weight: 600; }
"""


def fatal(what):
    """An error that names its file."""
    sys.exit("report.py: " + what)


def load(path):
    """A result that has all that the page needs, or an error that names the file."""
    try:
        with open(path, encoding="utf-8") as f:
            run = json.load(f)
    except OSError as e:
        fatal("%s: %s (the program that writes it has not run, or failed)" % (path, e.strerror))
    except ValueError as e:
        fatal("%s: not whole JSON, half-written? %s" % (path, e))
    try:
        check(run)
    except KeyError as e:
        fatal("%s: not a whole result of ckptlat or lockbench: %s is missing or unknown" %
              (path, e))
    except (TypeError, IndexError, AttributeError) as e:
        fatal("%s: not a result of ckptlat or lockbench: %s" % (path, e))
    run["path"] = path
    # the file's folder is the guest's name
    run["boot"] = os.path.basename(os.path.dirname(os.path.abspath(path)))
    run["id"] = re.sub("[^A-Za-z0-9]+", "-", run["boot"] + "-" +
                       os.path.splitext(os.path.basename(path))[0])
    run["title"] = run["title"] or run["id"]
    return run


def check(run):
    """Raises where something that is used below is not there."""
    for key in ("cmdline", "title", "start_time", "end_time"):
        run[key]  # pylint: disable=pointless-statement
    for key in ("release", "version", "machine", "cpus"):
        run["sysinfo"][key]  # pylint: disable=pointless-statement
    if not run["locks"]:
        raise KeyError("locks")
    for name, lock in run["locks"].items():
        LOCKS[name]  # pylint: disable=pointless-statement
        if "part" in run:
            for fig in FIGURES[run["part"]]:
                optional = fig.endswith("_ratio") and "rwsem" not in run["locks"]
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


def kind_of(run):
    """ckptlat, or the part of lockbench."""
    return run.get("part", "ckptlat")


def time_text(ns, digits=3):
    """12.3 ms"""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return "%.*g %s" % (digits, ns / size, unit) if ns < 999 * size else \
                "%.0f %s" % (ns / size, unit)
    return "%.0f ns" % ns


def count_text(n):
    """12,345"""
    return "{:,.0f}".format(n)


def ratio_text(a, b):
    """How many times b goes into a."""
    if not b:
        return "–"
    r = a / b
    return "%.0f×" % r if r >= 100 else "%.1f×" % r if r >= 10 else "%.2f×" % r


def write_figure(fig, run, out, alt, png):
    """NAME.svg, and the same to be put into the page: its ids are of its own."""
    name = run["id"]
    matplotlib.rcParams["svg.hashsalt"] = name
    path = os.path.join(out, name + ".svg")
    fig.savefig(path, format="svg", metadata={"Date": None, "Title": alt}, bbox_inches="tight")
    if png:
        fig.savefig(os.path.join(out, name + ".png"), dpi=110, bbox_inches="tight")
    plt.close(fig)
    with open(path, encoding="utf-8") as f:
        svg = f.read()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bid="([^"]+)"', r'id="%s-\1"' % name, svg)
    svg = re.sub(r'url\(#([^)]+)\)', r'url(#%s-\1)' % name, svg)
    svg = re.sub(r'href="#([^"]+)"', r'href="#%s-\1"' % name, svg)
    return svg.replace("<svg ", '<svg role="img" aria-label="%s" ' % html.escape(alt), 1)


def tail_of(lock):
    """Wait, share of the waits that were at least that long; falls only inside a bin."""
    bins, longest = lock["writer_histogram"], max(lock["writer_wait"]["max"], 8)
    left = total = sum(n for _, n in bins)
    xs, ys = [], []
    for upper, n in bins:
        # eight bins an octave, see samples_print_json()
        octave = 8
        while octave * 2 < upper:
            octave *= 2
        xs.append(min(upper - octave / 8, longest))
        ys.append(left / total)
        left -= n
        if left:
            xs.append(upper)
            ys.append(left / total)
    # the longest one: known exactly
    return xs + [longest, longest], ys + [ys[-1], 1 / total]


def plot_waits(run, out, png):
    """All locks in one picture: the share of waits that were at least so long."""
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


def bars(ax, run, figure, scale, label, log=False, text=None):
    """A bar per lock, ours on top; a line from the lowest to the highest round."""
    names = [n for n in reversed(list(run["locks"])) if figure in run["locks"][n]]
    names.sort(key=lambda n: n not in OURS, reverse=True)
    rows = {n: i for i, n in enumerate(names)}
    biggest = max(run["locks"][n][figure]["max"] for n in names) * scale
    for name, y in rows.items():
        v = run["locks"][name][figure]
        _, colour, _, _ = LOCKS[name]
        shown = (v["max"] if log else v["median"]) * scale
        ax.barh(y, shown, height=0.62, color=colour, zorder=2,
                hatch=None if name in OURS else "//", edgecolor="white", linewidth=0)
        ax.plot([v["min"] * scale, v["max"] * scale], [y, y], color="#111111", linewidth=1.3,
                marker="|", markersize=7, zorder=3)
        end = v["max"] * scale
        ax.text(end * 1.15 if log else end + biggest * 0.025, y, text(name, shown), va="center",
                fontsize=9)
    ax.set_yticks(list(rows.values()))
    ax.set_yticklabels([LOCKS[n][0] for n in names])
    if log:
        ax.set_xscale("log")
        low = min(run["locks"][n][figure]["min"] for n in names) * scale
        ax.set_xlim(10 ** -1 if low > 0.1 else low / 2, biggest * 12)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: "%g" % v))
    else:
        ax.set_xlim(0, biggest * 1.38)
    ax.set_xlabel(label)
    ax.grid(True, axis="x", color="#d8d8d8", linewidth=0.7, zorder=0)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def plot_mix(run, out, png):
    """Writes, reads, and the price: how long a reader waited at most."""
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
    fig.suptitle("Write-heavy mix, Linux %s; in brackets: to rw_semaphore" %
                 run["sysinfo"]["release"], x=0.01, ha="left", fontsize=11)
    fig.tight_layout()
    alt = "Writes, reads and the longest wait of a reader in the write-heavy mix"
    return write_figure(fig, run, out, alt, png)


def plot_bound(run, out, png):
    """The longest wait of a reader against what was promised."""
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


def table(head, rows, text_columns=(0,)):
    """Rows: (name of the lock or None, cells)"""
    cls = ['class="text"' if i in text_columns else "" for i in range(len(head))]
    s = ['<div class="scroll"><table><thead><tr>']
    s += ["<th %s>%s</th>" % (c, html.escape(h)) for c, h in zip(cls, head)]
    s.append("</tr></thead><tbody>")
    for name, cells in rows:
        s.append('<tr class="ours">' if name in OURS else "<tr>")
        s += ["<td %s>%s</td>" % (c, v if v.startswith("<") else html.escape(v))
              for c, v in zip(cls, cells)]
        s.append("</tr>")
    s.append("</tbody></table></div>")
    return "".join(s)


def p99(run, name):
    """0 where that lock did not run."""
    return run["locks"].get(name, {}).get("writer_wait", {}).get("p99", 0)


def section_ckptlat(run, out, png):
    """Picture, sentence, table."""
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
    say = "The further left a line falls, the less a checkpoint waits; where it crosses the 1 % " \
          "line is the p99, and the mark at its end is the longest wait"
    if ours and any(n in run["locks"] for n in PEERS):
        worst = max((n for n in PEERS if n in run["locks"]), key=lambda n: p99(run, n))
        say += ": one checkpoint in a hundred waited %s or more for unfair_rwsem and %s for %s, " \
               "and the longest waits were %s and %s" % (
                   time_text(p99(run, "unfair")), time_text(p99(run, worst)), LOCKS[worst][0],
                   time_text(ours["writer_wait"]["max"]),
                   time_text(run["locks"][worst]["writer_wait"]["max"]))
    return plot_waits(run, out, png), say + ".", table(head, rows)


def section_mix(run, out, png):
    """Picture, sentence, table."""
    par, rows = run["parameters"], []
    for name, v in run["locks"].items():
        def ratio(figure, v=v):
            return "%.3f (%.3f–%.3f)" % (v[figure]["median"], v[figure]["min"],
                                         v[figure]["max"]) if figure in v else "–"
        rows.append((name, [LOCKS[name][0], count_text(v["writes"]["median"]),
                            ratio("writes_ratio"), count_text(v["reads"]["median"]),
                            ratio("reads_ratio"), time_text(v["writer_wait_max"]["max"]),
                            time_text(v["reader_wait_max"]["max"])]))
    say = "Longer bars are better on the left and in the middle, shorter ones on the right: " \
          "%d writers and %d readers, sections of %d µs and no pause, so what a lock gives to " \
          "one side it takes from the other" % (par["writers"], par["readers"],
                                                par["section_us"])
    if "writes_ratio" in run["locks"].get("unfair", {}):
        say += "; unfair_rwsem did %.2f of rw_semaphore's writes and %.2f of its reads" % (
            run["locks"]["unfair"]["writes_ratio"]["median"],
            run["locks"]["unfair"]["reads_ratio"]["median"])
    return plot_mix(run, out, png), \
        say + ". Bars: median of %d rounds; thin lines: lowest to highest round." % par["rounds"], \
        table(["lock", "writes/s", "to rw_semaphore", "reads/s", "to rw_semaphore",
               "writer's wait max", "reader's wait max"], rows)


def section_bound(run, out, png):
    """Picture, sentence, table."""
    par, rows = run["parameters"], []
    for name, v in run["locks"].items():
        w = v["reader_wait_max"]
        rows.append((name, [LOCKS[name][0], time_text(w["max"]), time_text(w["median"]),
                            time_text(w["min"]), count_text(v["reads"]["median"]),
                            count_text(v["writes"]["median"])]))
    say = "The dashed line is what unfair_rwsem promises a reader that runs (bound %s + window " \
          "%s + one write section %s): its bar must end before it, the others promise nothing; " \
          "a wait also holds the time in which the reader was awake but not on a CPU, %s." % (
              time_text(par["bound_us"] * 1e3), time_text(par["window_us"] * 1e3),
              time_text(par["section_us"] * 1e3),
              "and here it has one of its own" if par["apart"] else
              "and here it shares two CPUs with %d writers" % par["writers"])
    return plot_bound(run, out, png), say, \
        table(["lock", "reader's wait: longest", "median of the rounds' longest",
               "shortest of them", "reads/s", "writes/s"], rows)


def section_pairs(run, _out, _png):
    """Sentence, table."""
    base, rows = run["locks"].get("rwsem"), []
    for name, v in run["locks"].items():
        cells = [LOCKS[name][0]]
        for fig in ("read_pair", "write_pair"):
            cells += ["%.2f" % v[fig]["min"],
                      ratio_text(v[fig]["min"], base[fig]["min"]) if base else "–"] \
                if fig in v else ["–", "–"]
        rows.append((name, cells))
    say = "Lower is better: one lock and one unlock that nobody contends, in %s, the minimum " \
          "of %d rounds of %s, with the loop around them (which the last row is alone)%s." % (
              run["unit"], run["parameters"]["rounds"], count_text(run["parameters"]["pairs"]),
              "; a write lock of percpu_rw_semaphore waits for a grace period and is left out"
              if "percpu" in run["locks"] else "")
    return "", say, table(["lock", "read pair (%s)" % run["unit"], "to rw_semaphore",
                           "write pair (%s)" % run["unit"], "to rw_semaphore"], rows)


def section_scaling(run, _out, _png):
    """Sentence, table."""
    rows = [(name, [LOCKS[name][0], "%.2f" % (v["one_cpu"]["median"] / 1e6),
                    "%.2f" % (v["two_cpus"]["median"] / 1e6),
                    "%.2f (%.2f–%.2f)" % (v["speedup"]["median"], v["speedup"]["min"],
                                          v["speedup"]["max"])])
            for name, v in run["locks"].items()]
    return "", "Read pairs on one lock, in millions a second: a ratio of 2 would be two CPUs " \
        "that do not hinder each other, below 1 they do less together than one alone; where " \
        "other programs take CPU time from the guest the ratio looks better than it is.", \
        table(["lock", "one CPU", "two CPUs at once", "ratio (lowest–highest round)"], rows)


def section_csum(run, out, png):
    """Picture, sentence, table."""
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
    return svg, "A line goes from the round with the shortest to that with the longest one. " \
        "Pending: the most blocks that were freed and not yet to be reused.", \
        table(["readers search", "commit p50", "p99", "max", "commits", "reads/s", "writes/s",
               "misses", "pending", "over memory.high"], rows)


def less(before, after):
    """How much less after is than before, in percent."""
    return 100 * (before - after) / before if before else 0


def section_balance(run, out, png):
    """Picture, sentence, table."""
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
    say = "%d snapshots of a tree of %s keys with %d changes in each; its blocks are relocated " \
          "in %d groups, one after the other: dirty blocks %.1f %% fewer, time %.1f %% less." % (
              par["snapshots"], count_text(par["keys"]), par["files"], par["groups"],
              less(before["dirty"]["median"], after["dirty"]["median"]),
              less(before["time"]["median"], after["time"]["median"]))
    if "published" in run and par["groups"] > 1:
        dirty, seconds = run["published"]["dirty"], run["published"]["seconds"]
        rows += [(None, ["btrfs, published: before", "", "", count_text(dirty[0]),
                         "%.1f s" % seconds[0]]),
                 (None, ["btrfs, published: after", "", "", count_text(dirty[1]),
                         "%.1f s" % seconds[1]])]
        say += " btrfs published %.1f %% and %.1f %% for as many snapshots." % (
            less(*dirty), less(*seconds))
    if par["groups"] == 1:
        say += " All is relocated at once, so nothing can be left out."
    return svg, say, table(["marked dirty", "blocks relocated", "subtrees swapped",
                            "dirty blocks", "time (median)"], rows)


def section_growth(run, out, png):
    """Picture, sentence, table."""
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
    return svg, "A line for each size of the tree. The dashed lines are what a walk of both " \
        "whole trees reads.", \
        table(["keys", "changes", "blocks of both trees", "new", "gone", "read", "time"], rows)


SECTIONS = {"balance": section_balance, "growth": section_growth, "csum": section_csum, "ckptlat": section_ckptlat, "mix": section_mix, "bound": section_bound,
            "pairs": section_pairs, "scaling": section_scaling}


def longest(run, name):
    """0 where that lock did not run."""
    return run["locks"].get(name, {}).get("writer_wait", {}).get("max", 0)


def target_waits(run):
    """What must be shown: p99 for readers at nice 19, the maximum for all."""
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
        yield "and 500 times below the best peer's", ratio_text(best, ours), best >= 500 * ours
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
    """Two CPUs that read."""
    ratio = run["locks"].get("unfair", {}).get("speedup")
    if ratio:
        yield "two CPUs read 1.8 times as much as one", "%.2f" % ratio["median"], \
            ratio["median"] >= 1.8


def target_csum(run):
    """The commit, as if there were no readers."""
    top = {n: v["max"] for n, v in run["locks"].items()}
    ours = top["commit-root"]
    yield "longest commit 100 times below live search with rw_semaphore", "%s (%s to %s)" % (
        ratio_text(top["live-rwsem"], ours), time_text(ours), time_text(top["live-rwsem"])), \
        top["live-rwsem"] >= 100 * ours
    yield "and below that behind an rw_semaphore", "%s to %s" % (
        time_text(ours), time_text(top["behind-rwsem"])), ours < top["behind-rwsem"]
    yield "and within 2 times of no readers at all", ratio_text(ours, top["alone"]), \
        ours <= 2 * top["alone"]
    if "--memory-high" in run["cmdline"]:
        return
    ours, still = (run["locks"][n]["reads_per_s"] for n in ("commit-root", "live-still"))
    yield "reads/s at least those of live search with no writers", "%s to %s" % (
        count_text(ours), count_text(still)), ours >= still


def target_balance(run):
    """Of 64 snapshots, and trees that are spread over several groups."""
    if run["parameters"]["snapshots"] != 64 or run["parameters"]["groups"] != 4:
        return
    for what, figure in (("dirty blocks at least 50 % fewer", "dirty"),
                         ("time at least 50 % less", "time")):
        before, after = (run["locks"][n][figure]["median"] for n in ("subtree", "diff"))
        yield "64 snapshots: " + what, "%.1f %%" % less(before, after), before >= 2 * after


def target_growth(run):
    """Counted, in each tree."""
    worst = max(run["points"], key=lambda p: p["reads"] / (2 * p["new"] + p["heights"]))
    yield "diff reads at most 2 x new blocks + 2 x height", "%s of %s" % (
        count_text(worst["reads"]), count_text(2 * worst["new"] + worst["heights"])), \
        all(p["reads"] <= 2 * p["new"] + p["heights"] for p in run["points"])


def target_mix(run):
    """At least 0.95 of rw_semaphore, reads and writes each."""
    for what in ("writes", "reads"):
        ratio = run["locks"].get("unfair", {}).get(what + "_ratio")
        if ratio:
            yield "mix: %s at least 0.95 of rw_semaphore" % what, \
                "%.3f" % ratio["median"], ratio["median"] >= 0.95


def target_bound(run):
    """Within bound, window and one write section."""
    ours = run["locks"].get("unfair")
    if ours and run["parameters"]["bound_us"]:
        rounds, within = run["parameters"]["rounds"], run["parameters"]["rounds_within"]
        yield "longest wait of a reader within bound, window and the round's longest " \
            "write section (%s)" % (
                "CPU of its own" if run["parameters"]["apart"] else "shared CPUs"), \
            "%s; %d of %d rounds" % (time_text(ours["reader_wait_max"]["max"]), within, rounds), \
            within == rounds


def target_pairs(run):
    """Counted, not timed."""
    for what in ("read_pair", "write_pair"):
        ours, rwsem = (run["locks"].get(n, {}).get(what) for n in ("unfair", "rwsem"))
        if run["unit"] == "instructions" and ours and rwsem:
            ratio = ours["min"] / rwsem["min"]
            yield "uncontended %s at most 1.1 of rw_semaphore's instructions" % \
                what.replace("_", " "), "%.2f" % ratio, ratio <= 1.1


TARGETS = {"ckptlat": target_waits, "mix": target_mix, "bound": target_bound,
           "pairs": target_pairs, "scaling": target_scaling,
           "csum": target_csum, "balance": target_balance, "growth": target_growth}


def page(runs, out, png):
    """The whole page, and what it says about the targets."""
    rows, verdicts, body = [], [], []
    for run in runs:
        for what, value, met in TARGETS.get(kind_of(run), lambda r: ())(run):
            rows.append((None, [run["boot"], what, value, '<span class="%s">%s</span>' % (
                ("met", "met") if met else ("missed", "not met"))]))
            verdicts.append("%-8s %-12s %-62s %s" % ("met" if met else "NOT MET", run["boot"],
                                                     what, value))
    body.append("<h2>What must be shown</h2>" +
                table(["guest", "at least", "measured", ""], rows, (0, 1, 3)))
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
    body.append("<h2>Commands</h2><p>All of it: <code>make bench</code>. In the guests:</p>" + table(
        ["guest", "command", "seconds"],
        [(None, [r["boot"], "<code>%s</code>" % html.escape(r["cmdline"]),
                 str(r["end_time"] - r["start_time"])]) for r in runs], (0, 1)))
    return "<!DOCTYPE html>\n<!-- SPDX-License-Identifier: GPL-2.0 -->\n" \
        '<html lang="en"><head><meta charset="utf-8"><title>fscommit: make bench</title>' \
        '<meta name="viewport" content="width=device-width"><style>%s</style></head><body>' \
        "<h1>unfair_rwsem and its peers, measured</h1>" \
        '<p class="note">All lock types took turns in the same boot; compare within a table, not ' \
        "between them. QEMU without hardware virtualisation is slow, so its times mean little " \
        "and its ratios are usable; User-Mode Linux runs at native speed, with slow per-CPU " \
        "operations and slow interrupt masking (percpu_rw_semaphore, and wakeups under a " \
        "spinlock, look worse there).</p>%s</body></html>\n" % (CSS, "\n".join(body)), verdicts


def main():
    """Reads all, then writes."""
    parser = argparse.ArgumentParser(prog="report.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", required=True, help="the folder for report.html and the plots")
    parser.add_argument("--png", action="store_true", help="PNG copies of the plots, too")
    parser.add_argument("file", nargs="+", help="JSON of ckptlat or lockbench, in order")
    args = parser.parse_args()
    matplotlib.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif",
                                "font.size": 10, "hatch.linewidth": 0.8})
    runs = [load(path) for path in args.file]
    ids = [r["id"] for r in runs]
    for run in runs:
        if ids.count(run["id"]) > 1:
            fatal("%s: named twice, or a folder and a name as another one's" % run["path"])
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
