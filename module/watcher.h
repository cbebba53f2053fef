/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watcher, and the locks that it looks at. For the lock's own files only.
 */
#ifndef _FSCOMMIT_WATCHER_H
#define _FSCOMMIT_WATCHER_H

#include <linux/list.h>
#include <linux/unfair_rwsem.h>

#include "lend.h"

#define WATCH_LISTS	16U

/*
 * A lock in the watcher's lists: one for each lock at most. It is part of a waiter, or of an
 * expedited section. Added, moved and removed under the lock's wait_lock.
 */
struct watch {
	struct list_head	entry;
	struct unfair_rwsem	*sem;		/* NULL: not in a list */
	u64			due;		/* ns: not to be looked at before */
	u8			backoff;	/* periods between two looks */
	u8			pass;		/* in which the watcher looked at it last */
};

/* Tasks that are woken once wait_lock is dropped; never more than there are CPUs. */
#define MAX_WAKES	16

struct wakes {
	unsigned int		nr;
	struct task_struct	*task[MAX_WAKES + 1];
};

void watch_start(struct unfair_rwsem *sem, struct watch *watch);
void watch_stop(struct watch *watch);
void watch_move(struct watch *from, struct watch *to);
struct unfair_rwsem *watch_nth(unsigned int list, unsigned int n, unsigned long *irqflags);

void watcher_start_timer(void);
void watcher_account(void);
int watcher_init(void);
void watcher_exit(void);

/* In unfair_rwsem.c, which knows the waiters. */
bool __unfair_rwsem_look(struct unfair_rwsem *sem, struct look *look, struct lend_work *work);
bool __unfair_rwsem_watch(struct unfair_rwsem *sem, struct look *look, struct lend_work *work,
			  struct wakes *wakes);
void __unfair_rwsem_unlock_and_wake(struct unfair_rwsem *sem, unsigned long irqflags,
				    struct wakes *wakes);
void __unfair_rwsem_hand_over_watch(struct unfair_rwsem *sem, struct watch *from);
void __unfair_rwsem_lenders_changed(struct unfair_rwsem *sem);
bool __unfair_rwsem_sleepers(struct unfair_rwsem *sem, unsigned int max,
			     bool (*fn)(struct task_struct *task, bool write, u64 since, void *arg),
			     void *arg);

/* In expedite.c; under the wait_lock of @sem. */
struct lend_level expedite_level(const struct unfair_rwsem *sem);
struct watch *expedite_watch(const struct unfair_rwsem *sem);
void expedite_look(struct unfair_rwsem *sem, struct lend_work *work);
void expedite_end_orphan(void);

/* In report.c; under the wait_lock of @sem. */
u64 report_holdup_after_ns(void);
bool report_holdup(struct unfair_rwsem *sem, struct task_struct *writer, u64 waited);

#endif /* _FSCOMMIT_WATCHER_H */
