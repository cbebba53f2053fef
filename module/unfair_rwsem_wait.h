/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a task waits for a reader-unfair rwsem: it spins, lends, sleeps. For
 * unfair_rwsem.c alone.
 */
#ifndef _FSCOMMIT_UNFAIR_RWSEM_WAIT_H
#define _FSCOMMIT_UNFAIR_RWSEM_WAIT_H

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "unfair_rwsem_queue.h"

/* cpu_relax() between two looks at the word: what polls it slows down who writes it. */
#define POLL_PAUSE	16
/* How long to spin until a holder that was lent to runs, in nanoseconds. */
#define LENT_SPIN_NS	200000
/* How long to spin on what shows no owner, in nanoseconds. */
#define BLIND_SPIN_NS	20000
/* A waiter looks at holders that it has lent to after so many periods, at last. */
#define LEND_BACKOFF	8
/* ... and one that has nobody to lend to, whether it has now, after so many. */
#define LEND_SELDOM	32
/* After that, a waiter is left to the hung task detector. */
#define LAST_RECHECK	(30 * HZ)

static struct ranged_param recheck_ms = { 10, 0, 10000 };
module_param_cb(recheck_ms, &ranged_param_ops, &recheck_ms, 0644);
MODULE_PARM_DESC(recheck_ms,
		 "a sleeping waiter looks for itself after this time, then after twice as long and so on, in case those woken before it are not scheduled; milliseconds, 0 (never) to 10000, default 10");

/* --- waiting ------------------------------------------------------------- */

