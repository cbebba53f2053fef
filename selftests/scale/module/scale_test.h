/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/scale_test: what the tests of selftests/scale need from the kernel. Tests only.
 *
 * Each open file has one lock of the type given to SCALE_CREATE. Needs CAP_SYS_ADMIN.
 */
#ifndef SCALE_TEST_H
#define SCALE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* enum lock_test_type, enum lock_test_mode */
#include "fscommit_test.h"

#define SCALE_MAX_LOCKS		1000000U
#define SCALE_MAX_ROUNDS	1000000U

/*
 * SCALE_READ: move to from_cpu, acquire for reading, sleep until SCALE_GO, move to to_cpu,
 * release.
 */
struct scale_read {
	__u32 from_cpu;
	__u32 to_cpu;
	__u64 unlock_ns;	/* out: duration of the release */
	__u64 clock_ns;		/* out: two successive readings of the clock */
};

enum scale_path {
	SCALE_READ_PAIR,
	SCALE_WRITE_PAIR,
	SCALE_MIGRATED_UNLOCK,	/* acquired for reading on from_cpu, released on to_cpu */
	SCALE_SECTION,		/* expedite and unexpedite */
	SCALE_NR_PATHS,
};

/* SCALE_COUNT: an uncontended path of this file's lock. */
struct scale_count {
	__u32 path;
	__u32 from_cpu;
	__u32 to_cpu;
	__u32 rounds;
	__u64 min_ns;		/* out: the fastest round minus the clock's own time */
};

/* SCALE_INIT: initialise @locks locks of a type in memory that was touched before. */
struct scale_init {
	__u32 type;		/* LOCK_TEST_RWSEM or LOCK_TEST_UNFAIR */
	__u32 locks;
	__u64 ns;		/* out */
};

/*
 * SCALE_MANY: @locks objects with a lock each. In the first phase one task holds every other
 * lock for reading while up to 3 tasks on other CPUs read it @reads times each. In the second
 * phase one task acquires each lock for writing once, while the others continue to read.
 */
struct scale_many {
	__u32 locks;
	__u32 reads;
	__u64 read_ns;		/* out: the first phase */
	__u64 write_ns;		/* out: the second phase */
	__u64 concurrent_reads;	/* out: of the second phase */
	__u32 violations;	/* out: of exclusion, and objects with a wrong value */
	__u32 locked;		/* out: locks not free at the end */
};

struct scale_state {
	__u32 readers;		/* tasks that hold the lock asleep in SCALE_READ */
};

#define SCALE_CREATE		_IOW('S', 1, __u32)
#define SCALE_READ		_IOWR('S', 2, struct scale_read)
#define SCALE_GO		_IO('S', 3)
#define SCALE_COUNT		_IOWR('S', 4, struct scale_count)
#define SCALE_INIT		_IOWR('S', 5, struct scale_init)
#define SCALE_MANY		_IOWR('S', 6, struct scale_many)
#define SCALE_STATE		_IOR('S', 7, struct scale_state)

#endif /* SCALE_TEST_H */
