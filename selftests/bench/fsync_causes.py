#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Show where the time of fsync goes, from a trace of f2fs_trace_guest.sh.

fsync_causes.py [--slowest N] [--json FILE] TRACE...

Split the time of an operation of a timed task into time on a CPU, time waiting for a CPU, and
sleeps. While it waited for a CPU, count which tasks ran on the one that it got. The stack gives
the cause of a sleep. If the task waited for the checkpoint thread, count
what that thread did instead. If a task, not an interrupt, ended the sleep, split the sleep by what
the waker did in that time: it ran, wanted a CPU, or slept.
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
# functions that show how a task waits, but not for what
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
    """Return the name of a priority in the scheduler's numbers."""
    return "real-time" if prio < 100 else "nice %d" % (prio - 120)


class Task:
    """The spans of one task, in order: (since, state, cause, waker, or the CPU that it got)."""

    def __init__(self, comm):
        self.comm = comm
        self.since, self.spans = [], []

    def enter(self, time, state, cause=None):
        """Begin a span, which ends the previous one."""
        self.since.append(time)
        self.spans.append([state, cause, None])

    def between(self, begin, end):
        """Yield (state, cause, waker or CPU, from, to) of each span in an interval."""
        i = max(bisect.bisect_right(self.since, begin) - 1, 0)
        while i < len(self.since) and self.since[i] < end:
            to = self.since[i + 1] if i + 1 < len(self.since) else end
            if to > begin:
                yield (*self.spans[i], max(self.since[i], begin), min(to, end))
            i += 1


def cause_of(stack):
    """Return the cause of a sleep: the kind of wait, and the first function not in GENERIC."""
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
    locks = ("f2fs_lock_op", "f2fs_lock_all", "block_operations")
    return "%s, %s" % (how, next((f for f in stack if f in locks), name))


class Trace:
    """The tasks and operations of a trace."""

    def __init__(self, path):
        self.tasks, self.ops, self.end = {}, [], 0
        self.cpus = collections.defaultdict(lambda: ([], []))
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
                    self.switch(time, cpu, SWITCH.match(rest))
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

    def switch(self, time, cpu, m):
        """Record a context switch on @cpu."""
        prev, prev_pid, _, state, following, next_pid, prio = m.groups()
        out = self.tasks.setdefault(int(prev_pid), Task(prev))
        out.comm = prev
        out.enter(time, "wanted a CPU" if state[0] == "R" else "asleep")
        into = self.tasks.setdefault(int(next_pid), Task(following))
        into.comm = following
        if into.spans and into.spans[-1][0] == "wanted a CPU":
            before = into.spans[-2][1] if len(into.spans) > 1 else None
            into.spans[-1][1] = "%s, after: %s" % (prio_name(int(prio)), before or "preempted")
            into.spans[-1][2] = cpu
        into.enter(time, "ran")
        self.cpus[cpu][0].append(time)
        self.cpus[cpu][1].append("%s, %s" % (into.comm.split("-")[0], prio_name(int(prio))))

    def checkpoint_thread(self):
        """Return its pid, or None."""
        return next((p for p, t in self.tasks.items() if t.comm.startswith("f2fs_ckpt")), None)

    def waker_did(self, pid, begin, end):
        """Return how long the waker ran, wanted a CPU, and slept during the sleep that it ended."""
        did = collections.Counter()
        task = self.tasks.get(pid)
        if task:
            for state, _, _, since, to in task.between(begin, end):
                did[state] += to - since
        return did

    def ran_on(self, cpu, begin, end):
        """Return how long each kind of task ran on a CPU."""
        ran = collections.Counter()
        since, tasks = self.cpus[cpu]
        i = max(bisect.bisect_right(since, begin) - 1, 0)
        while i < len(since) and since[i] < end:
            to = min(since[i + 1] if i + 1 < len(since) else end, end)
            ran["behind " + tasks[i]] += max(to - max(since[i], begin), 0)
            i += 1
        return ran

    def account(self, pid, begin, end, into, who):
        """Add the time of @pid from @begin to @end to @into: (who, cause) -> Counter."""
        task = self.tasks.get(pid)
        if not task:
            return
        ckpt = self.checkpoint_thread()
        for state, cause, waker, since, to in task.between(begin, end):
            asleep = state == "asleep"
            if asleep and cause == CKPT_WAIT and ckpt and ckpt != pid:
                self.account(ckpt, since, to, into, "checkpoint")
                continue
            if not asleep:
                cause = "%s (%s)" % (state, cause) if cause else state
            at = into[(who, cause or "?")]
            at["time"] += to - since
            at["count"] += 1
            at["longest"] = max(at["longest"], to - since)
            if state == "wanted a CPU" and waker is not None:
                for task_kind, how_long in self.ran_on(waker, since, to).items():
                    at[task_kind] += how_long
            if asleep and waker:
                for what, how_long in self.waker_did(waker, since, to).items():
                    at["waker " + what] += how_long
                if to - since >= at["longest"]:
                    at["last"] = self.tasks[waker].comm if waker in self.tasks else "?"


