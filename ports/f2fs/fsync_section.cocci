// SPDX-License-Identifier: GPL-2.0
// EXPEDITE=1, after file_write.cocci: an fsync is an expedited section. So its caller lends to
// the tasks of file_write.cocci, and to the owner of any lock on which it is blocked itself.
// Without a section only a task that waits for an unfair_rwsem lends. In a trace without this
// patch, the fsync of a nice -20 task waited for 2.0 s for the io_rwsem of a preempted writer.
@@
identifier inode;
@@
 f2fs_do_sync_file(...)
 {
	...
	guard(unfair_rwsem_read)(&F2FS_I_SB(inode)->file_write_rwsem);
+	guard(unfair_rwsem_expedite)(&F2FS_I_SB(inode)->file_write_rwsem);
	...
 }
