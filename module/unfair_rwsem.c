// SPDX-License-Identifier: GPL-2.0
/*
 * Reader-unfair, writer-preferring read/write semaphore.
 *
 * Everything but the fast paths happens under wait_lock: who waits, who is let
 * in, who is woken. The exception is the reader that leaves by its own compare
 * and exchange; it is ordered against a waiter by the lock word alone:
 *
 *	writer that waits (wait_lock held)	last reader
 *	----------------------------------	-----------
 *	A: sets WWAIT in the word		B: takes READER off the word
 *	   reads the reader count from it	   reads WWAIT from it
 *
 * Both are atomic operations on one word, so one of them comes first: either the
 * writer finds no reader, or the reader finds WWAIT, takes wait_lock and looks for
 * a sleeper. A waiter sets its task state before it gives wait_lock away, so one
 * that is found asleep can be woken. The same holds for a fast unlock of a writer
 * (its exchange fails once RWAIT or WWAIT is there).
 *
 * Recipes (all under wait_lock):
 *
 *  release by a writer, or by the last reader:
 *	1) Readers that waited past the bound, and none had its window since the
 *	   last writer: take them off the queue, open the window, wake them.
 *	2) Writers queued: wake the first one, unless it is awake.
 *	3) None queued: take as many readers off the queue as can run, wake them.
 *
 *  reader:
 *	1) Not write locked, and nobody to be let past: count itself in.
 *	2) Else queue, spin while the writer runs, sleep.
 *	3) Let in: wake one more, where it may come in too.
 *
 *  writer:
 *	1) Free, no window for others, and first in the queue (or allowed to pass
 *	   the first): take it.
 *	2) Else queue by priority, spin, sleep; in a window by timer, to its end.
 *
 * A reader leaves the queue when it is woken, not when it is let in. So one that
 * is woken and never scheduled is forgotten: it costs one window at the most,
 * and no release looks at it again before it has run.
 *
 * The choice costs: a waiting reader is woken for nothing when a writer is quicker
 * (it queues again, with the age that it has); a woken writer that is not
 * scheduled keeps new readers out until their bound has passed.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched/debug.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/unfair_rwsem.h>

#include "compat.h"

#define WRITER	UNFAIR_RWSEM_WRITER
#define WWAIT	UNFAIR_RWSEM_WWAIT
#define RWAIT	UNFAIR_RWSEM_RWAIT
#define WINDOW	UNFAIR_RWSEM_WINDOW
#define READER	UNFAIR_RWSEM_READER
#define FLAGS	UNFAIR_RWSEM_FLAGS

/* How many times in a row writers may pass the first one that waits. */
#define MAX_STEALS	16
/* How many are woken at once; never more than there are CPUs. */
#define MAX_WAKES	16
/* How long to spin on what shows no owner, in nanoseconds. */
#define BLIND_SPIN_NS	20000
/* Priorities as kept here: 0 deadline, 1-100 real-time, then nice, then idle. */
#define PRIO_FAIR	(MAX_RT_PRIO + 1)
#define PRIO_IDLE	(MAX_PRIO + 1)

struct waiter {
	struct task_struct	*task;
	struct rb_node		node;		/* in sem->writers or sem->readers */
	struct rb_node		age;		/* in sem->reader_ages */
	u32			since;		/* microseconds */
	u8			prio;
	u8			window;		/* the window it was woken for, 0: none */
	bool			queued;
	bool			asleep;
};

struct wakes {
	unsigned int		nr;
	struct task_struct	*task[MAX_WAKES + 1];
};

/* --- parameters ---------------------------------------------------------- */

struct ranged_param {
	unsigned int		value, min, max;
};

static int param_set_range(const char *val, const struct kernel_param *kp)
{
	struct ranged_param *r = kp->arg;
	unsigned int v;
	int ret = kstrtouint(val, 0, &v);

	if (ret || v < r->min || v > r->max) {
		pr_err("fscommit: %s=%s: must be a number from %u to %u\n",
		       kp->name, val, r->min, r->max);
		return -EINVAL;
	}
	WRITE_ONCE(r->value, v);
	return 0;
}

