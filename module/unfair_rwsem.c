// SPDX-License-Identifier: GPL-2.0
/*
 * Reader-unfair, writer-preferring read/write semaphore: who is let in, and what a
 * release does. Who waits is in unfair_rwsem_queue.h, how in unfair_rwsem_wait.h, who
 * holds it for reading in visible_readers.c, what waiters lend to holders in lend.c.
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
#include "unfair_rwsem_queue.h"
#include "unfair_rwsem_wait.h"

/* How many times in a row writers may pass the first one that waits. */
#define MAX_STEALS	250
/* A writer that is passed in its absence gets up to 2^6 as much time to come. */
#define MAX_MISSED	6

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

	publish_reader(sem);
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
	revoke_bias(sem);
	word = atomic_long_read(&sem->word);
	if (is_held(word)) {
		*nap = 0;
		return false;
	}
	if (*nap || (passes && !may_pass_first(sem, first, w, now, nap)))
		return false;
	if (word & SPIN && !may_pass_spinner(sem, w)) {
		/* that one may give up, and then it wakes nobody */
		*nap = window_ns();
		return false;
	}

	new = (long)current | WRITER | (word & (RWAIT | SPIN | LENT));
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

/* --- the slow paths ------------------------------------------------------ */

static void count_waited(struct unfair_rwsem *sem, const struct waiter *w, bool write)
{
	if (static_branch_unlikely(&unfair_rwsem_stats))
		count_wait(sem, write, ktime_get_ns() - w->since);
}

/*
 * A writer that has slept looks at what its holders do, and names them, once, when it
 * has waited for long. Gives wait_lock away for that.
 */
static void look_for_holdup(struct unfair_rwsem *sem, struct waiter *w, struct wait *wait,
			    unsigned long *irqflags)
	__fsc_must_hold(&sem->wait_lock)
{
	u64 now = ktime_get_ns(), after = holdup_after_ns(sem);

	if (!after || !is_held(atomic_long_read(&sem->word)))
		return;
	split_wait(sem, &wait->split, now);
	if (wait->reported || now - w->since < after)
		return;
	wait->reported = true;
	/* a console is slow: meanwhile it is one that was called and did not come */
	w->called = now - time_to_come(w) - 1;
	raw_spin_unlock_irqrestore(&sem->wait_lock, *irqflags);
	report_holdup(sem, &wait->split, now - w->since);
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	w->called = 0;
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
	count_event(sem, EV_READ_SLOW);
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
		may_spin = true;
		if (wait.lend_due && lend_to_holders(sem, &w, &wait, false, &wakes, &irqflags)) {
			wait.lend_due = false;
			wait.lend_nap = 0;
			continue;
		}
		wait_asleep(sem, &w, &wait, false, &irqflags, &wakes, now,
			    lend_nap(sem, &w, &wait));
		wait.lend_due = true;
	}
	unlock_and_wake(sem, irqflags, &wakes);
	if (ret && lends(w.lent))
		__unfair_rwsem_lenders_changed(sem);
	count_waited(sem, &w, false);
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
	count_event(sem, EV_WRITE_SLOW);
	lock_contended(&sem->dep_map, _RET_IP_);
	trace_contention_begin(sem, LCB_F_WRITE);
	if (spin_for_owner(sem, &w, &wait, &irqflags))
		goto out;
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
		may_spin = true;
		if (!nap && wait.lend_due &&
		    lend_to_holders(sem, &w, &wait, true, &wakes, &irqflags)) {
			wait.lend_due = false;
			wait.lend_nap = 0;
			continue;
		}
		if (!nap)
			nap = lend_nap(sem, &w, &wait);
		if (!nap && !wait.reported)
			nap = holdup_after_ns(sem);
		wait_asleep(sem, &w, &wait, true, &irqflags, &wakes, now, nap);
		wait.lend_due = true;
		look_for_holdup(sem, &w, &wait, &irqflags);
	}
	unlock_and_wake(sem, irqflags, &wakes);
	if (ret && lends(w.lent))
		__unfair_rwsem_lenders_changed(sem);
out:
	count_waited(sem, &w, true);
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

	if ((is_held(word) && !is_biased(word)) || word & (WWAIT | SPIN))
		return false;
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	taken = !first_writer(sem) && try_write(sem, &w, ktime_get_ns(), &nap);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	return taken;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_write_trylock_slow);

/* --- releasing ----------------------------------------------------------- */

static void warn_not_read_held(long word)
{
	WARN_ONCE(1, "fscommit: unfair_up_read() by %s[%d] of a semaphore that nobody holds for reading (word %#lx)\n",
		  current->comm, task_pid_nr(current), word);
}

