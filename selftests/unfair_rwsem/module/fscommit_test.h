/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/fscommit_test: locks for userspace tasks to fight over. Tests only.
 *
 * Each open file is one lock: FCT_CREATE chooses its type. A task holds a lock
 * only inside one ioctl and never returns to userspace with it, so whatever the
 * program does (exit, exec, kill), the lock is released. Share the file by fork or
 * threads. Needs CAP_SYS_ADMIN.
 */
#ifndef FSCOMMIT_TEST_H
#define FSCOMMIT_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum fct_type {
	FCT_RWSEM,		/* rw_semaphore */
	FCT_F2FS,		/* reader-unfair as in f2fs: trylock and a waitqueue */
	FCT_PERCPU,		/* percpu_rw_semaphore */
	FCT_UNFAIR,		/* ours */
	FCT_BUSTED,		/* excludes nobody: what finds no fault in it is no test */
	FCT_NR_TYPES,
};

enum fct_mode { FCT_READ, FCT_WRITE, FCT_NR_MODES };

enum fct_how {
	FCT_PLAIN,
	FCT_INTERRUPTIBLE,
	FCT_KILLABLE,
	FCT_TIMEOUT,		/* timeout_ms */
	FCT_TRYLOCK,		/* EAGAIN when it is not to be had */
	FCT_NESTED,		/* subclass */
	FCT_GUARD,		/* by guard() */
	FCT_GUARD_TRY,		/* by a conditional guard */
	FCT_NR_HOWS,
};

enum fct_hold {
	FCT_BUSY,		/* on the CPU for hold_us, preemptible */
	FCT_SLEEP,		/* asleep for hold_us, or until killed */
	FCT_UNTIL_GO,		/* until FCT_GO with this id, or until killed */
	FCT_BUSY_GO,		/* on the CPU until FCT_GO with this id, at most 10 s, then for */
				/* hold_us more; time off the CPU counts for neither */
	FCT_NR_HOLDS,
};

#define FCT_DOWNGRADE	0x1	/* after the hold: downgrade, and hold once more: */
				/* FCT_UNTIL_GO with id + 1, the others as long again */
#define FCT_OUTER_READ	0x2	/* all of it with the lock of the file outer held for reading */
#define FCT_OUTER_EXPEDITE 0x4	/* ... or expedited */
#define FCT_OUTER_NESTED 0x8	/* ... with a section of that section's own before */
#define FCT_EXPEDITE	0x10	/* with FCT_OUTER_READ: after FCT_GO with id 0 there, with this */
				/* lock expedited */
#define FCT_STAY	0x20	/* with FCT_OUTER_EXPEDITE: after the release, stay in it */
				/* until FCT_GO with id + 2 */
#define FCT_INNER_SECTION 0x40	/* with FCT_OUTER_EXPEDITE: take and release the lock in one more */
				/* section, which ends before FCT_STAY */
#define FCT_FLAGS	(FCT_DOWNGRADE | FCT_OUTER_READ | FCT_OUTER_EXPEDITE | FCT_OUTER_NESTED | \
			 FCT_EXPEDITE | FCT_STAY | FCT_INNER_SECTION)

#define FCT_MAX_HOLD_US		10000000U
#define FCT_MAX_TIMEOUT_MS	60000U
#define FCT_MAX_IDS		64U
#define FCT_MAX_PAIRS		100000000ULL
#define FCT_MAX_LOOP_MS		60000U

/* FCT_LOCK: take, hold, release. */
struct fct_op {
	__u32 mode;
	__u32 how;
	__u32 hold;
	__u32 hold_us;
	__u32 timeout_ms;
	__u32 subclass;
	__u32 id;
	__u32 flags;
	/* filled in, also where the ioctl fails with EINTR, ETIME or EAGAIN */
	__u64 wait_ns;		/* from the call until it was held, or given up */
	__u64 order;		/* the how-manieth taking of this lock it was; from 1 */
	__u32 outer;		/* file descriptor of another lock; filled in by the caller */
	__u32 pad[3];
};

/* FCT_LOOP: take, hold busy, release, pause, again and again; in the kernel. */
struct fct_loop {
	__u32 mode;
	__u32 hold_ns;
	__u32 pause_us;		/* asleep; 0: none */
	__u32 duration_ms;
	__u64 count;
	__u64 wait_max_ns;
	__u64 hold_max_ns;	/* the longest section: hold_ns, and what interrupted it */
	__u64 pad;
};

/* FCT_PAIRS: so many uncontended lock/unlock pairs, called directly. */
struct fct_pairs {
	__u32 mode;
	__u32 pad;
	__u64 pairs;
	__u64 ns;
};

/* FCT_STATE: what is going on. */
struct fct_state {
	__u32 is_locked;
	__u32 is_write_locked;
	__u32 is_contended;
	__u32 readers;		/* hold it now */
	__u32 writers;
	__u32 acquiring_readers; /* are between asking and holding */
	__u32 acquiring_writers;
	__u32 queued_readers;	/* ours only: in its queue */
	__u32 queued_writers;
	__u32 window;		/* ours only: a window is open */
	__u32 biased;		/* ours only: readers are in their slots alone */
	__u32 seen;		/* ours only: readers that have a slot */
	__u64 taken;		/* how often it was taken so far */
	__u64 violations;	/* of exclusion */
};

#define FCT_CREATE	_IOW('F', 1, __u32)
#define FCT_LOCK	_IOWR('F', 2, struct fct_op)
#define FCT_GO		_IOW('F', 3, __u32)
#define FCT_STATE	_IOR('F', 4, struct fct_state)
#define FCT_SET_BOUND	_IOW('F', 5, __u32)
#define FCT_PAIRS	_IOWR('F', 6, struct fct_pairs)
#define FCT_LOOP	_IOWR('F', 7, struct fct_loop)

/* What no driver may do, by name: see misuse.c. For a boot of its own. */
struct fct_misuse {
	char name[32];
};

#define FCT_MISUSE	_IOW('F', 8, struct fct_misuse)
#define FCT_SET_LEND	_IOW('F', 9, __u32)

#endif /* FSCOMMIT_TEST_H */
