// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher: one kernel thread that looks at each lock with sleeping waiters or expedited
 * sections, every lend_period_us. So waiters sleep without timers of their own. A waiter that goes
 * to sleep behind a holder without a CPU makes it look at once.
 *
 * At each look it lends to holders that are not on a CPU. On a free lock it wakes the next waiter
 * if the first one was woken and has not run. So neither a loan nor a wakeup depends on a waiter
 * that has no CPU: a queued waiter either spins with preemption disabled, or its lock is in the
 * list here.
 *
 * The list has a lock, which nests within wait_lock. The watcher acquires the list's lock first,
 * and then only tries to acquire wait_lock. A watch is removed under the list's lock, so while
 * that is held, a watch in the list and its semaphore cannot be freed. A look drops both locks
 * after each step; after that, the variable `looking_at` shows whether the watch still exists.
 *
 * Most waits end within a period. So a timer checks the list first, and wakes the watcher only if
 * it has work.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/task.h>
#include <uapi/linux/sched/types.h>

#include "internal.h"
#include "lend.h"
#include "watcher.h"

/* Minimum pause between two passes, in durations of the last pass ... */
#define PAUSE_RATIO	9
/* ... and its limit: a hypervisor may have stolen the CPU during a pass that seems long. */
#define MAX_PAUSE	(10ULL * NSEC_PER_MSEC)
/* Interval between two charges of loans. */
#define ACCOUNT_EVERY	((u64)NSEC_PER_MSEC)
/* How early a pass may start, in nanoseconds. */
#define TIMER_SLACK	20000
/* Protects the next four; nests within any wait_lock. */
static DEFINE_RAW_SPINLOCK(watch_lock);
static LIST_HEAD(watches);
/* Locks to look at now. A pass begins with them. */
static LIST_HEAD(urgent_watches);
/* NULL: no look, or its watch was removed. */
static struct unfair_watch *looking_at;
/* The number of the pass, only compared. */
static u8 pass;

static struct task_struct *watcher;
static const struct watcher_calls *calls;
static struct hrtimer watch_timer;
/*
 * Set by the task that arms the timer, or wakes the watcher in its place. The timer clears it if it
 * finds no work.
 */
static unsigned int timer_armed;
static unsigned int must_activate, must_look;
/* The end of the last pass, the minimum pause after it, and the time of the next charge. */
static u64 pass_end, pass_pause, account_due;

/* --- the list ------------------------------------------------------------ */

/* Makes the timer check for work within a period. Called after new work was added. */
static void start_watching(void)
{
	smp_mb();	/* I: the new work, then the read of timer_armed */
	if (!READ_ONCE(timer_armed) && !xchg(&timer_armed, 1))
		hrtimer_start(&watch_timer, ns_to_ktime(min(lend_period_ns(), MAX_INTERVAL)),
			      HRTIMER_MODE_REL_HARD);
}

/**
 * watcher_add() - add a lock to the watcher's list
 * @sem: the semaphore; must not be freed before watcher_remove()
 * @watch: its entry
 *
 * Context: under wait_lock of @sem.
 */
void watcher_add(struct unfair_rwsem *sem, struct unfair_watch *watch)
{
	sem->watch = watch;
	watch->sem = sem;
	watch->trace_due = 0;
	raw_spin_lock(&watch_lock);
	watch->pass = pass;
	list_add_tail(&watch->entry, &watches);
	raw_spin_unlock(&watch_lock);
	start_watching();
}

/* Removes a lock from the list, under its wait_lock. @watch may be freed afterwards. */
void watcher_remove(struct unfair_watch *watch)
{
	raw_spin_lock(&watch_lock);
	list_del(&watch->entry);
	if (looking_at == watch)
		looking_at = NULL;
	watch->sem->watch = NULL;
	watch->sem = NULL;
	raw_spin_unlock(&watch_lock);
}

