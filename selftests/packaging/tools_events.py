#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/fscommit-top and fscommit-check, with made events, without a guest.

Seen failing, with a line of the program changed: top_table (chain() without "lent"; NOT_LENT
empty), top_later_arguments (MORE empty), top_kernel_threads (found if the names are equal),
top_readers_and_writers (longest and waits of both), top_keys (" " ignored), check_advice (PORTS
empty; READY not entered for "R"; OURS matches nothing), check_lock_types (BEGIN_FILTER "flags &
38"; no "six_", "rtlock_"), check_requests (no THROTTLED, QUEUED, submitter, most(); SLEEP or RUNS
without DEVICE), check_sleeps (MEMORY, LIMIT match nothing), check_chains (on_sched_waking() without
during()), check_timeouts (no AGAIN), check_cut_waits (no QUEUED for what began before; without
wait.end), check_handles (HANDLES, FOR_COMMIT match nothing; no sample; no ADVICE for the key),
check_cannot_tell (no "if lost"), waits_that_have_begun ("State:\\t"; no "R" in stacks(); no read()
before it), check_memory (forget() does nothing), hostile_names (".{0,15}" without re.S; HEAD with
".*"; no translate()), end_on_time (read() without READS), top_needs_check (no "except OSError",
no dont_write_bytecode).
"""

import importlib.machinery
import importlib.util
import io
import itertools
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import contextmanager, redirect_stdout
from unittest import mock

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools")


def load(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  os.path.join(TOOLS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
top, check = load("fscommit-top"), load("fscommit-check")
# later than the program looks, so that no look is old
NOW = time.clock_gettime(time.CLOCK_BOOTTIME) + 1000


# --- events -----------------------------------------------------------------------

def event(at, task, name, args, cpu=0, flags="d..1."):
    comm, pid = task.rsplit("-", 1)
    return f"{comm:>16}-{pid:<7} [{cpu:03}] {flags} {at:12.6f}: {name}: {args}"


def data_of(lines):
    """Return what trace_pipe has; a character of @lines is a byte."""
    return "".join(line + "\n" for line in lines).encode("latin-1")


def hostile(lines, rng):
    """Give tasks names with parts of the format, and bytes that terminals and splitlines() see."""
    parts = ("a", "\n", "\r", "\x0b", "\x1b[2J", "\xff", "\xc2\x85", "\\", " ", "-1 [000] ",
             "pid=9 ", " => io_schedule", "CPU:0 [LOST", "# ", "owner=b", "=> io_schedule\n")

    def name(found=("",) * 3):
        return found[1] + "".join(rng.choices(parts, k=5))[:rng.randint(0, 15)] + found[2]
    for line in lines:
        if not line.startswith(" =>"):
            line = f"{name():>16}" + re.sub(r"((?:comm|waiter|holder|owner)=)\S+( )", name,
                                            line[16:])
        yield line


def mutated(lines, rng):
    """Return the lines often, each time with bytes removed, added and changed."""
    data, out = data_of(lines), []
    for at in (rng.randrange(len(data)) for _ in range(300)):
        out += [data[:at], rng.randbytes(rng.randint(0, 3)), data[at + rng.randint(0, 9):]]
    return b"".join(out)


@contextmanager
def trace_pipe(program, data):
    """Let the program read @data once, or the results of a function again and again."""
    reads = data if callable(data) else itertools.chain([data], itertools.repeat(BlockingIOError()))
    with mock.patch.object(os, "read", side_effect=reads), mock.patch.multiple(
            program.Tracer, create=True, unread=lambda self: 5, stop=lambda self: None,
            **dict.fromkeys(("start", "check", "put"), lambda self, *_: setattr(self, "pipe", 99))):
        yield


def printed(program, arguments, data):
    out = io.StringIO()
    with trace_pipe(program, data), redirect_stdout(out):
        status = program.main(arguments)
    return f"{out.getvalue()}exit status {status}\n"


# --- fscommit-top -----------------------------------------------------------------

def stat(comm, state="R", nice=0, policy=0, start=1):
    return f"7 ({comm}) {state} 2{' 0' * 14} {nice} 1 0 {start}{' 0' * 18} {policy}"


def top_prints(data, files=(), counters=()):
    """Return a picture of @data, with these files in /proc, and changes of counters."""
    with mock.patch.object(top, "read", lambda path: dict(files).get(path, "")), \
            mock.patch.object(top, "module_counters", mock.Mock(side_effect=({}, dict(counters)))):
        return printed(top, ["--batch", "--count=1", "--interval=0.1", "--locks=1000"], data)


def look(lock=1, name="h", more=""):
    """A look: the writer 50001 waits for the holder 70001, which waits for 80001."""
    return [event(NOW, "l-3", "unfair_holder",
                  f"lock={lock:016x} waiter=w waiter_pid=50001 wants=write waited_ns=2000000 "
                  f"holder={name} pid=70001 mode=read state=S lent=0 class=&x->l{more}"),
            event(NOW, "l-3", "unfair_chain", f"lock={lock:016x} comm={name} pid=70001 owner=o "
                  "owner_pid=80001 state=r lent=0")]


def wait_end(wants, waited, lock=1):
    return event(NOW, "w-50001", "unfair_wait_end",
                 f"lock={lock:016x} wants={wants} waited_ns={waited} ret=0 class=&x->l")


class TestTop(unittest.TestCase):
    def test_top_table(self):
        """A picture while the writer waits, and one after its wait."""
        files = {"/proc/70001/stat": stat("h", "S", nice=19), "/proc/70001/cgroup": "0::/a\n",
                 "/proc/70001/wchan": "f", "/proc/80001/stat": stat("o", policy=5)}
        lines = look() + [event(NOW, "x-1", "sched_pi_setprio",
                                "comm=o pid=80001 oldprio=120 newprio=98")]
        for more, waits, ended, sleeps in (([], r"2\.0", r"2\.0 +0", "f"),
                                           ([wait_end("write", 5000000)], "-", r"5\.0 +1", "-")):
            self.assertRegex(
                top_prints(data_of(lines + more), files, {"loans": 3, "no_donor": 2}),
                r"1 contended, 3 loans, 0 events lost\nnot lent: no_donor 2\nLOCK.*\n  TASK.*\n"
                rf"0+1   &x->l +w\[50001\] +write +{waits} +{ended} +0\.0 +0\n"
                rf"  h\[70001\] +read +asleep +normal 19 +- +{sleeps} +/a\n"
                r"   o\[80001\] +owner +runnable idle 0 +rt 1 +- +-\n\nexit status 0\n")

    def test_top_later_arguments(self):
        self.assertRegex(top_prints(data_of(look(more=" new=1 x=2"))), r"&x->l +w\[")

    def test_top_kernel_threads(self):
        """/proc shows more of a kernel thread's name. A task that began later is another one."""
        for start, shown in ((1, r"/u8:2\+flush-259:0\[70001\] read +asleep +normal -5 "),
                             (10 ** 12, r"/u8:2\[70001\] +read +asleep +- ")):
            self.assertRegex(
                top_prints(data_of(look(name="kworker/u8:2")), {
                    "/proc/70001/stat": stat("kworker/u8:2+flush-259:0", "S", -5, start=start)}),
                shown)

    def test_top_readers_and_writers(self):
        """Waits of readers are counted apart, and so are events lost and not understood."""
        said = top_prints(data_of([
            "CPU:1 [LOST 7 EVENTS]", "CPU:1 [LOST EVENTS]", wait_end("write", 2000000),
            wait_end("read", 9000000), wait_end("read", 3000000), wait_end("?", 1)]))
        self.assertIn("8 events lost, 1 not understood\n", said)
        self.assertRegex(said, r"WR MAX +WRITES +RD MAX +READS\n.*\n.* 2\.0 +1 +9\.0 +2\n")

    def test_top_keys(self):
        """On a terminal: the picture appears, a blank pauses, q quits."""
        pid, terminal = pty.fork()
        if not pid:
            os.environ.update(TERM="xterm", LINES="30", COLUMNS="120")
            status = 99
            try:
                with trace_pipe(top, data_of(look())):
                    status = top.main(["--interval=0.2"])
            finally:
                os._exit(status)
        shown = ""
        for text, key in (("o[80001", b" "), ("PAUSED", b"q")):
            until = time.monotonic() + 60
            while text not in shown and time.monotonic() < until:
                shown += os.read(terminal, 65536).decode()
            self.assertIn(text, shown)
            os.write(terminal, key)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


