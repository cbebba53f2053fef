// SPDX-License-Identifier: GPL-2.0
// LOCKS=all: every f2fs_rwsem contains an unfair_rwsem.

@header@
@@
 struct f2fs_rwsem {
	...
-	struct rw_semaphore internal_rwsem;
+	struct unfair_rwsem internal_rwsem;
	...
 };

@depends on header@
@@
 #include <linux/uio.h>
+#include <linux/unfair_rwsem.h>

// As in rwsem.cocci: a reader that passes the writers would spin.
@@
expression E, J;
@@
-f2fs_rwsem_is_contended(E) || !down_read_trylock(J)
+!down_read_trylock(J)

// With CONFIG_F2FS_UNFAIR_RWSEM, a reader retries a trylock. An unfair_rwsem queues it.
@@
expression E;
@@
-wait_event(E->read_waiters, down_read_trylock(&E->internal_rwsem))
+unfair_down_read(&E->internal_rwsem)

@@
expression E, N, K;
@@
(
-__init_rwsem(&E->internal_rwsem, N, K)
+__init_unfair_rwsem(&E->internal_rwsem, N, K)
|
-rwsem_is_locked(&E->internal_rwsem)
+unfair_rwsem_is_locked(&E->internal_rwsem)
|
-rwsem_is_contended(&E->internal_rwsem)
+unfair_rwsem_is_contended(&E->internal_rwsem)
|
-down_read(&E->internal_rwsem)
+unfair_down_read(&E->internal_rwsem)
|
-down_read_nested(&E->internal_rwsem, N)
+unfair_down_read_nested(&E->internal_rwsem, N)
|
-down_read_trylock(&E->internal_rwsem)
+unfair_down_read_trylock(&E->internal_rwsem)
|
-up_read(&E->internal_rwsem)
+unfair_up_read(&E->internal_rwsem)
|
-down_write(&E->internal_rwsem)
+unfair_down_write(&E->internal_rwsem)
|
-down_write_nested(&E->internal_rwsem, N)
+unfair_down_write_nested(&E->internal_rwsem, N)
|
-down_write_trylock(&E->internal_rwsem)
+unfair_down_write_trylock(&E->internal_rwsem)
|
-up_write(&E->internal_rwsem)
+unfair_up_write(&E->internal_rwsem)
)