static int param_get_range(char *buffer, const struct kernel_param *kp)
{
	const struct ranged_param *r = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(r->value));
}

static const struct kernel_param_ops range_ops = {
	.set = param_set_range,
	.get = param_get_range,
};

static struct ranged_param reader_bound_us = { 10000, 0, UNFAIR_RWSEM_BOUND_MAX_US };
module_param_cb(reader_bound_us, &range_ops, &reader_bound_us, 0644);
MODULE_PARM_DESC(reader_bound_us,
		 "a reader that waited longer opens a window, where its lock has no bound of its own; microseconds, 0 (never) to 10000000, default 10000");

static struct ranged_param window_us = { 200, 1, 10000 };
module_param_cb(window_us, &range_ops, &window_us, 0644);
MODULE_PARM_DESC(window_us,
		 "how long writers stand back for those that waited too long; microseconds, 1 to 10000, default 200");

static struct ranged_param recheck_ms = { 10, 0, 10000 };
module_param_cb(recheck_ms, &range_ops, &recheck_ms, 0644);
MODULE_PARM_DESC(recheck_ms,
		 "a sleeping waiter looks for itself after this time, then after twice as long and so on, in case those woken before it are not scheduled; milliseconds, 0 (never) to 10000, default 10");

/* --- the queues ---------------------------------------------------------- */

static u32 now_us(void)
{
	return ktime_to_us(ktime_get());
}

