#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draw which file of module/ calls which.

source_map.py MODULE >map.dot

An arrow from A to B, with a number: A calls that many functions of B. Inline functions of
public headers count for the .c file of their part.
"""

import pathlib
import re
import sys

# the first line of a function at the left edge
DEFINITION = re.compile(r"^(?!static|#|EXPORT|MODULE|module_|DEFINE|struct|union|enum|typedef)"
                        r"[a-z][\w\s*]*?[\s*](\w+)\([^;]*$", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
GROUPS = {
    "the lock": ["unfair_rwsem", "visible_readers", "stats"],
    "lending": ["lend", "chain", "watcher", "expedite"],
    "other parts": ["commit_root", "cow_diff", "rcu_reuse"],
}


def main():
    module = pathlib.Path(sys.argv[1])
    text = {f.stem: COMMENT.sub("", f.read_text(encoding="utf-8"))
            for f in sorted(module.glob("*.c")) if not f.name.endswith(".mod.c")}
    owner = {name: stem for stem, code in text.items() for name in DEFINITION.findall(code)}
    print('digraph module {\n\trankdir=TB; node [shape=box, fontname="sans-serif", fontsize=11];')
    print('\tedge [fontname="sans-serif", fontsize=9, color="#555555"];')
    for i, (label, files) in enumerate(GROUPS.items()):
        print(f'\tsubgraph cluster_{i} {{ label="{label}"; fontname="sans-serif"; color="#bbbbbb";')
        for stem in files:
            print(f'\t\t{stem} [label="{stem}.c"];')
        print("\t}")
    print('\tmain [label="main.c"];')
    for stem, code in text.items():
        calls = {}
        for name in set(re.findall(r"\b(\w+)\(", code)):
            if owner.get(name, stem) != stem:
                calls.setdefault(owner[name], []).append(name)
        for other, names in sorted(calls.items()):
            print(f'\t{stem} -> {other} [label="{len(names)}", tooltip="{" ".join(sorted(names))}"];')
    print("}")


main()
