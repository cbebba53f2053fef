/* SPDX-License-Identifier: GPL-2.0 */
/* Loans of priority, and their donors. For the files of the lock only. */
#ifndef _FSCOMMIT_LEND_H
#define _FSCOMMIT_LEND_H

#include <linux/unfair_rwsem.h>

/* Below the watcher, which has MAX_RT_PRIO - 1: it must be able to end a loan. */
#define MAX_LENT_RT	(MAX_RT_PRIO - 2)

#define LEND_WORK_MAX	16

/* Links that a look follows from one holder. */
#define LEND_MAX_LINKS	8
/* Links after which a step of a look ends, since interrupts are off: at the end of a chain. */
#define LEND_STEP_LINKS	64
/* After so much work the watcher lets other real-time tasks run, for as long. In nanoseconds. */
#define LEND_BURST	20000

struct donor;

/* Donors whose threads the watcher must wake or change after it drops all locks. */
struct lend_work {
	unsigned int		nr;
	struct donor		*donor[LEND_WORK_MAX];
};

/* The progress of a look, which drops wait_lock after each step. */
struct look {
	unsigned int		step;		/* see visible_readers.h */
	unsigned int		slot;		/* in which the step goes on */
	unsigned long		seen;		/* readers found so far */
	bool			started;	/* level is valid */
	u8			level;		/* the highest one of all waiters and sections */
	bool			sections_seen;	/* expedite_look() was called */
	const void		*group;		/* whose equals are not lent to; NULL: none */
	int			static_prio;	/* of the equals, or better */
	const struct task_struct *last_owner;	/* that the step followed; only compared */
	unsigned int		links;		/* followed since wait_lock was dropped for them */
};

/* Levels are real-time priorities, 1 to MAX_LENT_RT; 0: nothing. */
u8 lend_own_level(struct task_struct *task);
u8 lend_level(const struct unfair_rwsem *sem, struct task_struct *task);
u8 lend_level_now(const struct task_struct *task);
int lend_prio(void);
bool lend_is_on(const struct unfair_rwsem *sem);
bool lend_to_others(void);
bool lend_any(void);

/* The caller holds the wait_lock of @sem. */
bool lend_keep(const struct unfair_rwsem *sem, bool keep);
struct donor *lend_end(const struct unfair_rwsem *sem, bool section);

/* The caller has dropped wait_lock. */
void lend_unlock(struct donor *d);

/* The watcher, under the wait_lock of @sem. */
void lend_announce(struct unfair_rwsem *sem);
bool lend_to_readers(struct unfair_rwsem *sem, struct look *look, struct lend_work *work);
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner, struct look *look,
		   struct lend_work *work);
void lend_to_writer(struct unfair_rwsem *sem, struct task_struct *task, u8 level,
		    struct lend_work *work);
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task, u8 level,
		       struct look *look, struct lend_work *work);

/* The watcher, without locks. */
void lend_apply(struct lend_work *work);
void lend_account(void);
void lend_renew(const struct unfair_rwsem *sem);
void lend_end_pass(void);
void lend_pause(void);
void lend_end_burst(void);
u64 lend_paused_ns(void);
u64 lend_period_ns(void);
u64 lend_cpu_time(const struct task_struct *task);
u64 lend_used_cpu_ns(void);
u64 lend_donors_cpu_ns(void);
int lend_init(void);
void lend_exit(void);

#endif /* _FSCOMMIT_LEND_H */
