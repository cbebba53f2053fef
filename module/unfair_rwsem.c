// SPDX-License-Identifier: GPL-2.0
/*
 * Reader-unfair, writer-preferring read/write semaphore.
 *
 * Everything but the fast paths happens under wait_lock: who waits, who is let in,
 * who is woken. A fast path succeeds only if nobody is to be told: readers leave by
 * their own compare and exchange while no flag is in the word or others stay in, and
 * a writer while its word has no flag. Who waits puts a flag there, under wait_lock,
 * looks at the word again, and sets its task state before it gives wait_lock away:
 * a release that comes later finds it, one that came earlier was seen.
 *
 * wait_lock also keeps the releaser from being preempted between the release and
 * the last wakeup. Otherwise the lock would be free, the writer asleep, and the one
 * that was about to wake it at the end of the run queue.
 *
 * Recipes:
 *
 *  release by a writer, or by the last reader:
 *	1) Readers that waited past the bound, and none had its window since the
 *	   last writer: take them off the queue, open the window, wake them.
 *	2) Writers queued: wake the first one. If that was done before and it has
 *	   not been scheduled since, wake the next one as well.
 *	3) None queued: take as many readers off the queue as can run, wake them.
 *
 *  reader:
 *	1) Not write locked, and nobody to be let past: count itself in.
 *	2) Else queue, spin while the writer runs, sleep.
 *	3) Let in: wake one more, where it may come in too.
 *
 *  writer:
 *	1) Free, no window, and first in the queue or allowed to pass the first: take
 *	   it. Passing is allowed at the same or a higher priority, but not for ever;
 *	   and at any, if the first was called and is not scheduled.
 *	2) Else queue by priority, spin, sleep; by timer, where time alone decides.
 *
 * A reader leaves the queue when it is woken, not when it is let in. So one that is
 * woken and never scheduled is forgotten: it costs one window at the most, and no
 * release looks at it again before it has run.
 *
 * The choice costs: a waiting reader is woken for nothing when a writer is quicker
 * (it queues again, with the age that it has); a woken writer that is not scheduled
 * keeps new readers out until their bound has passed; and a priority is looked at
 * when a task queues, not when it changes.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "unfair_rwsem_queue.h"

/* How many times in a row writers may pass the first one that waits. */
#define MAX_STEALS	250
/* A writer that is passed in its absence gets up to 2^6 as much time to come. */
#define MAX_MISSED	6
#define POLL_PAUSE	16
/* How long to spin on what shows no owner, in nanoseconds. */
#define BLIND_SPIN_NS	20000
/* After that, a waiter is left to the hung task detector. */
#define LAST_RECHECK	(30 * HZ)

static struct ranged_param recheck_ms = { 10, 0, 10000 };
module_param_cb(recheck_ms, &ranged_param_ops, &recheck_ms, 0644);
MODULE_PARM_DESC(recheck_ms,
		 "a sleeping waiter looks for itself after this time, then after twice as long and so on, in case those woken before it are not scheduled; milliseconds, 0 (never) to 10000, default 10");

/* --- letting in ---------------------------------------------------------- */

static bool may_pass_writers(struct unfair_rwsem *sem, const struct waiter *w)
{
	return (is_window_open(sem) && w->window == sem->window_seq) || outranks_writers(sem, w);
}

static bool try_read(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes, u64 now)
{
	long word;
	bool window;

	window_left(sem, now);
	word = atomic_long_read(&sem->word);
	if (word & (WWAIT | SPIN) && !(word & WRITER) && !may_pass_writers(sem, w)) {
		/* nobody holds it, and the writer that was called does not come? */
		if (is_held(word) || !w->queued || !is_overdue(sem, w, now) ||
		    !open_window(sem, wakes, now))
			return false;
		sync_flags(sem, true);
		if (!may_pass_writers(sem, w))
			return false;
		word = atomic_long_read(&sem->word);
	}
	do {
		if (word & WRITER)
			return false;
	} while (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, word + READER));

	unqueue_reader(sem, w);
	sem->writes = 0;
	window = window_goes_on(sem, w);
	if (!first_writer(sem))
		wake_readers(sem, wakes, 1, now);
	sync_flags(sem, window);
	return true;
}

