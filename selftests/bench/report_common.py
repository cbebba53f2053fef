# SPDX-License-Identifier: GPL-2.0
"""Common code of report.py: names, numbers, figures, tables."""

import html
import os
import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("report.py: no matplotlib for %s: apt-get install python3-matplotlib, and use "
             "/usr/bin/python3" % sys.executable)
matplotlib.use("svg")
# pylint: disable=wrong-import-position
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

# Each variant has its own colour (Okabe and Ito's, darkened), line and marker.
LOCKS = {
    "rwsem": ("rw_semaphore", "#c44e00", (0, (6, 2)), "s"),
    "percpu": ("percpu_rw_semaphore", "#a8527f", (0, (1.2, 1.5)), "D"),
    "f2fs": ("f2fs-style unfair", "#0065a3", (0, (6, 2, 1.2, 2)), "^"),
    "unfair": ("unfair_rwsem (ours)", "#006d4e", "-", "o"),
    "empty": ("(empty loop)", "#777777", "-", "x"),
    # the trees that readers of checksums search
    "alone": ("no readers", "#777777", "-", "x"),
    "live-still": ("live tree, no writers", "#767676", (0, (1, 2)), "v"),
    "live-rwsem": ("live tree, rw_semaphore", "#c44e00", (0, (6, 2)), "s"),
    "live-unfair": ("live tree, unfair_rwsem", "#a8527f", (0, (1.2, 1.5)), "D"),
    "behind-rwsem": ("committed, behind rw_semaphore", "#0065a3", (0, (6, 2, 1.2, 2)), "^"),
    "commit-root": ("commit-root search (ours)", "#006d4e", "-", "o"),
    # the blocks that a balance marks dirty
    "subtree": ("whole subtrees", "#c44e00", (0, (6, 2)), "s"),
    "diff": ("COW diff (ours)", "#006d4e", "-", "o"),
    "subtree-delayed": ("whole subtrees, delayed", "#a8527f", (0, (1.2, 1.5)), "D"),
    "delayed": ("COW diff, delayed", "#5a8f00", (0, (3, 1)), "v"),
    # when an fsync locks a range of the log
    "always": ("always locked", "#c44e00", (0, (6, 2)), "s"),
    "gate": ("share gate (ours)", "#006d4e", "-", "o"),
    "never": ("never locked (wrong if shared)", "#777777", (0, (1, 2)), "x"),
    # when freed objects are reused
    "no-wait": ("at once (unsafe)", "#777777", "-", "x"),
    "synchronize": ("after synchronize_rcu()", "#c44e00", (0, (6, 2)), "s"),
    "cond-synchronize": ("after cond_synchronize_rcu()", "#a8527f", (0, (1.2, 1.5)), "D"),
    "call-rcu": ("never: call_rcu() frees them", "#0065a3", (0, (6, 2, 1.2, 2)), "^"),
    "reuse-queue": ("from the reuse queue (ours)", "#006d4e", "-", "o"),
    "reuse-expedited": ("the same, expedited", "#5a8f00", (0, (3, 1)), "v"),
}
OURS = ("unfair", "commit-root", "diff", "gate", "reuse-queue")
PEERS = ("rwsem", "percpu", "f2fs")
FIGURES = {
    "pairs": ("read_pair",),
    "scaling": ("one_cpu", "two_cpus", "speedup"),
    "mix": ("writes", "reads", "writes_ratio", "reads_ratio", "reader_wait_max"),
    "bound": ("writes", "reads", "reader_wait_max"),
    "csum": ("round_max",),
    "balance": ("dirty", "time"),
    "growth": (),
    "share": (),
}


def fatal(what):
    """Exit with an error message."""
    sys.exit("report.py: " + what)


def kind_of(run):
    """Return the part of the benchmark; results of ckptlat have none."""
    return run.get("part", "ckptlat")


def time_text(ns, digits=3):
    """Return a time as text, for example 12.3 ms."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return "%.*g %s" % (digits, ns / size, unit) if ns < 999 * size else \
                "%.0f %s" % (ns / size, unit)
    return "%.0f ns" % ns


def count_text(n):
    """Return a count as text, for example 12,345."""
    return "{:,.0f}".format(n)


def ratio_text(a, b):
    """Return a / b as text."""
    if not b:
        return "–"
    r = a / b
    return "%.0f×" % r if r >= 100 else "%.1f×" % r if r >= 10 else "%.2f×" % r


def write_figure(fig, run, out, alt, png):
    """Write NAME.svg; return it for the page, where its ids must be unique."""
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


def bars(ax, run, figure, scale, label, log=False, text=None):
    """Draw a bar for each lock, ours on top, and a line from the lowest to the highest round."""
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


def table(head, rows, text_columns=(0,)):
    """Return a table; rows are (name of the lock or None, cells)."""
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


def less(before, after):
    """Return the decrease from before to after, in percent."""
    return 100 * (before - after) / before if before else 0