struct wait {
	u64			lend_nap;	/* ns until the next look at holders */
	bool			lend_due;
	u64			spin_until;	/* a holder will run soon */
	bool			reported;	/* who holds it up */
	struct wait_split	split;
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

/* Is there something to be had, or to be queued for again? */
static bool worth_a_look(struct unfair_rwsem *sem, struct waiter *w, long word, bool write)
{
	if (write)
		return !is_held(word) && !(word & WINDOW) &&
		       READ_ONCE(sem->writers.rb_leftmost) == &w->node;
	return !READ_ONCE(w->queued) || !(word & (WRITER | WWAIT | SPIN));
}

static bool can_spin(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && num_online_cpus() > 1;
}

static void poll_pause(void)
{
	int i;

	for (i = 0; i < POLL_PAUSE; i++)
		cpu_relax();
}

/*
 * Spins outside of the queue, while the writer that owns the lock runs and nobody is
 * queued: then two that take it in turns need no wait_lock. SPIN keeps others out
 * meanwhile, so that it waits for nobody that comes later. Returns whether it has the
 * lock now; if not, it has wait_lock, and has to queue.
 */
static bool spin_for_owner(struct unfair_rwsem *sem, const struct waiter *w,
			   const struct wait *wait, unsigned long *irqflags)
	__fsc_cond_acquires(false, &sem->wait_lock)
{
	bool spins = false;
	long word;

	/* see spin() */
	preempt_disable();
	if (!can_spin())
		goto queue;
	word = atomic_long_read(&sem->word);
	do {
		if (!(word & WRITER) || word & (WWAIT | SPIN) || !compat_on_cpu(owner_of(word)))
			goto queue;
	} while (!atomic_long_try_cmpxchg_relaxed(&sem->word, &word, word | SPIN));

	spins = true;
	WRITE_ONCE(sem->spin_prio, w->prio);
	while (!need_resched() && !wait_over(wait)) {
		word = atomic_long_read(&sem->word);
		if (word & (WWAIT | WINDOW))
			break;
		if (word & WRITER) {
			if (!compat_on_cpu(owner_of(word)))
				break;
			poll_pause();
			continue;
		}
		if (is_held(word))
			break;
		WRITE_ONCE(sem->spin_prio, 0);
		if (atomic_long_try_cmpxchg_acquire(&sem->word, &word,
						    (long)current | WRITER |
						    (word & (RWAIT | LENT)))) {
			preempt_enable();
			count_event(sem, EV_SPIN_WON);
			return true;
		}
	}
	count_event(sem, EV_SPIN_LOST);
	WRITE_ONCE(sem->spin_prio, 0);
queue:
	/*
	 * Nobody is woken because SPIN goes. Those that it has kept out and that sleep need
	 * this task to look next, so it is not preempted before.
	 */
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	if (spins)
		atomic_long_andnot(SPIN, &sem->word);
	preempt_enable();
	return false;
}

static enum holders_seen see_holders(struct unfair_rwsem *sem, long word, bool write)
{
	if (word & WRITER)
		return compat_on_cpu(owner_of(word)) ? HOLDERS_RUN : HOLDERS_OFF_CPU;
	/* a reader waits for the writer that was called, not for readers */
	if (write && is_held(word))
		return see_readers(sem, counted_readers(word));
	return HOLDERS_UNSEEN;
}

/*
 * Spins while the writer that owns the lock runs, or, for a writer, while all readers
 * that hold it do, and for a moment where one was lent what makes it run. Returns false
 * if one does not, or if spinning is over for another reason: then it is time to sleep.
 */
static bool spin(struct unfair_rwsem *sem, struct waiter *w, const struct wait *wait, bool write)
{
	enum holders_seen seen;
	bool look = false;
	u64 blind = 0;

	if (!can_spin())
		return false;
	/*
	 * So that who is to run here does (need_resched), and so that the owner's
	 * task_struct stays: it owned the lock after this point, and RCU frees it.
	 */
	preempt_disable();
	while (!need_resched() && !wait_over(wait)) {
		long word = atomic_long_read(&sem->word);

		if (worth_a_look(sem, w, word, write)) {
			look = true;
			break;
		}
		seen = see_holders(sem, word, write);
		if (seen == HOLDERS_OFF_CPU && ktime_get_ns() >= wait->spin_until)
			break;
		if (seen != HOLDERS_UNSEEN) {
			blind = 0;
			poll_pause();
			continue;
		}
		if (!blind)
			blind = ktime_get_ns() + BLIND_SPIN_NS;
		else if (ktime_get_ns() > blind)
			break;
		poll_pause();
	}
	preempt_enable();
	count_event(sem, look ? EV_SPIN_WON : EV_SPIN_LOST);
	return look;
}

/* --- lending ------------------------------------------------------------- */

/*
 * Lends to those that hold the lock and do not run, and gives wait_lock away for that.
 * Returns whether there was something to do: then they may run now.
 */
static bool lend_to_holders(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
			    bool write, struct wakes *wakes, unsigned long *irqflags)
	__fsc_must_hold(&sem->wait_lock)
{
	struct lend_level level = level_to_lend(sem);
	long word = atomic_long_read(&sem->word);
	struct settlement todo = { };

	if (!lends(level))
		return false;
	if (word & WRITER && w->prio <= prio_of(owner_of(word)))
		lend_to_owner(sem, owner_of(word), level, &todo);
	else if (!(word & WRITER) && is_held(word) && write && first_writer(sem) == w)
		lend_to_readers(sem, level, &todo);
	else
		return false;
	w->lent = level;
	if (!todo.nr)
		return false;
	unlock_and_wake(sem, *irqflags, wakes);
	wakes->nr = 0;
	settle_loans(&todo);
	if (todo.soon)
		wait->spin_until = ktime_get_ns() + LENT_SPIN_NS;
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	return true;
}

/* How long to sleep before the next look at the holders; 0: as long as it takes. */
static u64 lend_nap(struct unfair_rwsem *sem, const struct waiter *w, struct wait *wait)
{
	u64 period = lend_period_ns();

	if (!lends(level_to_lend(sem)))
		return 0;
	/* the writer that is before it may give up, or is about to own the lock */
	if (!lends(w->lent) || !is_held(atomic_long_read(&sem->word)))
		return LEND_SELDOM * period;
	/* those that sleep on something else need no more than they have */
	wait->lend_nap = wait->lend_nap ? min(2 * wait->lend_nap, LEND_BACKOFF * period) : period;
	return wait->lend_nap;
}

static struct lend_level highest_lent(const struct rb_root *queue, struct lend_level level)
{
	struct rb_node *n;

