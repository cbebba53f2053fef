/* SPDX-License-Identifier: GPL-2.0 */
/* The watcher and its lists of locks. For the files of the lock only. */
#ifndef _FSCOMMIT_WATCHER_H
#define _FSCOMMIT_WATCHER_H

#include <linux/list.h>
#include <linux/unfair_rwsem.h>

#include "lend.h"

/* Maximum interval between two runs of a timer: a change of lend_period_us takes effect by then. */
#define MAX_INTERVAL	(100ULL * NSEC_PER_MSEC)

/* What the trace event unfair_holder shows: a waiter of a lock, and a holder. */
struct unfair_hold {
	const struct unfair_rwsem	*sem;
	struct task_struct		*waiter, *holder;	/* no holder is visible: NULL */
	bool				wants_write, write;
	char				state;			/* of the holder */
	u64				waited_ns;
	u8				lent;			/* to the holder */
};

/* Work for after wait_lock is dropped: tasks to wake, one for each CPU at most; a loan to end. */
#define MAX_WAKES	16

struct wakes {
	struct donor		*loan;		/* of the caller, to end; NULL: none */
	unsigned int		nr;
	struct task_struct	*task[MAX_WAKES + 2];	/* a writer and the watcher, too */
};

void lend_watch_start(struct unfair_rwsem *sem, struct unfair_watch *watch);
void lend_watch_stop(struct unfair_watch *watch);
void lend_watch_move(struct unfair_watch *from, struct unfair_watch *to);
void lend_watch_now(struct unfair_rwsem *sem, struct wakes *wakes);

void __unfair_rwsem_unlock_and_wake(struct unfair_rwsem *sem, unsigned long irqflags,
				    struct wakes *wakes)
	__fsc_releases(&sem->wait_lock);
void lend_watcher_activate(void);
void lend_watcher_pause(void);
u64 lend_watcher_cpu_ns(void);
int lend_watcher_init(void);
void lend_watcher_exit(void);

/* In unfair_rwsem.c, which has the queues. */
bool __unfair_rwsem_watch(struct unfair_rwsem *sem, struct look *look, struct lend_work *work,
			  struct wakes *wakes);
void __unfair_rwsem_end_section(struct unfair_rwsem *sem, struct unfair_watch *watch);
bool __unfair_rwsem_first_sleeper(struct unfair_rwsem *sem, struct unfair_hold *hold);

/* In expedite.c. The caller holds the wait_lock of @sem. */
u8 expedite_level(const struct unfair_rwsem *sem);
struct unfair_watch *expedite_watch(const struct unfair_rwsem *sem);
bool expedite_look(struct unfair_rwsem *sem, struct look *look, struct lend_work *work);

/* In expedite.c. The caller holds no lock. */
void expedite_activate(void);
void expedite_init(void);
void expedite_exit(void);

/* In trace.c; holders under the wait_lock of @sem. */
char unfair_trace_state_of(struct task_struct *task);
void unfair_trace_holders(struct unfair_rwsem *sem);

#endif /* _FSCOMMIT_WATCHER_H */
