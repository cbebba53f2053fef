/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lock classes, and what is counted for each. For the lock's own files alone.
 */
#ifndef _FSCOMMIT_STATS_H
#define _FSCOMMIT_STATS_H

#include <linux/unfair_rwsem.h>

enum lock_event {
	EV_READ,		/* acquisitions */
	EV_WRITE,
	EV_READ_SLOW,		/* of these, by the slow path */
	EV_WRITE_SLOW,
	EV_SPIN_WON,		/* spins that ended with something to be had */
	EV_SPIN_LOST,
	EV_SLEPT,
	EV_WINDOW,		/* windows opened */
	EV_WINDOW_USED,	/* readers that came in by one */
	EV_UNSEEN,		/* readers without a slot */
	EV_BIASED,		/* times that BIAS was set */
	EV_REVOKED,
	EV_LENT,		/* loans */
	EV_RETURNED,
	EV_FIFO_ENDED,	/* SCHED_FIFO that lasted too long */
	EV_LEFT_ALONE,	/* borrowers that somebody else changed */
	EV_LEND_FAILED,
	EV_EXPEDITED,		/* expedited sections */
	NR_LOCK_EVENTS,
};

u8 lock_class_of(const char *name, struct lock_class_key *key);
const char *lock_class_name(u8 class);
void __count_event(const struct unfair_rwsem *sem, enum lock_event event);
void __count_wait(const struct unfair_rwsem *sem, bool write, u64 ns);

/* @sem: NULL where it is not known */
static inline void count_event(const struct unfair_rwsem *sem, enum lock_event event)
{
	if (static_branch_unlikely(&unfair_rwsem_stats))
		__count_event(sem, event);
}

static inline void count_wait(const struct unfair_rwsem *sem, bool write, u64 ns)
{
	if (static_branch_unlikely(&unfair_rwsem_stats))
		__count_wait(sem, write, ns);
}

struct dentry;
void init_stats(struct dentry *dir);
void exit_stats(void);

#endif /* _FSCOMMIT_STATS_H */
