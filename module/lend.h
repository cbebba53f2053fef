/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lent priority. For the lock's own files alone.
 */
#ifndef _FSCOMMIT_LEND_H
#define _FSCOMMIT_LEND_H

#include <linux/unfair_rwsem.h>

/* What is lent: SCHED_FIFO of priority @rt, if not 0; else @nice. */
struct lend_level {
	u8	rt;
	s8	nice;
};

#define LEND_NOTHING	((struct lend_level){ .nice = MAX_NICE + 1 })

static inline bool lends(struct lend_level level)
{
	return level.rt || level.nice <= MAX_NICE;
}

static inline struct lend_level higher_level(struct lend_level a, struct lend_level b)
{
	return (struct lend_level){ .rt = max(a.rt, b.rt), .nice = min(a.nice, b.nice) };
}

/* Whose priority changes at once; the others come at the next look. */
#define MAX_LENT_AT_ONCE	16

struct borrower;

/* Borrowers to see to, once no lock is held. */
struct settlement {
	unsigned int	nr;
	bool		soon;		/* one of them can run, on another CPU */
	struct borrower	*who[MAX_LENT_AT_ONCE];
};

struct lend_level level_to_lend(const struct unfair_rwsem *sem);
struct lend_level own_level_to_lend(const struct unfair_rwsem *sem);

/* All of these under the wait_lock of @sem. */
void expect_returns(struct unfair_rwsem *sem);
void lend_to_readers(struct unfair_rwsem *sem, struct lend_level level,
		     struct settlement *todo);
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task,
		       struct lend_level level, struct settlement *todo);
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner,
		   struct lend_level level, struct settlement *todo);
void give_back(struct unfair_rwsem *sem, struct task_struct *task, bool section,
	       struct settlement *todo);
bool relevel_loans(struct unfair_rwsem *sem, struct lend_level level, struct settlement *todo);

/* Without a lock. */
void settle_loans(struct settlement *todo);
u64 lend_period_ns(void);

/* In unfair_rwsem.c, which knows who waits. Without a lock. */
void __unfair_rwsem_lenders_changed(struct unfair_rwsem *sem);

/* Of those that expedite @sem; under its wait_lock. */
struct lend_level expedited_level(const struct unfair_rwsem *sem);

/* The watcher, and what it asks. */
void wake_watcher(void);
bool any_expedites(void);
bool watch_expedites(void);

int init_lending(void);
void exit_lending(void);

#endif /* _FSCOMMIT_LEND_H */
