#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Generate mutants of one line: delete a statement, negate a condition, swap two statements.

one_line.py FOLDER MODULE FUNCTIONS [NAME...]

Write FOLDER/NUMBER.sed for each mutant of the functions in the file FUNCTIONS, or of those
that NAME selects. Print `NUMBER FUNCTION ROW<tab>FILE FUNCTION: WHAT` for each.
"""
import pathlib
import re
import sys

# statements that do not change behaviour
UNSEEN = re.compile(r"^(count_event|trace_|compat_trace_|lockdep_assert|WARN_|BUILD_BUG|pr_)")
STATEMENT = re.compile(r"^\t+(?!return\b|break;|continue;|goto\b|else\b|do\b|case\b)"
                       r"[*A-Za-z_][^;{}]*;$")
DECLARATION = re.compile(r"^\t+(const |static |unsigned |struct |enum |bool |int |long |u8 |u16 |"
                         r"u32 |u64 |pid_t )")


def body_of(lines, name):
    """Return the first and the last line of a function."""
    head = re.compile(r"^[a-z].*\b" + name + r"\([^;]*$")
    for i, line in enumerate(lines):
        if head.match(line):
            end = next(j for j in range(i, len(lines)) if lines[j] == "}")
            return i, end
    raise SystemExit(f"no function {name}")


def quoted(text):
    """Quote text for a pattern of sed -E between @ and @; no line of the product has an @."""
    return re.sub(r"([][\\.*^$+?(){}|])", r"\\\1", text)


def replacement(text):
    return re.sub(r"([\\&])", r"\\\1", text)


def mutants(path, name):
    lines = path.read_text().split("\n")
    first, last = body_of(lines, name)
    head = re.compile(r".*\b" + name + r"\(")
    assert head.match(lines[first])
    span = rf"/^[a-z].*\b{name}\([^;]*$/,/^}}/"
    body = lines[first + 1:last]
    seen = set()
    for i, line in enumerate(body):
        text = line.strip()
        if line in seen or UNSEEN.match(text):
            continue
        if STATEMENT.match(line) and not DECLARATION.match(line):
            seen.add(line)
            indent = line[:len(line) - len(text)]
            yield f"delete {text}", f"{span} s@^{quoted(line)}$@{indent};@"
            if i + 1 < len(body):
                after = body[i + 1]
                if (STATEMENT.match(after) and not DECLARATION.match(after) and
                        not UNSEEN.match(after.strip()) and
                        after.startswith(indent) and after[len(indent)] != "\t" and
                        not (i and re.search(r"(\)|else|do)$", body[i - 1]))):
                    yield (f"swap {text} {after.strip()}",
                           f"{span} {{\n\t\\@^{quoted(line)}$@ {{\n\t\tN\n"
                           f"\t\ts@^(.*)\\n({quoted(after)})$@\\2\\n\\1@\n\t}}\n}}")
        found = re.match(r"^(\t+(?:\} )?(?:else )?if \()(.*)(\)(?: \{)?)$", line)
        if found and found[2].count("(") == found[2].count(")"):
            seen.add(line)
            new = f"{found[1]}!({found[2]}){found[3]}"
            yield f"negate {text}", f"{span} s@^{quoted(line)}$@{replacement(new)}@"


def main():
    folder, module, functions, *names = sys.argv[1:]
    number = 0
    for row in pathlib.Path(functions).read_text().split("\n"):
        if not row or row.startswith("#"):
            continue
        file, *all_names = row.split()
        for name in all_names:
            if names and name not in names:
                continue
            for what, script in mutants(pathlib.Path(module) / file, name):
                number += 1
                (pathlib.Path(folder) / f"{number}.sed").write_text(script + "\n")
                print(f"{number} {name} {'+'.join(all_names)}\t{file} {name}: {what}")


main()
