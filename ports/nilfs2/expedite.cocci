// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: segment construction is an expedited section for the readers of ns_segctor_sem.
// segctord syncs for all tasks that wait for it, and its own section lends only the level of
// segctord. So a waiting task has a section too, which lends the level of that task. An
// fdatasync either constructs the segment itself or waits for segctord.

@@
identifier S;
@@
 nilfs_segctor_thread_construct(struct nilfs_sc_info *S, ...)
 {
+	struct the_nilfs *nilfs = S->sc_super->s_fs_info;
+	guard(unfair_rwsem_expedite)(&nilfs->ns_segctor_sem);
	...
 }

@@
identifier N;
expression E;
@@
(
 nilfs_construct_segment
|
 nilfs_construct_dsync_segment
)
 (...)
 {
	struct the_nilfs *N = E;
+	guard(unfair_rwsem_expedite)(&N->ns_segctor_sem);
	...
 }
