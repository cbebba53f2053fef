#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py MODULE DATA UNREACHABLE [INFO]: report the lines of the module that ran, per file.

DATA has folders GUEST/obj with gcov's notes and data. Inline functions that run in a test module
count for their header. UNREACHABLE has records `FILE | TEXT OF THE LINE | REASON` for lines that
no test can reach; the text is `LINE BEFORE >> LINE` where the line alone is ambiguous. A record
without such a line in the source is an error. INFO is an output file for genhtml.
"""
import glob
import json
import os
import subprocess
import sys

GOAL = 95.0


def read_gcov(module, folder):
    """{source: {line: count}}, {source: {(line, n): branch taken}}"""
    lines, branches = {}, {}
    for data in sorted(glob.glob(os.path.join(folder, "*", "obj", "*.gcda"))):
        said = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities",
                               "--object-directory", os.path.dirname(data), data], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        unit = json.loads(said)
        for file in unit["files"]:
            source = os.path.normpath(os.path.join(unit["current_working_directory"],
                                                   file["file"]))
            if not source.startswith(module + os.sep):
                continue
            ran = lines.setdefault(source, {})
            took = branches.setdefault(source, {})
            for line in file["lines"]:
                number = line["line_number"]
                ran[number] = ran.get(number, 0) + line["count"]
                for n, branch in enumerate(line["branches"]):
                    took[number, n] = took.get((number, n), 0) + branch["count"]
    return lines, branches


def write_info(path, lines, branches):
    with open(path, "w", encoding="utf-8") as info:
        for source in sorted(lines):
            print(f"SF:{source}", file=info)
            for (number, n), count in sorted(branches[source].items()):
                print(f"BRDA:{number},0,{n},{count}", file=info)
            for number, count in sorted(lines[source].items()):
                print(f"DA:{number},{count}", file=info)
            print("end_of_record", file=info)


def read_reasons(path):
    reasons = {}
    for number, record in enumerate(open(path, encoding="utf-8"), 1):
        if not record.strip() or record.startswith("#"):
            continue
        # the text may contain a |
        name, _, rest = record.partition(" | ")
        text, _, reason = rest.rpartition(" | ")
        if not text or not reason.strip():
            sys.exit(f"{path}:{number}: not FILE | TEXT | REASON")
        reasons[name.strip(), text.strip()] = reason.strip()
    return reasons


def main():
    module, folder, path = sys.argv[1:4]
    reasons = read_reasons(path)
    lines, branches = read_gcov(os.path.realpath(module), folder)
    if len(sys.argv) > 4:
        write_info(sys.argv[4], lines, branches)
    bad, texts, unexplained = 0, set(), []
    total = [0, 0, 0, 0, 0]
    print(f"{'file':34} {'lines':>6} {'run':>6} {'':>7} {'explained':>9} {'branches':>9}")
    for source in sorted(lines):
        name = os.path.relpath(source, os.path.realpath(module))
        content = [line.strip() for line in open(source, encoding="utf-8")]
        after = [f"{a} >> {b}" for a, b in zip([""] + content, content)]
        texts |= {(name, line) for line in content + after}
        missed = [n for n, count in sorted(lines[source].items()) if not count]
        known = [n for n in missed if (name, content[n - 1]) in reasons or
                 (name, after[n - 1]) in reasons]
        unexplained += [(name, n, content[n - 1]) for n in missed if n not in known]
        nr, run = len(lines[source]), len(lines[source]) - len(missed)
        if not nr:
            continue
        taken = (sum(count > 0 for count in branches[source].values()), len(branches[source]))
        print(f"{name:34} {nr:6} {run:6} {100 * run / nr:6.1f}% {len(known):9} "
              f"{100 * taken[0] / max(taken[1], 1):8.1f}%")
        total = [a + b for a, b in zip(total, (nr, run, len(known), *taken))]
    percent = 100 * total[1] / max(total[0], 1)
    print(f"{'all':34} {total[0]:6} {total[1]:6} {percent:6.1f}% {total[2]:9} "
          f"{100 * total[3] / max(total[4], 1):8.1f}%")
    for name, number, text in unexplained:
        print(f"not run: {name}:{number}: {text}")
        bad = 1
    for name, text in sorted(set(reasons) - texts):
        print(f"unreachable: no such line in {name}: {text}")
        bad = 1
    if percent < GOAL:
        print(f"less than {GOAL} % of the lines have run")
        bad = 1
    return bad


sys.exit(main())
