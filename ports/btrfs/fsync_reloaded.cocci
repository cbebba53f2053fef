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
