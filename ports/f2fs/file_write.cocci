// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after expedite.cocci: a task that writes through the page cache, calls fsync, or
// looks up a name holds file_write_rwsem for reading. No task acquires it for writing: it only makes
// the task visible to the checkpoint, which lends to it.
//
// Why a chain is not enough: the checkpoint waits for these tasks at places where the
// kernel names no owner.
//
//   - A folio lock. The checkpoint flushes inline data and nodes, and so locks folios. Their
//     owner may not have acquired cp_rwsem yet, or never does, so expediting cp_rwsem does not
//     reach it. In traces without this patch, a preempted writer of nice 19 blocked the
//     checkpoint for 0.5 to 1.7 s, and a SCHED_IDLE writer for 3.7 s; an fsync of nice 19 did
//     for 0.7 s, a SCHED_IDLE fsync for 4.9 s. A lookup of nice 19 blocked it for 0.2 s, and an
//     fsync for 0.17 and 0.19 s.
//   - A rw_semaphore held for reading: node_change while blocks are reserved, nat_tree_lock in
//     an fsync. The checkpoint waited for these for up to 1.7 s and 1.3 s. The owner field had
//     no task in 93 % of that time: the reader that had acquired it last had released it.
//   - nat_tree_lock, left to the next writer of its queue, which was woken and has not run
//     since: until it runs, the lock has no owner. In a trace, 13 writers queued behind such a
//     task for 1.3 s.

@header@
@@
 struct f2fs_sb_info {
	...
	struct mutex umount_mutex;
+	struct unfair_rwsem file_write_rwsem;
	...
 };

@@
expression E;
@@
 mutex_init(&E->umount_mutex);
+init_unfair_rwsem(&E->file_write_rwsem);

@@
expression R;
@@
+unfair_down_read(&F2FS_I_SB(inode)->file_write_rwsem);
 R = generic_perform_write(...);
+unfair_up_read(&F2FS_I_SB(inode)->file_write_rwsem);

// f2fs reserves the blocks of a write under node_change, not cp_rwsem.
@@
expression R;
@@
+unfair_down_read(&F2FS_I_SB(inode)->file_write_rwsem);
 R = f2fs_preallocate_blocks(...);
+unfair_up_read(&F2FS_I_SB(inode)->file_write_rwsem);

@@
identifier inode;
expression E;
@@
 f2fs_do_sync_file(...)
 {
	struct inode *inode = E;
+	guard(unfair_rwsem_read)(&F2FS_I_SB(inode)->file_write_rwsem);
	...
 }

// A lookup, too, locks folios of the folder. Not one within cp_rwsem, as f2fs_do_add_link() makes:
// a write acquires cp_rwsem within file_write_rwsem.
@@
identifier F = {f2fs_find_entry, f2fs_lookup};
identifier dir;
expression R;
@@
 F(struct inode *dir, ...)
 {
	...
+	unfair_down_read(&F2FS_I_SB(dir)->file_write_rwsem);
	R = __f2fs_find_entry(dir, ...);
+	unfair_up_read(&F2FS_I_SB(dir)->file_write_rwsem);
	...
 }

@@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->file_write_rwsem);
	...
 }