/*
 * May @w have the free lock before @first, which is queued? If not, @nap is when to
 * ask again.
 */
static bool may_pass_first(struct unfair_rwsem *sem, struct waiter *first,
			   const struct waiter *w, u64 now, u64 *nap)
{
	if (w->prio <= first->prio && sem->steals < MAX_STEALS) {
		sem->steals++;
		return true;
	}
	if (!first->called) {
		*nap = time_to_come(first);
		/* running, it looks by itself */
		if (compat_on_cpu(first->task))
			return false;
		first->called = now;
	}
	if (now - first->called > time_to_come(first))
		return true;
	*nap = first->called + time_to_come(first) - now;
	return false;
}

/* May @w have the free lock before the writer that spins for it? */
static bool may_pass_spinner(struct unfair_rwsem *sem, const struct waiter *w)
{
	if (w->prio > READ_ONCE(sem->spin_prio) || sem->steals >= MAX_STEALS)
		return false;
	sem->steals++;
	return true;
}

/* If it fails for a reason that time alone removes, @nap is how long that takes. */
static bool try_write(struct unfair_rwsem *sem, struct waiter *w, u64 now, u64 *nap)
{
	struct waiter *first = first_writer(sem);
	bool passes = first && first != w;
	long word, new;

	*nap = window_left(sem, now);
	word = atomic_long_read(&sem->word);
	if (is_held(word)) {
		*nap = 0;
		return false;
	}
	if (*nap || (passes && !may_pass_first(sem, first, w, now, nap)) ||
	    (word & SPIN && !may_pass_spinner(sem, w)))
		return false;

	new = (long)current | WRITER | (word & (RWAIT | SPIN));
	if (passes || (w->queued && rb_next(&w->node)))
		new |= WWAIT;
	/* fails only for a reader on the fast path, or one that spins: then it has it */
	if (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, new))
		return false;
	if (!passes && !(word & SPIN))
		sem->steals = 0;
	unqueue_writer(sem, w);
	return true;
}

/*
 * A reader that gives up. It owes nobody a wakeup: it could not come in, so there is
 * a writer that holds or waits. But a window may have been for it alone.
 */
static void leave_read(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes, u64 now)
{
	bool was_open = is_window_open(sem), window;

	unqueue_reader(sem, w);
	window = window_goes_on(sem, w);
	if (was_open && !window && !is_held(atomic_long_read(&sem->word)))
		call_first_writer(sem, wakes, now);
	sync_flags(sem, window);
}

/* A writer that gives up. What waited for it alone can go on. */
static void leave_write(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes, u64 now)
{
	long word = atomic_long_read(&sem->word);

	unqueue_writer(sem, w);
	if (!first_writer(sem)) {
		sem->steals = 0;
		if (!(word & WRITER))
			wake_readers(sem, wakes, max_wakes(), now);
	} else if (!is_held(word)) {
		call_first_writer(sem, wakes, now);
	}
	sync_flags(sem, word & WINDOW);
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
 * lock now; if not, it has to queue.
 */
static bool spin_for_owner(struct unfair_rwsem *sem, const struct waiter *w,
			   const struct wait *wait)
{
	long word;

	if (!can_spin())
		return false;
	/* see spin() */
	preempt_disable();
	word = atomic_long_read(&sem->word);
	do {
		if (!(word & WRITER) || word & (WWAIT | SPIN) || !compat_on_cpu(owner_of(word))) {
			preempt_enable();
			return false;
		}
	} while (!atomic_long_try_cmpxchg_relaxed(&sem->word, &word, word | SPIN));

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
						    (long)current | WRITER | (word & RWAIT))) {
			preempt_enable();
			return true;
		}
	}
	WRITE_ONCE(sem->spin_prio, 0);
	atomic_long_andnot(SPIN, &sem->word);
	preempt_enable();
	return false;
}

/*
 * Spins while the writer that owns the lock runs. Returns false if it does not, or
 * if spinning is over for another reason: then it is time to sleep.
 */
