#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare docs/parameters.rst with MODULE_PARM_DESC of the module's parameters.

parameters.py TOP

The table must have a row for each FSCOMMIT_PARAM() and module_param() of module/*.c, and no
other, with the unit, range and default of the description. Print FILE:LINE: for each difference.
The test `interface` compares the module with the same ranges.
"""

import pathlib
import re
import sys

PARAM = re.compile(r"^(?:FSCOMMIT_PARAM|module_param\w*)\((\w+),(?:.*, (0\d+)\);)?", re.M)
DESC = r'MODULE_PARM_DESC\(%s,\s*((?:"[^"]*"\s*)+)\);'
UNIT = re.compile(r"\b(microseconds|milliseconds)\b")
# "0 (never) to 10", "-20 to 19", "0 or 1"
RANGE = re.compile(r"(?<!\w)(-?\d+)(?: \([^)]*\))? (?:to|or) (\d+)")
DEFAULT = re.compile(r"default (\d+)")
ROW = re.compile(r"^(\w+)  ")
PAGE = "docs/parameters.rst"


def row_of(desc, mode):
    """Return (unit, range, default) as the page must have them, or None."""
    unit = (UNIT.findall(desc) or [""])[0]
    default = DEFAULT.search(desc)
    numbers = RANGE.search(desc)
    if mode == "0444":
        return unit, "read only", ""
    if not default or not numbers:
        return None
    low, high = (int(n) for n in numbers.groups())
    return unit, f"{low:,} - {high:,}", f"{int(default[1]):,}"


def of_source(top):
    """Yield (file, line, name, row that the page must have) of each parameter."""
    for path in sorted((top / "module").glob("*.c")):
        text = path.read_text(encoding="utf-8")
        for found in PARAM.finditer(text):
            name, mode = found.groups()
            desc = re.search(DESC % name, text)
            desc = "".join(re.findall('"([^"]*)"', desc[1])) if desc else ""
            line = text.count("\n", 0, found.start()) + 1
            yield path.relative_to(top), line, name, row_of(desc, mode)


def of_page(top):
    """Return {name: (line, (unit, range, default))} of the table."""
    rows, columns = {}, None
    for number, line in enumerate((top / PAGE).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("===") and "  ==" in line:
            columns = [m.span() for m in re.finditer("=+", line)]
        elif columns and (found := ROW.match(line)) and found[1] != "parameter":
            rows[found[1]] = number, tuple(line[a:b].strip() for a, b in columns[1:4])
    return rows


def main(top):
    page = of_page(top)
    for path, line, name, row in of_source(top):
        number, written = page.pop(name, (1, None))
        if not row:
            print(f"{path}:{line}: MODULE_PARM_DESC of {name} lacks its range or default")
        elif written != row:
            print(f"{PAGE}:{number}: {name}: must be {row}, is {written}")
    for name, (number, _) in page.items():
        print(f"{PAGE}:{number}: no parameter {name}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
