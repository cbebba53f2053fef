// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: who needs a segment keeps the readers of ns_segctor_sem on their CPUs. Syncs
// are done by segctord for everybody who waits for it, and its section lends for segctord
// alone; that of the task that waits lends for the task. An fdatasync constructs by itself,
// or waits for segctord as well.

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
