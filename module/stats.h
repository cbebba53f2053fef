/* SPDX-License-Identifier: GPL-2.0 */
/* Lock classes and their event counters. For the files of the lock only. */
#ifndef _FSCOMMIT_STATS_H
#define _FSCOMMIT_STATS_H

#include <linux/unfair_rwsem.h>

enum lock_event {
	EV_READ,		/* acquisitions */
	EV_WRITE,
	EV_READ_SLOW,		/* tasks that entered the slow path */
	EV_WRITE_SLOW,
	EV_SPIN_WON,		/* spins that ended because the lock might be available */
	EV_SPIN_LOST,
	EV_SLEPT,
	EV_WINDOW,		/* windows opened */
	EV_WINDOW_USED,		/* readers that used a window, or gave up in it */
	EV_UNSEEN,		/* readers without a slot */
	EV_BIASED,		/* times that BIAS was set */
	EV_REVOKED,		/* times that BIAS was revoked */
	EV_LOAN,		/* loans */
	EV_LOAN_ENDED,
	EV_CHAIN,		/* loans to tasks that a holder is blocked on */
	EV_BUDGET_SPENT,	/* loans that were suspended because a bucket was full */
	EV_NO_CPU,		/* loans that were suspended because they brought no CPU */
	EV_NO_DONOR,		/* loans not made for want of a donor */
	EV_LATE,		/* loans whose task ran when the donor looked again */
	EV_EXPEDITED,		/* expedited sections */
	EV_ACTIVATED,		/* expedited sections that took effect */
	NR_LOCK_EVENTS,
};

u8 unfair_stats_class_of(const char *name, struct lock_class_key *key);
const char *unfair_stats_class_name(u8 class);
void __unfair_count_event(const struct unfair_rwsem *sem, enum lock_event event);
void __unfair_count_wait(const struct unfair_rwsem *sem, bool write, u64 ns);

/* @sem: NULL if the event belongs to no lock */
static inline void count_event(const struct unfair_rwsem *sem, enum lock_event event)
{
	if (static_branch_unlikely(&unfair_rwsem_stats))
		__unfair_count_event(sem, event);
}

static inline void count_wait(const struct unfair_rwsem *sem, bool write, u64 ns)
{
	if (static_branch_unlikely(&unfair_rwsem_stats))
		__unfair_count_wait(sem, write, ns);
}

#endif /* _FSCOMMIT_STATS_H */
