// SPDX-License-Identifier: GPL-2.0
// An fsync logs an inode that was read in again in this transaction.
//
// btrfs takes an inode for logged in full if its last_sub_trans is not above its last_log_commit. Both
// are 0 in an inode that was just read in. What logs an inode as merely existing does not set
// last_log_commit, so that a later fsync logs the rest: but 0 is not above 0. So a file that was written
// back, evicted, and read in again loses its contents if its folder is synced before it: its own fsync
// logs nothing and returns 0. The smoke test and filesystems.rst have the steps, on the kernel's own
// driver, too.

@@
expression I;
@@
 btrfs_alloc_inode(...)
 {
	<...
-	I->last_log_commit = 0;
+	I->last_log_commit = -1;
	...>
 }

// An fsync of a folder keeps removed names removed.
//
// The log tells the names that are gone by the gaps between indexes in leaves of this transaction.
// If a leaf loses the last of its indexes of the folder, the gap may be between two older leaves.
// Then the fsync logs nothing of it, unless the removals still wait in memory, and after a crash
// the names are back. So such a folder counts as one whose last_unlink_trans is of this
// transaction: its fsync commits. A folder that is read in again does so anyway.

@@
symbol trans, root, path, nr, ret;
@@
+static void btrfs_note_emptied_leaf(struct btrfs_trans_handle *trans, struct btrfs_root *root,
+				    struct btrfs_path *path, int nr)
+{
+	struct extent_buffer *leaf = path->nodes[0];
+	const int slot = path->slots[0];
+	struct btrfs_key before, key;
+	struct btrfs_inode *dir;
+
+	if (slot + nr < btrfs_header_nritems(leaf))
+		return;
+	btrfs_item_key_to_cpu(leaf, &key, slot);
+	if (slot) {
+		btrfs_item_key_to_cpu(leaf, &before, slot - 1);
+		if (before.objectid == key.objectid && before.type == key.type)
+			return;
+	}
+	xa_lock(&root->inodes);
+	dir = xa_load(&root->inodes, key.objectid);
+	if (dir)
+		WRITE_ONCE(dir->last_unlink_trans, trans->transid);
+	xa_unlock(&root->inodes);
+}
+
 int btrfs_batch_delete_items(...)
 {
	...
 }

@@
symbol ret;
expression T, R, P, N;
@@
 btrfs_batch_delete_items(...)
 {
	<...
+	btrfs_note_emptied_leaf(T, R, P, N);
	ret = btrfs_del_items(T, R, P, P->slots[0], N);
	...>
 }

// A removal that left memory since the first look at last_unlink_trans was noted before.

@@
symbol full_dir_logging, ret, trans;
identifier I;
expression C;
@@
	if (C)
		btrfs_log_get_delayed_items(I, ...);
+	if (full_dir_logging && READ_ONCE(I->last_unlink_trans) >= trans->transid) {
+		ret = BTRFS_LOG_FORCE_COMMIT;
+		goto out_unlock;
+	}

// A replay that adds the name of a folder has succeeded: it does not return 1, which fails the mount.

@@
symbol ret;
@@
 replay_one_dir_item(...)
 {
	...
	if (ret == 1 && ...) { ... }
-	return ret;
+	return min(ret, 0);
 }
