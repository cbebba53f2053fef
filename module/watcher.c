// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher: one kernel thread that looks at each lock with sleeping waiters or expedited
 * sections, every lend_period_us, so that waiters sleep without timers of their own.
 *
 * At each look it lends to holders that are off their CPU. On a free lock it wakes the next
 * waiter when the first one was woken and has not run. So a loan, or a wakeup, never depends
 * on a waiter that has no CPU: a queued waiter either spins with preemption disabled, or its
 * lock is in one of the lists here.
 *
 * A list has a lock of its own, which nests within wait_lock. The watcher goes the other way:
 * from a list it only tries to acquire wait_lock. Whoever removes a watch holds the lock of
 * the list; so a watch that is in a list, and its semaphore, stay while that is held. After a
 * look in several stretches, at which says whether the watch is still there.
 *
 * Most waits end within a period. The timer looks first, and wakes the watcher only if there
 * is something to do.
 */
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/task.h>

#include "compat.h"
#include "lent_priority.h"
#include "watcher.h"

#define LIST_BITS	4
/* Periods between two looks at holders that all sleep. */
#define MAX_BACKOFF	8
/* Between two passes, the watcher pauses so many times as long as the last one took ... */
#define DUTY		9
/* ... but no longer than this: what looks like a long pass may be a CPU that was stolen. */
#define MAX_PAUSE	(10ULL * NSEC_PER_MSEC)
/* How often what was used of the budget is charged. */
#define ACCOUNT_EVERY	((u64)NSEC_PER_MSEC)
/* Between two passes at most, however long the period is, so that a new one takes effect. */
#define MAX_NAP		(100ULL * NSEC_PER_MSEC)
/* A pass that is so much early, in nanoseconds, looks all the same. */
#define TIMER_SLACK	20000
/* How often to try for a wait_lock. */
#define LOCK_TRIES	100

static struct watch_list {
	raw_spinlock_t		lock;
	struct list_head	head;
	struct watch		*at;	/* the watcher looks at its lock */
	u8			pass;	/* the watcher's last one */
} watch_lists[WATCH_LISTS];

static struct task_struct *watcher;
static struct hrtimer watch_timer;
/* True from the start of the timer until it finds nothing to do. */
static unsigned int timer_armed;
static bool must_account;

static struct watch_list *list_of(const struct unfair_rwsem *sem)
{
	return &watch_lists[hash_ptr(sem, LIST_BITS)];
}

/* --- the lists ----------------------------------------------------------- */

/**
 * watch_start() - have the watcher look at a lock
 * @sem: the semaphore; it must stay until watch_stop()
 * @watch: for it
 *
 * Context: under wait_lock of @sem.
 */
void watch_start(struct unfair_rwsem *sem, struct watch *watch)
{
	struct watch_list *l = list_of(sem);

	watch->sem = sem;
	/* the waiter looks itself now */
	watch->due = ktime_get_ns() + lend_period_ns();
	watch->backoff = 1;
	raw_spin_lock(&l->lock);
	watch->pass = l->pass;
	list_add_tail(&watch->entry, &l->head);
	raw_spin_unlock(&l->lock);
	watcher_start_timer();
}

/**
 * watch_stop() - end what watch_start() has begun
 * @watch: no longer in use when this returns
 *
 * Context: under wait_lock of its semaphore.
 */
void watch_stop(struct watch *watch)
{
	struct watch_list *l = list_of(watch->sem);

	raw_spin_lock(&l->lock);
	list_del(&watch->entry);
	if (l->at == watch)
		l->at = NULL;
	watch->sem = NULL;
	raw_spin_unlock(&l->lock);
}

/**
 * watch_move() - put another watch in the place of one
 * @from: the one that is in a list; no longer in use when this returns
 * @to: of the same semaphore
 *
 * Context: under wait_lock of the semaphore.
 */
void watch_move(struct watch *from, struct watch *to)
{
	struct watch_list *l = list_of(from->sem);

	raw_spin_lock(&l->lock);
	to->sem = from->sem;
	to->due = from->due;
	to->backoff = from->backoff;
	to->pass = from->pass;
	list_replace(&from->entry, &to->entry);
	if (l->at == from)
		l->at = NULL;
	from->sem = NULL;
	raw_spin_unlock(&l->lock);
}

/**
 * watch_nth() - find a watched lock
 * @list: below WATCH_LISTS
 * @n: its number in the list, from 0 on
 * @irqflags: for the release of wait_lock
 *
 * Return: the semaphore, with wait_lock held; NULL if there is none.
 */
struct unfair_rwsem *watch_nth(unsigned int list, unsigned int n, unsigned long *irqflags)
	__fsc_unchecked
{
	struct watch_list *l = &watch_lists[list];
	struct unfair_rwsem *sem = NULL;
	unsigned int tries, i;
	struct watch *w;

	for (tries = 0; tries < LOCK_TRIES; tries++) {
		i = 0;
		sem = NULL;
		raw_spin_lock_irqsave(&l->lock, *irqflags);
		list_for_each_entry(w, &l->head, entry) {
			if (i++ < n)
				continue;
			sem = w->sem;
			break;
		}
		if (sem && raw_spin_trylock(&sem->wait_lock)) {
			raw_spin_unlock(&l->lock);
			return sem;
		}
		raw_spin_unlock_irqrestore(&l->lock, *irqflags);
		if (!sem)
			break;
		cpu_relax();
	}
	return NULL;
}

/* --- looking ------------------------------------------------------------- */