	for (n = rb_first(queue); n; n = rb_next(n))
		level = higher_level(level, to_waiter(n)->lent);
	return level;
}

/**
 * __unfair_rwsem_lenders_changed() - somebody lends no more
 * @sem: the semaphore
 *
 * Context: process context. On 6.1 it may sleep.
 */
void __unfair_rwsem_lenders_changed(struct unfair_rwsem *sem)
{
	struct settlement todo = { };
	struct lend_level level;
	unsigned long irqflags;
	bool more;

	do {
		raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
		level = expedited_level(sem);
		sem->expedited = lends(level);
		level = highest_lent(&sem->writers.rb_root, level);
		level = highest_lent(&sem->readers, level);
		more = relevel_loans(sem, level, &todo);
		if (!more && !lends(level))
			atomic_long_andnot(LENT, &sem->word);
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		settle_loans(&todo);
	} while (more);
}

/* --- sleeping ------------------------------------------------------------ */

/* Sleeps until woken, or for @nap ns if not 0. Gives wait_lock away meanwhile. */
static void wait_asleep(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
			bool write, unsigned long *irqflags, struct wakes *wakes, u64 now,
			u64 nap)
	__fsc_must_hold(&sem->wait_lock)
{
	struct sleeper sleeper = { .sem = sem, .task = current, .since = w->since, .write = write };
	unsigned long left = wait->recheck, start = jiffies;

	if (wait->timed)
		left = time_before(start, wait->deadline) ?
			min(left, wait->deadline - start) : 0;
	w->asleep = true;
	count_event(sem, EV_SLEPT);
	add_sleeper(&sleeper);
	set_current_state(wait->state);
	unlock_and_wake(sem, *irqflags, wakes);
	wakes->nr = 0;
	if (nap && nap <= jiffies_to_nsecs(left)) {
		ktime_t end = ns_to_ktime(now + nap);

		/* here, and now: not where a real-time task keeps softirqs off the CPU */
		schedule_hrtimeout_range(&end, NSEC_PER_USEC, HRTIMER_MODE_ABS_PINNED_HARD);
	} else if (!schedule_timeout(left) && left == wait->recheck) {
		wait->recheck = wait->recheck < LAST_RECHECK ? wait->recheck * 2 :
							       MAX_SCHEDULE_TIMEOUT;
	}
	__set_current_state(TASK_RUNNING);
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	remove_sleeper(&sleeper);
	w->asleep = false;
}

static int start_wait(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
		      unsigned int state, long timeout, u64 bound)
{
	unsigned int recheck = READ_ONCE(recheck_ms.value);

	if (WARN_ONCE(timeout < 0, "fscommit: timeout of %ld jiffies: must be 0 to %ld\n",
		      timeout, MAX_SCHEDULE_TIMEOUT))
		return -EINVAL;
	*w = (struct waiter) {
		.task = current,
		.since = ktime_get_ns(),
		.prio = current_prio(),
		.lent = LEND_NOTHING,
	};
	*wait = (struct wait) {
		.state = state,
		.timed = timeout != MAX_SCHEDULE_TIMEOUT,
		.deadline = jiffies + timeout,
		.recheck = MAX_SCHEDULE_TIMEOUT,
		.lend_due = true,
		.split.looked = w->since,
	};
	if (recheck)
		wait->recheck = msecs_to_jiffies(recheck) + 1;
	if (recheck && bound)
		wait->recheck = min(wait->recheck, nsecs_to_jiffies(bound) + 1);
	return 0;
}

#endif /* _FSCOMMIT_UNFAIR_RWSEM_WAIT_H */
