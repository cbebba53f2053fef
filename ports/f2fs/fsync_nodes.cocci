// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: who writes a node block of an fsync is seen, from its number to its submission, by
// a lock that nobody takes for writing, and lent to by the fsyncs that wait for it.
//
// An fsync waits for blocks of other tasks (fsync_chain.cocci). One that has its number and is
// not under writeback yet is waited for by a loop that never sleeps; one that is under
// writeback and has no address yet, by a sleep. In both the task that writes it may have been
// preempted, and hold no lock that anybody lends for.

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

@@
expression R, N;
identifier sbi;
@@
+unfair_rwsem_expedite(&sbi->fsync_node_rwsem);
 R = f2fs_wait_on_node_pages_writeback(sbi, N);
+unfair_rwsem_unexpedite(&sbi->fsync_node_rwsem);
