/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who waits for a reader-unfair rwsem, who is woken, and who has a window. For
 * unfair_rwsem.c alone; all of it under wait_lock, unless it says otherwise.
 */
#ifndef _FSCOMMIT_UNFAIR_RWSEM_QUEUE_H
#define _FSCOMMIT_UNFAIR_RWSEM_QUEUE_H

#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/task.h>
#include <linux/unfair_rwsem.h>

#include "compat.h"
#include "lend.h"
#include "ranged_param.h"
#include "report.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"

#define WRITER	UNFAIR_RWSEM_WRITER
#define WWAIT	UNFAIR_RWSEM_WWAIT
#define RWAIT	UNFAIR_RWSEM_RWAIT
#define WINDOW	UNFAIR_RWSEM_WINDOW
#define SPIN	UNFAIR_RWSEM_SPIN
#define LENT	UNFAIR_RWSEM_LENT
#define READER	UNFAIR_RWSEM_READER
#define FLAGS	UNFAIR_RWSEM_FLAGS

/* As it stands in a lock. */
#define BOUND_DEFAULT	(UNFAIR_RWSEM_BOUND_DEFAULT & 0xffffff)
/* How many are woken at once; never more than there are CPUs. */
#define MAX_WAKES	16
/* How many called and absent writers a release looks past. */
#define MAX_ABSENT	8
/* After so many write sections in a row, readers that run have a turn. */
#define READERS_TURN	16
/* How many readers a release looks at to find those that run. */
#define MAX_LOOKS	16
/* Priorities as kept here: 0 deadline, 1-100 real-time, then nice, then idle. */
#define PRIO_FAIR	(MAX_RT_PRIO + 1)
#define PRIO_IDLE	(MAX_PRIO + 1)

struct waiter {
	struct task_struct	*task;
	struct rb_node		node;		/* in sem->writers or sem->readers */
	struct rb_node		age;		/* in sem->reader_ages */
	u64			since;
	u64			called;		/* expected to look since then; 0: it has */
	u16			window;		/* the one that it was woken for, 0: none */
	struct lend_level	lent;		/* to whoever holds it */
	u8			prio;
	u8			missed;		/* how often it came too late */
	bool			queued;
	bool			asleep;
};

struct wakes {
	unsigned int		nr;
	struct task_struct	*task[MAX_WAKES + 1];
};

static struct ranged_param reader_bound_us = { 10000, 0, UNFAIR_RWSEM_BOUND_MAX_US };
module_param_cb(reader_bound_us, &ranged_param_ops, &reader_bound_us, 0644);
MODULE_PARM_DESC(reader_bound_us,
		 "a reader that waited longer opens a window, where its lock has no bound of its own; microseconds, 0 (never) to 10000000, default 10000");

static struct ranged_param window_us = { 200, 1, 10000 };
module_param_cb(window_us, &ranged_param_ops, &window_us, 0644);
MODULE_PARM_DESC(window_us,
		 "how long writers stand back for those that waited too long; microseconds, 1 to 10000, default 200");

/* --- the queues ---------------------------------------------------------- */

static u8 prio_of(const struct task_struct *task)
{
	int prio = READ_ONCE(task->prio);

	/* unless somebody lends it more */
	if (READ_ONCE(task->policy) == SCHED_IDLE && prio >= MAX_RT_PRIO)
		return PRIO_IDLE;
	return prio + 1;
}

static u8 current_prio(void)
{
	return prio_of(current);
}

#define to_waiter(n)	rb_entry_safe(n, struct waiter, node)

static struct waiter *first_writer(struct unfair_rwsem *sem)
{
	return to_waiter(rb_first_cached(&sem->writers));
}

static struct waiter *first_reader(struct unfair_rwsem *sem)
{
	return to_waiter(rb_first(&sem->readers));
}

static struct waiter *oldest_reader(struct unfair_rwsem *sem)
{
	return rb_entry_safe(rb_first(&sem->reader_ages), struct waiter, age);
}

static bool node_before(struct rb_node *na, const struct rb_node *nb)
{
	const struct waiter *a = rb_entry(na, struct waiter, node);
	const struct waiter *b = rb_entry(nb, struct waiter, node);

	return a->prio != b->prio ? a->prio < b->prio : a->since < b->since;
}

static bool age_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct waiter, age)->since < rb_entry(b, struct waiter, age)->since;
}

