#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Find public names without kernel-doc.

documented.py FILE... <output of kernel-doc in reST mode. The output must document each exported
function, and each function, struct, union and enum of a public header whose name does not begin
with __. Print FILE:LINE: of each that it does not document.
"""

import re
import sys

DIRECTIVE = re.compile(r"^\.\. c:(?:function|macro|struct|union|enum|type):: (.*)", re.M)
TYPE = re.compile(r"^(struct|union|enum) (\w+) \{")
EXPORT = re.compile(r"^EXPORT_SYMBOL\w*\((\w+)\);")
# a declaration, or the first line of a function, in the first column
FUNCTION = re.compile(r"^(?!static_assert|typedef|return|else|DE|#)"
                      r"[a-z][\w\s*]*?[\s*](\w+)\([^)]*[,)]")


def documented(text):
    """Return the names that kernel-doc documents."""
    names = set()
    for what in DIRECTIVE.findall(text):
        found = re.match(r"(?:.*?[\s*])?(\w+) ?\(", what)
        names.add(found[1] if found else what.split()[-1])
    return names


def public(path):
    """Yield (line, kind, name) of each public name in a file."""
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
        sys.exit("documented.py: kernel-doc printed nothing")
    reported = set()
    for path in sys.argv[1:]:
        for number, kind, name in public(path):
            if name in known or name in reported or (name.startswith("__") and kind != "exported"):
                continue
            reported.add(name)
            print(f"{path}:{number}: no kernel-doc: {kind} {name}")


if __name__ == "__main__":
    main()
