// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher: one kernel thread that looks at each lock with sleeping waiters or expedited
 * sections, every lend_period_us. So waiters sleep without timers of their own.
 *
 * At each look it lends to holders that are not on a CPU. On a free lock it wakes the next waiter
 * if the first one was woken and has not run. So neither a loan nor a wakeup depends on a waiter
 * that has no CPU: a queued waiter either spins with preemption disabled, or its lock is in one of
 * the lists here.
 *
 * Each list has a lock, which nests within wait_lock. The watcher acquires the list's lock first,
 * and then only tries to acquire wait_lock. A watch is removed under the list's lock, so while
 * that is held, a watch in the list and its semaphore cannot be freed. A look drops both locks
 * after each 64 slots; after that, the field `looking_at` shows whether the watch still exists.
 *
 * Most waits end within a period. So a timer checks the lists first, and wakes the watcher only if
 * it has work.
 */
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/task.h>

#include "chain.h"
#include "internal.h"
#include "lent_priority.h"
#include "trace.h"
#include "watcher.h"

#define LIST_BITS	4
/* Maximum backoff between two looks while all holders sleep, in lend periods. */
#define MAX_BACKOFF	8
/* Minimum pause between two passes, in durations of the last pass ... */
#define PAUSE_RATIO	9
/* ... and its limit: a hypervisor may have stolen the CPU during a pass that seems long. */
#define MAX_PAUSE	(10ULL * NSEC_PER_MSEC)
/* After so much work the watcher lets other real-time tasks run, for as long. In nanoseconds. */
#define BURST		20000
/* Interval between two charges of lent SCHED_FIFO. */
#define ACCOUNT_EVERY	((u64)NSEC_PER_MSEC)
/* How early a pass may start, or a look take place, in nanoseconds. */
#define TIMER_SLACK	20000
/* Minimum interval between two trace events of the holders of a lock. */
#define TRACE_EVERY	(10ULL * NSEC_PER_MSEC)
/* How often lend_watch_nth() tries to acquire a wait_lock. */
#define LOCK_TRIES	100

static struct watch_list {
	raw_spinlock_t		lock;
	struct list_head	head;
	struct watch		*looking_at;	/* NULL: no look, or its watch was removed */
	u8			pass;		/* number of the watcher's last pass */
} watch_lists[WATCH_LISTS];

static struct task_struct *watcher;
static struct hrtimer watch_timer;
/* Set while the timer is armed or the watcher runs; the timer clears it if there is no work. */
static unsigned int timer_armed;
static bool must_account, must_activate;
/* Look at all locks in this or the next pass, whatever their backoff. */
static bool look_now;
/* The watcher has run since then, and has slept so long in its pauses. */
static u64 burst_start, paused;

static struct watch_list *list_of(const struct unfair_rwsem *sem)
{
	return &watch_lists[hash_ptr(sem, LIST_BITS)];
}

/* --- the lists ----------------------------------------------------------- */

/**
 * lend_watch_start() - add a lock to the watcher's lists
 * @sem: the semaphore; must not be freed before lend_watch_stop()
 * @watch: its entry
 *
 * Context: under wait_lock of @sem.
 */
void lend_watch_start(struct unfair_rwsem *sem, struct watch *watch)
{
	struct watch_list *l = list_of(sem);

	sem->watched = 1;
	watch->sem = sem;
	/* the caller makes the first look */
	watch->looked = ktime_get_ns();
	watch->backoff = 1;
	watch->trace_due = 0;
	raw_spin_lock(&l->lock);
	watch->pass = l->pass;
	list_add_tail(&watch->entry, &l->head);
	raw_spin_unlock(&l->lock);
	lend_watcher_start_timer();
}

/* Removes a lock from the lists, under its wait_lock. @watch may be freed afterwards. */
void lend_watch_stop(struct watch *watch)
{
	struct watch_list *l = list_of(watch->sem);

	raw_spin_lock(&l->lock);
	list_del(&watch->entry);
	if (l->looking_at == watch)
		l->looking_at = NULL;
	watch->sem->watched = 0;
	watch->sem = NULL;
	raw_spin_unlock(&l->lock);
}

/* Replaces the entry of a lock, under its wait_lock. @from may be freed afterwards. */
void lend_watch_move(struct watch *from, struct watch *to)
{
	struct watch_list *l = list_of(from->sem);

	raw_spin_lock(&l->lock);
	to->sem = from->sem;
	to->looked = from->looked;
	to->backoff = from->backoff;
	to->pass = from->pass;
	to->trace_due = from->trace_due;
	/* has_work() reads the list without the lock; list_replace() has plain stores */
	list_add(&to->entry, &from->entry);
	list_del(&from->entry);
	if (l->looking_at == from)
		l->looking_at = NULL;
	from->sem = NULL;
	raw_spin_unlock(&l->lock);
}

