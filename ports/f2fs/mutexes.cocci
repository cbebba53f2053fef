// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, or LOCKS=all: locks that operations and the checkpoint acquire inside cp_rwsem or
// before it. A mutex becomes an unfair_rwsem acquired for writing only, so that its waiters lend
// to the owner. sentry_lock is a rw_semaphore, acquired for writing at each block allocation.
//
// Why a chain is not enough: a task that creates or removes a file is in no section, and waits for
// no unfair_rwsem, so it lends nothing. In traces on 7.3 without this patch, beside 32 tasks of
// nice 19, a task of nice -10 waited for extent_tree_lock for 1.2 s and for build_lock for 0.6 s,
// behind owners without a CPU, one after the other. And in an fsync it waited for sentry_lock for
// 0.25 s: the lock was left to the next writer of its queue, which was woken and had no CPU. Until
// that runs, the lock has no owner.
//
// Not journal_rwsem: no trace shows a wait for it, and as an unfair_rwsem it cost 2.8 % of an fsync
// of RocksDB.

@mutex@
identifier S;
identifier M = {extent_tree_lock, build_lock, seglist_lock, curseg_mutex, cmd_lock};
@@
 struct S {
	...
-	struct mutex M;
+	struct unfair_rwsem M;
	...
 };

@rwsem@
identifier S;
identifier R =~ "^sentry_lock$";
@@
 struct S {
	...
-	struct rw_semaphore R;
+	struct unfair_rwsem R;
	...
 };

@@
expression E;
identifier M = {extent_tree_lock, build_lock, seglist_lock, curseg_mutex, cmd_lock};
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
identifier R =~ "^sentry_lock$";
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
