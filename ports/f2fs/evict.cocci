// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after buffered_write.cocci: who evicts an inode is seen, by a lock that nobody
// takes for writing. An inode with dirty metadata that is being evicted can neither be
// grabbed nor written by the checkpoint, which tries again and again, on its CPU, until the
// task that evicts has got on: traced, one of nice 19 that was preempted there kept it for 2.9 s.
// It is not the lock of writers: memory that a write needs may come from an eviction.

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
