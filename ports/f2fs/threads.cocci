// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: the threads that write checkpoints and flush the disk's cache do it for
// everybody who called fsync(), some at nice -20 or real-time. At nice 0 they wait for their
// CPU behind whatever else is of nice 0, before a section of theirs begins and when what is
// lent as SCHED_FIFO is used up. They get the nice value of a WQ_HIGHPRI worker. From 7.0 on
// f2fs has a knob for that, critical_task_priority, nice 0 by default: it works as before.

@@
expression X, P;
@@
 f2fs_start_ckpt_thread(...)
 {
	<...
(
-	set_user_nice(X->f2fs_issue_ckpt, P);
|
	set_task_ioprio(X->f2fs_issue_ckpt, P);
+	set_user_nice(X->f2fs_issue_ckpt, MIN_NICE);
)
	...>
 }

@@
expression X;
statement S;
@@
 f2fs_create_flush_cmd_control(...)
 {
	<...
	if (IS_ERR(X->f2fs_issue_flush)) S
+	set_user_nice(X->f2fs_issue_flush, MIN_NICE);
	...>
 }