static u8 current_prio(void)
{
	return current->policy == SCHED_IDLE ? PRIO_IDLE : current->prio + 1;
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

static bool before(const struct waiter *a, const struct waiter *b)
{
	if (a->prio != b->prio)
		return a->prio < b->prio;
	return (s32)(a->since - b->since) < 0;
}

static bool node_before(struct rb_node *a, const struct rb_node *b)
{
	return before(rb_entry(a, struct waiter, node), rb_entry(b, struct waiter, node));
}

static bool age_before(struct rb_node *a, const struct rb_node *b)
{
	return (s32)(rb_entry(a, struct waiter, age)->since -
		     rb_entry(b, struct waiter, age)->since) < 0;
}

/* The queues in the word. What else is in it stays, but for WINDOW if @window is not set. */
static void sync_flags(struct unfair_rwsem *sem, bool window)
{
	long word = atomic_long_read(&sem->word), new;

	do {
		new = word & ~(WWAIT | RWAIT);
		if (!RB_EMPTY_ROOT(&sem->writers.rb_root))
			new |= WWAIT;
		if (!RB_EMPTY_ROOT(&sem->readers))
			new |= RWAIT;
		if (window)
			new |= WINDOW;
		else
			new &= ~WINDOW;
		/* A: pairs with B in unfair_up_read() */
	} while (!atomic_long_try_cmpxchg(&sem->word, &word, new));
}

static bool window_is_open(struct unfair_rwsem *sem)
{
	return atomic_long_read(&sem->word) & WINDOW;
}

static void queue_reader(struct unfair_rwsem *sem, struct waiter *w)
{
	w->queued = true;
	w->window = 0;
	rb_add(&w->node, &sem->readers, node_before);
	rb_add(&w->age, &sem->reader_ages, age_before);
}

static void unqueue_reader(struct unfair_rwsem *sem, struct waiter *w)
{
	rb_erase(&w->node, &sem->readers);
	rb_erase(&w->age, &sem->reader_ages);
	/* read by the waiter's spinning, without wait_lock */
	WRITE_ONCE(w->queued, false);
}

/* --- waking -------------------------------------------------------------- */

static unsigned int max_wakes(void)
{
	return min_t(unsigned int, num_online_cpus(), MAX_WAKES);
}

static void wake_later(struct wakes *wakes, struct waiter *w)
{
	if (!w->asleep)
		return;
	w->asleep = false;
	wakes->task[wakes->nr++] = get_task_struct(w->task);
}

static void wake_first_writer(struct unfair_rwsem *sem, struct wakes *wakes)
{
	struct waiter *w = first_writer(sem);

	if (w)
		wake_later(wakes, w);
}

static void wake_readers(struct unfair_rwsem *sem, struct wakes *wakes, unsigned int nr)
{
	struct waiter *w;

	while (nr-- && wakes->nr < MAX_WAKES && (w = first_reader(sem))) {
		unqueue_reader(sem, w);
		wake_later(wakes, w);
	}
}

/* Without wait_lock: a wakeup takes the scheduler's locks. */
static void wake_now(struct wakes *wakes)
{
	unsigned int i;

	for (i = 0; i < wakes->nr; i++) {
		wake_up_process(wakes->task[i]);
		put_task_struct(wakes->task[i]);
	}
}

/* --- the window ---------------------------------------------------------- */

static bool is_overdue(struct unfair_rwsem *sem, const struct waiter *w, u32 now)
{
	u32 bound = READ_ONCE(sem->reader_bound);

	if (bound == UNFAIR_RWSEM_BOUND_DEFAULT)
		bound = READ_ONCE(reader_bound_us.value);
	return bound && now - w->since > bound;
}

/* A real-time reader is not to wait for a writer of lower priority. */
static bool outranks_writers(struct unfair_rwsem *sem, const struct waiter *w)
{
	struct waiter *writer = first_writer(sem);

	return w->prio < PRIO_FAIR && w->prio < (writer ? writer->prio : current_prio());
}

static void start_window(struct unfair_rwsem *sem, u32 now)
{
	if (!++sem->window_seq)
		sem->window_seq = 1;
	sem->window_end = now + READ_ONCE(window_us.value);
	sem->window_due = 0;
}

/* What is left of an open window, in microseconds. */
static u32 window_left(struct unfair_rwsem *sem, u32 now)
{
	u32 left = sem->window_end - now;

	/* long past looks like far ahead */
	return left > window_us.max ? 0 : left;
}

/* Takes the readers that have waited too long off the queue, for a new window. */
static bool open_window(struct unfair_rwsem *sem, struct wakes *wakes)
{
	unsigned int room = max_wakes();
	struct waiter *w;
	u32 now;

	if (sem->window_used || RB_EMPTY_ROOT(&sem->readers))
		return false;
	now = now_us();
	start_window(sem, now);
	while (sem->window_due < room) {
		w = first_reader(sem);
		if (!w || !outranks_writers(sem, w)) {
			w = oldest_reader(sem);
			if (!w || !is_overdue(sem, w, now))
				break;
		}
		unqueue_reader(sem, w);
		w->window = sem->window_seq;
		sem->window_due++;
		wake_later(wakes, w);
	}
	sem->window_used = sem->window_due > 0;
	return sem->window_due;
}

/*
 * Who comes next, after a release. Returns whether a window is open now. With a
 * window the first writer is woken as well: it is the one that ends it on time.
 */
static bool choose_next(struct unfair_rwsem *sem, struct wakes *wakes)
{
	bool window = open_window(sem, wakes);

	if (first_writer(sem))
		wake_first_writer(sem, wakes);
	else
		wake_readers(sem, wakes, max_wakes());
	return window;
}

/* One of those that the window waits for has come, or has given up. */
static bool window_goes_on(struct unfair_rwsem *sem, struct waiter *w)
{
	bool open = window_is_open(sem);

	if (open && w->window && w->window == sem->window_seq && sem->window_due) {
		w->window = 0;
		open = --sem->window_due;
	}
	return open;
}

/* --- letting in ---------------------------------------------------------- */

static bool may_pass_writers(struct unfair_rwsem *sem, struct waiter *w, long word, u32 now)
{
	if (word & WINDOW && w->window == sem->window_seq && window_left(sem, now))
		return true;
	if (outranks_writers(sem, w))
		return true;
	/* No release came for so long: the writer that was woken is not scheduled. */
	if (!sem->window_used && is_overdue(sem, w, now)) {
		sem->window_used = 1;
		return true;
	}
	return false;
}

static bool try_read(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes)
{
	long word = atomic_long_read(&sem->word);
	bool window;

	do {
		if (word & WRITER)
			return false;
		if (word & WWAIT && !may_pass_writers(sem, w, word, now_us()))
			return false;
	} while (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, word + READER));

	if (w->queued)
		unqueue_reader(sem, w);
	window = window_goes_on(sem, w);
	if (!first_writer(sem))
		wake_readers(sem, wakes, 1);
	sync_flags(sem, window);
	return true;
}

