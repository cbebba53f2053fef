#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The test of report_apps.py: outputs of which we know the figures.

Seen failing: with a fillsync in µs, with the fastest round instead of the median, with the worse
one of the peers, with the whole time of a stopped run as its longest operation, and with medians of
the rounds that have a figure.
"""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report_apps  # noqa: E402 pylint: disable=wrong-import-position


def fillsync(rate, longest_us):
    """Return what db_bench prints."""
    return ("fillsync     :     229.971 micros/op %d ops/sec 3.224 seconds 13999 operations;\n"
            "Min: 77  Median: 213.5381  Max: %d\n"
            "Percentiles: P50: 213.54 P75: 238.50 P99: 489.50 P99.9: 1740.04 P99.99: 4250.04\n"
            "elapsed 346 cs\n" % (rate, longest_us))


def fio(write, read, longest_ns):
    """Return what fio prints, with a message before it."""
    latency = {"percentile": {"99.000000": 2e6, "99.900000": 3e6}, "max": longest_ns}
    job = {"write": {"iops": write, "clat_ns": latency}, "read": {"iops": read},
           "sync": {"lat_ns": latency}}
    return "fio: a note\n" + json.dumps({"jobs": [job]}) + "\nelapsed 500 cs\n"


def fs_mark(*lines):
    """Return what fs_mark prints; a line has the longest create, write, fsync and close in µs."""
    line = "    72 %10d 4096 %.1f 9960" + " %d %d %d" * 3 + " 0 0 0 %d %d %d 0 0 0\n"
    return "".join(line % ((10 * i, 1e6 / sum(v)) + tuple(n for t in v for n in (1, t, t)))
                   for i, v in enumerate(lines, 1))


class ReportApps(unittest.TestCase):
    """Each test writes the outputs of runs, and reads them."""

    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="fscommit-report.")
        self.addCleanup(self.tmp.cleanup)

    def write(self, round_, name, text):
        """Write a file of a round."""
        folder = os.path.join(self.tmp.name, "round-%d" % round_)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def read(self):
        """Return the runs of all rounds."""
        rounds = sorted(os.scandir(self.tmp.name), key=lambda e: e.name)
        return report_apps.read_runs([r.path for r in rounds])

    def only(self, name, text):
        """Return the figures of a single run."""
        self.write(1, name, text)
        runs, wrong = self.read()
        self.assertEqual(wrong, [])
        (cells,) = runs.values()
        ((run,),) = cells.values()
        return run

    def test_units(self):
        """All times are in ms."""
        run = self.only("fillsync.stock.none.said", fillsync(4342, 54912))
        self.assertEqual(run, {"throughput": 4342, "p99": 0.4895, "p999": 1.74004, "max": 54.912})

    def test_fio_counts_fsyncs(self):
        """One fsync follows each write."""
        run = self.only("fio.stock.none.said", fio(100, 7, 5e6))
        self.assertEqual(run, {"throughput": 100, "p99": 2, "p999": 3, "max": 5})

    def test_fio_64_counts_both(self):
        """Reads and writes are requests."""
        self.assertEqual(self.only("fio-64.stock.none.said", fio(100, 7, 5e6))["throughput"], 107)

    def test_sqlite(self):
        """A line of each statement; the rate is that of the whole run."""
        text = "".join("Run Time: real %.3f user 0.0 sys 0.0\n" % t for t in (0.004, 0.25, 0.006))
        run = self.only("sqlite.stock.none.said", text + "elapsed 150 cs\n")
        self.assertEqual((run["throughput"], run["max"]), (2, 250))

    def test_pgbench_without_a_transaction(self):
        """Then there is no time, and pgbench prints no rate."""
        self.write(1, "pgbench.stock.none.log", "")
        self.assertEqual(self.only("pgbench.stock.none.said", "elapsed 500 cs\n"),
                         {"throughput": 0})

    def test_percentiles(self):
        """99 of 100 operations took at most the time of the 99th."""
        figures = report_apps.of_times(range(100, 0, -1))
        self.assertEqual(figures, {"p99": 99, "p999": 100, "max": 100})

    def test_fs_mark(self):
        """The longest call of any kind."""
        run = self.only("fs_mark.stock.none.said", fs_mark(
            (2000, 30, 400, 10), (40, 30, 1900, 10)) + "elapsed 100 cs\nfiles 30\n")
        self.assertEqual(run, {"throughput": 30, "fsync": 1.9, "max": 2})

    def test_stopped_sqlite(self):
        """A statement is under way in all of the time that the others did not take."""
        run = self.only("sqlite.stock.32-idle.said", "Run Time: real 0.1 user 0 sys 0\n" * 6 +
                        "elapsed 2400 cs\nstopped after 24 s\n")
        self.assertEqual(run, {"throughput": 0.25, "max": 23394, "cut": ["max"]})

    def test_stopped_slowly(self):
        """A run that is stopped without a long operation."""
        run = self.only("sqlite.stock.32-idle.said", "Run Time: real 0.5 user 0 sys 0\n" * 40 +
                        "elapsed 2010 cs\nstopped after 20 s\n")
        self.assertEqual((run["max"], round(run["throughput"], 3)), (500, 1.99))

    def test_stopped_fs_mark(self):
        """The same for the calls of fs_mark: of three files after the last line, and of one more."""
        run = self.only("fs_mark.stock.32-idle.said", fs_mark((480, 100, 400, 20)) * 100 +
                        "elapsed 1100 cs\nfiles 1003\nstopped after 11 s\n")
        self.assertEqual((round(run["max"]), round(run["throughput"], 1)), (692, 91.2))
        run = self.only("fs_mark.stock.32-idle.said", "FSUse%  Count\nelapsed 2000 cs\nfiles 1\n"
                        "stopped after 19 s\n")
        self.assertEqual(run, {"throughput": 0.05, "max": 4000, "cut": ["max"]})

    def test_stopped_fillsync(self):
        """db_bench says in each second how many writes it completed."""
        self.write(1, "fillsync.stock.32-idle.rate",
                   "secs_elapsed,interval_qps\n1,50\n2,0\n3,0\n4,7\n5,0\n6,0\n7,0\n")
        self.write(1, "fillsync.stock.32-idle.open",
                   "2026/11/26-23:59:59.900000 7 RocksDB version: 7.8.3\n"
                   "2026/11/27-00:00:00.150000 7 DB pointer 0x55\n")
        run = self.only("fillsync.stock.32-idle.said", "elapsed 800 cs\nstopped after 8 s\n")
        self.assertEqual(round(run.pop("open")), 250)
        self.assertEqual(run, {"throughput": 57 / 8, "max": 2000, "cut": ["max"]})

    def test_stopped_in_open(self):
        """No write began, so there is no longest one."""
        self.write(1, "fillsync.stock.32-idle.open",
                   "2026/11/26-15:21:07.838112 7 RocksDB version: 7.8.3\n")
        run = self.only("fillsync.stock.32-idle.said", "elapsed 800 cs\nstopped after 8 s\n")
        self.assertEqual(run, {"throughput": 0, "open": 8000, "cut": ["open"]})

    def test_stopped_pgbench(self):
        """Its progress counts the transactions."""
        run = self.only("pgbench.stock.32-idle.said", "".join(
            "progress: %d.0 s, %s tps, lat 0 ms\n" % p for p in ((1, 40), (2, 0), (3, 0))) +
            "elapsed 400 cs\nstopped after 4 s\n")
        self.assertEqual(run, {"throughput": 10, "max": 2000, "cut": ["max"]})

    def test_low(self):
        """The rates of all stressors."""
        self.write(1, "fillsync.stock.8-nice-19.low",
                   "bogo-ops-per-second-real-time: 1.5\nbogo-ops-per-second-real-time: 2\n")
        run = self.only("fillsync.stock.8-nice-19.said", fillsync(1, 1000))
        self.assertEqual(run["low"], 3.5)

    def test_cannot_be_read(self):
        """A run whose output is not understood is named."""
        self.write(1, "fillsync.stock.none.said", "Segmentation fault\nelapsed 3 cs\n")
        self.write(2, "fillsync.stock.none.said", fillsync(1, 1000))
        runs, wrong = self.read()
        self.assertEqual(len(runs), 1)
        self.assertEqual(len(wrong), 1)
        self.assertIn("round-1", wrong[0])

    def test_tables(self):
        """The medians are compared with the better peer, and the longest of all rounds, too."""
        for i, (stock, knobs, ours) in enumerate([(9, 30, 4), (20, 40, 5), (100, 50, 40)]):
            for variant, ms in (("stock", stock), ("uplift", knobs), ("cp-expedite", ours)):
                self.write(i, "fillsync.%s.none.said" % variant, fillsync(1000 // ms, 1000 * ms))
        text = report_apps.tables(self.read()[0])
        rows = [" ".join(line.split()) for line in text.splitlines()]
        # 20 of stock and 5 of ours; 50 of the knobs and 40 of ours
        self.assertIn("fillsync none 20 (9-100) 40 (30-50) 5 (4-40) 4.00 1.25", rows)
        self.assertIn("fillsync, writes/s none 50 (10-111) 25 (20-33) 200 (25-250) 4.00", rows)

    def rows(self):
        """Return the lines of all tables."""
        return [" ".join(r.split()) for r in report_apps.tables(self.read()[0]).splitlines()]

    def test_signs(self):
        """An operation of a run that was stopped, or that outlived the load, takes longer."""
        ours = "Run Time: real 0.100 user 0 sys 0\nelapsed 100 cs\n"
        self.write(1, "sqlite.stock.32-idle.said", "elapsed 2400 cs\nstopped after 24 s\n")
        self.write(1, "sqlite.stock.8-idle.said", "Run Time: real 20 user 0 sys 0\n"
                   "elapsed 2100 cs\nload ended after 20 s\n")
        self.write(1, "sqlite.cp-expedite.32-idle.said", ours)
        self.write(1, "sqlite.cp-expedite.8-idle.said", ours)
        rows = self.rows()
        self.assertIn("sqlite 32-idle > 24000 100 > 240.00", rows)
        self.assertIn("sqlite 8-idle > 20000 100 > 200.00", rows)
        # of both p99 and the maximum
        self.assertEqual(rows.count("sqlite 8-idle > 20000 100 > 200.00"), 3)

    def test_sign_of_a_mean(self):
        """The median of two rounds, one of which was stopped."""
        self.write(1, "sqlite.stock.8-idle.said",
                   "Run Time: real 1 user 0 sys 0\nelapsed 150 cs\n")
        self.write(2, "sqlite.stock.8-idle.said", "elapsed 900 cs\nstopped after 9 s\n")
        self.assertIn("sqlite 8-idle > 5000 (1000-9000) – –", self.rows())

    def test_missing_rounds(self):
        """No median of the rounds that happen to have a figure; no comparison with it."""
        for i in (1, 2):
            self.write(i, "fillsync.stock.none.said", fillsync(1, 9000))
            self.write(i, "fillsync.stock.8-idle.said", fillsync(1, 9000))
            self.write(i, "fillsync.stock.9-idle.said", fillsync(1, 9000))
            self.write(i, "fillsync.cp-expedite.8-idle.said", fillsync(1, 3000))
            self.write(i, "fillsync.cp-expedite.9-idle.said", fillsync(1, 3000))
        self.write(2, "fillsync.cp-expedite.none.said", fillsync(1, 3000))
        text = self.rows()
        self.assertIn("fillsync none 9 (9-9) 3 1 of 2 – –", text)
        self.assertIn("*better*, 2 cells and 1 undecided: 3.00 in the median, 3.00 in the worst, "
                      "below 1 in 0.", text)

    def test_locks(self):
        """perf sums up by task."""
        self.write(1, "sqlite.stock.none.locks",
                   "   3  1.50 ms  1.00 ms  0.50 ms   12   stress-ng-dentr\n"
                   "   1  250.00 us  250.00 us  250.00 us   13   stress-ng-link\n"
                   "   2  2.00 s  1.50 s  1.00 s   14   f2fs_ckpt-254:0\n")
        run = self.only("sqlite.stock.none.said",
                        "Run Time: real 0.1 user 0 sys 0\nelapsed 10 cs\n")
        self.assertEqual(run["locks"], {"low priority": (1.75, 1.0), "the committer": (2e3, 1.5e3)})


if __name__ == "__main__":
    unittest.main()