/* Replaces the entry of a lock, under its wait_lock. @from may be freed afterwards. */
void watcher_replace(struct unfair_watch *from, struct unfair_watch *to)
{
	raw_spin_lock(&watch_lock);
	to->sem = from->sem;
	to->sem->watch = to;
	to->pass = from->pass;
	to->trace_due = from->trace_due;
	/* has_work() reads the list without the lock; list_replace() has plain stores */
	list_add(&to->entry, &from->entry);
	list_del(&from->entry);
	if (looking_at == from)
		looking_at = NULL;
	from->sem = NULL;
	raw_spin_unlock(&watch_lock);
}

/**
 * watcher_look_now() - make the watcher look at a lock at once
 * @sem: the semaphore, in the watcher's list
 *
 * Context: under wait_lock of @sem.
 * Return: the watcher, for the caller to wake; NULL: it runs, or another task wakes it.
 */
struct task_struct *watcher_look_now(struct unfair_rwsem *sem)
{
	raw_spin_lock(&watch_lock);
	list_move_tail(&sem->watch->entry, &urgent_watches);
	raw_spin_unlock(&watch_lock);
	/* one wakeup until it clears the flag, however many tasks sleep: each costs it CPU time */
	return xchg(&must_look, 1) ? NULL : watcher;
}

/* --- looks --------------------------------------------------------------- */

/* Charges budgets, which must not wait for the end of a long pass. */
static void account_if_due(void)
{
	if (lend_any() && ktime_get_ns() >= account_due) {
		lend_account();
		account_due = ktime_get_ns() + ACCOUNT_EVERY;
	}
}

/* @w is looking_at. Called under wait_lock of @sem, which it drops. */
static void look_in_steps(struct unfair_watch *w, struct unfair_rwsem *sem, unsigned long irqflags)
	__fsc_unchecked
{
	struct look look = { };
	bool more;

	for (;;) {
		more = calls->look(sem, &look, irqflags);
		lend_pause();
		account_if_due();
		raw_spin_lock_irqsave(&watch_lock, irqflags);
		if (looking_at != w || !more || !raw_spin_trylock(&sem->wait_lock))
			break;
		raw_spin_unlock(&watch_lock);
	}
	looking_at = NULL;
	raw_spin_unlock_irqrestore(&watch_lock, irqflags);
	if (more)
		lend_renew(sem);
}

/* The next lock to look at, moved behind all others. @urgent: only one to look at now. */
static struct unfair_watch *next_watch(bool urgent)
{
	struct unfair_watch *w = list_first_entry_or_null(urgent ? &urgent_watches : &watches,
							  struct unfair_watch, entry);

	if (!w || (!urgent && w->pass == pass))
		return NULL;
	if (!urgent)
		w->pass = pass;
	list_move_tail(&w->entry, &watches);
	return w;
}

/*
 * Looks at all locks, each one once, or at the urgent ones for a limited time: users choose how
 * often waiters go to sleep, and the pass must come, which ends leases.
 */
static void look_at_locks(bool urgent)
	__fsc_unchecked
{
	u64 until = ktime_get_ns() + ACCOUNT_EVERY;
	struct unfair_rwsem *sem;
	unsigned long irqflags;
	struct unfair_watch *w;

	raw_spin_lock_irqsave(&watch_lock, irqflags);
	if (!urgent) {
		pass++;
		list_splice_init(&urgent_watches, &watches);
	}
	while ((!urgent || ktime_get_ns() < until) && (w = next_watch(urgent))) {
		sem = w->sem;
		/* skip a lock whose wait_lock is held: a running task is already working on it */
		if (raw_spin_trylock(&sem->wait_lock)) {
			looking_at = w;
			raw_spin_unlock(&watch_lock);
			look_in_steps(w, sem, irqflags);
		} else {
			raw_spin_unlock_irqrestore(&watch_lock, irqflags);
			/* a virtual CPU may stop while it holds the lock */
			lend_renew(sem);
		}
		raw_spin_lock_irqsave(&watch_lock, irqflags);
	}
	if (urgent && !list_empty(&urgent_watches))
		WRITE_ONCE(must_look, 1);
	raw_spin_unlock_irqrestore(&watch_lock, irqflags);
}

/* --- the thread ---------------------------------------------------------- */

