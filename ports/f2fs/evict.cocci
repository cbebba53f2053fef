// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after file_write.cocci: a task that evicts an inode holds evict_rwsem for
// reading, so that the checkpoint can lend to it. No task acquires it for writing.
//
// Why a chain is not enough: the checkpoint is not blocked. It can neither grab nor write an
// inode with dirty metadata during its eviction, so it loops until the evicting task proceeds.
// In traces without this patch, a preempted task of nice 19 delayed it for 1.9 and 2.9 s.
//
// This cannot be file_write_rwsem: a write that allocates memory may evict an inode.

@header@
@@
 struct f2fs_sb_info {
	...
	struct mutex umount_mutex;
+	struct unfair_rwsem evict_rwsem;
	...
 };

@@
expression E;
@@
 mutex_init(&E->umount_mutex);
+init_unfair_rwsem(&E->evict_rwsem);

@@
identifier inode;
@@
 f2fs_evict_inode(struct inode *inode)
 {
+	guard(unfair_rwsem_read)(&F2FS_I_SB(inode)->evict_rwsem);
	...
 }

@@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->evict_rwsem);
	...
 }
