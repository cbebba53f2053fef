/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who holds up whom. For the lock's own files alone.
 */
#ifndef _FSCOMMIT_REPORT_H
#define _FSCOMMIT_REPORT_H

#include <linux/list.h>
#include <linux/unfair_rwsem.h>

/* A sleeping waiter, as debugfs shows it; within struct waiter. */
struct sleeper {
	struct list_head	entry;
	struct unfair_rwsem	*sem;
	struct task_struct	*task;
	u64			since;
	bool			write;
};

/* How the time of a writer went by, by what the holders did when it looked; in ns. */
struct wait_split {
	u64	looked;
	u64	running, runnable, sleeping;
};

void add_sleeper(struct sleeper *s);
void remove_sleeper(struct sleeper *s);

/* Under wait_lock; 0: never. */
u64 holdup_after_ns(const struct unfair_rwsem *sem);
void split_wait(const struct unfair_rwsem *sem, struct wait_split *split, u64 now);

/* Without a lock; @sem is waited for by the caller. */
void report_holdup(struct unfair_rwsem *sem, const struct wait_split *split, u64 waited);

struct dentry;
void init_reports(struct dentry *dir);

#endif /* _FSCOMMIT_REPORT_H */
