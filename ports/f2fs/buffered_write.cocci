// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after expedite.cocci: a task that writes through the page cache holds
// buffered_write_rwsem for reading. No task acquires it for writing: it only makes the task
// visible to the checkpoint, which lends to it. The checkpoint flushes inline data, and so
// locks data folios. Their owner may not have acquired cp_rwsem yet, so expediting cp_rwsem
// does not reach it. In traces, a preempted writer of nice 19 blocked a checkpoint there for
// 1.7 s, and a SCHED_IDLE writer for 3.7 s.

@header@
@@
 struct f2fs_sb_info {
	...
	struct mutex umount_mutex;
+	struct unfair_rwsem buffered_write_rwsem;
	...
 };

@@
expression E;
@@
 mutex_init(&E->umount_mutex);
+init_unfair_rwsem(&E->buffered_write_rwsem);

@@
expression R;
@@
+unfair_down_read(&F2FS_I_SB(inode)->buffered_write_rwsem);
 R = generic_perform_write(...);
+unfair_up_read(&F2FS_I_SB(inode)->buffered_write_rwsem);

// f2fs reserves the blocks of a write under node_change, not cp_rwsem.
@@
expression R;
@@
+unfair_down_read(&F2FS_I_SB(inode)->buffered_write_rwsem);
 R = f2fs_preallocate_blocks(...);
+unfair_up_read(&F2FS_I_SB(inode)->buffered_write_rwsem);

@@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->buffered_write_rwsem);
	...
 }