static bool is_held(long word)
{
	return word & WRITER || word & ~FLAGS;
}

/* Puts the queues into the word, and whether a window is open. */
static void sync_flags(struct unfair_rwsem *sem, bool window)
{
	long word = atomic_long_read(&sem->word), new;

	do {
		new = word & ~(WWAIT | RWAIT | WINDOW);
		if (!RB_EMPTY_ROOT(&sem->writers.rb_root))
			new |= WWAIT;
		if (!RB_EMPTY_ROOT(&sem->readers))
			new |= RWAIT;
		/* a writer that spins may have been quicker */
		if (window && !(word & WRITER))
			new |= WINDOW;
	} while (new != word && !atomic_long_try_cmpxchg(&sem->word, &word, new));
}

static void queue_writer(struct unfair_rwsem *sem, struct waiter *w)
{
	w->queued = true;
	rb_add_cached(&w->node, &sem->writers, node_before);
}

static void unqueue_writer(struct unfair_rwsem *sem, struct waiter *w)
{
	if (w->queued)
		rb_erase_cached(&w->node, &sem->writers);
	w->queued = false;
}

static void queue_reader(struct unfair_rwsem *sem, struct waiter *w)
{
	w->queued = true;
	w->called = 0;
	w->window = 0;
	rb_add(&w->node, &sem->readers, node_before);
	rb_add(&w->age, &sem->reader_ages, age_before);
}

static void unqueue_reader(struct unfair_rwsem *sem, struct waiter *w)
{
	if (!w->queued)
		return;
	rb_erase(&w->node, &sem->readers);
	rb_erase(&w->age, &sem->reader_ages);
	/* the waiter looks at it without wait_lock when it spins */
	WRITE_ONCE(w->queued, false);
}

/* --- waking -------------------------------------------------------------- */

static unsigned int max_wakes(void)
{
	return min_t(unsigned int, num_online_cpus(), MAX_WAKES);
}

static void wake_later(struct wakes *wakes, struct waiter *w, u64 now)
{
	w->called = now;
	if (!w->asleep)
		return;
	w->asleep = false;
	wakes->task[wakes->nr++] = w->task;
}

/*
 * Gives wait_lock away and wakes; nobody preempts us before all are awake. They stay
 * that long: they waited when preemption was disabled already, and RCU frees them.
 */
static void unlock_and_wake(struct unfair_rwsem *sem, unsigned long irqflags, struct wakes *wakes)
	__fsc_releases(&sem->wait_lock)
{
	unsigned int i;

	preempt_disable();
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	for (i = 0; i < wakes->nr; i++)
		wake_up_process(wakes->task[i]);
	preempt_enable();
}

static u64 window_ns(void)
{
	return (u64)READ_ONCE(window_us.value) * NSEC_PER_USEC;
}

/* How long the others wait for a writer that was called, in nanoseconds. */
static u64 time_to_come(const struct waiter *w)
{
	return window_ns() << w->missed;
}

static void call_first_writer(struct unfair_rwsem *sem, struct wakes *wakes, u64 now)
{
	struct waiter *w = first_writer(sem);
	unsigned int i;

	for (i = 0; w && i < MAX_ABSENT; i++) {
		if (w->asleep || !w->called) {
			/* asleep, or about to look by itself */
			if (w->asleep || !compat_on_cpu(w->task))
				wake_later(wakes, w, now);
			return;
		}
		if (now - w->called <= time_to_come(w))
			return;
		w = to_waiter(rb_next(&w->node));
	}
}

static void wake_readers(struct unfair_rwsem *sem, struct wakes *wakes, unsigned int nr, u64 now)
{
	struct waiter *w;

	while (nr-- && wakes->nr < MAX_WAKES && (w = first_reader(sem))) {
		unqueue_reader(sem, w);
		wake_later(wakes, w, now);
	}
}

/* --- the window ---------------------------------------------------------- */

/* In nanoseconds; 0: no bound. */
static u64 bound_of(struct unfair_rwsem *sem)
{
	u32 bound = sem->reader_bound;

	if (bound == BOUND_DEFAULT)
		bound = READ_ONCE(reader_bound_us.value);
	return (u64)bound * NSEC_PER_USEC;
}

static bool is_overdue(struct unfair_rwsem *sem, const struct waiter *w, u64 now)
{
	u64 bound = bound_of(sem);

	return bound && now - w->since > bound;
}