static bool try_write(struct unfair_rwsem *sem, struct waiter *w)
{
	struct waiter *first = first_writer(sem);
	bool passes = first && first != w, others;
	long word = atomic_long_read(&sem->word), new;

	if (word & WRITER || word & ~FLAGS)
		return false;
	if (word & WINDOW && window_left(sem, now_us())) {
		/* without readers that are due, it is kept for the first writer */
		if (passes || sem->window_due)
			return false;
	} else if (passes && !(word & WINDOW) &&
		   (w->prio > first->prio || sem->steals >= MAX_STEALS)) {
		start_window(sem, now_us());
		sync_flags(sem, true);
		return false;
	}
	others = passes || (w->queued && rb_next(&w->node));
	do {
		if (word & ~FLAGS)
			return false;
		new = (long)current | WRITER | (word & RWAIT) | (others ? WWAIT : 0);
	} while (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, new));

	sem->steals = passes && !(word & WINDOW) ? sem->steals + 1 : 0;
	sem->window_used = 0;
	if (w->queued) {
		rb_erase_cached(&w->node, &sem->writers);
		w->queued = false;
	}
	return true;
}

/* A reader that gives up. If it was woken, the next one is its to wake. */
static void leave_read(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes)
{
	bool was_woken = !w->queued;
	bool window;

	if (w->queued)
		unqueue_reader(sem, w);
	window = window_goes_on(sem, w);
	if (was_woken && !(atomic_long_read(&sem->word) & WRITER)) {
		if (first_writer(sem))
			wake_first_writer(sem, wakes);
		else
			wake_readers(sem, wakes, 1);
	}
	sync_flags(sem, window);
}

/* A writer that gives up. What waited for it alone can go on. */
static void leave_write(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes)
{
	bool window = window_is_open(sem);

	if (w->queued) {
		rb_erase_cached(&w->node, &sem->writers);
		w->queued = false;
	}
	if (!(atomic_long_read(&sem->word) & WRITER)) {
		/* a window without readers that are due was the first writer's */
		if (!sem->window_due)
			window = false;
		if (first_writer(sem))
			wake_first_writer(sem, wakes);
		else
			wake_readers(sem, wakes, max_wakes());
	}
	sync_flags(sem, window);
}

/* --- waiting ------------------------------------------------------------- */

struct wait {
	unsigned int		state;
	bool			timed;
	unsigned long		deadline;	/* jiffies, if timed */
	unsigned long		recheck;	/* jiffies */
};

static int wait_over(const struct wait *wait)
{
	if (signal_pending_state(wait->state, current))
		return -EINTR;
	if (wait->timed && time_after_eq(jiffies, wait->deadline))
		return -ETIME;
	return 0;
}

static struct task_struct *owner_of(long word)
{
	return (struct task_struct *)(word & ~FLAGS);
}

/*
 * Is there nothing left to spin for? A reader that was taken off the queue must
 * look; a writer only if it is the first.
 */
static bool worth_a_look(struct unfair_rwsem *sem, struct waiter *w, long word, bool write)
{
	if (!write && !READ_ONCE(w->queued))
		return true;
	if (word & WRITER)
		return false;
	if (!write)
		return !(word & WWAIT);
	return !(word & ~FLAGS) && READ_ONCE(sem->writers.rb_root.rb_node) &&
	       READ_ONCE(sem->writers.rb_leftmost) == &w->node;
}

