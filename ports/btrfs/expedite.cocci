// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1: a task with a transaction handle holds handle_rwsem for reading. No task acquires it
// for writing: it only makes the task visible. An fsync, a commit, and each wait for a commit are
// expedited sections, so they lend to these tasks.
//
// Why the locks of tree blocks are not enough: a commit waits until all other tasks have ended
// their handles (num_writers, num_extwriters), and the sync of a log until no task writes to it
// (log_writers, under a handle). These are counters, which have no owner. And a committer with a
// low priority is itself what the callers of fsync() wait for.
//
// The task acquires the lock before it joins the transaction, and releases it after the commit
// can see that it has left. It holds it once, however its handles nest: an inner one is the same
// handle (journal_info). A task that waits for a commit to end does not hold it.
//
// Drawback: the section of an fsync begins before it writes the file's data, so the fsync of a
// large file lends for as long as that takes.

@header@
@@
 struct btrfs_fs_info {
	...
	struct mutex tree_log_mutex;
+	struct unfair_rwsem handle_rwsem;
	...
 };

@depends on header@
@@
 #include <linux/rwsem.h>
+#include <linux/unfair_rwsem.h>

@@
expression F;
@@
 mutex_init(&F->tree_log_mutex);
+init_unfair_rwsem(&F->handle_rwsem);

@@
identifier fs_info;
expression R, T;
@@
 start_transaction(...)
 {
	...
	struct btrfs_fs_info *fs_info = ...;
	<...
+	unfair_down_read(&fs_info->handle_rwsem);
	R = join_transaction(fs_info, T);
+	if (R)
+		unfair_up_read(&fs_info->handle_rwsem);
	...>
 }

@@
identifier trans, info;
expression T;
@@
 __btrfs_end_transaction(struct btrfs_trans_handle *trans, ...)
 {
	...
	struct btrfs_fs_info *info = ...;
	...
	cond_wake_up(&T->writer_wait);
+	unfair_up_read(&info->handle_rwsem);
	...
 }

@@
identifier f = {cleanup_transaction, btrfs_commit_transaction};
identifier trans, fs_info;
expression C;
@@
 f(struct btrfs_trans_handle *trans, ...)
 {
	...
	struct btrfs_fs_info *fs_info = ...;
	<...
+	unfair_up_read(&fs_info->handle_rwsem);
	kmem_cache_free(C, trans);
	...>
 }

// A task that writes tree blocks without a handle: the flusher, and sync(2). A commit and the sync
// of a log wait for these blocks. They write blocks themselves, with a handle.
@@
identifier fs_info;
@@
 btree_writepages(...)
 {
	...
+	if (!current->journal_info)
+		unfair_down_read(&fs_info->handle_rwsem);
	btrfs_zoned_meta_io_lock(fs_info);
	...
	btrfs_zoned_meta_io_unlock(fs_info);
+	if (!current->journal_info)
+		unfair_up_read(&fs_info->handle_rwsem);
	...
 }

// A task without a handle that waits for space, which tasks return when they end their handles.
@@
identifier space_info;
@@
 wait_reserve_ticket(..., struct btrfs_space_info *space_info, ...)
 {
+	guard(unfair_rwsem_expedite)(&space_info->fs_info->handle_rwsem);
	...
 }

// A task that wants to join while a commit is running, and may have another cgroup or a higher
// priority than the committer.
@@
identifier fs_info;
@@
 wait_current_trans(struct btrfs_fs_info *fs_info, ...)
 {
	<...
+	guard(unfair_rwsem_expedite)(&fs_info->handle_rwsem);
	wait_event(fs_info->transaction_wait, ...);
	...>
 }

@@
identifier f = {btrfs_commit_transaction, btrfs_sync_file, wait_for_commit};
identifier fs_info;
expression E;
@@
 f(...)
 {
	...
	struct btrfs_fs_info *fs_info = E;
+	guard(unfair_rwsem_expedite)(&fs_info->handle_rwsem);
	...
 }