/* A real-time reader is not to wait for a writer of lower priority. */
static bool outranks_writers(struct unfair_rwsem *sem, const struct waiter *w)
{
	struct waiter *writer = first_writer(sem);

	/* none queued: the one that releases it may be back before the reader runs */
	return w->prio < PRIO_FAIR && w->prio < (writer ? writer->prio : current_prio());
}

static bool is_window_open(struct unfair_rwsem *sem)
{
	return atomic_long_read(&sem->word) & WINDOW;
}

/* What is left of it, in nanoseconds. It ends here, if it is over. */
static u64 window_left(struct unfair_rwsem *sem, u64 now)
{
	u32 left;

	if (!is_window_open(sem))
		return 0;
	left = sem->window_end - (u32)(now >> 10);
	/* long past looks like far ahead */
	if (left && left <= window_us.max)
		return (u64)left << 10;
	sem->window_due = 0;
	sync_flags(sem, false);
	return 0;
}

/* One for each write section; and one for each bound, while no writer comes. */
static bool may_open_window(struct unfair_rwsem *sem, u64 now)
{
	u32 past = (u32)(now >> 10) - sem->window_end;
	/* the last one was closed before its time */
	bool closed_early = -past <= window_us.max;

	return !RB_EMPTY_ROOT(&sem->readers) && !is_window_open(sem) &&
	       (!sem->window_used || (!closed_early && past > bound_of(sem) >> 10));
}

/*
 * A reader that spins while writers take the lock in turn. On a write-heavy lock it
 * would do so for the whole bound again and again; and since it runs, it costs them
 * its section and nothing else.
 */
static struct waiter *running_reader(struct unfair_rwsem *sem)
{
	unsigned int looks = 0;
	struct rb_node *n;

	if (sem->writes < READERS_TURN)
		return NULL;
	for (n = rb_first(&sem->reader_ages); n && looks < MAX_LOOKS; n = rb_next(n), looks++) {
		struct waiter *w = rb_entry(n, struct waiter, age);

		if (!w->asleep && compat_on_cpu(w->task))
			return w;
	}
	return NULL;
}

/*
 * Takes the readers that have waited too long off the queue, for a window. Returns
 * whether there are any; then the caller has to put WINDOW into the word.
 */
static bool open_window(struct unfair_rwsem *sem, struct wakes *wakes, u64 now)
{
	unsigned int room = max_wakes(), due = 0;
	struct waiter *w;

	if (!may_open_window(sem, now))
		return false;
	while (due < room && wakes->nr < MAX_WAKES) {
		w = first_reader(sem);
		if (!w || !outranks_writers(sem, w)) {
			w = oldest_reader(sem);
			if (w && !is_overdue(sem, w, now))
				w = running_reader(sem);
			if (!w)
				break;
		}
		if (!due++) {
			sem->window_seq++;
			sem->window_seq += !sem->window_seq;
			sem->window_end = (u32)(now >> 10) + READ_ONCE(window_us.value);
			sem->window_used = 1;
		}
		unqueue_reader(sem, w);
		w->window = sem->window_seq;
		wake_later(wakes, w, now);
	}
	if (due) {
		sem->window_due = due;
		trace_unfair_window(sem, due);
		count_event(sem, EV_WINDOW);
	}
	return due;
}

/* One of those that the window waits for has come, or has given up. */
static bool window_goes_on(struct unfair_rwsem *sem, struct waiter *w)
{
	bool open = is_window_open(sem);

	if (open && w->window == sem->window_seq && sem->window_due) {
		open = --sem->window_due;
		count_event(sem, EV_WINDOW_USED);
	}
	w->window = 0;
	return open;
}

/* Who comes next, after a release. Returns whether a window is open now. */
static bool choose_next(struct unfair_rwsem *sem, struct wakes *wakes)
{
	u64 now = ktime_get_ns();
	bool window = window_left(sem, now);
	unsigned int due = 0;

	/* with a window, a writer is woken all the same: it ends it on time */
	if (first_writer(sem))
		call_first_writer(sem, wakes, now);
	if (!window) {
		window = open_window(sem, wakes, now);
		due = window ? sem->window_due : 0;
	}
	if (!first_writer(sem))
		wake_readers(sem, wakes, max_wakes() - due, now);
	return window;
}

#endif /* _FSCOMMIT_UNFAIR_RWSEM_QUEUE_H */
