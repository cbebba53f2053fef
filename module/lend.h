/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lent priority. For the lock's own files only.
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

/* The watcher, at MAX_RT_PRIO - 1, must be able to take back what was lent. */
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

/* Tasks whose priority is set in one go. */
#define LEND_WORK_MAX	16

struct lent_task;

/* How far a look at the holders of a lock has come. */
struct look {
	unsigned int		step;		/* see visible_readers.h */
	unsigned long		seen;		/* readers so far */
	bool			active;		/* one of them runs, or was lent to just now */
	bool			sections_seen;	/* by the watcher, see __unfair_rwsem_watch() */
	bool			reported;
};

/* Tasks whose priority must be set as soon as no lock is held. */
struct lend_work {
	unsigned int		nr;
	bool			soon;	/* one of them can run, on another CPU */
	struct lent_task	*task[LEND_WORK_MAX];
};

struct lend_level level_to_lend(const struct unfair_rwsem *sem, struct task_struct *task);
struct lend_level lend_own_level(const struct unfair_rwsem *sem);

/* All of these under the wait_lock of @sem. */
void lend_announce(struct unfair_rwsem *sem);
bool lend_to_readers(struct unfair_rwsem *sem, struct lend_level level, struct look *look,
		     struct lend_work *work);
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner,
		   struct lend_level level, struct lend_work *work);
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task,
		       struct lend_level level, struct lend_work *work);
void lend_end(struct unfair_rwsem *sem, struct task_struct *task, bool section,
	      struct lend_work *work);
bool lend_adjust(struct unfair_rwsem *sem, struct lend_level level, unsigned int *from,
		 struct lend_work *work);

/* Without a lock. */
void lend_apply(struct lend_work *work);
u64 lend_period_ns(void);

/* For the watcher. */
bool lend_account(void);
void lend_exit(void);

#endif /* _FSCOMMIT_LEND_H */
