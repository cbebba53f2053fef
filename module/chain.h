/* SPDX-License-Identifier: GPL-2.0 */
/* Chains of blocked tasks. For the files of the lock only. */
#ifndef _FSCOMMIT_CHAIN_H
#define _FSCOMMIT_CHAIN_H

#include <linux/list.h>

#include "lend.h"

/* Links that a look follows from one holder. */
#define CHAIN_MAX_LINKS	8
/* Links after which a step of a look ends, since interrupts are off: at the end of a chain. */
#define STEP_LINKS	64

/* A task that sleeps in the queue of a semaphore. */
struct sleeper {
	struct hlist_node	node;
	struct task_struct	*task;
	struct unfair_rwsem	*sem;
};

void chain_add_sleeper(struct sleeper *s);
void chain_remove_sleeper(struct sleeper *s);

struct task_struct *chain_owner(struct task_struct *task);
bool chain_lend(struct unfair_rwsem *sem, struct task_struct *task, struct lend_level level,
		struct look *look, struct lend_work *work);
void chain_init(void);

#endif /* _FSCOMMIT_CHAIN_H */
