#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/fscommit-top, fscommit-check and fscommit-bug-report in a guest. Prints TAP.

    tools_guest.py STAGE

no-module   before the module is loaded: what fscommit-top says when it cannot work
idle        fscommit-check, before the module is loaded
starved     fscommit-check: the reader that holds a rw_semaphore has no CPU
blocked     a reader holds a lock and waits for a mutex, whose owner has no CPU
report      fscommit-bug-report, with the module loaded
integrity, confidentiality
            the same after the kernel was put into this lockdown mode
boot-confidentiality
            in a kernel that was booted in this mode
secure-boot under Secure Boot, which means integrity, with signed modules: all three programs
f2fs        fscommit-check on the stock f2fs: idle, at I/O, and beside low-priority writers
record, record-starved
            writes the events, and the tasks of `blocked`, to /tmp/out: see fscommit_top/ and
            fscommit_check/

Seen failing, with a line of the program changed: names_the_blocker (chain() returns [];
lent_of() returns None; "write" for event["mode"]), ends_at_signals (stop() does not remove the
instance; no handler of SIGTERM), removes_stale_instances (no remove_stale()), metrics (the holders
counted twice), each error (its raise removed), ends_when_the_module_goes (no check()), has_it_all
(no call of counters(); the command line in the log); under Secure Boot all tests of fscommit-top
(the program reads debugfs; unfair_holder() ignored); idle_f2fs_is_quiet (the status is always
EXIT_FOUND), io_of_f2fs_is_named and cp_rwsem_is_named (COMMITS matches nothing). Not yet:
finds_the_reader, finds_nothing.
"""

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

F2FS = "/tmp/f2fs"
TOP = [sys.executable, "/fscommit/fscommit-top"]
CHECK = [sys.executable, "/fscommit/fscommit-check"]
REPORT = ["sh", "/fscommit/fscommit-bug-report"]
TRACEFS = "/sys/kernel/tracing"
LOCKDOWN = "/sys/kernel/security/lockdown"
INSTANCES = TRACEFS + "/instances"
RWSEM, UNFAIR, MUTEX = 0, 3, 5
READ, WRITE = 0, 1
UNTIL_GO, BUSY_GO = 2, 3
OUTER_READ = 2


def ioctl_number(direction, number, size):
    return direction << 30 | size << 16 | ord("F") << 8 | number


# of fscommit_test.h
CREATE = ioctl_number(1, 1, 4)
LOCK = ioctl_number(3, 2, 64)
GO = ioctl_number(1, 3, 4)
STATE = ioctl_number(2, 4, 72)


class Failed(Exception):
    """A test has failed."""


def check(condition, *said):
    if not condition:
        raise Failed(" ".join(str(s) for s in said))


def reached(condition, what):
    """Wait for a state."""
    end = time.monotonic() + 120
    while not condition():
        check(time.monotonic() < end, "never reached:", what)
        time.sleep(0.005)


def put(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(value)


def content(path):
    try:
        with open(path, encoding="ascii") as f:
            return f.read()
    except OSError:
        return None


# --- tasks that lock ------------------------------------------------------------

def open_lock(kind):
    fd = os.open("/dev/fscommit_test", os.O_RDWR)
    fcntl.ioctl(fd, CREATE, struct.pack("I", kind))
    return fd


def lock(fd, mode, hold=0, flags=0, outer=0):
    # mode how hold hold_us timeout_ms subclass id flags; wait_ns order; outer
    fcntl.ioctl(fd, LOCK, struct.pack("8I2QI12x", mode, 0, hold, 0, 0, 0, 0, flags, 0, 0, outer))


def state(fd):
    """Return readers, writers, readers and writers that acquire it."""
    return struct.unpack("14I2Q", fcntl.ioctl(fd, STATE, bytes(72)))[3:7]


def start(name, work, cpu=None, policy=None, priority=0, nice=0):
    """Start a task, and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        put("/proc/self/comm", name)
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        os.nice(nice)
        if policy is not None:
            os.sched_setscheduler(0, policy, os.sched_param(priority))
        work()
        os._exit(0)
    except BaseException as error:  # pylint: disable=broad-except
        print(f"# {name}: {error}", flush=True)
        os._exit(1)


def spin():
    while True:
        pass


