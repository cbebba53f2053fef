// SPDX-License-Identifier: GPL-2.0
// LOCKS=cp_rwsem: one f2fs_rwsem becomes an unfair_rwsem. `-D lock=NAME -D in=STRUCT` name it and
// its struct, `-D trace=NAME` the f2fs_rwsem below. First the lock between operations and the
// checkpoint (cp_rwsem), then nat_tree_lock, then io_rwsem of each bio that is being filled.
//
// Why a chain is not enough for nat_tree_lock: f2fs looks up and changes the address of each node
// block under it, also in stat(), reads and evictions. A preempted reader has no owner that a
// chain could find, and its task may hold no other unfair_rwsem. In a trace without it, a task of
// nice 19 kept the nice -20 task and the SCHED_FIFO task waiting for 1.6 s, both in
// set_node_addr().
//
// Nor for io_rwsem: a task that creates or writes a file is in no section, and lends nothing. In a
// trace on 7.3 without it, beside 32 tasks of nice 19, a task of nice -10 waited in a create for 374
// ms, in f2fs_folio_wait_writeback(), for a reader or woken writer of io_rwsem without a CPU.
//
// From 6.19 on, these locks also have a name for the event f2fs_lock_elapsed_time, and f2fs may
// raise the nice value of cp_rwsem's readers (adjust_lock_priority). The patch keeps the event: a
// f2fs_rwsem that no task acquires holds the name. It drops the nice value, because an
// unfair_rwsem lends to the readers that a writer waits for.
//
// With `-D elsewhere` the lock is used outside of checkpoint.c, which has the event's functions.

virtual elsewhere

@traced@
@@
 struct f2fs_lock_context { ... };

@declared@
@@
 void trace_lock_elapsed_time_start(struct f2fs_rwsem *sem, struct f2fs_lock_context *lc);

@included@
@@
 #include <linux/unfair_rwsem.h>

@header@
identifier virtual.lock, virtual.in;
@@
 struct in {
	...
-	struct f2fs_rwsem lock;
+	struct unfair_rwsem lock;
	...
 };

@depends on header && !included@
@@
 #include <linux/uio.h>
+#include <linux/unfair_rwsem.h>

@depends on header && traced@
identifier virtual.lock, virtual.in, virtual.trace;
@@
 struct in {
	...
	struct unfair_rwsem lock;
+	struct f2fs_rwsem trace;
	...
 };

// A reader that finds writers waiting releases the lock and acquires it again. A real-time reader,
// or one with a loan of SCHED_FIFO, passes those writers: it would spin until a reader without a
// CPU has released the lock. The lock of the journal is never held for writing here.
@@
expression E, J;
identifier virtual.lock;
@@
-f2fs_rwsem_is_contended(&E->lock) || !down_read_trylock(J)
+!down_read_trylock(J)

@depends on header && traced && elsewhere && !declared@
@@
 #include <linux/unfair_rwsem.h>
+
+struct f2fs_rwsem;
+struct f2fs_lock_context;
+void trace_lock_elapsed_time_start(struct f2fs_rwsem *sem, struct f2fs_lock_context *lc);
+void trace_lock_elapsed_time_end(struct f2fs_rwsem *sem, struct f2fs_lock_context *lc,
+				 bool is_write);

@depends on elsewhere@
@@
-static inline
 void trace_lock_elapsed_time_start(...) { ... }

@depends on elsewhere@
@@
-static inline
 void trace_lock_elapsed_time_end(...) { ... }

@@
identifier virtual.lock, virtual.trace;
expression E, S, N;
@@
(
-init_f2fs_rwsem(&E->lock);
+init_unfair_rwsem(&E->lock);
|
-init_f2fs_rwsem(&E.lock);
+init_unfair_rwsem(&E.lock);
|
-init_f2fs_rwsem_trace(&E->lock, S, N);
+init_unfair_rwsem(&E->lock);
+init_f2fs_rwsem_trace(&E->trace, S, N);
)

@@
identifier virtual.lock, virtual.trace;
expression E, C;
@@
(
-f2fs_down_read_trace(&E->lock, C);
+unfair_down_read(&E->lock);
+trace_lock_elapsed_time_start(&E->trace, C);
|
-return f2fs_down_read_trylock_trace(&E->lock, C);
+if (!unfair_down_read_trylock(&E->lock))
+	return 0;
+trace_lock_elapsed_time_start(&E->trace, C);
+return 1;
|
-f2fs_up_read_trace(&E->lock, C);
+unfair_up_read(&E->lock);
+trace_lock_elapsed_time_end(&E->trace, C, false);
|
-f2fs_down_write_trace(&E->lock, C);
+unfair_down_write(&E->lock);
+trace_lock_elapsed_time_start(&E->trace, C);
|
-if (!f2fs_down_write_trylock_trace(&E->lock, C))
+if (!unfair_down_write_trylock(&E->lock))
	return 0;
+trace_lock_elapsed_time_start(&E->trace, C);
|
-f2fs_up_write_trace(&E->lock, C);
+unfair_up_write(&E->lock);
+trace_lock_elapsed_time_end(&E->trace, C, true);
)

@@
identifier virtual.lock;
expression E, S;
@@
(
-f2fs_down_read(&E->lock)
+unfair_down_read(&E->lock)
|
-f2fs_down_read_nested(&E->lock, S)
+unfair_down_read_nested(&E->lock, S)
|
-f2fs_down_read_trylock(&E->lock)
+unfair_down_read_trylock(&E->lock)
|
-f2fs_up_read(&E->lock)
+unfair_up_read(&E->lock)
|
-f2fs_down_write(&E->lock)
+unfair_down_write(&E->lock)
|
-f2fs_down_write_nested(&E->lock, S)
+unfair_down_write_nested(&E->lock, S)
|
-f2fs_down_write_trylock(&E->lock)
+unfair_down_write_trylock(&E->lock)
|
-f2fs_up_write(&E->lock)
+unfair_up_write(&E->lock)
|
-f2fs_rwsem_is_locked(&E->lock)
+unfair_rwsem_is_locked(&E->lock)
|
-f2fs_rwsem_is_contended(&E->lock)
+unfair_rwsem_is_contended(&E->lock)
)
