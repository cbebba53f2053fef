#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/fscommit-top on events that were recorded in a guest.

    fscommit_top_recorded.py [--write]

The folder fscommit_top has the events, the files of /proc, and what the program must print.
--write replaces the latter: read the difference before you commit it.

Seen failing, with a line of the program changed: recorded (waited_ns not added up, STATES without
"r", no lent_of()), names_and_more (MORE empty, a comm without blanks),
cycle_ends (no `seen`), what_is_gone (expire() does nothing), a_late_watcher (links compared with
now), keys ("s" and " " exchanged), lost (LOST never matches), replaced (the file written in place).
"""

import importlib.machinery
import importlib.util
import json
import os
import pty
import re
import select
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "fscommit_top")
PROGRAM = os.path.join(HERE, "..", "..", "tools", "fscommit-top")


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("fscommit_top", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


top = load()


def content(name):
    with open(os.path.join(DATA, name), encoding="ascii") as f:
        return f.read()


def recorded():
    return content("trace").splitlines()


def files_of_proc():
    """Return a function in place of the program's read()."""
    files = {}
    for line in content("proc").splitlines()[2:]:
        pid, name, text = line.split(" ", 2)
        files[f"/proc/{pid}/{name}"] = text + "\n"
    return lambda path: files.get(path, "")


def pictures():
    """Return a picture and the metrics while the writer waits, and after that."""
    counted = iter(({}, {"loans": 3, "watcher_cpu_ns": 1500000},
                    {"loans": 3, "no_donor": 2, "watcher_cpu_ns": 2500000}))
    model = top.Model(top.proc_task, lambda: next(counted), 1000)
    seen = []
    with mock.patch.object(top, "read", files_of_proc()), \
         mock.patch.object(top.time, "time", lambda: 1795408000.0):
        lines = recorded()
        for now in (9.2, 9.7):
            while lines and (lines[0].startswith("#") or
                             float(re.search(r" (\d+\.\d+): ", lines[0])[1]) < now):
                model.feed(lines.pop(0))
            picture = model.picture(now, 0.5)
            seen.append((picture, top.metrics(picture, model)))
    return seen


def printed():
    """Return what the program prints for the recorded events."""
    out = ["# SPDX-License-Identifier: GPL-2.0"]
    for picture, text in pictures():
        out += ["", *top.table(picture), "", json.dumps(picture), "", *text.splitlines()]
    return "\n".join(line.rstrip() for line in out) + "\n"


def holder(at=1.0, lock="1", waiter="w", waited=2000000, comm="h", pid=7, rest="",
           name="&l->unfair"):
    return (f"  fscommit_lend-3  [000] d..1.  {at:.6f}: unfair_holder: lock={lock} waiter={waiter} "
            f"waiter_pid=5 wants=write waited_ns={waited} holder={comm} pid={pid} mode=read "
            f"state=S lent=0 class={name}{rest}")


def chain(task, owner, at=1.0, lock="1", rest=""):
    return (f"  fscommit_lend-3  [000] d..1.  {at:.6f}: unfair_chain: lock={lock} comm=t "
            f"pid={task} owner=o owner_pid={owner} state=S lent=5{rest}")


def end(at=2.0, lock="1", pid=5, waited=3000000):
    return (f"  w-{pid}  [000] .....  {at:.6f}: unfair_wait_end: lock={lock} wants=write "
            f"waited_ns={waited} ret=0 class=c")


def model_of(*lines, min_wait=1000):
    model = top.Model(lambda pid: None, dict, min_wait)
    for line in lines:
        model.feed(line)
    return model


