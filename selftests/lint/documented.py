#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What has no kernel-doc though users see it.

documented.py FILE... <what kernel-doc prints in reST mode: each exported function, and each
function, struct, union and enum of a public header whose name does not begin with __ must be
in it. Prints FILE:LINE: what is not.
"""

import re
import sys

DIRECTIVE = re.compile(r"^\.\. c:(?:function|macro|struct|union|enum|type):: (.*)", re.M)
TYPE = re.compile(r"^(struct|union|enum) (\w+) \{")
EXPORT = re.compile(r"^EXPORT_SYMBOL\w*\((\w+)\);")
# a declaration, or the first line of a function, at the left edge
FUNCTION = re.compile(r"^(?!static_assert|typedef|return|else|DE|#)[a-z][\w\s*]*?[\s*](\w+)\([^)]*[,)]")


def documented(text):
    """The names that kernel-doc knows."""
    names = set()
    for what in DIRECTIVE.findall(text):
        found = re.match(r"(?:.*?[\s*])?(\w+) ?\(", what)
        names.add(found[1] if found else what.split()[-1])
    return names


def public(path):
    """(line, kind, name) of what users see in a file."""
    header = "/include/" in path
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if found := EXPORT.match(line):
                yield number, "exported", found[1]
            elif header and (found := TYPE.match(line)):
                yield number, found[1], found[2]
            elif header and (found := FUNCTION.match(line)):
                yield number, "function", found[1]


def main():
    known = documented(sys.stdin.read())
    if not known:
        sys.exit("documented.py: kernel-doc has said nothing")
    told = set()
    for path in sys.argv[1:]:
        for number, kind, name in public(path):
            if name in known or name in told or (name.startswith("__") and kind != "exported"):
                continue
            told.add(name)
            print(f"{path}:{number}: no kernel-doc: {kind} {name}")


if __name__ == "__main__":
    main()