class Blocked:
    """A writer waits for a reader, the reader for a mutex, and its owner has no CPU."""

    def __enter__(self):
        put("/proc/sys/kernel/sched_rt_runtime_us", "-1")
        self.a, self.m = open_lock(UNFAIR), open_lock(MUTEX)
        self.owner = start("owner", lambda: lock(self.m, WRITE, BUSY_GO), cpu=1,
                           policy=os.SCHED_IDLE)
        reached(lambda: state(self.m)[1] == 1, "the owner has the mutex")
        # above what the writer lends
        self.hog = start("hog", spin, cpu=1, policy=os.SCHED_FIFO, priority=2)
        self.reader = start("low reader", lambda: lock(self.m, WRITE, 0, OUTER_READ, self.a),
                            cpu=0, nice=19)
        reached(lambda: state(self.a)[0] == 1 and state(self.m)[3] == 1, "the reader waits")
        self.writer = start("checkpoint", lambda: lock(self.a, WRITE), cpu=0)
        reached(lambda: state(self.a)[3] == 1, "the writer waits")
        return self

    def __exit__(self, *unused):
        os.kill(self.hog, signal.SIGKILL)
        fcntl.ioctl(self.m, GO, struct.pack("I", 0))
        ended = {pid: os.waitpid(pid, 0)[1] for pid in
                 (self.hog, self.owner, self.reader, self.writer)}
        os.close(self.a)
        os.close(self.m)
        check(not any(ended[pid] for pid in (self.owner, self.reader, self.writer)), ended)


def starve(sem):
    """A writer waits for a second for a reader that has no CPU. Return the pid of the reader."""
    put("/proc/sys/kernel/sched_rt_runtime_us", "-1")
    reader = start("low reader", lambda: lock(sem, READ, BUSY_GO), cpu=1, policy=os.SCHED_IDLE)
    reached(lambda: state(sem)[0] == 1, "the reader has the lock")
    hog = start("hog", spin, cpu=1, policy=os.SCHED_FIFO, priority=2)
    writer = start("checkpoint", lambda: lock(sem, WRITE), cpu=0)
    reached(lambda: state(sem)[3] == 1, "the writer waits")
    time.sleep(1)
    os.kill(hog, signal.SIGKILL)
    fcntl.ioctl(sem, GO, struct.pack("I", 0))
    ended = [os.waitpid(pid, 0)[1] for pid in (hog, reader, writer)]
    check(not ended[1] and not ended[2], ended)
    return reader


# --- fscommit-top -----------------------------------------------------------------

def top(*options, uid=0, program=None):
    """Run the program. Return its exit status, output and errors."""
    done = subprocess.run((program or TOP) + list(options), capture_output=True, text=True,
                          timeout=300, check=False,
                          preexec_fn=(lambda: os.setuid(uid)) if uid else None)
    return done.returncode, done.stdout, done.stderr


def cannot(status, text, *options, uid=0, program=None):
    got, out, err = top(*options, uid=uid, program=program)
    check(got == status and not out and text in err, got, out, err)


def instances():
    return [name for name in os.listdir(INSTANCES) if name.startswith("fscommit-")]


def says_what_is_wrong():
    # so that another user may start Python
    os.chmod("/", 0o755)
    cannot(3, "only root can read trace events: run it with sudo", "--batch", uid=65534)
    cannot(3, "fscommit is not loaded: modprobe fscommit", "--batch")
    cannot(2, "no terminal: use --batch")
    cannot(2, "--interval=0.05: must be a number from 0.1 to 3600 seconds", "--interval=0.05")
    cannot(2, "--count=0: must be a number from 1 to 1000000", "-n", "0")
    cannot(2, "--locks=many: must be a number from 1 to 1000", "--locks=many")
    cannot(2, "--min-wait=-1: must be a number from 0 to 10000000 microseconds", "--min-wait=-1")
    cannot(2, "--sort=age: must be one of wait, waits, total, class", "--sort=age")
    cannot(2, "unrecognized arguments: --frequency", "--frequency")
    cannot(2, "--json and --prometheus=- both", "--json", "--prometheus=-")


def needs_tracefs():
    # the first access below debugfs mounts tracefs there
    for folder in (TRACEFS, "/sys/kernel/debug"):
        subprocess.run(["umount", folder], check=True)
    try:
        cannot(3, "mount -t tracefs tracefs /sys/kernel/tracing", "--batch")
    finally:
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=True)
        subprocess.run(["mount", "-t", "debugfs", "debugfs", "/sys/kernel/debug"], check=True)