static bool spin(struct unfair_rwsem *sem, struct waiter *w, const struct wait *wait, bool write)
{
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
		if (word & WRITER) {
			if (!compat_on_cpu(owner_of(word)))
				break;
			blind = 0;
		} else if (!blind) {
			blind = ktime_get_ns() + BLIND_SPIN_NS;
		} else if (ktime_get_ns() > blind) {
			break;
		}
		poll_pause();
	}
	preempt_enable();
	return look;
}

/* Sleeps until woken, or for @nap ns if not 0. Gives wait_lock away meanwhile. */
static void wait_asleep(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
		  unsigned long *irqflags, struct wakes *wakes, u64 now, u64 nap)
{
	unsigned long left = wait->recheck, start = jiffies;

	if (wait->timed)
		left = time_before(start, wait->deadline) ?
			min(left, wait->deadline - start) : 0;
	w->asleep = true;
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
	};
	*wait = (struct wait) {
		.state = state,
		.timed = timeout != MAX_SCHEDULE_TIMEOUT,
		.deadline = jiffies + timeout,
		.recheck = MAX_SCHEDULE_TIMEOUT,
	};
	if (recheck)
		wait->recheck = msecs_to_jiffies(recheck) + 1;
	if (recheck && bound)
		wait->recheck = min(wait->recheck, nsecs_to_jiffies(bound) + 1);
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
	u64 now;
	int ret;

	ret = start_wait(sem, &w, &wait, state, timeout, bound_of(sem));
	if (ret)
		return ret;
	lock_contended(&sem->dep_map, _RET_IP_);
	trace_contention_begin(sem, LCB_F_READ);
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	for (;;) {
		now = ktime_get_ns();
		if (try_read(sem, &w, &wakes, now))
			break;
		ret = wait_over(&wait);
		if (ret) {
			leave_read(sem, &w, &wakes, now);
			break;
		}
		if (!w.queued) {
			bool window = window_goes_on(sem, &w);

			/* and look again, now that no release can overlook it */
			queue_reader(sem, &w);
			sync_flags(sem, window);
			continue;
		}
		if (may_spin) {
			unlock_and_wake(sem, irqflags, &wakes);
			wakes.nr = 0;
			may_spin = spin(sem, &w, &wait, false);
			raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
			continue;
		}
		wait_asleep(sem, &w, &wait, &irqflags, &wakes, now, 0);
		may_spin = true;
	}
	unlock_and_wake(sem, irqflags, &wakes);
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
	u64 now, nap;
	int ret;

	ret = start_wait(sem, &w, &wait, state, timeout, 0);
	if (ret)
		return ret;
	lock_contended(&sem->dep_map, _RET_IP_);
	trace_contention_begin(sem, LCB_F_WRITE);
	if (spin_for_owner(sem, &w, &wait)) {
		trace_contention_end(sem, 0);
		return 0;
	}
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	for (;;) {
		now = ktime_get_ns();
		if (w.called && now - w.called > time_to_come(&w) && w.missed < MAX_MISSED)
			w.missed++;
		w.called = 0;
		if (try_write(sem, &w, now, &nap))
			break;
		ret = wait_over(&wait);
		if (ret) {
			leave_write(sem, &w, &wakes, now);
			break;
		}
		if (!w.queued) {
			/* and look again, now that no release can overlook it */
			queue_writer(sem, &w);
			sync_flags(sem, is_window_open(sem));
			continue;
		}
		if (may_spin) {
			raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
			may_spin = spin(sem, &w, &wait, true);
			raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
			continue;
		}
		wait_asleep(sem, &w, &wait, &irqflags, &wakes, now, nap);
		may_spin = true;
	}
	unlock_and_wake(sem, irqflags, &wakes);
	trace_contention_end(sem, ret);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_write_slow);

/**
 * __unfair_down_write_trylock_slow() - try again, where only readers wait
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 * Return: true with the semaphore held for writing.
 */
