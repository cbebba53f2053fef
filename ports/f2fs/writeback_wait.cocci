// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: an fsync that writes back data waits for cp_rwsem where f2fs sleeps and tries again.
//
// f2fs only tries to acquire cp_rwsem while it has a folio locked, because the owner of cp_rwsem may
// wait for that folio. If this fails, it unlocks the folio and sleeps: for a jiffy on 7.x, for 20 ms
// before. Meanwhile the checkpoint may end and the next one begin, so that it sleeps again. In
// traces on 7.3, a task of nice -10 so waited for 5 to 12 ms at a time, while checkpoints of 1 ms
// ran one after the other. With this patch it is woken when the lock is free, and lends to the task
// that it waits for. A real-time task, also by a loan, passes a waiting writer when it waits, but not
// when it only tries. While a writer waits, it sleeps for a jiffy: it would keep a CPU until the writer
// has the lock, and a holder of the lock might need that CPU.
//
// No folio is locked here. Other locks of this task cannot make it wait for ever: a writer of
// cp_rwsem that needs one of them would make the loop endless, too. The error is only returned where
// cp_rwsem was not acquired. Compressed files keep their loop.
//
// f2fs_lock_op() waits for cp_rwsem; since 6.19 it has a context for the event f2fs_lock_elapsed_time.

@traced@
expression E, C;
@@
 f2fs_trylock_op(E, &C)

@depends on traced@
symbol lc;
@@
 f2fs_write_cache_pages(...)
 {
	<...
-f2fs_schedule_timeout(DEFAULT_SCHEDULE_TIMEOUT);
+struct f2fs_lock_context lc;
+
+f2fs_lock_op(sbi, &lc);
+f2fs_unlock_op(sbi, &lc);
+/* a real-time task may have passed a waiting writer: would its next attempt fail, too? */
+if (current->prio < MAX_RT_PRIO) {
+	if (f2fs_trylock_op(sbi, &lc))
+		f2fs_unlock_op(sbi, &lc);
+	else
+		f2fs_schedule_timeout(1);
+}
 goto retry_write;
	...>
 }

@depends on !traced@
@@
 f2fs_write_cache_pages(...)
 {
	<...
-f2fs_io_schedule_timeout(DEFAULT_IO_TIMEOUT);
+f2fs_lock_op(sbi);
+f2fs_unlock_op(sbi);
+/* a real-time task may have passed a waiting writer: would its next attempt fail, too? */
+if (current->prio < MAX_RT_PRIO) {
+	if (f2fs_trylock_op(sbi))
+		f2fs_unlock_op(sbi);
+	else
+		f2fs_io_schedule_timeout(1);
+}
 goto retry_write;
	...>
 }
