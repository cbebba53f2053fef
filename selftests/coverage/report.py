#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py MODULE DATA: report the lines of the module that ran, per file.

DATA has folders GUEST/obj with gcov's notes and data. Inline functions that run in a test module
count for their header. The exit status is 1 if less than GOAL percent of the lines have run.
"""
import glob
import json
import os
import subprocess
import sys

GOAL = 97.0


def read_gcov(module, folder):
    """Return {source: {line: count}}."""
    lines = {}
    for data in sorted(glob.glob(os.path.join(folder, "*", "obj", "*.gcda"))):
        said = subprocess.run(["gcov", "--json-format", "--stdout", "--object-directory",
                               os.path.dirname(data), data], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        unit = json.loads(said)
        for file in unit["files"]:
            source = os.path.normpath(os.path.join(unit["current_working_directory"],
                                                   file["file"]))
            if not source.startswith(module + os.sep):
                continue
            ran = lines.setdefault(source, {})
            for line in file["lines"]:
                number = line["line_number"]
                ran[number] = ran.get(number, 0) + line["count"]
    return lines


def print_row(name, total, run):
    print(f"{name:34} {total:6} {run:6} {100 * run / max(total, 1):6.1f}%")


def main(module, folder):
    module = os.path.realpath(module)
    lines = read_gcov(module, folder)
    print(f"{'file':34} {'lines':>6} {'run':>6}")
    for source in sorted(lines):
        print_row(os.path.relpath(source, module), len(lines[source]),
                  sum(count > 0 for count in lines[source].values()))
    counts = [count for ran in lines.values() for count in ran.values()]
    run = sum(count > 0 for count in counts)
    print_row("all", len(counts), run)
    for source in sorted(lines):
        with open(source, encoding="utf-8") as f:
            text = f.read().splitlines()
        for number in sorted(n for n, count in lines[source].items() if not count):
            print(f"not run: {os.path.relpath(source, module)}:{number}: "
                  f"{text[number - 1].strip()}")
    if 100 * run < GOAL * len(counts) or not counts:
        print(f"less than {GOAL} % of the lines have run")
        return 1
    return 0


sys.exit(main(*sys.argv[1:]))
