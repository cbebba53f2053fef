/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/fscommit_test: locks for userspace tasks to contend for. Tests only.
 *
 * Each open file is one lock: LOCK_TEST_CREATE chooses its type. A task holds a lock
 * only inside one ioctl and never returns to userspace with it. So the lock is released
 * whatever the program does (exit, exec, kill). Share the file by fork or threads. Needs
 * CAP_SYS_ADMIN.
 */
#ifndef FSCOMMIT_TEST_H
#define FSCOMMIT_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum lock_test_type {
	LOCK_TEST_RWSEM,		/* rw_semaphore */
	LOCK_TEST_F2FS,			/* reader-unfair as in f2fs: trylock and a waitqueue */
	LOCK_TEST_PERCPU,		/* percpu_rw_semaphore */
	LOCK_TEST_UNFAIR,		/* unfair_rwsem */
	LOCK_TEST_BUSTED,		/* excludes no task: a test must find that */
	LOCK_TEST_MUTEX,		/* mutex: a reader excludes the others, too */
	LOCK_TEST_NR_TYPES,
};

enum lock_test_mode { LOCK_TEST_READ, LOCK_TEST_WRITE, LOCK_TEST_NR_MODES };

enum lock_test_how {
	LOCK_TEST_PLAIN,
	LOCK_TEST_INTERRUPTIBLE,
	LOCK_TEST_KILLABLE,
	LOCK_TEST_TIMEOUT,		/* timeout_ms */
	LOCK_TEST_TRYLOCK,		/* EAGAIN if the lock is not available */
	LOCK_TEST_NESTED,		/* subclass */
	LOCK_TEST_GUARD,		/* by guard() */
	LOCK_TEST_GUARD_TRY,		/* by the conditional guards */
	LOCK_TEST_GUARD_INTR,
	LOCK_TEST_GUARD_KILL,
	LOCK_TEST_NR_HOWS,
};

enum lock_test_hold {
	LOCK_TEST_BUSY,		/* on the CPU for hold_us, preemptible */
	LOCK_TEST_SLEEP,	/* asleep for hold_us, or until killed */
	LOCK_TEST_UNTIL_GO,	/* asleep until LOCK_TEST_GO with this id, or until killed */
	/*
	 * On the CPU until LOCK_TEST_GO with this id, at most 10 s, then for hold_us more. Time off
	 * the CPU counts for neither.
	 */
	LOCK_TEST_BUSY_GO,
	LOCK_TEST_NR_HOLDS,
};

/*
 * After the hold, downgrade and hold again: with LOCK_TEST_UNTIL_GO and _BUSY_GO for id + 1, else
 * for the same time.
 */
#define LOCK_TEST_DOWNGRADE		0x1
/* Hold the lock of the file outer for reading during the operation. */
#define LOCK_TEST_OUTER_READ		0x2
/* Expedite the lock of the file outer during the operation. */
#define LOCK_TEST_OUTER_EXPEDITE	0x4
/* With LOCK_TEST_OUTER_EXPEDITE: begin and end an inner section first. */
#define LOCK_TEST_OUTER_NESTED		0x8
/* With LOCK_TEST_OUTER_READ: wait for LOCK_TEST_GO with id 0 on outer, then expedite this lock. */
#define LOCK_TEST_EXPEDITE		0x10
/* With LOCK_TEST_OUTER_EXPEDITE: end the section only after LOCK_TEST_GO with id + 2. */
#define LOCK_TEST_STAY			0x20
/*
 * With LOCK_TEST_OUTER_EXPEDITE: acquire and release the lock in an inner section, which ends
 * before LOCK_TEST_STAY.
 */
#define LOCK_TEST_INNER_SECTION		0x40
/*
 * Hold the lock of the file outer for writing during the operation. Its type must have
 * LOCK_TEST_NESTED.
 */
#define LOCK_TEST_OUTER_WRITE		0x80
/* With LOCK_TEST_OUTER_WRITE: wait for LOCK_TEST_GO with id + 1 on outer before the operation. */
#define LOCK_TEST_OUTER_FIRST		0x100
#define LOCK_TEST_FLAGS			0x1ff

#define LOCK_TEST_MAX_HOLD_US		10000000U
#define LOCK_TEST_MAX_TIMEOUT_MS	60000U
#define LOCK_TEST_MAX_IDS		64U
#define LOCK_TEST_MAX_PAIRS		100000000ULL
#define LOCK_TEST_MAX_LOOP_MS		60000U

/* LOCK_TEST_LOCK: acquire, hold, release. */
struct lock_test_op {
	__u32 mode;
	__u32 how;
	__u32 hold;
	__u32 hold_us;
	__u32 timeout_ms;
	__u32 subclass;
	__u32 id;
	__u32 flags;
	/* output, also if the ioctl fails with EINTR, ETIME or EAGAIN */
	__u64 wait_ns;		/* from the call until the lock was acquired, or the error */
	__u64 order;		/* number of this acquisition of the lock, from 1 */
	__u32 outer;		/* input: file descriptor of another lock */
	__u32 pad[3];
};

/* LOCK_TEST_LOOP: acquire, hold busy, release, pause; in a loop in the kernel. */
struct lock_test_loop {
	__u32 mode;
	__u32 hold_ns;
	__u32 pause_us;		/* asleep; 0: none */
	__u32 duration_ms;
	__u64 count;
	__u64 wait_max_ns;
	__u64 hold_max_ns;	/* the longest section: hold_ns and interruptions */
	__u64 pad;
};

/* LOCK_TEST_PAIRS: a number of lock/unlock pairs, by direct calls. */
struct lock_test_pairs {
	__u32 mode;
	__u32 pad;
	__u64 pairs;
	__u64 ns;
};

/* LOCK_TEST_STATE */
struct lock_test_state {
	__u32 is_locked;
	__u32 is_write_locked;
	__u32 is_contended;
	__u32 readers;		/* current holders */
	__u32 writers;
	__u32 acquiring_readers; /* have called, do not hold the lock yet */
	__u32 acquiring_writers;
	/* unfair_rwsem only: */
	__u32 queued_readers;
	__u32 queued_writers;
	__u32 window;		/* a window is open */
	__u32 biased;		/* readers register in their slots only */
	__u32 seen;		/* readers that have a slot */
	__u32 expedited;	/* has an active section */
	__u32 pad;
	/* all types: */
	__u64 taken;		/* number of acquisitions so far */
	__u64 violations;	/* of exclusion */
};

#define LOCK_TEST_CREATE	_IOW('F', 1, __u32)
#define LOCK_TEST_LOCK		_IOWR('F', 2, struct lock_test_op)
#define LOCK_TEST_GO		_IOW('F', 3, __u32)
#define LOCK_TEST_STATE		_IOR('F', 4, struct lock_test_state)
#define LOCK_TEST_SET_BOUND	_IOW('F', 5, __u32)
#define LOCK_TEST_PAIRS		_IOWR('F', 6, struct lock_test_pairs)
#define LOCK_TEST_LOOP		_IOWR('F', 7, struct lock_test_loop)

/* A misuse by name: see misuse.c. Each needs a boot of its own. */
struct lock_test_misuse {
	char name[32];
};

#define LOCK_TEST_MISUSE	_IOW('F', 8, struct lock_test_misuse)
#define LOCK_TEST_SET_LEND	_IOW('F', 9, __u32)

#ifdef __KERNEL__
int lock_test_misuse(const char *name);
#endif

#endif /* FSCOMMIT_TEST_H */
