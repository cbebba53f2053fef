// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after rwsem.cocci for node_write, which a task holds for reading while it writes a node
// block: the checkpoint is a section for these readers.
//
// Why a chain is not enough: the checkpoint waits for a folio that such a task has locked, and folios
// have no owner. In a trace on 7.3 beside 32 tasks of nice 19, a kworker of nice 0 wrote back node
// blocks, and the checkpoint waited for it four times for 3 to 5 ms: three times for a folio, once
// for node_write. Use `-D inner` with all.cocci.

virtual inner

@depends on !inner@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->node_write);
	...
 }

@depends on inner@
identifier sbi;
@@
 f2fs_write_checkpoint(struct f2fs_sb_info *sbi, ...)
 {
+	guard(unfair_rwsem_expedite)(&sbi->node_write.internal_rwsem);
	...
 }