# --- fscommit-check ---------------------------------------------------------------

def check_prints(data):
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        return printed(check, ["--read=" + f.name], b"")


def switch(at, prev, state, following, cpu=1):
    return event(at, prev, "sched_switch",
                 f"prev_comm=x prev_pid={prev.rsplit('-', 1)[1]} prev_prio=120 prev_state={state} "
                 f"==> next_comm=x next_pid={following.rsplit('-', 1)[1]} next_prio=120", cpu)


def waking(at, task, woken, flags=None):
    flags = flags or ("d.h1." if task[0] == "x" else "d..1.")
    return event(at, task, "sched_waking", f"comm=x pid={woken} prio=120 target_cpu=000", 1, flags)


def stack(at, task, *frames, cpu=0):
    return [event(at, task, "<stack trace>", "", cpu).replace(">: ", ">")] + \
        [" => " + frame for frame in frames]


def stall(*during, at=1.0, commit="f2fs_write_checkpoint", lock="down_write", flags="WRITE"):
    """Task 9 waits for a lock in @commit for a second; @during is what happens meanwhile."""
    return [event(at, "ckpt-9", "contention_begin", f"aa (flags={flags})"),
            event(at, "ckpt-9", "sched_waking", "comm=x pid=3 prio=120", flags="d.h1."),
            *stack(at, "ckpt-9", lock, commit), switch(at, "ckpt-9", "D", "x-3", 0),
            *during, event(at + 1, "ckpt-9", "contention_end", "aa (ret=0)")]