/*
 * Spins while the writer that owns the lock runs. Returns false if it does not,
 * or if spinning is over for another reason: then it is time to sleep.
 */
static bool spin(struct unfair_rwsem *sem, struct waiter *w, const struct wait *wait, bool write)
{
	bool look = false;
	u64 blind = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || num_online_cpus() == 1)
		return false;
	/*
	 * Whoever is preempted here keeps nobody off the CPU. It also is what keeps
	 * the owner's task_struct: it owned the lock after this point, and is not
	 * freed before a grace period.
	 */
	preempt_disable();
	for (;;) {
		long word = atomic_long_read(&sem->word);

		if (worth_a_look(sem, w, word, write)) {
			look = true;
			break;
		}
		if (need_resched() || wait_over(wait))
			break;
		if (word & WRITER) {
			if (!owner_on_cpu(owner_of(word)))
				break;
			blind = 0;
		} else if (word & WINDOW) {
			break;
		} else if (!blind) {
			blind = ktime_get_ns() + BLIND_SPIN_NS;
		} else if (ktime_get_ns() > blind) {
			break;
		}
		cpu_relax();
	}
	preempt_enable();
	return look;
}

/* Sleeps until woken, with wait_lock given away meanwhile. */
static void sleep(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
		  unsigned long *irqflags, u32 window)
{
	unsigned long nap = MAX_SCHEDULE_TIMEOUT, now = jiffies;

	w->asleep = true;
	set_current_state(wait->state);
	raw_spin_unlock_irqrestore(&sem->wait_lock, *irqflags);
	if (window) {
		ktime_t end = ns_to_ktime((u64)window * NSEC_PER_USEC);

		schedule_hrtimeout_range(&end, NSEC_PER_USEC, HRTIMER_MODE_REL);
	} else {
		if (wait->timed)
			nap = time_before(now, wait->deadline) ? wait->deadline - now : 0;
		nap = min(nap, wait->recheck);
		if (!schedule_timeout(nap) && wait->recheck < MAX_SCHEDULE_TIMEOUT / 2)
			wait->recheck *= 2;
	}
	__set_current_state(TASK_RUNNING);
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	w->asleep = false;
}

static int start_wait(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
		      unsigned int state, long timeout, unsigned long first_look)
{
	if (WARN_ONCE(timeout < 0, "fscommit: timeout of %ld jiffies: must be 0 to %ld\n",
		      timeout, MAX_SCHEDULE_TIMEOUT))
		return -EINVAL;
	*w = (struct waiter) {
		.task = current,
		.since = now_us(),
		.prio = current_prio(),
	};
	*wait = (struct wait) {
		.state = state,
		.timed = timeout != MAX_SCHEDULE_TIMEOUT,
		.deadline = jiffies + timeout,
		.recheck = READ_ONCE(recheck_ms.value) ? first_look + 1 : MAX_SCHEDULE_TIMEOUT,
	};
	lock_contended(&sem->dep_map, _RET_IP_);
	return 0;
}

/**
 * __unfair_down_read_slow() - wait for the semaphore, for reading
 * @sem: the semaphore
 * @state: task state to sleep in; decides which signals end the wait
 * @timeout: jiffies; MAX_SCHEDULE_TIMEOUT for no limit
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held, -EINTR, -ETIME, or -EINVAL for a negative
 * timeout.
 */