def blocked_lock(pictures, b):
    """Return the lock that the writer waits for, of the last picture that shows the link."""
    for picture in reversed(pictures):
        for one in picture["locks"]:
            if (one["waiter"] or {}).get("pid") == b.writer and one["holders"] and \
               one["holders"][0]["chain"]:
                return one
    raise Failed("no picture shows the link: " + json.dumps(pictures))


def names_the_blocker():
    with Blocked() as b:
        status, out, err = top("--json", "--count=3", "--interval=0.5")
    check(status == 0 and not err, status, err)
    pictures = [json.loads(line) for line in out.splitlines()]
    check(len(pictures) == 3, out)
    one = blocked_lock(pictures, b)
    print("# " + json.dumps(one))
    check(one["class"].endswith("unfair"), one["class"])
    check(one["waiter"]["wants"] == "write" and one["waiter"]["waits"], one["waiter"])
    check(one["waiter"]["comm"] == "checkpoint", one["waiter"])
    check(one["longest_wait_ms"] >= one["waiter"]["wait_ms"] > 0, one)
    check(len(one["holders"]) == 1, one["holders"])
    reader, owner = one["holders"][0], one["holders"][0]["chain"][0]
    check((reader["pid"], reader["comm"]) == (b.reader, "low reader"), reader)
    check((reader["mode"], reader["state"], reader["lent"]) ==
          ("read", "asleep", {"rt_priority": 1}), reader)
    check(reader["in"] and reader["cgroup"] == "/", reader)
    check((owner["pid"], owner["comm"]) == (b.owner, "owner"), owner)
    check((owner["state"], owner["policy"], owner["rt_priority"], owner["lent"]) ==
          ("runnable", "idle", 0, {"rt_priority": 1}), owner)
    check(not instances(), instances())


def prints_a_table():
    with Blocked() as b:
        status, out, err = top("--batch", "--count=2", "--interval=0.5")
    check(status == 0 and not err, status, err)
    for line in out.splitlines():
        print("# " + line)
    check(f"checkpoint[{b.writer}]" in out and f"  low reader[{b.reader}]" in out and
          f"   owner[{b.owner}]" in out)


def metrics():
    path = "/tmp/fscommit.prom"
    put(path, "old\n")
    with Blocked():
        status, out, err = top(f"--prometheus={path}", "--count=1", "--interval=0.5")
    check(status == 0 and not out and not err, status, out, err)
    with open(path, encoding="ascii") as f:
        text = f.read()
    name = [line for line in text.splitlines() if 'state="asleep"' in line]
    check(len(name) == 1 and name[0].endswith(" 1"), text)
    check(os.listdir("/tmp").count("fscommit.prom") == 1 and
          not [f for f in os.listdir("/tmp") if f.startswith("fscommit.prom.")])
    cannot(1, "--prometheus=/nowhere/f: No such file", "--prometheus=/nowhere/f", "--count=1",
           "--interval=0.1")


