/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one task is lent, and how that is told from what others set. For lend.c and the
 * watcher only.
 */
#ifndef _FSCOMMIT_LENT_PRIORITY_H
#define _FSCOMMIT_LENT_PRIORITY_H

#include <linux/sched.h>

#include "lend.h"

/* What a task has, as far as we change it. */
struct sched_values {
	int	policy;
	int	rt_priority;
	int	nice;
	bool	reset_on_fork;
	u64	slice;			/* 0: not its own */
	u64	timer_slack;		/* ns */
};

struct lent_priority {
	struct lend_level	now;		/* LEND_NOTHING: the rest says nothing yet */
	bool			left_alone;	/* somebody else has changed it */
	struct sched_values	own, lent;
};

static inline bool is_rt_policy(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

struct sched_values lent_priority_values(struct task_struct *task);
int lent_priority_set_values(struct task_struct *task, const struct sched_values *v);
struct lend_level lent_priority_level(const struct unfair_rwsem *sem,
				      const struct sched_values *v);
int lent_priority_set(struct task_struct *task, struct lent_priority *p,
		      struct lend_level level);

#endif /* _FSCOMMIT_LENT_PRIORITY_H */
