/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/scale_test: what the tests of selftests/scale need from the kernel. Tests only. Needs
 * CAP_SYS_ADMIN.
 */
#ifndef SCALE_TEST_H
#define SCALE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SCALE_MAX_LOCKS		1000000U
#define SCALE_MAX_WAITERS	1000U

enum scale_path {
	SCALE_READ_PAIR,	/* acquire and release for reading */
	SCALE_WRITE_PAIR,
	SCALE_MIGRATED_UNLOCK,	/* acquired for reading on from_cpu, released on to_cpu */
	SCALE_CROWDED_UNLOCK,	/* released by a writer; @waiters readers sleep in the queue */
	SCALE_NR_PATHS,
};

struct scale_count {
	__u32 path;
	__u32 from_cpu, to_cpu;
	__u32 waiters;
	__u64 min_ns;		/* out: the fastest round, without the clock's own time */
};

/*
 * SCALE_MANY: @locks objects with a lock each. One task makes each lock biased and then acquires
 * it for writing, while another task reads the objects.
 */
struct scale_many {
	__u32 locks;
	__u32 reads;		/* out: beside the writer */
	__u32 violations;	/* out: of exclusion, and objects with a wrong value */
	__u32 locked;		/* out: locks not free at the end */
};

#define SCALE_COUNT		_IOWR('S', 1, struct scale_count)
#define SCALE_MANY		_IOWR('S', 2, struct scale_many)

#endif /* SCALE_TEST_H */
