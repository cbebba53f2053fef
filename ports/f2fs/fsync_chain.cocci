// SPDX-License-Identifier: GPL-2.0
// FSYNC=chain: an fsync flushes the disk's cache when every node block before its own has
// been written.
//
// f2fs recovers what was fsynced since the checkpoint along a chain: each node block names
// the address that is allocated after its own. So an fsync is worth nothing until its own
// block, and all that were allocated before it, are on the disk. f2fs numbers the blocks
// before it allocates them, and waits for numbers up to that of its own. That leaves out
//
//   - the first block since the mount or a checkpoint: its number is 0, which also means that
//     there is nothing to wait for. This is what crash tests lost, with all that came behind
//   - blocks with a later number that were allocated earlier: tasks race between the two
//   - one's own block, when another fsync of that file is just writing it
//
// The last two are read from the source and were not seen.
//
// Who has allocated has a number. So it is enough to wait for all numbers that are given when
// one's own block is allocated. If none is given, a checkpoint has come since, and it waited
// for the block. The numbers are read without their lock: whoever allocated earlier had its
// number before it released curseg_mutex, and this task took that mutex later.
//
// FSYNC=numbered (`-D numbered`) is for the crash test alone, to tell the first from the
// others: numbers begin at 1.

virtual numbered

@depends on !numbered@
expression F, S;
@@
 f2fs_do_sync_file(...)
 {
	<...
-	F = f2fs_wait_on_node_pages_writeback(S, seq_id);
+	F = f2fs_wait_on_node_pages_writeback(S, READ_ONCE(S->fsync_seg_id));
	...>
 }

@depends on numbered@
expression N, S;
@@
 f2fs_add_fsync_node_entry(...)
 {
	<...
-	N->seq_id = S->fsync_seg_id++;
+	N->seq_id = ++S->fsync_seg_id;
	...>
 }