int __unfair_down_read_slow(struct unfair_rwsem *sem, unsigned int state, long timeout)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	bool may_spin = true;
	struct waiter w;
	struct wait wait;
	int ret;

	ret = start_wait(sem, &w, &wait, state, timeout,
			 msecs_to_jiffies(READ_ONCE(recheck_ms.value)));
	if (ret)
		return ret;
	trace_contention_begin(sem, LCB_F_READ);
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	for (;;) {
		if (try_read(sem, &w, &wakes))
			break;
		ret = wait_over(&wait);
		if (ret) {
			leave_read(sem, &w, &wakes);
			break;
		}
		if (!w.queued) {
			/* and look again, now that no release can overlook it */
			queue_reader(sem, &w);
			sync_flags(sem, window_is_open(sem));
			continue;
		}
		if (may_spin) {
			raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
			may_spin = spin(sem, &w, &wait, false);
			raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
			continue;
		}
		sleep(sem, &w, &wait, &irqflags, 0);
		may_spin = true;
	}
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	wake_now(&wakes);
	trace_contention_end(sem, ret);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_read_slow);

/**
 * __unfair_down_write_slow() - wait for the semaphore, for writing
 * @sem: the semaphore
 * @state: task state to sleep in; decides which signals end the wait
 * @timeout: jiffies; MAX_SCHEDULE_TIMEOUT for no limit
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held, -EINTR, -ETIME, or -EINVAL for a negative
 * timeout.
 */
int __unfair_down_write_slow(struct unfair_rwsem *sem, unsigned int state, long timeout)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	bool may_spin = true;
	struct waiter w;
	struct wait wait;
	u32 window;
	int ret;

	ret = start_wait(sem, &w, &wait, state, timeout,
			 msecs_to_jiffies(READ_ONCE(recheck_ms.value)));
	if (ret)
		return ret;
	trace_contention_begin(sem, LCB_F_WRITE);
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	for (;;) {
		if (try_write(sem, &w))
			break;
		ret = wait_over(&wait);
		if (ret) {
			leave_write(sem, &w, &wakes);
			break;
		}
		if (!w.queued) {
			/* and look again, now that no release can overlook it */
			w.queued = true;
			rb_add_cached(&w.node, &sem->writers, node_before);
			sync_flags(sem, window_is_open(sem));
			continue;
		}
		if (may_spin) {
			raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
			may_spin = spin(sem, &w, &wait, true);
			raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
			continue;
		}
		window = window_is_open(sem) ? window_left(sem, now_us()) : 0;
		sleep(sem, &w, &wait, &irqflags, window);
		may_spin = true;
	}
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	wake_now(&wakes);
	trace_contention_end(sem, ret);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_write_slow);

/* --- releasing ----------------------------------------------------------- */

/**
 * __unfair_up_read_unheld() - say that the caller does not hold it for reading
 * @sem: the semaphore
 *
 * Context: any.
 */
void __unfair_up_read_unheld(struct unfair_rwsem *sem)
{
	WARN_ONCE(1, "fscommit: unfair_up_read() by %s[%d] of a semaphore that nobody holds for reading (word %#lx)\n",
		  current->comm, task_pid_nr(current), atomic_long_read(&sem->word));
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_unheld);

/**
 * __unfair_up_read_slow() - look for those who wait, after the last reader left
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 */
void __unfair_up_read_slow(struct unfair_rwsem *sem)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	bool window;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	word = atomic_long_read(&sem->word);
	if (!(word & WRITER || word & ~FLAGS)) {
		compat_trace_contended_release(sem);
		window = choose_next(sem, &wakes);
		sync_flags(sem, window || word & WINDOW);
	}
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	wake_now(&wakes);
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_slow);

/* Gives up write ownership for @instead: 0, or READER. */
static void give_up_write(struct unfair_rwsem *sem, long instead, const char *caller)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	word = atomic_long_read(&sem->word);
	if (unlikely((word & ~(FLAGS & ~WRITER)) != ((long)current | WRITER))) {
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		WARN_ONCE(1, "fscommit: %s() of a semaphore that %s[%d] does not hold for writing (word %#lx)\n",
			  caller, current->comm, task_pid_nr(current), word);
		return;
	}
	if (word & (WWAIT | RWAIT))
		compat_trace_contended_release(sem);
	if (choose_next(sem, &wakes))
		instead |= WINDOW;
	if (!RB_EMPTY_ROOT(&sem->writers.rb_root))
		instead |= WWAIT;
	if (!RB_EMPTY_ROOT(&sem->readers))
		instead |= RWAIT;
	/*
	 * C: nobody else may change the word now: it is write locked, and the flags
	 * are ours. Pairs with D, the acquire of whoever finds it unlocked.
	 */
	atomic_long_set_release(&sem->word, instead);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	wake_now(&wakes);
}

