// SPDX-License-Identifier: GPL-2.0
// LOCKS=cp_rwsem: only the lock between operations and the checkpoint becomes an
// unfair_rwsem.
//
// From 6.19 on, this lock also has a name for the event f2fs_lock_elapsed_time, and f2fs may
// raise the nice value of its readers (adjust_lock_priority). The patch keeps the event: a
// f2fs_rwsem that no task acquires holds the name. It drops the nice value, because an
// unfair_rwsem lends to the readers that a writer waits for.

@traced@
@@
 struct f2fs_lock_context { ... };

@header@
@@
 struct f2fs_sb_info {
	...
-	struct f2fs_rwsem cp_rwsem;
+	struct unfair_rwsem cp_rwsem;
	...
 };

@depends on header@
@@
 #include <linux/uio.h>
+#include <linux/unfair_rwsem.h>

@depends on header && traced@
@@
 struct f2fs_sb_info {
	...
	struct unfair_rwsem cp_rwsem;
+	struct f2fs_rwsem cp_rwsem_trace;
	...
 };

@@
expression E, S, N;
@@
(
-init_f2fs_rwsem(&E->cp_rwsem);
+init_unfair_rwsem(&E->cp_rwsem);
|
-init_f2fs_rwsem_trace(&E->cp_rwsem, S, N);
+init_unfair_rwsem(&E->cp_rwsem);
+init_f2fs_rwsem_trace(&E->cp_rwsem_trace, S, N);
)

@@
expression E, C;
@@
(
-f2fs_down_read_trace(&E->cp_rwsem, C);
+unfair_down_read(&E->cp_rwsem);
+trace_lock_elapsed_time_start(&E->cp_rwsem_trace, C);
|
-return f2fs_down_read_trylock_trace(&E->cp_rwsem, C);
+if (!unfair_down_read_trylock(&E->cp_rwsem))
+	return 0;
+trace_lock_elapsed_time_start(&E->cp_rwsem_trace, C);
+return 1;
|
-f2fs_up_read_trace(&E->cp_rwsem, C);
+unfair_up_read(&E->cp_rwsem);
+trace_lock_elapsed_time_end(&E->cp_rwsem_trace, C, false);
)

@@
expression E, S;
@@
(
-f2fs_down_read(&E->cp_rwsem)
+unfair_down_read(&E->cp_rwsem)
|
-f2fs_down_read_nested(&E->cp_rwsem, S)
+unfair_down_read_nested(&E->cp_rwsem, S)
|
-f2fs_down_read_trylock(&E->cp_rwsem)
+unfair_down_read_trylock(&E->cp_rwsem)
|
-f2fs_up_read(&E->cp_rwsem)
+unfair_up_read(&E->cp_rwsem)
|
-f2fs_down_write(&E->cp_rwsem)
+unfair_down_write(&E->cp_rwsem)
|
-f2fs_down_write_nested(&E->cp_rwsem, S)
+unfair_down_write_nested(&E->cp_rwsem, S)
|
-f2fs_down_write_trylock(&E->cp_rwsem)
+unfair_down_write_trylock(&E->cp_rwsem)
|
-f2fs_up_write(&E->cp_rwsem)
+unfair_up_write(&E->cp_rwsem)
|
-f2fs_rwsem_is_locked(&E->cp_rwsem)
+unfair_rwsem_is_locked(&E->cp_rwsem)
|
-f2fs_rwsem_is_contended(&E->cp_rwsem)
+unfair_rwsem_is_contended(&E->cp_rwsem)
)
