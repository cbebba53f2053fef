# SPDX-License-Identifier: GPL-2.0
"""Print the holders and waiters of each lock of fscommit that has a sleeping waiter.

    drgn -k drgn_locks.py               the running kernel
    drgn -c VMCORE drgn_locks.py        a crash dump

Needs debug information of the kernel and of fscommit.ko, and a 64-bit machine.
"""
from drgn import Object, get_default_prog
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.rbtree import rbtree_inorder_for_each_entry

# of linux/unfair_rwsem.h and visible_readers.c
WRITER, FLAGS, PID_BITS, ID_SHIFT, SLOT_BIASED = 1, 31, 22, 16, 1
prog = get_default_prog()


def show(what, task):
    print(f"  {what} {task.comm.string_().decode(errors='replace')}[{task.pid.value_()}]")


def show_lock(sem):
    address, word = sem.value_(), sem.word.counter.value_() & 2**64 - 1
    print(f"lock {address:#x}, word {word:#x}")
    if word & WRITER:
        show("held for writing by", Object(prog, "struct task_struct *", word & ~FLAGS))
    else:
        print(f"  {word // (FLAGS + 1) & 2**58 - 1} readers in the word")
    for slot in prog["unfair_reader_slots"]:
        pid = slot.value_() ^ (address << ID_SHIFT & 2**64 - 1)
        if not pid >> PID_BITS:
            print(f"  read by pid {pid}")
    for slot in (s for region in prog["biased_slots"] for s in region):
        if slot.sem.value_() & ~SLOT_BIASED == address:
            print(f"  read by pid {slot.pid.value_()}")
    waiter = prog.type("struct waiter", "unfair_rwsem.c")
    for kind, tree in ("writer", sem.writers.rb_root), ("reader", sem.readers):
        for w in rbtree_inorder_for_each_entry(waiter, tree.address_of_(), "node"):
            show(f"awaited by {kind}", w.task)


for name in "watches", "urgent_watches":
    for watch in list_for_each_entry("struct unfair_watch",
                                     prog.variable(name, "watcher.c").address_of_(), "entry"):
        if watch.sem:
            show_lock(watch.sem)
