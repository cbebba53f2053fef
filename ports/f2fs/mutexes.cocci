// SPDX-License-Identifier: GPL-2.0
// LOCKS=all+mutexes, after all.cocci: the locks that operations and the checkpoint acquire
// inside cp_rwsem. A mutex becomes an unfair_rwsem acquired for writing only, so that its
// waiters lend to the owner. sentry_lock and journal_rwsem are rw_semaphores, acquired for
// writing at each block allocation.

@mutex@
identifier S;
identifier M =~ "^(extent_tree_lock|build_lock|seglist_lock|curseg_mutex|cmd_lock)$";
@@
 struct S {
	...
-	struct mutex M;
+	struct unfair_rwsem M;
	...
 };

@rwsem@
identifier S;
identifier R =~ "^(sentry_lock|journal_rwsem)$";
@@
 struct S {
	...
-	struct rw_semaphore R;
+	struct unfair_rwsem R;
	...
 };

@@
expression E;
identifier M =~ "^(extent_tree_lock|build_lock|seglist_lock|curseg_mutex|cmd_lock)$";
@@
(
-mutex_init(&E->M)
+init_unfair_rwsem(&E->M)
|
-mutex_init(&E.M)
+init_unfair_rwsem(&E.M)
|
-mutex_lock(&E->M)
+unfair_down_write(&E->M)
|
-mutex_trylock(&E->M)
+unfair_down_write_trylock(&E->M)
|
-mutex_unlock(&E->M)
+unfair_up_write(&E->M)
|
-mutex_is_locked(&E->M)
+unfair_rwsem_is_locked(&E->M)
|
-lockdep_assert_held(&E->M)
+unfair_rwsem_assert_held_write(&E->M)
)

@@
expression E;
identifier R =~ "^(sentry_lock|journal_rwsem)$";
@@
(
-init_rwsem(&E->R)
+init_unfair_rwsem(&E->R)
|
-init_rwsem(&E.R)
+init_unfair_rwsem(&E.R)
|
-down_read(&E->R)
+unfair_down_read(&E->R)
|
-down_read_trylock(&E->R)
+unfair_down_read_trylock(&E->R)
|
-up_read(&E->R)
+unfair_up_read(&E->R)
|
-down_write(&E->R)
+unfair_down_write(&E->R)
|
-down_write_trylock(&E->R)
+unfair_down_write_trylock(&E->R)
|
-up_write(&E->R)
+unfair_up_write(&E->R)
|
-rwsem_is_locked(&E->R)
+unfair_rwsem_is_locked(&E->R)
|
-rwsem_is_contended(&E->R)
+unfair_rwsem_is_contended(&E->R)
)
