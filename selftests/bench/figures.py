#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make the table of a benchmark's figures, or compare a table with a later one.

figures.py table ABOUT FOLDER...         print the table, and write it to figures.tsv beside ABOUT
figures.py compare PUBLISHED LATER       do the published tables hold? Prints which rows do not

ABOUT is the table's head. FOLDER is that of a guest. Its result.txt has lines `TEST RUN/DRIVER` and
`TAP FIGURE NAME VALUE UNIT [RUN DRIVER]`; apps.py and read_ckptlat() read what other programs
wrote. A ">" in front of a value makes it a lower bound. The table repeats a value that is a word.

A row has the figures of a run, a column those of a driver: the median of the rounds and, in
brackets, the lowest and the highest. "1 of 3": the other rounds have no figure. "better" compares
fscommit with the better of the kernel's own drivers; above 1, fscommit is better.
"""
import glob
import itertools
import json
import math
import os
import re
import statistics
import sys

import apps

STOCK = ("stock", "stock-tuned")
PEERS = STOCK + ("f2fs-unfair",)
# what a comparison is of
OURS = ("fscommit", "unfair_rwsem", "commit_root", "share_gate", "stamps", "COW_diff")
TIMES = ("ns", "us", "ms", "s", "instructions")
# locks of ckptlat, as lockbench calls them
LOCKS = {"rwsem": "rw_semaphore", "percpu": "percpu_rw_semaphore", "f2fs": "f2fs-style",
         "unfair": "unfair_rwsem"}
# columns that are no driver
OTHERS = ("figure", "run", "better")
# a table holds if the ratio of two drivers differs by less than this
FACTOR = 1.5


# --- a table --------------------------------------------------------------------------------------

def as_number(value):
    """Return a value as a number, or None."""
    try:
        return float(value.lstrip(">"))
    except ValueError:
        return None


def short(number):
    """Return a number with four digits, and without an exponent."""
    return ("%.0f" if number >= 1000 else "%.6f" if 0 < number < 0.001 else "%.4g") % number


def median(values):
    """Return the median of values as text, which is a bound if a bound may be above it."""
    middle = statistics.median(map(as_number, values))
    bound = any(v.startswith(">") and as_number(v) <= middle for v in values)
    return ">" * bound + short(middle)


def cell(values, rounds):
    """Return what the table says of the values of all rounds."""
    if not values:
        return "–"
    numbers = [as_number(v) for v in values]
    if None in numbers:
        return "/".join(sorted(set(values)))
    text = median(values)
    if min(numbers) < max(numbers):
        text += " (%s-%s)" % (short(min(numbers)), short(max(numbers)))
    return text + (" %d of %d" % (len(values), rounds) if len(values) < rounds else "")


def read_guest(path):
    """Yield (run, driver, figure, unit, value) from the results of a guest."""
    run = driver = None
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            words = line.split()
            if words[:1] == ["TEST"]:
                run, _, driver = words[1].partition("/")
            elif words[:2] == ["TAP", "FIGURE"] and len(words) in (5, 7):
                yield *(words[5:] or (run, driver)), words[2], words[4], words[3]


def read_ckptlat(folder):
    """Yield the same from the files of ckptlat."""
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as f:
            locks = json.load(f)["locks"]
        for lock, result in locks.items():
            run = os.path.basename(path).partition(".")[0]
            for name, ns in result["writer_wait"].items():
                yield run, LOCKS[lock], "writer_" + name, "ms", "%.6g" % (ns / 1e6)
            for name in ("writes", "reads"):
                yield run, LOCKS[lock], name, "count", str(result[name])


def better(row, unit):
    """Return how much better fscommit is than the kernel's own drivers, from {driver: values}."""
    ours, stock = row.get("fscommit"), [row[d] for d in STOCK if row.get(d)]
    # not if there are other rounds without a figure
    if not ours or not stock or None in map(as_number, sum(stock, ours)) or \
            {len(v) for v in stock} != {len(ours)}:
        return "–"
    ours, stock = median(ours), [median(v) for v in stock]
    lower = unit in TIMES
    peer = (min if lower else max)(stock, key=as_number)
    above, below = (peer, ours) if lower else (ours, peer)
    if not as_number(below) or ">" in below:
        return "–"
    return ">" * (">" in above) + short(as_number(above) / as_number(below))