bool __unfair_down_write_trylock_slow(struct unfair_rwsem *sem)
{
	struct waiter w = { .task = current, .prio = current_prio() };
	long word = atomic_long_read(&sem->word);
	unsigned long irqflags;
	bool taken;
	u64 nap;

	if (is_held(word) || word & (WWAIT | SPIN))
		return false;
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	taken = !first_writer(sem) && try_write(sem, &w, ktime_get_ns(), &nap);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	return taken;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_write_trylock_slow);

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
 * __unfair_up_read_slow() - release for reading, with somebody waiting
 * @sem: the semaphore, held for reading by the caller
 *
 * Context: process context; does not sleep.
 */
void __unfair_up_read_slow(struct unfair_rwsem *sem)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	bool window;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	/* A: pairs with the acquire of whoever finds it free */
	if (!is_held(atomic_long_sub_return_release(READER, &sem->word))) {
		compat_trace_contended_release(sem);
		window = choose_next(sem, &wakes);
		sync_flags(sem, window);
	}
	unlock_and_wake(sem, irqflags, &wakes);
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
	if (unlikely(!(word & WRITER) || owner_of(word) != current)) {
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		WARN_ONCE(1, "fscommit: %s() of a semaphore that %s[%d] does not hold for writing (word %#lx)\n",
			  caller, current->comm, task_pid_nr(current), word);
		return;
	}
	if (word & (WWAIT | RWAIT))
		compat_trace_contended_release(sem);
	sem->window_used = 0;
	if (sem->writes < READERS_TURN && !RB_EMPTY_ROOT(&sem->readers))
		sem->writes++;
	if (choose_next(sem, &wakes))
		instead |= WINDOW;
	if (!RB_EMPTY_ROOT(&sem->writers.rb_root))
		instead |= WWAIT;
	if (!RB_EMPTY_ROOT(&sem->readers))
		instead |= RWAIT;
	/*
	 * B: pairs with the acquire of whoever finds it free. Of the word, nothing but
	 * SPIN may change before that.
	 */
	do {
		instead = (instead & ~SPIN) | (word & SPIN);
	} while (!atomic_long_try_cmpxchg_release(&sem->word, &word, instead));
	unlock_and_wake(sem, irqflags, &wakes);
}

/**
 * __unfair_up_write_slow() - release for writing, with somebody waiting
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 */
void __unfair_up_write_slow(struct unfair_rwsem *sem)
{
	long word = (long)current | WRITER | SPIN;

	/* the one that spins looks by itself */
	if (atomic_long_read(&sem->word) == word) {
		compat_trace_contended_release(sem);
		if (atomic_long_try_cmpxchg_release(&sem->word, &word, SPIN))
			return;
	}
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

#ifdef CONFIG_DEBUG_LOCK_ALLOC
/*
 * Lockdep warns, once, where a key comes with two names, by their addresses. So a
 * name of our own for each key is enough for it to report a class that is used for
 * a lock of ours and for another, whichever came first. No allocation: a lock may
 * be initialised anywhere.
 */
static const char *own_class_name(const char *name, struct lock_class_key *key)
{
	static struct {
		struct lock_class_key	*key;
		char			name[56];
	} own[256];
	static DEFINE_RAW_SPINLOCK(lock);
	unsigned long irqflags;
	unsigned int i;

	raw_spin_lock_irqsave(&lock, irqflags);
	for (i = 0; i < ARRAY_SIZE(own); i++) {
		if (!own[i].key) {
			own[i].key = key;
			strscpy(own[i].name, name, sizeof(own[i].name));
		}
		if (own[i].key == key && !strncmp(own[i].name, name, sizeof(own[i].name) - 1)) {
			name = own[i].name;
			break;
		}
	}
	raw_spin_unlock_irqrestore(&lock, irqflags);
	return name;
}
#endif

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
	lockdep_init_map_wait(&sem->dep_map, own_class_name(name, key), key, 0, LD_WAIT_SLEEP);
#endif
	atomic_long_set(&sem->word, 0);
	raw_spin_lock_init(&sem->wait_lock);
	sem->steals = 0;
	sem->spin_prio = 0;
	sem->writes = 0;
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
