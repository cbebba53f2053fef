#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/fscommit-top and fscommit-check, without a guest.

    tools_recorded.py [--write]

The folder recorded has a session of each program, which was recorded in a guest: the events, the
files of /proc, and what the program must print. --write replaces the latter: read the difference
before you commit it.

Seen failing, with a line of the program changed: top_recorded (chain() without "lent"),
top_names_with_blanks (MORE empty, a holder without blanks), top_keys (" " ignored), check_recorded
(kind_of() without "WRITE"; CONTENTION wants "0x"), check_advice (PORTS empty; READY not entered for
"R"), check_io_is_no_lock (IO matches nothing).
"""

import importlib.machinery
import importlib.util
import io
import os
import pty
import re
import sys
import time
import unittest
from contextlib import redirect_stdout
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
SPDX = "# SPDX-License-Identifier: GPL-2.0\n"


def load(name):
    path = os.path.join(HERE, "..", "..", "tools", name)
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def path_of(name):
    return os.path.join(HERE, "recorded", name)


def content(name):
    with open(path_of(name), encoding="ascii") as f:
        return f.read()


sys.dont_write_bytecode = True
top, check = load("fscommit-top"), load("fscommit-check")


# --- fscommit-top -----------------------------------------------------------------

def recorded():
    """Return the events as pairs of time and line."""
    return [(float(re.search(r" (\d+\.\d+): ", line)[1]), line)
            for line in content("top.trace").splitlines() if not line.startswith("#")]


def files_of_proc():
    """Return a function in place of the program's read()."""
    files = {}
    for line in content("top.proc").splitlines()[2:]:
        pid, name, text = line.split(" ", 2)
        files[f"/proc/{pid}/{name}"] = text + "\n"
    return lambda path: files.get(path, "")


