// SPDX-License-Identifier: GPL-2.0
// SHARE_GATE=1: a share gate in place of last_reflink_trans. An fsync of a file that shared
// nothing in this transaction locks no range of the log and deletes no checksums from it.
// docs/porting_btrfs.rst maps each use to a call.

@@
expression I;
@@
 btrfs_alloc_inode(...)
 {
	<...
-	I->last_reflink_trans = 0;
+	share_gate_init(&I->gate);
	...>
 }

// No transaction has changed a new inode, so it cannot have shared anything.

@@
struct btrfs_inode *I;
@@
 btrfs_set_inode_full_sync(...)
 {
	<...
-	if (I->last_reflink_trans < I->last_trans)
-		I->last_reflink_trans = I->last_trans;
+	if (I->last_trans)
+		share_gate_raise(&I->gate, I->last_trans);
	...>
 }

// An inode that is read in again may have shared something in its last transaction.

@@
expression I;
@@
-I->last_reflink_trans = I->last_trans;
+share_gate_reloaded(&I->gate, I->last_trans);

@csums@
identifier lock, unlock, insert, trans, inode, log, sums, last, cached, ret;
expression first, from, nr;
@@
+static int lock_log_range(void *tree, u64 start, u64 end, void *cached)
+{
+	return lock(tree, start, end, cached);
+}
+
+static void unlock_log_range(void *tree, u64 start, u64 end, void *cached)
+{
+	unlock(tree, start, end, cached);
+}
+
+static const struct share_gate_ops log_range_ops = { lock_log_range, unlock_log_range };
+
 static int log_csums(struct btrfs_trans_handle *trans, struct btrfs_inode *inode,
		     struct btrfs_root *log, struct btrfs_ordered_sum *sums)
 {
+	struct share_gate_section section;
	...
	int ret;
-	if (inode->last_reflink_trans < trans->transid)
-		return insert(trans, log, sums);
-	ret = lock(&log->log_csum_range, first, last, &cached);
-	if (ret)
+	ret = share_gate_enter(&section, &inode->gate, trans->transid, &log_range_ops,
+			       &log->log_csum_range, &cached, first, last);
+	if (ret < 0)
		return ret;
-	ret = btrfs_del_csums(trans, log, from, nr);
+	if (ret == SHARE_GATE_LOCKED)
+		ret = btrfs_del_csums(trans, log, from, nr);
	if (!ret)
		ret = insert(trans, log, sums);
-	unlock(&log->log_csum_range, first, last, &cached);
+	share_gate_exit(&section);
	return ret;
 }

@@
identifier inode;
@@
 btrfs_log_inode(..., struct btrfs_inode *inode, ...)
 {
+	u64 marks;
	<...
(
	mutex_lock(&inode->log_mutex);
+	marks = share_gate_marks(&inode->gate);
|
-	inode->last_reflink_trans = 0;
+	share_gate_clear(&inode->gate, marks);
)
	...>
 }

// The trace events of 7.3 are outside of fs/btrfs and read last_reflink_trans: it is the name of the
// first bytes of the gate, its last generation.

@inode@
@@
 struct btrfs_inode {
	...
	union {
+		struct share_gate gate;
		u64 last_reflink_trans;
		...
	};
	...
 };

@depends on inode@
@@
 #include <linux/refcount.h>
+#include <linux/share_gate.h>
