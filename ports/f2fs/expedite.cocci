// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: who writes a checkpoint keeps the readers of cp_rwsem on their CPUs, from
// before it takes a lock to every return. It may get stuck on a folio or a mutex that such
// a reader owns, before it waits for cp_rwsem itself. The checkpoint's thread does so until
// it has told those that wait for it: with its own priority back it could be preempted
// just before. `-D inner` goes with all.cocci.

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