/**
 * lend_watch_nth() - find a watched lock by its position
 * @list: number of the list, below WATCH_LISTS
 * @n: position in the list, from 0 on
 * @irqflags: for the release of wait_lock
 *
 * Context: any in which wait_lock may be acquired.
 * Return: the semaphore, with wait_lock held and interrupts off; NULL if there is none;
 * ERR_PTR(-EBUSY) if its wait_lock was not free in LOCK_TRIES tries.
 */
struct unfair_rwsem *lend_watch_nth(unsigned int list, unsigned int n, unsigned long *irqflags)
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
			return NULL;
		cpu_relax();
	}
	return ERR_PTR(-EBUSY);
}

/* --- waking ---------------------------------------------------------------- */

/**
 * __unfair_rwsem_unlock_and_wake() - drop wait_lock and wake
 * @sem: the semaphore; may be freed before this returns
 * @irqflags: saved when wait_lock was acquired
 * @wakes: the tasks to wake; empty afterwards
 *
 * Preemption is disabled until all tasks are awake. It also keeps their task_structs valid:
 * the tasks were waiting when it was disabled, and RCU frees a task_struct.
 *
 * Context: under wait_lock.
 */
void __unfair_rwsem_unlock_and_wake(struct unfair_rwsem *sem, unsigned long irqflags,
				    struct wakes *wakes)
{
	unsigned int i;

	preempt_disable();
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	for (i = 0; i < wakes->nr; i++)
		wake_up_process(wakes->task[i]);
	wakes->nr = 0;
	preempt_enable();
}

/* --- looks --------------------------------------------------------------- */

/* Traces the holders of the lock of @w, under its wait_lock. */
static void trace_holders(struct watch *w)
{
	u64 now;

	if (!trace_unfair_holder_enabled())
		return;
	now = ktime_get_ns();
	if (now < w->trace_due)
		return;
	w->trace_due = now + TRACE_EVERY;
	unfair_report_holders(w->sem);
}

/* @w is l->looking_at. Called under wait_lock of @sem, which it drops. */
static void look_at_lock(struct watch_list *l, struct watch *w, struct unfair_rwsem *sem,
			 unsigned long irqflags)
	__fsc_unchecked
{
	struct look look = { };
	bool more;

	trace_holders(w);
	for (;;) {
		struct lend_work work = { };
		struct wakes wakes = { };

		more = __unfair_rwsem_watch(sem, &look, &work, &wakes);
		__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
		lend_apply(&work);
		lend_watcher_pause();
		raw_spin_lock_irqsave(&l->lock, irqflags);
		if (l->looking_at != w || !more || !raw_spin_trylock(&sem->wait_lock))
			break;
		raw_spin_unlock(&l->lock);
	}
	if (l->looking_at == w) {
		/* if all holders were seen, sleep and have their loans, the next look can wait */
		w->backoff = look.active || more ? 1 : min_t(u8, 2 * w->backoff, MAX_BACKOFF);
		w->looked = ktime_get_ns();
	}
	l->looking_at = NULL;
	raw_spin_unlock_irqrestore(&l->lock, irqflags);
}

/* lend_period_us may have changed since the last look. */
static bool is_due(const struct watch *w)
{
	return !w->looked ||
	       ktime_get_ns() - w->looked + TIMER_SLACK >= w->backoff * lend_period_ns();
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
		if (look_now)
			w->looked = 0;
		/* skip a lock whose wait_lock is held: a running task is already working on it */
		if (is_due(w) && raw_spin_trylock(&sem->wait_lock)) {
			l->looking_at = w;
			raw_spin_unlock(&l->lock);
			look_at_lock(l, w, sem, irqflags);
		} else {
			raw_spin_unlock_irqrestore(&l->lock, irqflags);
		}
		raw_spin_lock_irqsave(&l->lock, irqflags);
	}
	raw_spin_unlock_irqrestore(&l->lock, irqflags);
}

/* --- the thread ---------------------------------------------------------- */

static bool has_work(void)
{
	unsigned int i;

	for (i = 0; i < WATCH_LISTS; i++)
		if (!list_empty(&watch_lists[i].head))
			return true;
	return READ_ONCE(must_account) || READ_ONCE(must_activate);
}

static void start_timer(u64 ns)
{
	hrtimer_start(&watch_timer, ns_to_ktime(ns), HRTIMER_MODE_REL_HARD);
}

static enum hrtimer_restart watch_timeout(struct hrtimer *timer)
{
	if (!has_work()) {
		/*
		 * I: pairs with lend_watcher_start_timer() and lend_watcher_activate(). Either the
		 * task that adds work sees that the timer is not armed, or the timer sees the work.
		 */
		smp_store_mb(timer_armed, 0);
		if (!has_work() || xchg(&timer_armed, 1))
			return HRTIMER_NORESTART;
	}
	wake_up_process(watcher);
	return HRTIMER_NORESTART;
}