def top_printed():
    """Return two tables: in the middle of the recorded wait, and after its end."""
    events = recorded()
    counted = iter(({}, {"loans": 3}, {"loans": 3, "no_donor": 2}))
    model = top.Model(top.proc_task, lambda: next(counted), 1000)
    out = [SPDX.strip()]
    with mock.patch.object(top, "read", files_of_proc()):
        for now in (events[len(events) // 2][0], events[-1][0] + 0.001):
            while events and events[0][0] < now:
                model.feed(events.pop(0)[1])
            out += ["", *top.table(model.picture(now, 0.5))]
    return "\n".join(line.rstrip() for line in out) + "\n"


class RecordedTracer:
    """In place of Tracer: the first half of the recorded events, as if they happened now."""

    def __init__(self, min_wait_us):
        events = recorded()
        self.left = events[:len(events) // 2]

    def lines(self):
        left, self.left = self.left, []
        shift = time.monotonic() - left[-1][0] if left else 0
        return [re.sub(r" \d+\.\d+: ", f" {at + shift:.6f}: ", line, count=1) for at, line in left]

    def start(self):
        pass

    check = stop = start


class TestTop(unittest.TestCase):
    maxDiff = None

    def test_top_recorded(self):
        self.assertEqual(top_printed(), content("top.expected"))

    def test_top_names_with_blanks(self):
        """Names have blanks and the words of the format; later versions append arguments."""
        for comm in ("a b", "x pid=9", "w-1 [000]", "a=b"):
            for name in ("(static, or table full)", "&sbi->cp_rwsem"):
                event = top.parse(
                    f"  fscommit_lend-3  [000] d..1.  1.000000: unfair_holder: lock=1 "
                    f"waiter={comm} waiter_pid=5 wants=write waited_ns=2000000 holder={comm} pid=7 "
                    f"mode=read state=S lent=0 class={name} new=1 x=2")
                self.assertEqual((event["comm"], event["waiter"], event["pid"], event["class"]),
                                 (comm, comm, 7, name))
        self.assertIsNone(top.parse("  a-1 [000] ..... 1.0: sched_switch: x=1"))

    def test_top_keys(self):
        """On a terminal: the picture appears, a blank pauses, q quits."""
        pid, terminal = pty.fork()
        if not pid:
            os.environ.update(TERM="xterm", LINES="30", COLUMNS="120")
            top.Tracer, status = RecordedTracer, 99
            try:
                status = top.main(["--interval=0.2"])
            finally:
                os._exit(status)
        shown = ""
        for text, key in (("owner[", b" "), ("PAUSED", b"q")):
            until = time.monotonic() + 60
            while text not in shown and time.monotonic() < until:
                shown += os.read(terminal, 65536).decode()
            self.assertIn(text, shown)
            os.write(terminal, key)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


# --- fscommit-check ---------------------------------------------------------------

def check_printed():
    out = io.StringIO()
    with redirect_stdout(out):
        status = check.main(["--read=" + path_of("check.trace"), "--committer=^checkpoint$"])
    return f"{SPDX}{out.getvalue()}exit status {status}\n"


def event(at, task, name, args, cpu=0, flags="d..1."):
    return f"  {task} [{cpu:03}] {flags} {at:.6f}: {name}: {args}"


def switch(at, prev, state, following, cpu=1):
    return event(at, prev, "sched_switch",
                 f"prev_comm=x prev_pid={prev.rsplit('-', 1)[1]} prev_prio=120 prev_state={state} "
                 f"==> next_comm=x next_pid={following.rsplit('-', 1)[1]} next_prio=120", cpu)


def waking(at, task, woken, flags="d..1."):
    return event(at, task, "sched_waking", f"comm=x pid={woken} prio=120 target_cpu=000", 1, flags)


def stack(at, task, *frames, cpu=0):
    return [event(at, task, "<stack trace>", "", cpu).replace(">: ", ">")] + \
        [" => " + frame for frame in frames]


def stall(*during, commit="f2fs_write_checkpoint"):
    """Task 9 waits for a lock in @commit from 1.0 to 2.0 s; @during is what happens meanwhile."""
    return [event(1.0, "ckpt-9", "contention_begin", "aa (flags=WRITE)"),
            *stack(1.0, "ckpt-9", "down_write", commit), switch(1.0, "ckpt-9", "D", "x-3", 0),
            *during, event(2.0, "ckpt-9", "contention_end", "aa (ret=0)")]


def said(lines):
    """Return the report as one text, and whether a conversion helps."""
    analysis = check.Analysis()
    for line in lines:
        analysis.feed(line)
    analysis.end()
    text, helps = check.report(analysis)
    return "\n".join(text), helps


class TestCheck(unittest.TestCase):
    maxDiff = None

    def test_check_recorded(self):
        self.assertEqual(check_printed(), content("check.expected"))

    def test_check_advice(self):
        """The holder has no CPU for 0.8 s, then wakes the waiter."""
        starved = (switch(1.1, "low-7", "R+", "hog-5"), switch(1.9, "hog-5", "R", "low-7"),
                   waking(1.99, "low-7", 9))
        for commit, advice in (("f2fs_write_checkpoint", "make install-f2fs"),
                               ("btrfs_commit_transaction", "make install-btrfs"),
                               ("nilfs_segctor_do_construct", "make install-nilfs2"),
                               ("jbd2_journal_commit_transaction", "no port")):
            text, helps = said(stall(*starved, commit=commit))
            self.assertTrue(helps)
            self.assertRegex(text, f"waited 1 times, 1000 ms in all.*\n  woken by .*7.*\n.*no CPU "
                                   f"80 %(.*\n)*  CONVERT: .*{advice}")
        text, helps = said(stall(*starved, commit="do_truncate"))
        self.assertIn("No commit has waited 1000 us or more for a lock.", text)

    def test_check_io_is_no_lock(self):
        """The holder sleeps for I/O, and so does the commit itself, later."""
        text, helps = said([
            *stall(switch(1.1, "low-7", "D", "idle-0"),
                   *stack(1.1, "low-7", "io_schedule", "f2fs_get_block", cpu=1),
                   waking(1.9, "idle-0", 7, "d.h1."), waking(1.99, "low-7", 9)),
            switch(3.0, "ckpt-9", "D", "idle-0", 0),
            *stack(3.0, "ckpt-9", "io_schedule", "f2fs_write_checkpoint"),
            waking(9.0, "idle-0", 9, "d.h1.")])
        self.assertFalse(helps)
        self.assertIn("the time is I/O of the holder", text)
        self.assertIn("Commits slept 6000 ms for I/O", text)
        self.assertIn("Their time is I/O: no lock is worth a conversion.", text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for name_, printed in (("top", top_printed), ("check", check_printed)):
            with open(path_of(name_ + ".expected"), "w", encoding="ascii") as f_:
                f_.write(printed())
    else:
        unittest.main()