/**
 * __unfair_up_write_slow() - release for writing, with somebody waiting
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 */
void __unfair_up_write_slow(struct unfair_rwsem *sem)
{
	give_up_write(sem, 0, "unfair_up_write");
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_write_slow);

/**
 * unfair_downgrade_write() - hold for reading what is held for writing
 * @sem: the semaphore; held for writing by the caller
 *
 * No other writer comes in between. Readers come in unless a writer waits; those
 * that waited too long come in then, too. Called by a task that does not hold it
 * for writing, it warns once and does nothing.
 *
 * Context: process context; does not sleep.
 */
void unfair_downgrade_write(struct unfair_rwsem *sem)
{
	lock_downgrade(&sem->dep_map, _RET_IP_);
	give_up_write(sem, READER, "unfair_downgrade_write");
}
EXPORT_SYMBOL_FSCOMMIT(unfair_downgrade_write);

/* --- setting up ---------------------------------------------------------- */

/**
 * __init_unfair_rwsem() - initialise a reader-unfair semaphore of a given class
 * @sem: the semaphore; must not be held
 * @name: name of the lockdep class
 * @key: its key: static, or registered by lockdep_register_key()
 *
 * For init_unfair_rwsem(), and for wrappers that have callers of their own.
 *
 * Context: any.
 */
void __init_unfair_rwsem(struct unfair_rwsem *sem, const char *name, struct lock_class_key *key)
{
	BUILD_BUG_ON(L1_CACHE_BYTES <= FLAGS);
	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) && !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) &&
		     !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) && sizeof(*sem) > 64);

#ifdef CONFIG_DEBUG_LOCK_ALLOC
	debug_check_no_locks_freed((void *)sem, sizeof(*sem));
	lockdep_init_map_type(&sem->dep_map, name, key, 0, LD_WAIT_SLEEP, LD_WAIT_SLEEP,
			      LD_LOCK_NORMAL);
#endif
	atomic_long_set(&sem->word, 0);
	raw_spin_lock_init(&sem->wait_lock);
	sem->steals = 0;
	sem->window_seq = 0;
	sem->window_due = 0;
	sem->window_used = 0;
	sem->writers = RB_ROOT_CACHED;
	sem->readers = RB_ROOT;
	sem->reader_ages = RB_ROOT;
	sem->window_end = 0;
	sem->reader_bound = UNFAIR_RWSEM_BOUND_DEFAULT;
}
EXPORT_SYMBOL_FSCOMMIT(__init_unfair_rwsem);

/**
 * unfair_rwsem_set_reader_bound() - say how long a reader waits before its window
 * @sem: the semaphore; may be in use
 * @us: microseconds, 1 to UNFAIR_RWSEM_BOUND_MAX_US; 0: never a window;
 *	UNFAIR_RWSEM_BOUND_DEFAULT: as the module parameter reader_bound_us says
 *
 * With 0, a stream of writers can keep readers out for ever.
 *
 * Context: any.
 * Return: 0; -EINVAL if @us is out of range, and nothing has changed.
 */
int unfair_rwsem_set_reader_bound(struct unfair_rwsem *sem, unsigned int us)
{
	if (us > UNFAIR_RWSEM_BOUND_MAX_US && us != UNFAIR_RWSEM_BOUND_DEFAULT) {
		pr_err("fscommit: reader bound of %u us: must be 0 to %u\n",
		       us, UNFAIR_RWSEM_BOUND_MAX_US);
		return -EINVAL;
	}
	WRITE_ONCE(sem->reader_bound, us);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_set_reader_bound);
