// SPDX-License-Identifier: GPL-2.0
// FSYNC=ordered: an fsync waits for every node block allocated before its own, then flushes the
// disk's cache.
//
// f2fs recovers fsyncs since the checkpoint along a list: each node block names the address
// allocated after its own. So an fsync is durable only when its block and all blocks allocated
// before it are on the disk. f2fs numbers the blocks before it allocates them, and waits for
// numbers up to its own. It misses
//
//   - the first block since the mount or a checkpoint: its number is 0, which also means
//     "nothing to wait for". The crash tests lost this block and all blocks behind it
//   - blocks with a later number but an earlier address: tasks race between the two steps
//   - the fsync's own block, while another fsync of the same file writes it
//   - all blocks, and the flush, in the commit of an atomic write (F2FS_IOC_COMMIT_ATOMIC_WRITE), and
//     in an fsync with fsync_mode=strict of a file whose inode is clean. These keep the order of
//     the blocks, but return before one of them is on the disk
//
// The second and the third come from reading the source; no test has shown them.
//
// Numbers begin with 1 here: so fsync_seg_id is the last one, and 0 means that there is none. An
// allocated block has a number. So it is enough to wait for all numbers assigned by the time the
// fsync's own blocks are allocated. fsync_seg_id needs no lock: a task that allocated earlier had
// its number before it released curseg_mutex, and this task acquired that mutex later. The block of
// the last number may not be under writeback yet when this task looks at it. Then its address comes
// later than those of this task's blocks. If there is no number, a checkpoint has ended since. Either
// it waited for the block, or it failed: then the error was set before the numbers were reset, and
// the fsync fails, too.
//
// In the third case another task may have begun to write the block, so that it is not dirty, but not
// have allocated it. It holds node_write for reading from before its number until then. Two tasks
// that get later numbers may get earlier addresses meanwhile. So if node_write is held, wait a second
// time: after the first wait all blocks of this file are on the disk, so they have addresses.

@@
expression F, S;
@@
+/* Wait for all node blocks allocated before those of an fsync, which are under writeback. */
+static int wait_on_node_chain(struct f2fs_sb_info *sbi)
+{
+	bool no_address;
+	int ret;
+
+	/* see that they are not dirty, then that their writers hold node_write */
+	smp_rmb();
+	no_address = f2fs_rwsem_is_locked(&sbi->node_write);
+	/* see that the lock is free, then the number of a task that allocated before */
+	smp_rmb();
+	ret = f2fs_wait_on_node_pages_writeback(sbi, READ_ONCE(sbi->fsync_seg_id));
+	if (!ret && no_address)
+		ret = f2fs_wait_on_node_pages_writeback(sbi, READ_ONCE(sbi->fsync_seg_id));
+	/* a checkpoint that fails resets the numbers without a wait */
+	smp_rmb();
+	if (!ret && unlikely(f2fs_cp_error(sbi)))
+		ret = -EIO;
+	return ret;
+}
+
 static int f2fs_do_sync_file(...)
 {
	<...
-	if (!atomic) {
-	F = f2fs_wait_on_node_pages_writeback(S, seq_id);
+	F = wait_on_node_chain(S);
	if (F)
		goto out;
-	}
	...>
 }

@@
expression F, E, Z;
@@
 f2fs_do_sync_file(...)
 {
	<...
 if (
(
-    !atomic && E
+    E
|
    (
-    !atomic &&
     E) || (Z)
)
    )
	F = f2fs_issue_flush(...);
	...>
 }

// The flush may fail after the commit has replaced the blocks. Then the file keeps its new size, too.
@@
expression I, F;
@@
 f2fs_ioc_commit_atomic_write(...)
 {
	<...
-	f2fs_abort_atomic_write(I, F);
+	f2fs_abort_atomic_write(I, F && !is_inode_flag_set(I, FI_ATOMIC_COMMITTED));
	...>
 }

@@
expression N, S;
@@
 f2fs_add_fsync_node_entry(...)
 {
	<...
-	N->seq_id = S->fsync_seg_id++;
+	N->seq_id = ++S->fsync_seg_id;
	...>
 }