def make_table(folders):
    """Return the rows of the table, the first of which has the names of the columns."""
    found, drivers, rounds = {}, {}, {}
    for folder in folders:
        for run, driver, figure, unit, value in [
                *read_guest(os.path.join(folder, "result.txt")), *read_ckptlat(folder),
                *apps.read_folder(folder)]:
            row = found.setdefault((figure, unit), {}).setdefault(run, {})
            row.setdefault(driver, []).append(value)
            rounds[run] = max(rounds.get(run, 0), len(row[driver]))
            drivers[driver] = None
    # the others in the order of the first round
    drivers = sorted(drivers, key=lambda d: (PEERS + (d,)).index(d))
    ours = ["better"] if "fscommit" in drivers and set(STOCK) & set(drivers) else []
    rows = [["figure", "run", *drivers, *ours]]
    for (figure, unit), runs in found.items():
        for run, row in runs.items():
            rows.append(["%s, %s" % (figure, unit), run] +
                        [cell(row.get(d), rounds[run]) for d in drivers] +
                        [better(row, unit) for _ in ours])
    return rows


def load_of_host(folders):
    """Return which part of the CPUs other processes took while the guests ran."""
    parts = []
    for folder in folders:
        with open(os.path.join(folder, "others"), encoding="ascii") as f:
            parts.append(int(f.read()))
    return "other processes took %s %% of the CPUs" % "-".join(
        map(str, sorted({min(parts), max(parts)})))


def write_table(about, folders):
    """Print the table, and write it with its head."""
    rows = make_table(folders)
    if len(rows) == 1:
        sys.exit("figures.py: no figures in " + " ".join(folders))
    with open(about, encoding="utf-8") as f:
        head = f.read() + "# load: %s\n" % load_of_host(folders)
    widths = [max(map(len, column)) for column in zip(*rows)]
    print("\n" + head)
    for row in rows:
        print("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip())
    with open(os.path.join(os.path.dirname(about), "figures.tsv"), "w", encoding="utf-8") as f:
        f.write(head + "".join("\t".join(row) + "\n" for row in rows))


# --- a comparison ---------------------------------------------------------------------------------

def read_table(path):
    """Return {(table, figure, run): {driver: its cell}} from a file of tables."""
    rows, columns, table = {}, None, 0
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            cells = line.split("\t")
            if line.startswith("#") or not line:
                columns = None
            elif not columns:
                columns, table = cells, table + 1
                if columns[:2] != ["figure", "run"]:
                    return {}
            else:
                rows["table %d" % table, cells[0], cells[1]] = {
                    c: v for c, v in zip(columns, cells) if c not in OTHERS}
    return rows


def interval(text, of_rounds):
    """Return the lowest and the highest value of a cell, of all rounds or the median, or None."""
    match = re.match(r"(>?)([0-9.]+)(?: \(([0-9.]+)-([0-9.]+)\))?", text)
    if not match:
        return None
    bound, value, low, high = match.groups()
    if not of_rounds:
        low = high = None
    return float(low or value), math.inf if bound else float(high or value)


def ratios(row, a, b, of_rounds):
    """Return the lowest and the highest ratio of two drivers in a row, or None."""
    x, y = (interval(row.get(d, "–"), of_rounds) for d in (a, b))
    if not x or not y:
        return None
    return x[0] and (x[0] / y[1] if y[1] else math.inf), x[1] / y[0] if y[0] else math.inf


def compare_row(old, new):
    """Yield how our drivers of a row do not hold, given {driver: cell} of each table."""
    for a, b in itertools.combinations(old, 2):
        if a not in OURS and b not in OURS:
            continue
        was, now = ratios(old, a, b, True), ratios(new, a, b, False)
        # if one of them was 0, only the order is compared
        if was and now and (now[0] > was[1] * FACTOR > 0 or now[1] < was[0] / FACTOR < math.inf or
                            was[0] > 1 > now[1] or was[1] < 1 < now[0]):
            yield "%s to %s was %s to %s, is %s to %s" % (a, b, old[a], old[b], new[a], new[b])


def compare(published, later):
    """Print whether the published tables hold, and return it."""
    name = os.path.basename(published)
    old, new, compared, wrong = read_table(published), read_table(later), 0, 0
    for key, row in old.items():
        compared += key in new
        for text in compare_row(row, new.get(key, {})):
            wrong += 1
            print("%s: does not hold: %s, %s, %s: %s" % (name, *key, text))
    if not compared:
        print("%s: cannot be compared: no row was measured again" % name)
    elif not wrong:
        print("%s: holds (%d of %d rows measured)" % (name, compared, len(old)))
    return compared and not wrong


def main():
    """Run the command."""
    if len(sys.argv) > 3 and sys.argv[1] == "table":
        write_table(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(not compare(sys.argv[2], sys.argv[3]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