def table(trace, chosen):
    """Return the time of each cause in the chosen operations."""
    into = collections.defaultdict(lambda: collections.Counter())
    for pid, _, begin, end in chosen:
        trace.account(pid, begin, end, into, "caller")
    return into


def kind_of(cause):
    """Return the kind of a cause, for the sums."""
    if cause.startswith("our lock, block_operations"):
        return "cp_rwsem and the locks taken with it"
    return re.split(r"[,(]", cause)[0].strip()


def show_kinds(into, total):
    """Print the share of each kind, and of waits for a task that itself wanted a CPU."""
    kinds = collections.Counter()
    for (_, cause), at in into.items():
        kinds[kind_of(cause)] += at["time"]
    print("  in all: " + ", ".join("%s %.2f %%" % (kind, 100 * time / total)
                                   for kind, time in kinds.most_common()))
    absent = sum(at["waker wanted a CPU"] for (_, cause), at in into.items()
                 if cause != "nothing to do")
    print("  waited for a task that itself wanted a CPU: %.1f of %.1f ms, %.2f %%" % (
        absent * 1e3, total * 1e3, 100 * absent / total))


def woken_or_behind(at):
    """Return the last waker, or the tasks that had the CPU for at least a tenth of the time."""
    behind = [(k[len("behind "):], v) for k, v in at.items() if k.startswith("behind ")]
    return at["last"] or "; ".join("%s %.0f %%" % (k, 100 * v / at["time"])
                                   for k, v in sorted(behind, key=lambda b: -b[1])
                                   if v >= at["time"] / 10)


def show(into, total):
    """Print the causes, the largest first, without those below 0.5 %."""
    print("  %-11s %-54s %8s %6s %6s %9s %8s %9s %8s  %s" % (
        "who", "cause", "ms", "%", "count", "longest", "w. ran", "w. wanted", "w. slept",
        "woken by, or behind"))
    for (who, cause), at in sorted(into.items(), key=lambda i: -i[1]["time"]):
        if at["time"] < total / 200:
            continue
        print("  %-11s %-54s %8.1f %6.1f %6d %9.1f %8.1f %9.1f %8.1f  %s" % (
            who, cause[:54], at["time"] * 1e3, 100 * at["time"] / total, at["count"],
            at["longest"] * 1e3, at["waker ran"] * 1e3, at["waker wanted a CPU"] * 1e3,
            at["waker asleep"] * 1e3, woken_or_behind(at)))


def lost_events(path):
    """Return whether a CPU lost events, by the file of f2fs_trace_guest.sh."""
    try:
        with open(path + ".overrun", encoding="utf-8") as f:
            return any(int(line.rsplit(":", 1)[1]) for line in f)
    except OSError:
        return False


def main():
    """Print tables for each trace: the slowest operations, and the whole checkpoint thread."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--slowest", type=int, default=10, help="number of operations [10]")
    parser.add_argument("--op", default="dir,file",
                        help="kinds of operations, from dir, file, write, sync [dir,file]")
    parser.add_argument("--json", help="file for the tables as JSON")
    parser.add_argument("trace", nargs="+")
    args = parser.parse_args()
    result = []
    for path in args.trace:
        if lost_events(path):
            sys.exit("%s: the trace buffer was too small, events are missing" % path)
        trace = Trace(path)
        ops = [o for o in trace.ops if o[1] in args.op.split(",")]
        ops.sort(key=lambda o: o[2] - o[3])
        chosen = ops[:args.slowest]
        if not chosen:
            sys.exit("%s: contains no operation of %s" % (path, args.op))
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
            print("%s: the checkpoint thread in the whole run" % path)
            show(whole, trace.end - task.since[0])
            show_kinds(whole, trace.end - task.since[0])
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
