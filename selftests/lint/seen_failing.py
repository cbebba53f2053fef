#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Find names after "Seen failing", in mutants and in the table of promises that do not exist.

seen_failing.py TOP

A comment with "Seen failing" names functions, like lend_end(), and mutants, like g2-grant-on-release
or g5-*. Mutants name tests and reports of harness/expected; the table of promises in
docs/testing.rst names programs and mutants.
Print FILE:LINE: of each that the tree does not have.
"""

import fnmatch
import pathlib
import re
import sys

COMMENT = re.compile(r"Seen failing.*?(?=\*/|\"\"\"|\n[ \t]*[*#]?[ \t]*\n|\n\w)", re.S)
# a call with arguments, a definition in C, Python or a shell script; not name() in a sentence
KNOWN = re.compile(r"(\w+)\((?!\))|^(\w+)\(\)$|def (\w+)", re.M)
MUTANT = re.compile(r"(?<=[\s(])[a-z]\w*(?:-[\w*]+)+")


def promises(top, files, mutants):
    """Check the columns test and mutants of the table in testing.rst."""
    page = top / "docs/testing.rst"
    rows = page.read_text(encoding="utf-8").partition("\nPromises and their tests\n")[2]
    names = {f.stem for f in files}
    body = rows.split("\n=====", 3)[2].partition("\n")[2]
    for row in re.findall(r"^(.{40})(.{0,24})(.*)$", body, re.M):
        for name in re.split(r",\s*|\s+", row[1].strip()):
            if name and name not in names and not name.endswith("torture"):
                print(f"{page.relative_to(top)}:1: no program {name}")
        for name in re.split(r",\s*|\s+", row[2].strip()):
            if re.fullmatch(r"\w+(-\w+)+", name) and name not in mutants:
                print(f"{page.relative_to(top)}:1: no mutant {name}")


def main(top):
    folders = "module ports tools packaging scripts docs/examples selftests".split()
    files = [f for d in folders for f in (top / d).rglob("*")
             if f.is_file() and f.suffix not in (".ko", ".o", ".pml")]
    texts = {f: f.read_text(encoding="utf-8", errors="replace") for f in files}
    known = {n for t in texts.values() for m in KNOWN.findall(COMMENT.sub("", t)) for n in m}
    folder = top / "selftests/mutants"
    lists = {f: t for f, t in texts.items() if f.parent == folder and not f.suffix}
    mutants = [m for t in lists.values() for m in re.findall(r"^\[(.*)\]$", t, re.M)]
    for file, text in texts.items():
        for comment in COMMENT.finditer(text):
            where = f"{file.relative_to(top)}:{text.count(chr(10), 0, comment.start()) + 1}"
            said = comment[0].partition("mutant")[2] if "mutant" in comment[0] else ""
            for name in re.findall(r"\b(\w+)\(\)", comment[0]):
                if name not in known:
                    print(f"{where}: no function {name}()")
            for name in MUTANT.findall(said):
                if not fnmatch.filter(mutants, name):
                    print(f"{where}: no mutant {name}")
    expected = (top / "selftests/harness/expected").read_text(encoding="utf-8")
    for file, text in lists.items():
        for name in re.findall(r"^silent: (.*)$", text, re.M):
            if not re.search(rf"^{re.escape(name)} +uml ", expected, re.M):
                print(f"{file.relative_to(top)}:1: no report {name} on uml")
        for program, test in re.findall(r"^(?:fails|warns): (\w+) (\w+)$", text, re.M):
            source = "".join(t for f, t in texts.items() if f.name == f"{program}.c")
            defined = re.search(rf"^[A-Z_]+\((?:\w+, )?{test}\b", source, re.M)
            if not defined and "torture" not in program:
                print(f"{file.relative_to(top)}:1: no test {program} {test}")
    promises(top, files, mutants)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
