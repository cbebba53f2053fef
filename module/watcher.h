/* SPDX-License-Identifier: GPL-2.0 */
/* The watcher and its lists of locks. For the files of the lock only. */
#ifndef _FSCOMMIT_WATCHER_H
#define _FSCOMMIT_WATCHER_H

#include <linux/list.h>
#include <linux/unfair_rwsem.h>

#include "lend.h"

/* Maximum interval between two runs of a timer: a change of lend_period_us takes effect by then. */
#define MAX_INTERVAL	(100ULL * NSEC_PER_MSEC)

/**
 * struct watcher_calls - what the watcher calls, in its thread
 * @look: looks at a semaphore, for one step: under its wait_lock, which it drops, and which was
 *	acquired with @irqflags. Returns true if another step follows.
 * @activate: called without locks after watcher_activate()
 */
struct watcher_calls {
	bool (*look)(struct unfair_rwsem *sem, struct look *look, unsigned long irqflags);
	void (*activate)(void);
};

void watcher_add(struct unfair_rwsem *sem, struct unfair_watch *watch);
void watcher_remove(struct unfair_watch *watch);
void watcher_replace(struct unfair_watch *from, struct unfair_watch *to);
struct task_struct *watcher_look_now(struct unfair_rwsem *sem);

void watcher_activate(void);
u64 watcher_cpu_ns(void);
int watcher_init(const struct watcher_calls *what);
void watcher_exit(void);

#endif /* _FSCOMMIT_WATCHER_H */
