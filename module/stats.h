/* SPDX-License-Identifier: GPL-2.0 */
/* Lock classes and their event counters. For the files of the lock only. */
#ifndef _FSCOMMIT_STATS_H
#define _FSCOMMIT_STATS_H

#include <linux/percpu.h>
#include <linux/unfair_rwsem.h>

/* Events of slow paths only: nothing counts a lock that is acquired at once. */
enum lock_event {
	EV_READ_SLOW,		/* tasks that entered the slow path */
	EV_WRITE_SLOW,
	EV_SLEPT,
	EV_WINDOW,		/* windows opened */
	EV_UNSEEN,		/* readers without a slot */
	EV_BIASED,		/* times that BIAS was set */
	EV_REVOKED,		/* times that BIAS was revoked */
	EV_LOAN,		/* loans */
	EV_LOAN_ENDED,
	EV_CHAIN,		/* loans to tasks that a holder is blocked on */
	EV_BUDGET_SPENT,	/* loans suspended, or not made, as a bucket was full */
	EV_NO_DONOR,		/* loans not made, as no donor was idle */
	EV_LATE,		/* loans taken back, as the task ran before the donor waited */
	EV_NO_CPU,		/* times that a loan was suspended as its task got no CPU */
	EV_EXPEDITED,		/* expedited sections */
	EV_ACTIVATED,		/* expedited sections that took effect */
	NR_LOCK_EVENTS,
};

/* CPU times, which other files measure. */
enum cpu_time {
	WATCHER_CPU_NS,
	DONORS_CPU_NS,
	LENT_CPU_NS,
	NR_CPU_TIMES,
};

/* Later classes are counted in class 0. So all counters of a CPU are 4 KiB on 64 bits. */
#define UNFAIR_COUNTED_CLASSES	32U

struct unfair_counts {
	unsigned long nr[UNFAIR_COUNTED_CLASSES][NR_LOCK_EVENTS];
};

extern struct unfair_counts __percpu *unfair_counts;

typedef u64 (*cpu_time_fn)(void);
struct dentry;

int unfair_stats_setup(struct dentry *dir, const cpu_time_fn *times);
void unfair_stats_remove_files(void);
void unfair_stats_teardown(void);
u8 unfair_stats_class_of(const char *name, struct lock_class_key *key);
const char *unfair_stats_class_name(u8 class);

/* @sem: NULL if the event belongs to no lock */
static inline void count_event(const struct unfair_rwsem *sem, enum lock_event event)
{
	unsigned int class = sem && sem->class < UNFAIR_COUNTED_CLASSES ? sem->class : 0;

	this_cpu_inc(unfair_counts->nr[class][event]);
}

#endif /* _FSCOMMIT_STATS_H */
