/* SPDX-License-Identifier: GPL-2.0 */
/* Lent priority. For the files of the lock only. */
#ifndef _FSCOMMIT_LEND_H
#define _FSCOMMIT_LEND_H

#include <linux/unfair_rwsem.h>

/* A loan gives a task SCHED_FIFO of priority @rt, or the nice value @nice if @rt is 0. */
struct lend_level {
	u8	rt;
	s8	nice;
};

#define LEND_NOTHING	((struct lend_level){ .nice = MAX_NICE + 1 })

/* Below the watcher, which has MAX_RT_PRIO - 1: it must be able to end a loan. */
#define MAX_LENT_RT	(MAX_RT_PRIO - 2)

static inline bool lends(struct lend_level level)
{
	return level.rt || level.nice <= MAX_NICE;
}

static inline bool same_level(struct lend_level a, struct lend_level b)
{
	return a.rt == b.rt && a.nice == b.nice;
}

static inline struct lend_level higher_level(struct lend_level a, struct lend_level b)
{
	return (struct lend_level){ .rt = max(a.rt, b.rt), .nice = min(a.nice, b.nice) };
}

static inline struct lend_level lower_level(struct lend_level a, struct lend_level b)
{
	return (struct lend_level){ .rt = min(a.rt, b.rt), .nice = max(a.nice, b.nice) };
}

/* What a task is lent to for: a loan may have a level for each. */
enum loan_kind {
	LOAN_HOLDER,		/* it holds the lock that others wait for */
	LOAN_SECTION,		/* it expedites the lock */
	LOAN_WAITER,		/* it waits until it has the lock for writing, then holds it */
	LOAN_CHAIN,		/* it blocks a task that is lent to; ends without a new look */
	NR_LOAN_KINDS,
};

#define LEND_WORK_MAX	16

struct lent_task;

/* The progress of a look, which drops wait_lock after each 64 slots. */
struct look {
	unsigned int		step;		/* see visible_readers.h */
	unsigned int		slot;		/* in which the step goes on */
	unsigned long		seen;		/* readers found so far */
	bool			active;		/* a holder runs, or has got a new loan */
	bool			sections_seen;	/* __unfair_rwsem_watch() called expedite_look() */
	const void		*group;		/* whose equals are not lent to; NULL: none */
	bool			reported;	/* __unfair_rwsem_watch() tried a report */
	const struct task_struct *last_owner;	/* that the step followed; only compared */
	unsigned int		links;		/* followed since wait_lock was dropped for them */
};

/* Lent tasks whose priority the caller must set after it drops all locks. */
struct lend_work {
	unsigned int		nr;
	bool			soon;	/* one of them is runnable on another CPU */
	bool			here;	/* one of them is runnable on this CPU */
	struct lent_task	*task[LEND_WORK_MAX];
};

/* The levels that the waiters of a semaphore lend, and that a chain lends through one of them. */
struct lend_levels {
	struct lend_level	own, chain;
};

struct lend_level lend_level_of(const struct unfair_rwsem *sem, struct task_struct *task);
struct lend_level lend_limit(const struct unfair_rwsem *sem, struct lend_level level);
int lend_prio(void);
struct lend_level lend_own_level(const struct unfair_rwsem *sem, struct task_struct *task);
struct lend_level lend_level_now(const struct task_struct *task);
bool lend_has_fifo(void);

/* The caller holds the wait_lock of @sem. */
void lend_announce(struct unfair_rwsem *sem);
bool lend_to_readers(struct unfair_rwsem *sem, struct lend_levels levels, struct look *look,
		     struct lend_work *work);
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner,
		   struct lend_levels levels, struct look *look, struct lend_work *work);
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task,
		       struct lend_level level, struct look *look, struct lend_work *work);
bool lend_to_waiter(struct unfair_rwsem *sem, struct task_struct *task, struct lend_level others,
		    struct lend_work *work);
void lend_to_link(struct unfair_rwsem *sem, struct task_struct *task, struct lend_level level,
		  struct lend_work *work);
void lend_note_chain(const struct unfair_rwsem *sem, struct lend_level level);
struct lend_level lend_chain_level(const struct unfair_rwsem *sem);
void lend_end(struct unfair_rwsem *sem, struct task_struct *task, enum loan_kind kind,
	      struct lend_work *work);
bool lend_adjust(struct unfair_rwsem *sem, struct lend_level level, unsigned int *from,
		 struct lend_work *work);

/* The caller holds no lock. */
void lend_apply(struct lend_work *work);
u64 lend_period_ns(void);

/* Called by the watcher only. */
bool lend_account(void);
bool lend_end_pass(void);
void lend_exit(void);

#endif /* _FSCOMMIT_LEND_H */
