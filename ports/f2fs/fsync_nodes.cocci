// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: a task that writes a node block of an fsync holds fsync_node_rwsem for reading,
// from the block's number to its submission. Fsyncs that wait for the block lend to the task.
// No task acquires the lock for writing.
//
// An fsync waits for blocks of other tasks (fsync_ordered.cocci). It spins for a block that has
// a number but is not under writeback yet, and sleeps for a block under writeback that has no
// address yet. In both cases the writing task may be preempted, and hold no other lock for
// which a waiter lends.

@header@
@@
 struct f2fs_sb_info {
	...
	struct mutex umount_mutex;
+	struct unfair_rwsem fsync_node_rwsem;
	...
 };

@@
expression E;
@@
 mutex_init(&E->umount_mutex);
+init_unfair_rwsem(&E->fsync_node_rwsem);

@@
statement S;
@@
+unfair_down_read(&sbi->fsync_node_rwsem);
 if (f2fs_in_warm_node_list(...)) S
 ...
 f2fs_do_write_node_page(...);
+unfair_up_read(&sbi->fsync_node_rwsem);

// With FSYNC=ordered the wait is a function of its own, in which the numbers are no identifiers.
@@
expression R;
identifier sbi, N;
iterator name scoped_guard;
@@
+scoped_guard(unfair_rwsem_expedite, &sbi->fsync_node_rwsem)
 R = f2fs_wait_on_node_pages_writeback(sbi, N);

@@
expression R;
identifier sbi;
iterator name scoped_guard;
@@
+scoped_guard(unfair_rwsem_expedite, &sbi->fsync_node_rwsem)
 R = wait_on_node_chain(sbi);
