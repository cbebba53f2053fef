/* SPDX-License-Identifier: GPL-2.0 */
/* The lent priority of one task. For lend.c and watcher.c only. */
#ifndef _FSCOMMIT_LENT_PRIORITY_H
#define _FSCOMMIT_LENT_PRIORITY_H

#include <linux/sched.h>

#include "lend.h"

/* The scheduling parameters of a task that a loan changes. */
struct sched_values {
	int	policy;
	int	rt_priority;
	int	nice;
	bool	reset_on_fork;
	u64	slice;			/* ns; 0: the default */
	u64	timer_slack;		/* ns */
};

struct lent_priority {
	struct lend_level	now;		/* LEND_NOTHING: lent is not valid */
	bool			unmanaged;	/* leave the task as it is until its loans end */
	struct sched_values	own;		/* to restore when the loans end */
	struct sched_values	lent;		/* as we set them last */
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