/* Somebody waits, or has lent. Enables preemption. */
static void up_read_locked(struct unfair_rwsem *sem)
{
	struct settlement todo = { };
	struct wakes wakes = { };
	unsigned long irqflags;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	if (atomic_long_read(&sem->word) & LENT)
		give_back(sem, current, false, &todo);
	/* F: pairs with the acquire of whoever finds it free */
	word = atomic_long_sub_return_release(READER, &sem->word);
	if (!is_held(word)) {
		bool window;

		if (word & (WWAIT | RWAIT))
			compat_trace_contended_release(sem);
		window = choose_next(sem, &wakes);
		if (!sem->expedited)
			atomic_long_andnot(LENT, &sem->word);
		sync_flags(sem, window);
	}
	unlock_and_wake(sem, irqflags, &wakes);
	preempt_enable();
	settle_loans(&todo);
}

/**
 * __unfair_up_read_counted() - release for reading by the word
 * @sem: the semaphore, held for reading by the caller, who has given up its slot
 *
 * Context: preemption disabled; enables it.
 */
void __unfair_up_read_counted(struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);

	do {
		if (unlikely(word & WRITER || !counted_readers(word))) {
			preempt_enable();
			warn_not_read_held(word);
			return;
		}
		/*
		 * The last one out, and somebody waits: that is done under wait_lock,
		 * so that nobody can be preempted between leaving and waking.
		 */
		if (word & LENT || (word & FLAGS && counted_readers(word) == 1)) {
			up_read_locked(sem);
			return;
		}
	} while (!atomic_long_try_cmpxchg_release(&sem->word, &word, word - READER));
	preempt_enable();
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_counted);

/* Gives up write ownership for @instead: 0, or READER. */
static void give_up_write(struct unfair_rwsem *sem, long instead, const char *caller)
{
	struct settlement todo = { };
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
	if (word & LENT)
		give_back(sem, current, false, &todo);
	if (instead)
		publish_reader(sem);
	sem->window_used = 0;
	if (sem->writes < READERS_TURN && !RB_EMPTY_ROOT(&sem->readers))
		sem->writes++;
	if (choose_next(sem, &wakes))
		instead |= WINDOW;
	if (!RB_EMPTY_ROOT(&sem->writers.rb_root))
		instead |= WWAIT;
	if (!RB_EMPTY_ROOT(&sem->readers))
		instead |= RWAIT;
	if (sem->expedited)
		instead |= LENT;
	/*
	 * G: pairs with the acquire of whoever finds it free. Of the word, nothing but
	 * SPIN may change before that.
	 */
	do {
		instead = (instead & ~SPIN) | (word & SPIN);
	} while (!atomic_long_try_cmpxchg_release(&sem->word, &word, instead));
	unlock_and_wake(sem, irqflags, &wakes);
	settle_loans(&todo);
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
	const char *own_name;

	BUILD_BUG_ON(L1_CACHE_BYTES <= FLAGS);
	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) && !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) &&
		     !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) && sizeof(*sem) > 64);

	sem->class = lock_class_of(name, key, &own_name);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	debug_check_no_locks_freed((void *)sem, sizeof(*sem));
	lockdep_init_map_wait(&sem->dep_map, own_name, key, 0, LD_WAIT_SLEEP);
#endif
	atomic_long_set(&sem->word, 0);
	raw_spin_lock_init(&sem->wait_lock);
	sem->steals = 0;
	sem->spin_prio = 0;
	sem->window_due = 0;
	sem->window_used = 0;
	sem->expedited = 0;
	sem->writes = 0;
	sem->window_seq = 0;
	sem->slots = next_reader_slots();
	sem->holdup = 0;
	sem->bias_wait = UNFAIR_RWSEM_BIAS_FIRST;
	sem->writers = RB_ROOT_CACHED;
	sem->readers = RB_ROOT;
	sem->reader_ages = RB_ROOT;
	sem->window_end = 0;
	sem->reader_bound = BOUND_DEFAULT;
	sem->lend = UNFAIR_LEND_DEFAULT;
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
	unsigned long irqflags;

	if (us > UNFAIR_RWSEM_BOUND_MAX_US && us != UNFAIR_RWSEM_BOUND_DEFAULT) {
		pr_err("fscommit: reader bound of %u us: must be 0 to %u\n",
		       us, UNFAIR_RWSEM_BOUND_MAX_US);
		return -EINVAL;
	}
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	sem->reader_bound = us;
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_set_reader_bound);

/**
 * unfair_rwsem_set_lend() - say what its waiters lend to holders that are not running
 * @sem: the semaphore; may be in use
 * @lend: see enum unfair_rwsem_lend
 *
 * What is lent already stays until it is given back.
 *
 * Context: any.
 * Return: 0; -EINVAL if @lend is none of them, and nothing has changed.
 */
int unfair_rwsem_set_lend(struct unfair_rwsem *sem, enum unfair_rwsem_lend lend)
{
	unsigned long irqflags;

	if ((unsigned int)lend > UNFAIR_LEND_FULL) {
		pr_err("fscommit: lend %d: must be %d to %d\n", lend, UNFAIR_LEND_DEFAULT,
		       UNFAIR_LEND_FULL);
		return -EINVAL;
	}
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	sem->lend = lend;
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_set_lend);
