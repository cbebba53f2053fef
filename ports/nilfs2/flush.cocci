// SPDX-License-Identifier: GPL-2.0
// Each fsync flushes the disk's cache. The kernel's driver sets ns_flushed_device before it
// flushes. So a second fsync may return before the flush of the first has completed, and a crash
// loses what it promised: crash tests lose names and blocks. The price is a flush for each
// fsync of a clean file.
@@
expression N;
@@
 nilfs_flush_device(...)
 {
	...
 if (!nilfs_test_opt(N, BARRIER)
-    || N->ns_flushed_device
    )
	return 0;
-	N->ns_flushed_device = 1;
	...
-	smp_wmb();
	...
 }
