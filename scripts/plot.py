#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draw the writer's waits of `make demo` as an SVG picture.

demo_plot.py PICTURE HEADLINE RESULT.json TITLE [RESULT.json TITLE]...

RESULT.json is the output of ckptlat --json. Each result becomes a group with a bar for each lock,
from the median wait to the maximum, on a logarithmic axis.
"""

import html
import json
import math
import sys

LOCKS = {
    "rwsem": ("rw_semaphore", "#c44e00"),
    "percpu": ("percpu_rw_semaphore", "#a8527f"),
    "f2fs": ("f2fs-style unfair", "#0065a3"),
    "unfair": ("unfair_rwsem (ours)", "#006d4e"),
}
# nanoseconds at both ends of the axis
FIRST, LAST = 1e3, 1e10
TICKS = {1e3: "1 µs", 1e4: "10 µs", 1e5: "100 µs", 1e6: "1 ms", 1e7: "10 ms", 1e8: "100 ms",
         1e9: "1 s", 1e10: "10 s"}
# pixels
WIDTH, LEFT, RIGHT, TOP, GROUP, ROW = 800, 190, 30, 62, 44, 24


def x_of(ns):
    """Return the horizontal position of a time."""
    share = math.log(max(ns, FIRST) / FIRST) / math.log(LAST / FIRST)
    return LEFT + min(share, 1) * (WIDTH - LEFT - RIGHT)


def text(x, y, words, **attributes):
    """Return a text element."""
    options = "".join(' %s="%s"' % (k.replace("_", "-"), v) for k, v in attributes.items())
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (x, y, options, html.escape(words))


def duration(ns):
    """Return a time as text, for example 12.3 ms."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            break
    return "%.3g %s" % (ns / size, unit)


def mark(x, y, figure, colour):
    """Return the mark of a figure: a disc for the maximum, a ring or a line for percentiles."""
    if figure == "max":
        return '<circle cx="%.1f" cy="%.1f" r="6" fill="%s"/>' % (x, y, colour)
    if figure == "p99.9":
        return '<circle cx="%.1f" cy="%.1f" r="5" fill="#fff" stroke="%s" stroke-width="2"/>' % (
            x, y, colour)
    return '<path d="M%.1f %.1fv14" stroke="%s" stroke-width="3"/>' % (x, y - 7, colour)


def bar(y, lock, wait):
    """Yield the elements of one lock."""
    name, colour = LOCKS[lock]
    yield text(LEFT - 10, y + 4, name, text_anchor="end",
               font_weight="bold" if lock == "unfair" else "normal")
    begin, end = x_of(wait["p50"]), x_of(wait["max"])
    yield '<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="6" opacity="0.45"/>' % (
        begin, y, end, colour)
    for figure in ("p99", "p99.9", "max"):
        yield mark(x_of(wait[figure]), y, figure, colour)
    fits = end < WIDTH - RIGHT - 60
    yield text(end + 11 if fits else begin - 8, y + 4, duration(wait["max"]), fill=colour,
               text_anchor="start" if fits else "end", font_weight="bold")


def legend(y):
    """Yield what the marks mean."""
    yield text(20, y + 4, "The writer's wait: a bar from the median to the maximum;")
    for x, figure, name in ((414, "p99", "p99"), (468, "p99.9", "p99.9"), (538, "max", "maximum")):
        yield mark(x, y, figure, "#333")
        yield text(x + 11, y + 4, name)


def picture(headline, groups):
    """Return the whole picture; groups are (title, locks of a result)."""
    height = TOP + sum(GROUP + ROW * len(locks) for _, locks in groups) + 34
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0 -->",
             '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d"'
             ' role="img" font-family="sans-serif" font-size="13" fill="#222">'
             % (WIDTH, height, WIDTH, height),
             "<title>%s</title>" % html.escape(headline),
             '<rect width="100%" height="100%" fill="#fff"/>',
             text(20, 26, headline, font_size=15, font_weight="bold"), *legend(46)]
    bottom = height - 30
    for ns, name in TICKS.items():
        x = x_of(ns)
        lines.append('<path d="M%.1f %dV%d" stroke="#ddd"/>' % (x, TOP + 6, bottom))
        lines.append(text(x, bottom + 16, name, text_anchor="middle", font_size=12))
    y = TOP
    for title, locks in groups:
        lines.append(text(20, y + 24, title, font_weight="bold"))
        y += GROUP
        for lock in LOCKS:
            if lock in locks:
                lines += bar(y, lock, locks[lock]["writer_wait"])
                y += ROW
    return "\n".join(lines + ["</svg>", ""])


def main():
    path, headline, *rest = sys.argv[1:]
    groups = []
    for result, title in zip(rest[::2], rest[1::2]):
        with open(result, encoding="utf-8") as f:
            groups.append((title, json.load(f)["locks"]))
    with open(path, "w", encoding="utf-8") as f:
        f.write(picture(headline, groups))


if __name__ == "__main__":
    main()