def sleep(at, task, *frames):
    return [switch(at, task, "D", "x-3"), *stack(at, task, *frames, cpu=1)]


def rq(at, task, what, io_class="be", size="64 + 8"):
    """An event of a request, each of another form; a completion is in an interrupt."""
    args = {"queue": f"8,1 W {size} [x]", "complete": f"8,0 W () {size} {io_class},0,4 [0]"}
    return event(at, task, "block_bio_queue" if what == "queue" else "block_rq_" + what,
                 args.get(what, f"8,0 W 4096 () {size} {io_class},0,4 [x]"), 1,
                 "d.h1." if what == "complete" else "d..1.")


def starved(at=1.0, holder="low-7"):
    """The holder has no CPU for 0.8 s, then wakes the waiter."""
    return (switch(at + 0.1, holder, "R+", "hog-5"), switch(at + 0.9, "hog-5", "R", holder),
            waking(at + 0.99, holder, 9))


class TestCheck(unittest.TestCase):
    def test_check_advice(self):
        for commit, advice in (("f2fs_write_checkpoint", "make install-f2fs"),
                               ("btrfs_commit_transaction", "make install-btrfs"),
                               ("nilfs_segctor_do_construct", "make install-nilfs2"),
                               ("__x64_sys_fsync", "no port"),
                               ("jbd2_journal_commit_transaction", "no port")):
            self.assertRegex(
                check_prints(data_of(stall(*starved(), commit=commit))),
                r"rw_semaphore for writing, in .*\n  waited 1 times, 1000 ms in all.*\n"
                r"  woken by low\[7\].*\n.*no CPU 80 %(.*\n)*  CONVERT: .*"
                rf"{advice}(.*\n)*exit status 4")
        # less than a tenth of the time
        self.check_says([*stall(*starved()), *sleep(3, "ckpt-9", "io_schedule", "do_fsync"),
                         waking(99, "x-3", 9)], "CONVERT: ")
        self.assertIn("No commit has waited 1000 us or more.",
                      check_prints(data_of(stall(*starved(), commit="do_truncate"))))
        self.assertRegex(
            check_prints(data_of(stall(*starved(), lock="__unfair_down_slow"))),
            r"f2fs_write_checkpoint\(\), unfair_rwsem for writing(.*\n)*"
            r"  this lock is an unfair_rwsem already: fscommit-top(.*\n)*exit status 0")

    def test_check_lock_types(self):
        """All locks on which tasks sleep count, also those of PREEMPT_RT, and no spinlocks."""
        self.assertIn("(), six lock", check_prints(data_of(stall(
            *starved(), flags="", lock="six_lock_slowpath"))))
        for flags, kind in (("", "semaphore"), ("RT", "rt_mutex"), ("MUTEX|SPIN", "mutex"),
                            ("RT|READ", "rw_semaphore for reading"),
                            ("PERCPU|WRITE", "percpu_rw_semaphore for writing")):
            self.assertIn(f"f2fs_write_checkpoint(), {kind}", check_prints(data_of(stall(
                *starved(), flags=flags, lock="rtlock_slowlock_locked"))))
        kernel_tests = check.BEGIN_FILTER.replace("||", "or").replace("!", "not ")
        for flags in range(64):
            # pylint: disable-next=eval-used
            self.assertEqual(bool(eval(kernel_tests)), not flags & 1 or flags & 32 != 0)

    def check_says(self, lines, *texts, status=0):
        said = check_prints(data_of(lines))
        for text in (*texts, f"exit status {status}\n"):
            self.assertIn(text, said)

    def test_check_requests(self):
        """The request that ends a sleep says what it was for: of a commit, or of the holder."""
        end = [rq(1.85, "x-3", "complete"), waking(1.851, "x-3", 77)]
        for resource, advice, *more in (
                ("device", "the device's", rq(1.05, "low-7", "queue"), rq(1.1, "low-7", "issue")),
                ("I/O scheduler", "a better I/O class", rq(1.05, "low-7", "queue"),
                 rq(1.06, "low-7", "insert"), rq(1.8, "x-3", "issue")),
                ("I/O limit", "raise io.max", rq(1.7, "kworker/0:1-4", "queue"),
                 *stack(1.7, "kworker/0:1-4", "blk_throtl_dispatch_work_fn"),
                 rq(1.71, "kworker/0:1-4", "issue")),
                ("CPU", "cpu.weight", switch(1.1, "low-8", "R", "x-5"),
                 switch(1.8, "x-5", "R", "low-8"), rq(1.81, "low-8", "queue"),
                 rq(1.81, "low-8", "issue")),
                # a driver above the disk has delayed it
                *(("device", "the device's", switch(1.0, *did), rq(1.8, "dm-8", "queue"),
                   rq(1.81, "dm-8", "issue"))
                  for did in (("dm-8", "S", "x-5"), ("x-5", "S", "dm-8"))),
                # a worker that completes it
                ("CPU", "cpu.weight", rq(1.0, "low-7", "issue"), switch(1.0, "work-4", "I", "x-5"),
                 rq(1.1, "x-3", "complete"), waking(1.1, "x-3", 4),
                 switch(1.8, "x-5", "R", "work-4"), waking(1.851, "work-4", 77)),
                ("device", "the device's", rq(1.0, "low-7", "issue"),
                 switch(1.0, "work-4", "I", "x-5"), rq(1.85, "x-3", "complete"),
                 waking(1.85, "x-3", 4), waking(1.851, "work-4", 77))):
            more += end if "77" not in more[-1] else []
            asleep = "io_schedule", "vfs_fsync_range"
            self.check_says([*sleep(1.0, "ckpt-77", *asleep), *more],
                            "(), I/O, in vfs_fsync_range()\n", f"resource: {resource}\n", advice)
            if resource != "CPU":
                self.check_says(stall(*sleep(1.0, "low-77", *asleep), *more,
                                      waking(1.86, "low-77", 9)),
                                "woken by low[77]", f"resource: {resource}\n", advice)

    def test_check_cut_waits(self):
        """The trace may have begun after the request, or ended before it has."""
        asleep = sleep(1.0, "ckpt-9", "io_schedule", "do_fsync")
        end = switch(2.0, "x-3", "S", "x-4")
        for resource, *more in (
                ("I/O scheduler", rq(1.9, "x-3", "issue"), rq(1.99, "x-3", "complete"),
                 waking(1.99, "x-3", 9)),
                ("I/O scheduler", rq(1.0, "ckpt-9", "queue"), rq(1.0, "ckpt-9", "insert"), end),
                ("device", rq(1.0, "ckpt-9", "queue"), rq(1.0, "ckpt-9", "issue"), end),
                # what was merged has no end; a lock of a page is no I/O
                ("CPU", rq(1.0, "ckpt-9", "queue"), switch(1.0, "low-7", "R", "x-3"),
                 event(1.9, "low-7", "sample", ""), *stack(1.9, "low-7", "f2fs_create"), end)):
            self.check_says([*asleep, *more], f"resource: {resource}\n")

    def test_check_sleeps(self):
        """The stack of the holder says why it slept, also after another request has ended."""
        for resource, frame, advice in (
                ("I/O limit", "ioc_rqos_throttle", "raise io.max"),
                ("memory limit", "__mem_cgroup_handle_over_high", "raise memory.high"),
                ("memory limit", "try_to_free_mem_cgroup_pages", "raise memory.high")):
            self.check_says(stall(*sleep(1.0, "low-7", "io_schedule", frame),
                                  rq(1.9, "x-3", "complete"), waking(1.9, "x-3", 7),
                                  waking(1.99, "low-7", 9), lock="__unfair_down_slow"),
                            "woken by low[7]", f"resource: {resource}\n", advice)

    def test_check_chains(self):
        """What the holder slept for is what the task did that has woken it."""
        for asleep in (sleep(1.0, "low-7", "schedule"), sleep(1.0, "low-7", "io_schedule"),
                       [event(1.0, "low-7", "contention_begin", "bb (flags=READ)"),
                        *sleep(1.0, "low-7", "down_read")]):
            self.check_says(
                stall(*asleep, switch(1.1, "low-8", "R", "x-5"),
                      switch(1.9, "x-5", "R", "low-8"), waking(1.95, "low-8", 7),
                      switch(1.95, "low-8", "S", "low-7"), waking(1.99, "low-7", 9)),
                "woken by low[7]", "no CPU 80 %", "resource: CPU", status=4)

    def test_check_timeouts(self):
        """Sleeps with a timeout are one wait, for the request that ends the last of them."""
        lines = [rq(1.0, "ckpt-9", "queue"), rq(1.0, "ckpt-9", "insert", io_class="idle")]
        for at in (1 + i / 100 for i in range(100)):
            lines += [*sleep(at, "ckpt-9", "io_schedule_timeout", "f2fs_wait_on_all_pages",
                             "f2fs_write_checkpoint"),
                      rq(at + 0.0089, "x-0", "complete", size="99 + 8"),
                      waking(at + 0.009, "x-0", 9, "d.s1."),
                      switch(at + 0.009, "x-0", "S", "ckpt-9")]
        lines[-3:] = [rq(1.9985, "x-3", "issue", io_class="idle"), rq(1.999, "x-3", "complete"),
                      waking(1.9991, "x-3", 9)]
        self.check_says(lines, "f2fs_wait_on_all_pages(), I/O, in f2fs_write_checkpoint()\n"
                        "  waited 1 times, 999 ms in all", "requests of ckpt[9] class idle (1)",
                        "resource: I/O scheduler", "make install-f2fs")

    def test_check_handles(self):
        """The task that closes the last handle has held the commit up, or one that still sleeps."""
        for frames in (("schedule", "jbd2_journal_wait_updates", "jbd2_journal_commit_transaction"),
                       ("schedule", "btrfs_commit_transaction")):
            begin = sleep(1.0, "ckpt-9", *frames)
            self.check_says([*begin, *starved()], "(), open handles, in " + frames[-1],
                            "woken by low[7]", "resource: CPU", "CONVERT: ", status=4)
            # a task that sleeps for something else is held up itself
            begin += sleep(1.0, "up-6", "schedule", "ext4_create")
            self.check_says(
                [*begin, *sleep(1.1, "low-7", "__mem_cgroup_handle_over_high", "ext4_create"),
                 switch(2, "x-3", "S", "x-4")], "may be held by low[7]", "resource: memory limit")
            sample = [event(1.5, "low-7", "sample", ""), *stack(1.5, "low-7", "ext4_create")]
            self.check_says([*begin, switch(1.1, "low-7", "R", "x-3"), *sample,
                             switch(2, "x-3", "S", "x-4")],
                            "may be held by low[7]", "resource: CPU", status=4)
        # no holder is a kernel worker; a sleep that is over at once; the commit counts itself
        self.check_says([*sleep(1.0, "ckpt-9", "do_fsync"), *starved(holder="kworker/1:1-7")],
                        "(), kernel worker, in do_fsync()", "resource: CPU")
        self.check_says([*sleep(1.0, "ckpt-9", "do_fsync"), switch(1, "x-3", "S", "ckpt-9"),
                         switch(9, "ckpt-9", "S", "x-3")], "No commit has waited")
        # nor does a task hold what the waiter, which spun, has got
        self.check_says(stall(*sleep(1.1, "low-7", "schedule", "ext4_create")), "tasks did "
                        "meanwhile: not known; no task has woken it")
        self.check_says([*sleep(1.0, "ckpt-9", "schedule", "jbd2_log_wait_commit", "do_fsync"),
                         waking(1.99, "low-7", 9)], "No commit has waited")
        self.check_says([*sleep(1.0, "app-6", "schedule_timeout", "f2fs_write_cache_pages",
                                "do_fsync"), switch(9, "x-3", "S", "app-6")], "No commit has")
        self.assertNotIn("f2fs_issue_checkpoint()", check_prints(data_of(
            [*sleep(1.0, "app-6", "f2fs_issue_checkpoint", "do_fsync"), *stall(*starved()),
             waking(2.1, "ckpt-9", 6)])))

    def test_check_cannot_tell(self):
        self.check_says(["CPU:1 [LOST 7 EVENTS]"], "Cannot tell whether a commit has", status=3)

    def test_check_waits_that_have_begun(self):
        """Those that sleep, and those that have no CPU, when it starts."""
        with tempfile.TemporaryDirectory() as proc:
            for pid, comm, state, frame in ((9, "ckpt", "D", "f2fs_write_checkpoint"),
                                            (7, "low", "R", "f2fs_create")):
                os.mkdir(f"{proc}/{pid}")
                for name, text in (("status", f"Name:\tx\nState:\t{state} (x)\n"),
                                   ("comm", comm + "\n"), ("stack", f"[<0>] {frame}+0x1/0x2\n")):
                    with open(f"{proc}/{pid}/{name}", "w", encoding="ascii") as f:
                        f.write(text)
            # one wait, also if the trace has seen its begin
            for seen in (0, 5):
                at = time.monotonic()
                first = stall(at=at)[:seen]
                end = [switch(at + 9, "x-4", "S", "low-7"), waking(at + 9, "low-7", 9),
                       event(at + 9, "ckpt-9", "contention_end", "aa (ret=0)")]
                reads = mock.Mock(side_effect=itertools.chain(
                    (data_of(first) or BlockingIOError(), BlockingIOError(), data_of(end)),
                    itertools.repeat(BlockingIOError())))
                with mock.patch.object(check.glob, "glob", return_value=[proc + "/9", proc + "/7"]):
                    self.assertRegex(
                        printed(check, ["--time=1"], reads), r"^.*\n\nf2fs_write_checkpoint\(.*\n"
                        r"  waited 1 times.*ckpt.*\n  woken by low.*\n.*no CPU \d+ %\n"
                        r"  resource: CPU\n.*CONVERT.*\n\nexit status 4")

    def test_check_memory(self):
        """It forgets what no wait of a commit needs, and some of the rest if it is too much."""
        analysis = check.Analysis(min_wait=0)
        with mock.patch.multiple(check, FORGET=1000, KEEP_ENTRIES=5000, KEEP_TASKS=100):
            for at in range(1, 21):
                analysis.feed(data_of(stall(*(
                    line for pid in range(at * 500, at * 500 + 500)
                    for line in (switch(at, f"x-{pid}", "S", "y-7"), switch(at, "y-7", "S", "x-8"),
                                 rq(at, f"x-{pid}", "queue", size=f"{pid} + 8"),
                                 waking(at, f"x-{pid}", 9))), at=at)))
        self.assertLess(len(analysis.tasks) + len(analysis.requests), 1800)
        self.assertLess(sum(len(task.history) for task in analysis.tasks.values()), 9000)