/* Looks at the lock of @w, which is l->at; wait_lock is held, with interrupts off. */
static void look_at(struct watch_list *l, struct watch *w, struct unfair_rwsem *sem,
		    unsigned long irqflags)
	__fsc_unchecked
{
	struct look look = { };
	bool more;

	for (;;) {
		struct lend_work work = { };
		struct wakes wakes = { };

		more = __unfair_rwsem_watch(sem, &look, &work, &wakes);
		__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
		lend_apply(&work);
		raw_spin_lock_irqsave(&l->lock, irqflags);
		if (l->at != w || !more || !raw_spin_trylock(&sem->wait_lock))
			break;
		raw_spin_unlock(&l->lock);
	}
	if (l->at == w) {
		/* holders that sleep were lent to, and need no more than they have */
		w->backoff = look.active ? 1 : min_t(u8, 2 * w->backoff, MAX_BACKOFF);
		w->due = ktime_get_ns() + w->backoff * lend_period_ns() - TIMER_SLACK;
	}
	l->at = NULL;
	raw_spin_unlock_irqrestore(&l->lock, irqflags);
}

static void look_at_list(struct watch_list *l)
	__fsc_unchecked
{
	struct unfair_rwsem *sem;
	unsigned long irqflags;
	struct watch *w;

	raw_spin_lock_irqsave(&l->lock, irqflags);
	l->pass++;
	for (;;) {
		w = list_first_entry_or_null(&l->head, struct watch, entry);
		if (!w || w->pass == l->pass)
			break;
		w->pass = l->pass;
		list_move_tail(&w->entry, &l->head);
		sem = w->sem;
		/* a task that holds wait_lock is active on this lock by itself */
		if (w->due <= ktime_get_ns() && raw_spin_trylock(&sem->wait_lock)) {
			l->at = w;
			raw_spin_unlock(&l->lock);
			look_at(l, w, sem, irqflags);
		} else {
			raw_spin_unlock_irqrestore(&l->lock, irqflags);
		}
		raw_spin_lock_irqsave(&l->lock, irqflags);
	}
	raw_spin_unlock_irqrestore(&l->lock, irqflags);
}

/* --- the thread ---------------------------------------------------------- */

static bool is_something_to_do(void)
{
	unsigned int i;

	for (i = 0; i < WATCH_LISTS; i++)
		if (!list_empty(&watch_lists[i].head))
			return true;
	return READ_ONCE(must_account);
}

static void start_timer(u64 ns)
{
	hrtimer_start(&watch_timer, ns_to_ktime(ns), HRTIMER_MODE_REL_HARD);
}

static enum hrtimer_restart watch_timeout(struct hrtimer *timer)
{
	if (!is_something_to_do()) {
		/*
		 * I: pairs with watcher_start_timer(): either the task that adds something sees
		 * that the timer is not armed, or the timer sees what was added.
		 */
		smp_store_mb(timer_armed, 0);
		if (!is_something_to_do() || xchg(&timer_armed, 1))
			return HRTIMER_NORESTART;
	}
	wake_up_process(watcher);
	return HRTIMER_NORESTART;
}

/**
 * watcher_start_timer() - have the watcher run within a period
 *
 * Called after something was added for it.
 *
 * Context: any, with interrupts off.
 */
void watcher_start_timer(void)
{
	smp_mb();	/* I: what was added, before the look at the timer */
	if (!READ_ONCE(timer_armed) && !xchg(&timer_armed, 1))
		start_timer(min(lend_period_ns(), MAX_NAP));
}

/* For lent SCHED_FIFO, and for a priority that could not be restored. */
void watcher_account(void)
{
	WRITE_ONCE(must_account, true);
	watcher_start_timer();
}

static void account(u64 *last)
{
	u64 now = ktime_get_ns();

	if (now - *last < ACCOUNT_EVERY)
		return;
	*last = now;
	/* before the look: what comes after it sets it again */
	smp_store_mb(must_account, false);
	if (lend_account())
		WRITE_ONCE(must_account, true);
}

/* Returns when the next pass is due. */
static u64 look_at_all(u64 *accounted)
{
	u64 start = ktime_get_ns(), end;
	unsigned int i;

	for (i = 0; i < WATCH_LISTS; i++) {
		look_at_list(&watch_lists[i]);
		account(accounted);
	}
	expedite_end_orphan();
	end = ktime_get_ns();
	return end + max(min(lend_period_ns(), MAX_NAP), min(DUTY * (end - start), MAX_PAUSE));
}

static int watch(void *unused)
{
	u64 accounted = 0, due = 0;

	while (!kthread_should_stop()) {
		u64 now, nap;

		if (ktime_get_ns() + TIMER_SLACK >= due)
			due = look_at_all(&accounted);
		account(&accounted);
		now = ktime_get_ns();
		nap = due > now ? due - now : 0;
		if (READ_ONCE(must_account))
			nap = min(nap, ACCOUNT_EVERY);
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		/* armed as it is, the timer is not started by others */
		if (READ_ONCE(timer_armed))
			start_timer(nap);
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

int __init watcher_init(void)
{
	/* above all that is lent, or it could not take that back */
	static const struct sched_values top = { SCHED_FIFO, MAX_RT_PRIO - 1 };
	unsigned int i;

	for (i = 0; i < WATCH_LISTS; i++) {
		raw_spin_lock_init(&watch_lists[i].lock);
		INIT_LIST_HEAD(&watch_lists[i].head);
	}
	compat_hrtimer_setup(&watch_timer, watch_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	watcher = kthread_run(watch, NULL, "fscommit_lend");
	if (IS_ERR(watcher))
		return PTR_ERR(watcher);
	/* for the timer, which may outlive the thread at the end */
	get_task_struct(watcher);
	lent_priority_set_values(watcher, &top);
	return 0;
}

void watcher_exit(void)
{
	/* no lock is in use any more, so nothing is added */
	kthread_stop(watcher);
	hrtimer_cancel(&watch_timer);
	put_task_struct(watcher);
	lend_exit();
}
