/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/scale_test: what the tests of selftests/scale need from within the kernel. Tests
 * only.
 *
 * Each open file has one lock, of the type that SCALE_CREATE chose. Needs CAP_SYS_ADMIN.
 */
#ifndef SCALE_TEST_H
#define SCALE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* enum fct_type, enum fct_mode */
#include "fscommit_test.h"

#define SCALE_MAX_LOCKS		1000000U
#define SCALE_MAX_WAITERS	50000U
#define SCALE_MAX_ROUNDS	1000000U

/*
 * SCALE_READ: move to from_cpu, acquire for reading, sleep until SCALE_GO, move to to_cpu,
 * release.
 */
struct scale_read {
	__u32 from_cpu;
	__u32 to_cpu;
	__u64 unlock_ns;	/* out: the release alone */
	__u64 clock_ns;		/* out: two readings of the clock, one after the other */
};

enum scale_path {
	SCALE_READ_PAIR,
	SCALE_WRITE_PAIR,
	SCALE_MIGRATED_UNLOCK,	/* acquired for reading on from_cpu, released on to_cpu */
	SCALE_NR_PATHS,
};

/* SCALE_COUNT: an uncontended path of this file's lock. */
struct scale_count {
	__u32 path;
	__u32 from_cpu;
	__u32 to_cpu;
	__u32 rounds;
	__u64 min_ns;		/* out: the fastest round, without the clock's own time */
};

/* SCALE_INIT: initialise so many locks of a type, in memory that was touched before. */
struct scale_init {
	__u32 type;		/* FCT_RWSEM or FCT_UNFAIR */
	__u32 locks;
	__u64 ns;		/* out */
};

/*
 * SCALE_MANY: so many objects with a lock each. One task holds every other lock for reading
 * while up to 3 tasks on other CPUs read it @reads times each. Then one task acquires each
 * lock for writing once, while the others go on reading.
 */
struct scale_many {
	__u32 locks;
	__u32 reads;
	__u64 read_ns;		/* out: the first phase */
	__u64 write_ns;		/* out: the second phase */
	__u64 concurrent_reads;	/* out: in the second phase */
	__u32 violations;	/* out: of exclusion, and objects with a wrong value */
	__u32 locked;		/* out: locks that are not free at the end */
};

/*
 * SCALE_WAITERS: kernel threads that wait for a lock for reading, the n-th for lock n modulo
 * @locks; each lock is held for writing by a thread of its own. They stay until
 * SCALE_WAITERS_END or until the file is closed.
 */
struct scale_waiters {
	__u32 locks;
	__u32 waiters;
};

/*
 * SCALE_LATE_BEGIN: a real-time thread on another CPU sends interrupts to @cpu, one after the
 * other, until SCALE_LATE_END. SCALE_LATE_TAKE: the longest that one took to be handled, and
 * to be seen so, since the last SCALE_LATE_TAKE.
 */
struct scale_late {
	__u32 cpu;		/* in, for SCALE_LATE_BEGIN */
	__u32 interrupts;	/* out, for SCALE_LATE_TAKE, as what follows */
	__u64 max_ns;
};

struct scale_state {
	__u32 readers;		/* asleep in SCALE_READ, with the lock */
	__u32 waiting;		/* threads of SCALE_WAITERS that have asked for their lock */
};

#define SCALE_CREATE		_IOW('S', 1, __u32)
#define SCALE_READ		_IOWR('S', 2, struct scale_read)
#define SCALE_GO		_IO('S', 3)
#define SCALE_COUNT		_IOWR('S', 4, struct scale_count)
#define SCALE_INIT		_IOWR('S', 5, struct scale_init)
#define SCALE_MANY		_IOWR('S', 6, struct scale_many)
#define SCALE_WAITERS		_IOW('S', 7, struct scale_waiters)
#define SCALE_WAITERS_END	_IO('S', 8)
#define SCALE_LATE_BEGIN	_IOW('S', 9, struct scale_late)
#define SCALE_LATE_TAKE		_IOR('S', 10, struct scale_late)
#define SCALE_LATE_END		_IO('S', 11)
#define SCALE_STATE		_IOR('S', 12, struct scale_state)

#endif /* SCALE_TEST_H */