class Test(unittest.TestCase):
    maxDiff = None

    def test_recorded(self):
        self.assertEqual(printed(), content("expected"))

    def test_names_and_more(self):
        """Names have blanks and the words of the format; later versions append arguments."""
        for comm in ("a b", "x pid=9", "w-1 [000]", "a=b"):
            for name in ("(static, or table full)", "&sbi->cp_rwsem"):
                event = top.parse(holder(comm=comm, waiter=comm, name=name, rest=" new=1 x=2"))
                self.assertEqual((event["comm"], event["waiter"], event["pid"], event["class"]),
                                 (comm, comm, 7, name))
        self.assertEqual(top.parse(chain(7, 8, rest=" more=x"))["pid"], 8)
        self.assertIsNone(top.parse("# tracer: nop"))
        self.assertIsNone(top.parse("  a-1 [000] ..... 1.0: sched_switch: x=1"))

    def test_a_running_wait_grows(self):
        picture = model_of(holder(at=1.0, waited=2000000)).picture(1.1, 1)
        self.assertEqual(picture["locks"][0]["waiter"]["wait_ms"], 102.0)
        self.assertTrue(picture["locks"][0]["waiter"]["waits"])

    def test_longest_wait(self):
        """An ended wait counts in its interval only."""
        model = model_of(holder(), end(), end(pid=6, waited=9000000))
        one = model.picture(2.1, 1)["locks"][0]
        self.assertEqual((one["longest_wait_ms"], one["waits"], one["total_wait_ms"]),
                         (9.0, 2, 12.0))
        self.assertFalse(one["waiter"]["waits"])
        self.assertEqual([h["pid"] for h in one["holders"]], [7])
        self.assertEqual(model.picture(3.1, 1)["locks"], [])
        self.assertEqual(model.locks, {})

    def test_short_waits_are_ignored(self):
        model = model_of(holder(waited=300000), end(waited=999000))
        self.assertEqual(model.picture(1.9, 1)["locks"], [])
        self.assertEqual(model.totals, {})

    def test_cycle_ends(self):
        model = model_of(holder(), chain(7, 8), chain(8, 9), chain(9, 7))
        links = model.picture(1.0, 1)["locks"][0]["holders"][0]["chain"]
        self.assertEqual([link["pid"] for link in links], [8, 9])
        self.assertEqual(links[0]["lent"], {"rt_priority": 5})

    def test_loan_between_looks(self):
        """Of a holder and of a link; the prio of the kernel is 99 - rt_priority."""
        def setprio(pid, old, new):
            return (f"  donor-9  [000] d..1.  1.0: sched_pi_setprio: comm=h x pid={pid} "
                    f"oldprio={old} newprio={new}")
        model = model_of(holder(), chain(7, 8), setprio(7, 139, 98), setprio(8, 139, 49),
                         setprio(6, 139, 98))
        one = model.picture(1.0, 1)["locks"][0]["holders"][0]
        self.assertEqual((one["lent"], one["chain"][0]["lent"]),
                         ({"rt_priority": 1}, {"rt_priority": 50}))
        model.feed(setprio(7, 98, 139))
        self.assertEqual(model.picture(1.0, 1)["locks"][0]["holders"][0]["lent"],
                         {"rt_priority": 1})
        model.feed(holder())
        self.assertIsNone(model.picture(1.0, 1)["locks"][0]["holders"][0]["lent"])

    def test_a_chain_through_another_lock(self):
        model = model_of(holder(lock="1", pid=7), chain(7, 5, lock="1"), holder(lock="2", pid=4))
        locks = {one["lock"]: one for one in model.picture(1.0, 1)["locks"]}
        self.assertEqual(locks["1"]["holders"][0]["chain"][1], {"lock": "2",
                                                                "class": "&l->unfair"})

    def test_a_section_has_no_waiter(self):
        one = model_of(chain(7, 8)).picture(1.0, 1)["locks"][0]
        self.assertIsNone(one["waiter"])
        self.assertEqual([(o["pid"], o["chain"][0]["pid"]) for o in one["others"]], [(7, 8)])
        text = top.table({"interval": 1, "counters": {}, "lost_events": 0, "locks": [one]})
        self.assertTrue(text[5].startswith("  -[7] "), text)
        self.assertTrue(text[6].startswith("   o[8] "), text)

    def test_what_is_gone(self):
        model = model_of(holder(waited=500000), chain(7, 8), min_wait=100000)
        model.picture(1.2, 1)
        self.assertEqual(model.picture(1.3, 1)["locks"], [])

    def test_a_late_watcher(self):
        """The wait and the link stay while no look takes place; a lost end counts after a time."""
        model = model_of(holder(), chain(7, 8))
        one = model.picture(4.0, 1)["locks"][0]
        self.assertTrue(one["waiter"]["waits"])
        self.assertEqual(one["holders"][0]["chain"][0]["pid"], 8)
        self.assertFalse(model.picture(6.5, 1)["locks"][0]["waiter"]["waits"])
        self.assertEqual(model.picture(7.5, 1)["locks"], [])

    def test_lost(self):
        model = model_of("CPU:1 [LOST 42 EVENTS]", "CPU:0 [LOST 1 EVENTS]")
        self.assertEqual(model.picture(1, 1)["lost_events"], 43)
        self.assertEqual(model.picture(2, 1)["lost_events"], 0)
        self.assertEqual(model.lost, 43)

    def test_sort(self):
        model = model_of(end(lock="a", waited=5000000), end(lock="a", waited=5000000),
                         end(lock="a", waited=2000000), end(lock="b", waited=8000000),
                         end(lock="c", waited=7000000), end(lock="c", waited=7000000))
        locks = model.picture(2.1, 1)["locks"]
        order = {key: "".join(one["lock"] for one in top.sorted_locks(locks, key, 3))
                 for key in top.SORT_KEYS}
        self.assertEqual(order, {"wait": "bca", "waits": "acb", "total": "cab", "class": "abc"})
        self.assertEqual(len(top.sorted_locks(locks, "wait", 2)), 2)
        self.assertEqual(top.table(model_of(end(lock="a"), end(lock="b")).picture(2.1, 1),
                                   number=1)[-1], "and 1 more locks")

    def test_replaced(self):
        self.addCleanup(os.umask, os.umask(0o077))
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/metrics"
            top.replace_file(path, "old\n")
            with open(path, encoding="ascii") as old:
                top.replace_file(path, "new\n")
                self.assertEqual(old.read(), "old\n")
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o644)
            self.assertEqual(os.listdir(folder), ["metrics"])
        self.assertEqual(top.label('a"b\\c\n'), 'a\\"b\\\\c\\n')


