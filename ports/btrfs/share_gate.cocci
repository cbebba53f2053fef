// SPDX-License-Identifier: GPL-2.0
// SHARE_GATE=1: a share gate in place of last_reflink_trans. docs/porting_btrfs.rst maps each use to
// a call.

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
+		share_gate_mark(&I->gate, I->last_trans);
	...>
 }

// An inode that is read in again may have shared something in its last transaction.

@@
expression I;
@@
-I->last_reflink_trans = I->last_trans;
+share_gate_mark(&I->gate, I->last_trans);

@@
identifier inode;
@@
 btrfs_log_inode(..., struct btrfs_inode *inode, ...)
 {
+	u64 seen;
	<...
(
	mutex_lock(&inode->log_mutex);
+	seen = share_gate_log_begin(&inode->gate);
|
-	inode->last_reflink_trans = 0;
+	share_gate_log_end(&inode->gate, seen);
)
	...>
 }

// The trace events of 7.3 are outside of fs/btrfs and read last_reflink_trans: it is another name of
// the gate's word.

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