static bool has_work(void)
{
	return !list_empty(&watches) || !list_empty(&urgent_watches) ||
	       READ_ONCE(must_activate) || lend_any();
}

static enum hrtimer_restart watch_timeout(struct hrtimer *timer)
{
	if (!has_work()) {
		/*
		 * I: pairs with start_watching() and watcher_activate(). Either the task that
		 * adds work sees that the timer is not armed, or the timer sees the work.
		 */
		smp_store_mb(timer_armed, 0);
		if (!has_work() || xchg(&timer_armed, 1))
			return HRTIMER_NORESTART;
	}
	wake_up_process(watcher);
	return HRTIMER_NORESTART;
}

/* Makes the watcher call activate(), at once or after its pause. Interrupts are off. */
void watcher_activate(void)
{
	WRITE_ONCE(must_activate, 1);
	/* I: the flag, then the timer; if it is armed, its callback or the watcher sees the flag */
	if (!xchg(&timer_armed, 1))
		wake_up_process(watcher);
}

static void look_at_all(void)
{
	u64 start = ktime_get_ns(), paused = lend_paused_ns();

	look_at_locks(false);
	lend_end_pass();
	pass_end = ktime_get_ns();
	pass_pause = min(PAUSE_RATIO * (pass_end - start - (lend_paused_ns() - paused)), MAX_PAUSE);
}

/* The time in ns of the next pass. lend_period_us may have changed since the last one. */
static u64 pass_due(void)
{
	return pass_end + max(lend_period_ns(), pass_pause);
}

static int watch(void *unused)
{
	u64 now, next;

	lend_end_burst();
	while (!kthread_should_stop()) {
		/* I: clear the flag, then work; a task that adds work after that sets it again */
		if (xchg(&must_activate, 0))
			calls->activate();
		if (xchg(&must_look, 0))
			look_at_locks(true);
		if (ktime_get_ns() + TIMER_SLACK >= pass_due())
			look_at_all();
		account_if_due();
		next = min(pass_due(), ktime_get_ns() + MAX_INTERVAL);
		if (lend_any())
			next = min(next, account_due);
		now = ktime_get_ns();
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		if (READ_ONCE(must_look) || READ_ONCE(must_activate)) {
			__set_current_state(TASK_RUNNING);
			continue;
		}
		/*
		 * While timer_armed is set, no other task starts the timer. It may have been
		 * cleared while this thread added loans or moved entries between the lists.
		 */
		if (READ_ONCE(timer_armed) || has_work())
			hrtimer_start(&watch_timer, ns_to_ktime(next > now ? next - now : 0),
				      HRTIMER_MODE_REL_HARD);
		now = ktime_get_ns();
		schedule();
		/* shorter ones do not count: users choose how often a waiter wakes this thread */
		if (ktime_get_ns() - now >= LEND_BURST)
			lend_end_burst();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* CPU time of the watcher in ns. Context: any. */
u64 watcher_cpu_ns(void)
{
	return lend_cpu_time(watcher);
}

/**
 * watcher_init() - start the watcher
 * @what: what it calls
 *
 * Return: 0; -ENOMEM, or -EINTR after a signal.
 */
int __init watcher_init(const struct watcher_calls *what)
{
	/* above all lent priorities: the watcher must be able to end a loan */
	static const struct sched_attr top = {
		.size = sizeof(top), .sched_policy = SCHED_FIFO, .sched_priority = MAX_RT_PRIO - 1,
	};

	calls = what;
	compat_hrtimer_setup(&watch_timer, watch_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	watcher = kthread_run(watch, NULL, "fscommit_lend");
	if (IS_ERR(watcher))
		return PTR_ERR(watcher);
	/* at exit, the timer may run after the thread has ended */
	get_task_struct(watcher);
	sched_setattr_nocheck(watcher, &top);
	return 0;
}

/* No lock is in use, so there is no new work. */
void watcher_exit(void)
{
	kthread_stop(watcher);
	hrtimer_cancel(&watch_timer);
	put_task_struct(watcher);
}