class RecordedTracer:
    """In place of Tracer: the recorded events, as if they had happened just now."""

    def __init__(self, min_wait_us):
        self.left = recorded()[3:16]

    def lines(self):
        shift = time.monotonic() - 9.2
        lines, self.left = self.left, []
        return [re.sub(r" (\d+\.\d+): ", lambda m: f" {float(m[1]) + shift:.6f}: ", line, count=1)
                for line in lines]

    def start(self):
        pass

    check = stop = start


def screen(tell):
    """The child of test_keys: run the program, and tell what it draws."""
    draw = top.Screen.draw

    def drawn(self):
        draw(self)
        os.write(tell, f"{self.options.sort} {self.paused} {self.help} "
                       f"{self.picture is not None}\n".encode())
    top.Screen.draw = drawn
    top.Tracer = RecordedTracer
    return top.main(["--interval=0.2"])


class TestScreen(unittest.TestCase):
    def setUp(self):
        get, tell = os.pipe()
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm", LINES="30", COLUMNS="120")
            status = 99
            try:
                status = screen(tell)
            finally:
                os._exit(status)
        os.close(tell)
        self.told, self.output, self.get = "", "", get

    def reached(self, text):
        """Wait until the program has drawn this."""
        until = time.monotonic() + 30
        self.told = ""
        while text not in self.told:
            self.assertLess(time.monotonic(), until, f"{text!r} not in {self.told!r}")
            ready, _, _ = select.select([self.terminal, self.get], [], [], 1)
            if self.terminal in ready:
                self.output += os.read(self.terminal, 65536).decode()
            if self.get in ready:
                self.told += os.read(self.get, 65536).decode()

    def press(self, key):
        os.write(self.terminal, key.encode())

    def test_keys(self):
        self.reached("wait False False True\n")
        for key, state in (("s", "waits False False"), ("s", "total False False"),
                           ("s", "class False False"), ("s", "wait False False"),
                           (" ", "wait True False"), (" ", "wait False False"),
                           ("h", "wait False True"), ("x", "wait False False")):
            self.press(key)
            self.reached(state + " True\n")
        self.press("q")
        try:
            while more := os.read(self.terminal, 65536):
                self.output += more.decode()
        except OSError:
            pass
        self.assertEqual(os.waitpid(self.pid, 0)[1], 0)
        for text in ("checkpoint[132]", "low reader[131]", "owner[129]"):
            self.assertIn(text, self.output)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(os.path.join(DATA, "expected"), "w", encoding="ascii") as f_:
            f_.write(printed())
    else:
        unittest.main()