def started():
    p = subprocess.Popen(TOP + ["--batch", "--interval=0.2"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    # the last event that it enables
    last = f"{INSTANCES}/fscommit-top-{p.pid}/events/sched/sched_pi_setprio/enable"
    reached(lambda: content(last) == "1\n", "all events")
    return p


def ends_when_the_module_goes():
    subprocess.run(["insmod", "/fscommit/fscommit.ko"], check=True)
    p = started()
    subprocess.run(["rmmod", "fscommit"], check=True)
    err = p.communicate(timeout=300)[1]
    check(p.returncode == 1 and "fscommit was unloaded" in err, p.returncode, err)
    check(not instances(), instances())


def ends_at_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        p = started()
        p.send_signal(number)
        check(p.wait(300) == 0, "status", p.returncode, "after signal", number)
        check(not instances(), instances())


def removes_stale_instances():
    p = started()
    p.kill()
    p.wait()
    check(instances(), "a killed program removed its instance?")
    check(top("--batch", "--count=1", "--interval=0.1")[0] == 0)
    check(not instances(), instances())


def idle_is_quiet():
    status, out, err = top("--batch", "--count=1", "--interval=0.3")
    check(status == 0 and "no task waits" in out, status, out, err)


def lockdown():
    """Return the modes, with the current one in brackets."""
    if not os.path.exists(LOCKDOWN):
        subprocess.run(["mount", "-t", "securityfs", "securityfs", "/sys/kernel/security"],
                       check=True)
    return content(LOCKDOWN)


def in_lockdown(mode):
    if f"[{mode}]" not in lockdown():
        put(LOCKDOWN, mode)


def counters_are_readable():
    """Of debugfs, lockdown refuses the files that root may write to."""
    check(content("/sys/kernel/debug/sched/preempt") is None, "the kernel is not in lockdown")
    check((content("/sys/module/fscommit/stats/loans") or "").strip().isdigit(), "sysfs")
    check(content("/sys/kernel/debug/fscommit/stats"), "debugfs")


def firmware_has_locked_down():
    check("[integrity]" in lockdown(), lockdown())
    counters_are_readable()


def confidentiality_is_named():
    for options in (["--batch"], ["--json"]):
        cannot(3, "lockdown=confidentiality, which forbids tracefs", *options)
    print("# " + top("--batch")[2].strip())


# --- fscommit-check ---------------------------------------------------------------

def says_what_it_needs():
    os.chmod("/", 0o755)
    cannot(3, "only root can read trace events", uid=65534, program=CHECK)
    cannot(2, "--time=0: must be a number from 1 to 600 seconds", "--time=0", program=CHECK)


def finds_nothing():
    status, out, err = top("--time=1", program=CHECK)
    check(status == 0 and not err and "No commit has waited" in out, status, out, err)
    check(not instances(), instances())


def finds_the_reader(*options):
    sem = open_lock(RWSEM)
    p = subprocess.Popen(CHECK + ["--json", "--time=100", "--committer=^checkpoint$", *options],
                         stdout=subprocess.PIPE, text=True)
    instance = f"{INSTANCES}/fscommit-check-{p.pid}"
    # the last event that it enables
    reached(lambda: content(instance + "/events/sched/sched_waking/enable") == "1\n", "all events")
    reader = starve(sem)
    os.close(sem)
    p.send_signal(signal.SIGINT)
    out = p.communicate(timeout=300)[0]
    print("# " + out.strip())
    check(p.returncode == 4, p.returncode)
    site, = [one for one in json.loads(out)["sites"] if one["waiters"] == {"checkpoint": 1}]
    check(site["lock"] == "rw_semaphore for writing", site)
    check(site["released_by"] == {f"low reader[{reader}]": 1}, site)
    check(site["helps"] and site["longest_ms"] >= 900, site)
    # it runs after the hog has ended; a slow guest takes a while for that
    check(site["holder_ms"]["no CPU"] >= 500, site)
    check(not instances(), instances())


# --- fscommit-check on f2fs -------------------------------------------------------

class Mounted:
    """A new filesystem of the stock driver."""

    def __enter__(self):
        disk = os.environ["DISK"]
        os.makedirs(F2FS, exist_ok=True)
        subprocess.run(["mkfs.f2fs", "-f", "-q", disk], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["mount", "-t", "f2fs", "-o", "checkpoint_merge", disk, F2FS], check=True)

    def __exit__(self, *unused):
        subprocess.run(["umount", F2FS], check=True)


def check_beside(*load):
    """Run fscommit-check while the program runs that is the load. Return what it prints."""
    p = subprocess.Popen(load, stdout=subprocess.DEVNULL) if load else None
    try:
        status, out, err = top("--time=6", program=CHECK)
        check(not err, err)
    finally:
        if p:
            p.wait()
    for line in out.splitlines():
        print("# " + line)
    return status, out


def idle_f2fs_is_quiet():
    with Mounted():
        status, out = check_beside()
    check(status == 0 and "No commit has waited" in out, status)


def io_of_f2fs_is_named():
    """One task: it writes, and syncs a file and the folder. There is nobody to wait for."""
    with Mounted():
        status, out = check_beside("fsyncbench", "-n", "0", "-b", "0", "--timed=nice:0",
                                   "-D", "30s", F2FS)
    check(status == 0 and "Their time is I/O: no lock is worth a conversion." in out, status)


def cp_rwsem_is_named():
    with Mounted():
        # the first seconds are usually enough
        for _ in range(3):
            status, out = check_beside("fsyncbench", "-n", "16", "--low=idle", "-b", "4",
                                       "--timed=nice:-20", "-D", "30s", F2FS)
            if status:
                break
    check(status == 4, status)
    site = [part for part in out.split("\n\n")
            if "CONVERT: convert cp_rwsem: make install-f2fs" in part]
    check(site, "no lock of f2fs")
    check("rw_semaphore for writing, in f2fs_write_checkpoint()" in site[0], site[0])
    check("f2fs_ckpt-" in site[0] and "low[" in site[0] and "no CPU" in site[0], site[0])


def record_starved():
    os.makedirs("/tmp/out", exist_ok=True)
    finds_the_reader("--write=/tmp/out/check")


def record():
    """Write the events and the tasks of a blocked writer to /tmp/out."""
    os.makedirs("/tmp/out", exist_ok=True)
    instance = INSTANCES + "/record"
    os.mkdir(instance)
    put(instance + "/trace_clock", "mono")
    for event in ("fscommit", "sched/sched_pi_setprio"):
        put(f"{instance}/events/{event}/enable", "1")
    with Blocked() as b:
        time.sleep(0.3)
        with open("/tmp/out/stat", "w", encoding="ascii") as f:
            for pid in (b.writer, b.reader, b.owner):
                for name in ("stat", "cgroup", "wchan"):
                    with open(f"/proc/{pid}/{name}", encoding="ascii") as p:
                        f.write(f"{pid} {name} {p.read().strip()}\n")
    with open(instance + "/trace", encoding="ascii") as f, \
         open("/tmp/out/trace", "w", encoding="ascii") as out:
        out.write(f.read())
    os.rmdir(instance)


# --- fscommit-bug-report ----------------------------------------------------------

def has_it_all():
    module = "/sys/module/fscommit/"
    status, out, err = top(program=REPORT)
    lines = out.splitlines()
    check(status == 0 and not err and lines[-1] == "== end", status, out, err)
    with open(module + "version", encoding="ascii") as f:
        check("version: " + f.read().strip() in lines, out)
    for name in os.listdir(module + "parameters"):
        with open(module + "parameters/" + name, encoding="ascii") as f:
            check(f"{name}={f.read().strip()}" in lines, name, out)
    for name in os.listdir(module + "stats"):
        check(any(re.fullmatch(name + r"=\d+", line) for line in lines), name, out)
    # the first line of a file of debugfs
    check("(static, or table full)" in lines, out)
    check("fscommit: loading out-of-tree module" in out, out)
    check("initrd=" not in out and "console=" not in out, "the command line", out)


def report_in_lockdown():
    has_it_all()
    check("lockdown: none [integrity] confidentiality" in top(program=REPORT)[1])


def refuses_nonsense():
    cannot(2, "--lines=x: must be a number from 1 on", "--lines=x", program=REPORT)
    cannot(2, "unknown option --nothing", "--nothing", program=REPORT)


STAGES = {
    "no-module": [says_what_is_wrong, needs_tracefs, ends_when_the_module_goes],
    "blocked": [idle_is_quiet, names_the_blocker, prints_a_table, metrics, ends_at_signals,
                removes_stale_instances],
    "integrity": [counters_are_readable, names_the_blocker],
    "confidentiality": [counters_are_readable, confidentiality_is_named],
    "boot-confidentiality": [confidentiality_is_named],
    "secure-boot": [firmware_has_locked_down, names_the_blocker, prints_a_table, metrics,
                    finds_the_reader, report_in_lockdown],
    "f2fs": [idle_f2fs_is_quiet, io_of_f2fs_is_named, cp_rwsem_is_named],
    "idle": [says_what_it_needs, finds_nothing],
    "starved": [finds_the_reader],
    "report": [has_it_all, refuses_nonsense],
    "record": [record],
    "record-starved": [record_starved],
}


def main(stage):
    status = 0
    tests = STAGES[stage]
    print(f"1..{len(tests)}")
    if stage in ("integrity", "confidentiality"):
        in_lockdown(stage)
    if stage == "boot-confidentiality":
        in_lockdown("confidentiality")
    for number, test in enumerate(tests, 1):
        name = f"{stage}.{test.__name__}"
        try:
            test()
        except (Failed, OSError, subprocess.SubprocessError) as error:
            print(f"# {name}: {error}")
            print(f"not ok {number} {name}", flush=True)
            status = 1
        else:
            print(f"ok {number} {name}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
