#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draw times as an SVG picture, with a logarithmic axis.

plot.py PICTURE HEADLINE RESULT.json TITLE [RESULT.json TITLE]...

This draws the writer's waits of `make demo`. RESULT.json is the output of ckptlat --json. Each
becomes a group with a bar for each lock, from the median wait to the maximum.
"""

import html
import json
import math
import sys

# ours is the last
COLOURS = ("#c44e00", "#a8527f", "#0065a3", "#006d4e")
LOCKS = {
    "rwsem": "rw_semaphore",
    "percpu": "percpu_rw_semaphore",
    "f2fs": "f2fs-style unfair",
    "unfair": "unfair_rwsem (ours)",
}
# pixels
WIDTH, LEFT, RIGHT, TOP, GROUP, ROW = 800, 190, 30, 62, 44, 24


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


def mark(x, y, kind, colour):
    """Return a mark: a disc, a ring or a line."""
    if kind == "disc":
        return '<circle cx="%.1f" cy="%.1f" r="6" fill="%s"/>' % (x, y, colour)
    if kind == "ring":
        return '<circle cx="%.1f" cy="%.1f" r="5" fill="#fff" stroke="%s" stroke-width="2"/>' % (
            x, y, colour)
    return '<path d="M%.1f %.1fv14" stroke="%s" stroke-width="3"/>' % (x, y - 7, colour)


def bar(y, x_of, row):
    """Yield the elements of a row: (name, colour, whether it is ours, times, marks, label).

    The bar is from the first time to the last. The last ones have the marks.
    """
    name, colour, ours, times, marks, label = row
    yield text(LEFT - 10, y + 4, name, text_anchor="end", font_weight="bold" if ours else "normal")
    begin, end = x_of(times[0]), x_of(times[-1])
    yield '<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="6" opacity="0.45"/>' % (
        begin, y, end, colour)
    for time, kind in zip(times[-len(marks):], marks):
        yield mark(x_of(time), y, kind, colour)
    fits = end < WIDTH - RIGHT - 60
    yield text(end + 11 if fits else begin - 11, y + 4, label, fill=colour,
               text_anchor="start" if fits else "end", font_weight="bold")


def picture(headline, legend, kinds, groups):
    """Return the picture of groups (title, rows). kinds are the marks with their names."""
    times = [time for _, rows in groups for row in rows for time in row[3]]
    first = math.floor(math.log10(min(times)))
    last = max(math.ceil(math.log10(max(times))), first + 1)

    def x_of(ns):
        return LEFT + (math.log10(ns) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    height = TOP + sum(GROUP + ROW * len(rows) for _, rows in groups) + 34
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0 -->",
             '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d"'
             ' role="img" font-family="sans-serif" font-size="13" fill="#222">'
             % (WIDTH, height, WIDTH, height),
             "<title>%s</title>" % html.escape(headline),
             '<rect width="100%" height="100%" fill="#fff"/>',
             text(20, 26, headline, font_size=15, font_weight="bold"), text(20, 50, legend)]
    for x, (kind, name) in zip((430, 510, 590), kinds):
        lines += [mark(x, 46, kind, "#333"), text(x + 11, 50, name)]
    bottom = height - 30
    for exponent in range(first, last + 1):
        x = x_of(10 ** exponent)
        lines.append('<path d="M%.1f %dV%d" stroke="#ddd"/>' % (x, TOP + 6, bottom))
        lines.append(text(x, bottom + 16, duration(10 ** exponent), text_anchor="middle",
                          font_size=12))
    y = TOP
    for title, rows in groups:
        lines.append(text(20, y + 24, title, font_weight="bold"))
        y += GROUP
        for row in rows:
            lines += bar(y, x_of, row)
            y += ROW
    return "\n".join(lines + ["</svg>", ""])


def main():
    path, headline, *rest = sys.argv[1:]
    kinds = {"line": "p99", "ring": "p99.9", "disc": "maximum"}
    groups = []
    for result, title in zip(rest[::2], rest[1::2]):
        with open(result, encoding="utf-8") as f:
            locks = json.load(f)["locks"]
        rows = []
        for (lock, name), colour in zip(LOCKS.items(), COLOURS):
            if lock in locks:
                wait = locks[lock]["writer_wait"]
                # a percentile is the upper end of an interval
                times = [max(min(wait[f], wait["max"]), 1) for f in ("p50", "p99", "p99.9", "max")]
                rows.append((name, colour, lock == "unfair", times, list(kinds),
                             duration(wait["max"])))
        groups.append((title, rows))
    with open(path, "w", encoding="utf-8") as f:
        f.write(picture(headline, "The writer's wait: a bar from the median to the maximum;",
                        kinds.items(), groups))


if __name__ == "__main__":
    main()
