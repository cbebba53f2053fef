// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: the threads that write checkpoints and flush the disk's cache get nice -20, as
// a WQ_HIGHPRI worker has. They work for every caller of fsync(), some at nice -20 or
// real-time. At nice 0 they would compete for the CPU with all tasks of nice 0, before their
// section begins and after the SCHED_FIFO budget is used up. From 7.0 on, f2fs has
// critical_task_priority for this, nice 0 by default: another value than that still counts, also
// when the thread starts again.
//
// Why a chain is not enough: the caller waits for a completion, which has no owner, and the
// threads hold no lock yet. In a trace without this patch, the flushing thread wanted a CPU for
// 0.57 s of the ten slowest fsyncs.

@settable@
expression X, S;
@@
 f2fs_start_ckpt_thread(...)
 {
	<+...
-	set_user_nice(X->f2fs_issue_ckpt, PRIO_TO_NICE(S->critical_task_priority));
+	set_user_nice(X->f2fs_issue_ckpt,
+		      S->critical_task_priority == F2FS_CRITICAL_TASK_PRIORITY ? MIN_NICE :
+		      PRIO_TO_NICE(S->critical_task_priority));
	...+>
 }

@depends on !settable@
expression X, P;
@@
 f2fs_start_ckpt_thread(...)
 {
	<...
	set_task_ioprio(X->f2fs_issue_ckpt, P);
+	set_user_nice(X->f2fs_issue_ckpt, MIN_NICE);
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
