// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after expedite.cocci: who writes a file through the page cache holds a lock
// for reading that nobody takes for writing. It is there to be seen: the checkpoint locks
// folios of data (inline data that is flushed) whose owner has not come to cp_rwsem yet, and
// which expediting cp_rwsem alone does not reach. Traced, a writer at nice 19 that was
// preempted there held up a checkpoint for 1.7 s, and a SCHED_IDLE one for 3.7 s.

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

// the blocks of a write are reserved under node_change, which is not cp_rwsem either
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
