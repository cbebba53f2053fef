#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Merge the results of fsyncbench in all rounds into one file for report.py.

merge_fsync.py OUT.json ROUND/VARIANT.LOAD.json...
"""
import json
import os
import sys


def held(path):
    """Return how long f2fs held its locks at most in this run, in ms, or {}: f2fs_guest.sh."""
    try:
        with open(path[:-len(".json")] + ".held", encoding="utf-8") as f:
            lines = [line.split() for line in f]
    except OSError:
        return {}
    return {"%s, %s" % (lock, how): int(ms) for lock, how, ms in lines}


def main():
    """Merge the files; the first one gives the kernel and the parameters."""
    out, merged = sys.argv[1], None
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            run = json.load(f)
        variant, load = os.path.basename(path)[:-len(".json")].split(".")
        if merged is None:
            merged = {key: run[key] for key in (
                "file_version", "part", "cmdline", "title", "start_time", "sysinfo", "parameters")}
            merged["runs"] = {}
        merged["end_time"] = run["end_time"]
        for timed in run["timed"].values():
            for figures in timed.values():
                del figures["histogram"]
        merged["runs"].setdefault(load, {}).setdefault(variant, []).append(
            {"low": run["low"], "timed": run["timed"], "held_ms": held(path)})
    if merged is None:
        sys.exit("merge_fsync.py: no file")
    with open(out + ".tmp", "w", encoding="utf-8") as f:
        json.dump(merged, f, indent=1)
    os.replace(out + ".tmp", out)


if __name__ == "__main__":
    main()