# --- both -------------------------------------------------------------------------

class TestBoth(unittest.TestCase):
    def test_hostile_names(self):
        """Whatever the names are, each event counts, and no control code is printed."""
        rng = random.Random(9)
        plain = [line for lock in range(300) for line in look(lock)]
        of_top = top_prints(data_of(hostile(plain, rng)))
        self.assertIn("300 contended, 0 loans, 0 events lost\n", of_top)
        for lock in range(300):
            self.assertRegex(of_top, rf"(?m)^{lock:016x}   &x->l .*\[50001\] +write .*\n"
                                     r"  .*\[70001\] +read .*\n   .*\[80001\] +owner ")
        stalls = [line for at in range(0, 500, 5) for line in stall(*starved(at), at=at)]
        of_check = check_prints(data_of(hostile(stalls, rng)))
        self.assertRegex(of_check, "800 events\n(?s:.*)waited 100 times, 100000 ms in all"
                                   "(?s:.*)no CPU 80 %(?s:.*)exit status 4")
        for said in (of_top, of_check, top_prints(mutated(plain[:9], rng)),
                     check_prints(mutated(stalls[:9], rng))):
            self.assertNotRegex(said, "[^\n -~]")
            self.assertRegex(said, "exit status [04]")

    def test_end_on_time(self):
        """They end at their time, or at a signal, also if there are always more events to read."""
        full = data_of([switch(1.0, "x-7", "S", "y-8")] * 40)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGQUIT))
        for program, arguments, said in (
                (top, ["--batch", "--count=1", "--interval=1"], "contended"),
                (top, ["--batch", "--interval=99"], "exit status 0"),
                (check, ["--time=1"], " 5 LOST: the host is too busy"),
                (check, ["--time=99"], " 5 LOST: the host is too busy")):
            begin = time.monotonic()
            signal.alarm(2 if "99" in arguments[-1] else 0)
            self.assertIn(said, printed(program, arguments, lambda *_: full))
            self.assertLess(time.monotonic() - begin, 60)

    def test_top_needs_check(self):
        """Without the other program beside it, top says so; it leaves no file there."""
        with tempfile.TemporaryDirectory() as folder:
            for name, status in (("fscommit-top", 1), ("fscommit-check", 0)):
                shutil.copy(os.path.join(TOOLS, name), folder)
                ran = subprocess.run([sys.executable, folder + "/fscommit-top", "--version"],
                                     check=False, capture_output=True, text=True,
                                     env=dict(os.environ, PYTHONDONTWRITEBYTECODE=""))
                self.assertEqual(ran.returncode, status)
                self.assertEqual("needs fscommit-check beside it" in ran.stderr, status == 1)
            self.assertEqual(len(os.listdir(folder)), 2)


if __name__ == "__main__":
    unittest.main()