/*
 * Makes the timer check for work within a period. Called after new work was added, with interrupts
 * off.
 */
void lend_watcher_start_timer(void)
{
	smp_mb();	/* I: the new work, then the read of timer_armed */
	if (!READ_ONCE(timer_armed) && !xchg(&timer_armed, 1))
		start_timer(min(lend_period_ns(), MAX_INTERVAL));
}

/**
 * lend_watcher_pause() - let tasks run that the watcher keeps off their CPU
 *
 * A pass may look at many locks, and set the priorities of many tasks, which takes some
 * microseconds each. Returns at once if the watcher's burst is short so far, if no timer is as
 * short, and in other tasks.
 *
 * Context: the watcher: without locks. Other tasks: any.
 */
void lend_watcher_pause(void)
{
	ktime_t pause = BURST;
	u64 now;

	if (current != watcher || hrtimer_resolution > BURST)
		return;
	now = ktime_get_ns();
	if (now - burst_start < BURST)
		return;
	set_current_state(TASK_IDLE);
	schedule_hrtimeout(&pause, HRTIMER_MODE_REL);
	burst_start = ktime_get_ns();
	paused += burst_start - now;
}

/* Makes the watcher call expedite_activate(), at once or after its pause. Interrupts are off. */
void lend_watcher_activate(void)
{
	WRITE_ONCE(must_activate, true);
	/* I: the flag, then the timer; if it is armed, its callback or the watcher sees the flag */
	if (!xchg(&timer_armed, 1))
		wake_up_process(watcher);
}

/* Makes the watcher call lend_account(): for lent SCHED_FIFO, or a priority to restore. */
void lend_watcher_account(void)
{
	WRITE_ONCE(must_account, true);
	lend_watcher_start_timer();
}

static void account(u64 *last)
{
	u64 now = ktime_get_ns();

	if (now - *last < ACCOUNT_EVERY)
		return;
	*last = now;
	/* I: clear the flag, then account; a task that adds work after that sets it again */
	smp_store_mb(must_account, false);
	if (lend_account())
		WRITE_ONCE(must_account, true);
}

/* One pass. Returns the time in ns at which the next one is due. */
static u64 look_at_all(u64 *accounted)
{
	u64 start = ktime_get_ns(), end;
	unsigned int i;

	paused = 0;
	/* I: as in account() */
	smp_store_mb(must_activate, false);
	look_now |= expedite_activate();
	for (i = 0; i < WATCH_LISTS; i++) {
		look_at_list(&watch_lists[i]);
		account(accounted);
	}
	look_now = lend_end_pass();
	expedite_end_orphan();
	end = ktime_get_ns();
	return end + max(min(lend_period_ns(), MAX_INTERVAL),
			 min(PAUSE_RATIO * (end - start - paused), MAX_PAUSE));
}

static int watch(void *unused)
{
	u64 accounted = 0, due = 0;

	while (!kthread_should_stop()) {
		u64 now, timeout_ns;

		if (ktime_get_ns() + TIMER_SLACK >= due)
			due = look_at_all(&accounted);
		account(&accounted);
		now = ktime_get_ns();
		timeout_ns = due > now ? due - now : 0;
		if (READ_ONCE(must_account))
			timeout_ns = min(timeout_ns, ACCOUNT_EVERY);
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		/* while timer_armed is set, no other task starts the timer */
		if (READ_ONCE(timer_armed))
			start_timer(timeout_ns);
		schedule();
		burst_start = ktime_get_ns();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

int __init lend_watcher_init(void)
{
	/* above all lent priorities: the watcher must be able to end a loan */
	static const struct sched_values top = { SCHED_FIFO, MAX_RT_PRIO - 1 };
	unsigned int i;

	chain_init();
	expedite_init();
	for (i = 0; i < WATCH_LISTS; i++) {
		raw_spin_lock_init(&watch_lists[i].lock);
		INIT_LIST_HEAD(&watch_lists[i].head);
	}
	compat_hrtimer_setup(&watch_timer, watch_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	watcher = kthread_run(watch, NULL, "fscommit_lend");
	if (IS_ERR(watcher))
		return PTR_ERR(watcher);
	/* at exit, the timer may run after the thread has ended */
	get_task_struct(watcher);
	lent_priority_set_values(watcher, &top);
	return 0;
}

void lend_watcher_exit(void)
{
	/* no lock is in use, so there is no new work */
	kthread_stop(watcher);
	hrtimer_cancel(&watch_timer);
	expedite_exit();
	put_task_struct(watcher);
	lend_exit();
}
