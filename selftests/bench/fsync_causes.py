#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Where the time of fsync goes, from a trace that f2fs_trace_guest.sh has made.

fsync_causes.py [--slowest N] [--json FILE] TRACE...

The time of an operation of a timed task is its time on a CPU, the time that it wanted one,
and its sleeps, each by what the stack says it waited for. Where it waited for the
checkpoint thread, that one's time takes its place. A sleep that a task has ended, and not an
interrupt, is split by what that task did meanwhile: it ran, or it wanted a CPU, or it slept.
"""
import argparse
import bisect
import collections
import json
import re
import sys

EVENT = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s+(\S+)\s+([\d.]+): (\w+|<stack trace>):? ?(.*)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> "
                    r"next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)")
WAKING = re.compile(r"comm=(.*) pid=(\d+) prio=(-?\d+)")
MARK = re.compile(r"(begin|end) (\w+)")
# functions that say how a task waits, and not for what
GENERIC = re.compile(r"^(_*schedule|io_schedule|preempt_schedule|__?cond_resched|__?unfair_|"
                     r"unfair_|down_|_*down_|_*up_|rwsem_|mutex_|_*mutex_|f2fs_down_|f2fs_up_|"
                     r"wait_for_|__wait_|do_wait|_*wait_on_bit|out_of_line|bit_wait|"
                     r"prepare_to|rt_mutex|__rt_mutex|rt_spin|folio_wait_|_*folio_lock|"
                     r"save_stack|stack_trace|__ftrace|__trace|stacktrace|data_ops|event_tr|"
                     r"trace_|__traceiter|blk_wait|submit_bio_wait|blk_execute|"
                     r"f2fs_wait_on_|f2fs_folio_wait|f2fs_io_schedule|f2fs_lock_|congestion|"
                     r"filemap_|__filemap|filemap_get|pagecache_get|f2fs_grab|f2fs_filemap|"
                     r"usleep|hrtimer_nanosleep|do_nanosleep|msleep|bh_|sleep_on|"
                     r"event_triggers|perf_|dump_)")
CKPT_WAIT = "the checkpoint thread"


def prio_name(prio):
    """As the scheduler counts."""
    return "real-time" if prio < 100 else "nice %d" % (prio - 120)


class Task:
    """What one task did, in order: (since, state, cause, waker)."""

    def __init__(self, comm):
        self.comm = comm
        self.since, self.spans = [], []

    def enter(self, time, state, cause=None):
        """A span begins; the one before it ends."""
        self.since.append(time)
        self.spans.append([state, cause, None])

    def between(self, begin, end):
        """(state, cause, waker, from, to) of all that it did."""
        i = max(bisect.bisect_right(self.since, begin) - 1, 0)
        while i < len(self.since) and self.since[i] < end:
            to = self.since[i + 1] if i + 1 < len(self.since) else end
            if to > begin:
                yield (*self.spans[i], max(self.since[i], begin), min(to, end))
            i += 1


def cause_of(stack):
    """What it waited for: how, and the first function that is not of the waiting itself."""
    text = " ".join(stack)
    name = next((f for f in stack if not GENERIC.match(f)), stack[-1] if stack else "?")
    if "f2fs_issue_checkpoint" in stack:
        return CKPT_WAIT
    if name == "issue_checkpoint_thread":
        return "nothing to do"
    if "unfair_" in text:
        how = "our lock"
    elif re.search(r"\bmutex_lock|__mutex_lock", text):
        how = "mutex"
    elif "f2fs_down_" in text or "rwsem_" in text or "down_read" in text or "down_write" in text:
        how = "rw_semaphore"
    elif re.search(r"folio_lock|filemap_get_folio|f2fs_filemap_get|pagecache_get", text):
        how = "folio lock"
    elif "writeback" in text:
        how = "writeback"
    elif re.search(r"folio_wait|submit_bio_wait|blkdev_issue|wait_on_all_pages|io_schedule", text):
        how = "block I/O"
    else:
        how = "sleep"
    lock = next((f for f in stack if f in ("f2fs_lock_op", "f2fs_lock_all", "block_operations")), "")
    return "%s, %s" % (how, lock or name)


class Trace:
    """A trace, read."""

    def __init__(self, path):
        self.tasks, self.ops, self.end = {}, [], 0
        running, begun, stack_of, stack = {}, {}, None, []
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                if stack_of is not None and line.startswith(" => "):
                    stack.append(line[4:].split()[0].split("+")[0])
                    continue
                if stack_of is not None:
                    stack_of[1] = cause_of(stack)
                    stack_of = None
                m = EVENT.match(line)
                if not m:
                    continue
                _, pid, cpu, flags, time, event, rest = m.groups()
                time, pid = float(time), int(pid)
                self.end = time
                if event == "<stack trace>":
                    if pid in self.tasks and self.tasks[pid].spans:
                        stack, stack_of = [], self.tasks[pid].spans[-1]
                elif event == "sched_switch":
                    self.switch(time, SWITCH.match(rest))
                    running[cpu] = int(SWITCH.match(rest).group(6))
                elif event == "sched_waking":
                    w = WAKING.match(rest)
                    woken = self.tasks.setdefault(int(w.group(2)), Task(w.group(1)))
                    if not woken.spans:
                        woken.enter(time, "wanted a CPU")
                    elif woken.spans[-1][0] == "asleep":
                        irq = len(flags) > 2 and flags[2] in "hHsZz"
                        woken.spans[-1][2] = None if irq else running.get(cpu)
                        woken.enter(time, "wanted a CPU")
                elif event in ("tracing_mark_write", "print"):
                    mark = MARK.search(rest)
                    if mark and mark.group(1) == "begin":
                        begun[pid] = (time, mark.group(2))
                    elif mark and pid in begun:
                        self.ops.append((pid, begun[pid][1], begun[pid][0], time))
                        del begun[pid]
        for pid, (time, op) in begun.items():
            self.ops.append((pid, op, time, self.end))

    def switch(self, time, m):
        """One task leaves a CPU, one gets it."""
        prev, prev_pid, _, state, following, next_pid, prio = m.groups()
        out = self.tasks.setdefault(int(prev_pid), Task(prev))
        out.comm = prev
        out.enter(time, "wanted a CPU" if state[0] == "R" else "asleep")
        into = self.tasks.setdefault(int(next_pid), Task(following))
        into.comm = following
        if into.spans and into.spans[-1][0] == "wanted a CPU":
            before = into.spans[-2][1] if len(into.spans) > 1 else None
            into.spans[-1][1] = "%s, after: %s" % (prio_name(int(prio)), before or "preempted")
        into.enter(time, "ran")

    def checkpoint_thread(self):
        """Its pid."""
        return next((p for p, t in self.tasks.items() if t.comm.startswith("f2fs_ckpt")), None)

    def waker_did(self, pid, begin, end):
        """How long the one that ended a sleep ran, wanted a CPU, and slept during it."""
        did = collections.Counter()
        task = self.tasks.get(pid)
        if task:
            for state, _, _, since, to in task.between(begin, end):
                did[state] += to - since
        return did

    def account(self, pid, begin, end, into, who):
        """Adds what @pid did between the two to @into: (who, cause) -> Counter."""
        task = self.tasks.get(pid)
        if not task:
            return
        for state, cause, waker, since, to in task.between(begin, end):
            if state != "asleep":
                at = into[(who, "%s (%s)" % (state, cause) if cause else state)]
                at["time"] += to - since
                at["count"] += 1
                at["longest"] = max(at["longest"], to - since)
                continue
            ckpt = self.checkpoint_thread()
            if cause == CKPT_WAIT and ckpt and ckpt != pid:
                self.account(ckpt, since, to, into, "checkpoint")
                continue
            at = into[(who, cause or "?")]
            at["time"] += to - since
            at["count"] += 1
            at["longest"] = max(at["longest"], to - since)
            if waker:
                for what, how_long in self.waker_did(waker, since, to).items():
                    at["waker " + what] += how_long
                if to - since >= at["longest"]:
                    at["last"] = self.tasks[waker].comm if waker in self.tasks else "?"


def table(trace, chosen):
    """Cause x time for those operations."""
    into = collections.defaultdict(lambda: collections.Counter())
    for pid, _, begin, end in chosen:
        trace.account(pid, begin, end, into, "caller")
    return into


def kind_of(cause):
    """What the causes are summed up by."""
    if cause.startswith("our lock, block_operations"):
        return "cp_rwsem and the locks taken with it"
    return re.split(r"[,(]", cause)[0].strip()


def show_kinds(into, total):
    """Two lines: the share of each kind, and of waits for a task that did not run."""
    kinds = collections.Counter()
    for (_, cause), at in into.items():
        kinds[kind_of(cause)] += at["time"]
    print("  in all: " + ", ".join("%s %.2f %%" % (kind, 100 * time / total)
                                   for kind, time in kinds.most_common()))
    absent = sum(at["waker wanted a CPU"] for (_, cause), at in into.items()
                 if cause != "nothing to do")
    print("  waited for a task that itself wanted a CPU: %.1f of %.1f ms, %.2f %%" % (
        absent * 1e3, total * 1e3, 100 * absent / total))


def show(into, total):
    """Largest first."""
    print("  %-11s %-54s %8s %6s %6s %9s %8s %9s %8s  %s" % (
        "who", "cause", "ms", "%", "count", "longest", "w. ran", "w. wanted", "w. slept", "woken by"))
    for (who, cause), at in sorted(into.items(), key=lambda i: -i[1]["time"]):
        if at["time"] < total / 200:
            continue
        print("  %-11s %-54s %8.1f %6.1f %6d %9.1f %8.1f %9.1f %8.1f  %s" % (
            who, cause[:54], at["time"] * 1e3, 100 * at["time"] / total, at["count"],
            at["longest"] * 1e3, at["waker ran"] * 1e3, at["waker wanted a CPU"] * 1e3,
            at["waker asleep"] * 1e3, at["last"] or ""))


def lost_events(path):
    """What f2fs_trace_guest.sh has noted of each CPU."""
    try:
        with open(path + ".overrun", encoding="utf-8") as f:
            return any(int(line.rsplit(":", 1)[1]) for line in f)
    except OSError:
        return False


def main():
    """A table for each trace: the slowest operations, and all of the checkpoint thread."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--slowest", type=int, default=10, help="how many operations")
    parser.add_argument("--op", default="dir,file", help="which: of dir, file, write, sync")
    parser.add_argument("--json", help="the same, for the report")
    parser.add_argument("trace", nargs="+")
    args = parser.parse_args()
    result = []
    for path in args.trace:
        if lost_events(path):
            sys.exit("%s: the kernel's buffer was too small, events are missing" % path)
        trace = Trace(path)
        ops = [o for o in trace.ops if o[1] in args.op.split(",")]
        ops.sort(key=lambda o: o[2] - o[3])
        chosen = ops[:args.slowest]
        if not chosen:
            sys.exit("%s: no operation of %s in it" % (path, args.op))
        total = sum(o[3] - o[2] for o in chosen)
        print("%s: the %d slowest of %d operations, %.1f to %.1f ms" % (
            path, len(chosen), len(ops), (chosen[-1][3] - chosen[-1][2]) * 1e3,
            (chosen[0][3] - chosen[0][2]) * 1e3))
        into = table(trace, chosen)
        show(into, total)
        show_kinds(into, total)
        result.append({"trace": path, "operations": len(chosen), "seconds": total, "causes": [
            {"who": who, "cause": cause, **at} for (who, cause), at in into.items()]})
        ckpt = trace.checkpoint_thread()
        if ckpt:
            whole = collections.defaultdict(lambda: collections.Counter())
            task = trace.tasks[ckpt]
            trace.account(ckpt, task.since[0], trace.end, whole, "checkpoint")
            print("%s: the checkpoint thread, all of the run" % path)
            show(whole, trace.end - task.since[0])
            show_kinds(whole, trace.end - task.since[0])
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
