#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print tables of a benchmark's figures, and write each of them as tab-separated values.

figures.py rounds DIR ROUND...    DIR/figures.tsv: a line for each run and driver
figures.py programs DIR RESULT    DIR/NAME.tsv: the table that the program NAME printed

The head of each file is DIR/about. ROUND is the folder of a guest. Its result.txt has lines `TEST
RUN/DRIVER` and `TAP FIGURE NAME VALUE UNIT`; apps.py reads what applications printed. A value that
begins with ">" is a lower limit. One that is no number is printed as it is.

Each figure is the median of all rounds. Of a maximum, a column "worst" has the largest of them.
"better" compares ours with the better of the kernel's own drivers: their median of the first
maximum, divided by that of ours.
"""
import os
import re
import statistics
import sys

import apps

STOCK = ("stock", "stock-tuned")


def write(about, name, head, rows):
    """Print a table, and write it to NAME.tsv beside the file @about."""
    rows = [row + [""] * (len(head) - len(row)) for row in rows]
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]
    print("\n" + name)
    for row in [head] + rows:
        print("  ".join([row[0].ljust(widths[0])] +
                        [c.rjust(w) for c, w in zip(row[1:], widths[1:])]).rstrip())
    with open(about, encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(os.path.dirname(about), name + ".tsv"), "w", encoding="utf-8") as f:
        f.write(text + "".join("\t".join(row) + "\n" for row in [head] + rows))


# --- figures of several rounds ----------------------------------------------------------------

def is_limit(value):
    """Return whether it is only known that a figure is at least as large."""
    return value.startswith(">")


def as_number(value):
    """Return a value as a number, or None."""
    try:
        return float(value.lstrip(">"))
    except ValueError:
        return None


def short(number):
    """Return a number with four digits."""
    return "%.0f" % number if number >= 1000 else "%.4g" % number


def pick(values, function):
    """Return what the function picks from the values of all rounds, as text."""
    numbers = [as_number(v) for v in values]
    if None in numbers:
        return "/".join(sorted(set(values)))
    picked = function(numbers)
    limit = any(is_limit(v) and as_number(v) <= picked for v in values)
    return (">" if limit else "") + short(picked)


def read_guest(path):
    """Yield (run, driver, figure, unit, value) from the results of a guest."""
    run = driver = None
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            words = line.split()
            if words[:1] == ["TEST"]:
                run, _, driver = words[1].partition("/")
            elif words[:2] == ["TAP", "FIGURE"] and len(words) == 5:
                yield run, driver, words[2], words[4], words[3]


def read_rounds(rounds):
    """Return {(run, driver): {(figure, unit): [value of each round]}}, in the order of the files."""
    found = {}
    for folder in rounds:
        for run, driver, figure, unit, value in [
                *read_guest(os.path.join(folder, "result.txt")), *apps.read_folder(folder)]:
            found.setdefault((run, driver), {}).setdefault((figure, unit), []).append(value)
    return found


def ratio(found, run, driver):
    """Return how much longer the better stock driver's first maximum is than this driver's."""
    def first_max(name):
        for (figure, _), values in found.get((run, name), {}).items():
            if figure.endswith("max"):
                text = pick(values, statistics.median)
                return as_number(text), is_limit(text)
        return None

    ours, stock = first_max(driver), [m for m in map(first_max, STOCK) if m]
    if driver.startswith("stock") or not ours or not stock or not ours[0]:
        return ""
    peer = min(stock)
    if ours[1] and peer[1]:
        return ""
    return ">" * peer[1] + "<" * ours[1] + short(peer[0] / ours[0])


def table_of_rounds(folder, rounds):
    """Write the figures of all rounds."""
    found = read_rounds(rounds)
    if not found:
        sys.exit("figures.py: no figures in " + " ".join(rounds))
    columns = list(dict.fromkeys(c for figures in found.values() for c in figures))
    head = ["run", "driver", "rounds"]
    for figure, unit in columns:
        head.append("%s %s" % (figure, unit))
        head += ["%sworst %s" % (figure[:-len("max")], unit)] if figure.endswith("max") else []
    rows = []
    for (run, driver), figures in found.items():
        row = [run, driver, str(max(len(v) for v in figures.values()))]
        for column in columns:
            values = figures.get(column)
            row.append(pick(values, statistics.median) if values else "-")
            if column[0].endswith("max"):
                row.append(pick(values, max) if values else "-")
        rows.append(row + [ratio(found, run, driver)])
    # the drivers of a run beside each other, in the order of the first round
    order = list(dict.fromkeys(run for run, _ in found))
    rows.sort(key=lambda row: order.index(row[0]))
    write(os.path.join(folder, "about"), "figures", head + ["better"], rows)


# --- tables of programs -----------------------------------------------------------------------

NUMBER = re.compile(r"[-+(]?[0-9.]+[0-9.x%)]*$|-$")


def cells(line):
    """Return [(column where it ends, text)] of the numbers in a line, and the column of the first.

    A word after a number belongs to it. A number in brackets is a cell of its own. One in the first
    column of the line is a label.
    """
    found, first = [], len(line)
    for word in re.finditer(r"\S+", line):
        if word.start() and NUMBER.match(word.group()):
            first = min(first, word.start())
            found.append((word.end(), word.group().strip("()")))
        elif found:
            found[-1] = (word.end(), found[-1][1] + " " + word.group())
    return found, first


def is_row(line):
    """Return whether a line may be one of a table: at least three numbers, and few words."""
    found = cells(line)[0]
    plain = sum(bool(NUMBER.match(text)) for _, text in found)
    return plain >= 3 and plain * 2 > len(found)


def table_of(head, rows):
    """Return the head and the rows of a table as lists of cells. Numbers are aligned on the right."""
    rows = [(line[:cells(line)[1]].strip(), dict(cells(line)[0])) for line in rows]
    columns = sorted({end for _, found in rows for end in found})
    titles, begin = [], 0
    for end in columns:
        titles.append(head[begin:end])
        begin = end
    # the label's title stands before that of the first number
    label, _, titles[0] = titles[0].rpartition("  ")
    titles = [" ".join(title.split()) for title in titles]
    for i in range(1, len(titles)):
        # a number and another one in brackets have one title
        if not titles[i - 1]:
            titles[i - 1:i + 1] = [titles[i], titles[i] + " ratio"]
    return [label.strip() or "-"] + titles, \
        [[label] + [found.get(end, "-") for end in columns] for label, found in rows]


def tables_of(lines):
    """Return [(head, rows)] of the tables in the lines, and the other lines."""
    tables, others = [], []
    i = 0
    while i < len(lines):
        if i + 1 == len(lines) or is_row(lines[i]) or not is_row(lines[i + 1]):
            others += [lines[i]] if lines[i] else []
            i += 1
            continue
        ends = {end for end, _ in cells(lines[i + 1])[0]}
        rows = [lines[i + 1]]
        for line in lines[i + 2:]:
            found = cells(line)[0]
            known = sum(end in ends for end, _ in found)
            if known < 2 or known * 2 < len(found):
                break
            rows.append(line)
        tables.append(table_of(lines[i], rows))
        i += 1 + len(rows)
    return tables, others


def tables_of_programs(folder, result):
    """Write the tables that each program printed, and print the rest of its output."""
    output, name = {}, None
    with open(result, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("TEST "):
                name = line.split()[1]
            elif line.startswith("DONE "):
                name = None
            elif line.startswith("TAP ") and name:
                output.setdefault(name, []).append(line[4:].rstrip())
    for name, lines in output.items():
        tables, others = tables_of([line for line in lines if not line.startswith("round ")])
        for number, (head, rows) in enumerate(tables, 1):
            write(os.path.join(folder, "about"), name + ("-%d" % number if number > 1 else ""),
                  head, rows)
        print("\n".join(others if tables else ["", name] + others))


def main():
    """Run the command."""
    if len(sys.argv) > 3 and sys.argv[1] == "rounds":
        table_of_rounds(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "programs":
        tables_of_programs(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
