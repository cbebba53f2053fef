// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: the checkpoint is an expedited section for the readers of cp_rwsem, from before
// its first lock to every return. It may block on a folio or mutex of such a reader before it
// waits for cp_rwsem itself. The section of the checkpoint thread ends only after it has woken
// its waiters: without the loan it could be preempted just before. Use `-D inner` with
// all.cocci.

virtual inner

@depends on !inner@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->cp_rwsem);
	...
 }

@depends on inner@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->cp_rwsem.internal_rwsem);
	...
 }

@depends on !inner@
identifier sbi;
expression R;
@@
 __checkpoint_and_complete_reqs(struct f2fs_sb_info *sbi)
 {
	...
+	guard(unfair_rwsem_expedite)(&sbi->cp_rwsem);
	R = __write_checkpoint_sync(sbi);
	...
 }

@depends on inner@
identifier sbi;
expression R;
@@
 __checkpoint_and_complete_reqs(struct f2fs_sb_info *sbi)
 {
	...
+	guard(unfair_rwsem_expedite)(&sbi->cp_rwsem.internal_rwsem);
	R = __write_checkpoint_sync(sbi);
	...
 }
