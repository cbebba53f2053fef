#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Extract the C code in the documents into files that can be compiled.

snippets.py TOP TEMPLATES OUT

Search README.md, docs/*.rst and the public headers for blocks of C: blocks marked as C, and
literal blocks that call a function of the module. TEMPLATES has a file NAME.c for each document
NAME.*. It says where each block goes, or that it is not compiled:

    //: 1
    //: 2 lines 1-4, ... is struct rcu_head rcu;
    //: 3 is not compiled: it shows two CPUs

The first two stand on lines of their own, in place of the block with that number or of some of
its lines. "..." in a document is replaced by the text after "is", or by nothing. Write OUT/Kbuild
and OUT/NAME.c, with #line, so that the compiler names the document. Print blocks that have no
place, and places that have no block.
"""

import pathlib
import re
import sys

CALL = re.compile(r"\b(?:unfair|init_unfair|commit_(?:root|gen|tree)|share_(?:gate|range)s?|"
                  r"cow_diff|rcu_reuse)_\w+\(")
PLACE = re.compile(r"^\s*//: (\d+)(?: lines (\d+)-(\d+))?(?:, \.\.\. is (.*))?$")
LEFT_OUT = re.compile(r"^//: (\d+) is not compiled: \w")


def indentation(line):
    """Return the column in which the line begins."""
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def rst_blocks(lines):
    """Yield (number of the line before, marked as C, lines) of each literal block."""
    i = 0
    while i < len(lines):
        c = lines[i].strip() == ".. code-block:: c"
        if not c and not (lines[i].rstrip().endswith("::") and not lines[i].startswith("..")):
            i += 1
            continue
        indent = indentation(lines[i])
        first = i + 1
        while first < len(lines) and not lines[first].strip():
            first += 1
        last = first
        while last < len(lines) and (not lines[last].strip() or
                                     indentation(lines[last]) > indent):
            last += 1
        if last > first:
            yield first, c, lines[first:last]
        i = max(last, i + 1)


def blocks(path):
    """Yield (number of the line before, lines) of each block of C in a document."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if path.suffix == ".md":
        i = 0
        while i < len(lines):
            if lines[i] == "```c":
                last = lines.index("```", i)
                yield i + 1, lines[i + 1:last]
                i = last
            i += 1
        return
    if path.suffix == ".h":
        # only the comments, without their asterisks
        lines = [re.sub(r"^ \* ?", "", x) if x.startswith(" *") else "" for x in lines]
    for first, marked, body in rst_blocks(lines):
        if marked or any(CALL.search(x) for x in body):
            yield first, body


def complete(line, left_out):
    """Return a line of a block, with "..." replaced."""
    if line.split("//")[0].split("/*")[0].strip() == "...":
        return left_out
    return re.sub(r"(?:, )?\.\.\.\)", ")", line)


def main():
    top, templates, out = (pathlib.Path(x) for x in sys.argv[1:4])
    documents = [top / "README.md", *sorted((top / "docs").glob("*.rst")),
                 *sorted((top / "module/include/linux").glob("*.h"))]
    objects = []
    seen = set()
    for path in documents:
        name = path.relative_to(top)
        found = list(blocks(path))
        if not found:
            continue
        stem = path.stem + ("_header" if path.suffix == ".h" else "")
        template = templates / f"{stem}.c"
        seen.add(template.name)
        left = {n: {i for i, x in enumerate(body, 1) if x.strip()}
                for n, (_, body) in enumerate(found, 1)}
        text = []
        for number, line in enumerate(template.read_text(encoding="utf-8").split("\n")
                                      if template.exists() else [], 1):
            which = PLACE.match(line) or LEFT_OUT.match(line)
            if not which:
                text.append(line)
                continue
            n = int(which[1])
            if n not in left:
                print(f"{templates / template.name}:{number}: {name} has no block {n}")
                continue
            first, body = found[n - 1]
            if not PLACE.match(line):
                left[n] = set()
                continue
            begin, end = int(which[2] or 1), int(which[3] or len(body))
            left[n] -= set(range(begin, end + 1))
            text += [f'#line {first + begin} "{name}"',
                     *(complete(x, which[4] or "") for x in body[begin - 1:end]),
                     f'#line {number + 1} "{template.name}"']
        for n, lines in left.items():
            if lines:
                print(f"{name}:{found[n - 1][0] + min(lines)}: line {min(lines)} of block {n} "
                      f"is not in {template.name}")
        if any(x.strip() and not x.startswith("//") for x in text):
            (out / f"{stem}.c").write_text("\n".join(text), encoding="utf-8")
            objects.append(f"{stem}.o")
    for template in templates.glob("*.c"):
        if template.name not in seen:
            print(f"{templates.name}/{template.name}:1: no document has blocks for it")
    (out / "Kbuild").write_text(f"obj-m := snippets.o\nsnippets-y := {' '.join(objects)}\n"
                                f"ccflags-y += -I{top}/module/include\n", encoding="utf-8")


if __name__ == "__main__":
    main()
