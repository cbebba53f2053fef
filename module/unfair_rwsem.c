// SPDX-License-Identifier: GPL-2.0
/*
 * Reader-unfair, writer-preferring read/write semaphore: the queues, the window, and how a
 * task waits. Which tasks hold it for reading is in visible_readers.c, what waiters lend to
 * holders in lend.c, and the thread that looks at their locks in watcher.c.
 *
 * Everything but the fast paths happens under wait_lock: queueing, acquiring, waking. A fast
 * path succeeds only if there is nobody to wake: a reader leaves by its own compare and
 * exchange while no flag is in the word or other readers stay, and a writer while its word has
 * no flag. A waiter sets a flag under wait_lock, looks at the word again, and sets its task
 * state before it drops wait_lock: a later release finds it, an earlier one was seen.
 *
 * wait_lock also keeps the releaser from being preempted between the release and the last
 * wakeup. Otherwise the lock would be free, the writer asleep, and the task that was about to
 * wake it at the end of the run queue.
 *
 * Recipes:
 *
 *  release by a writer, or by the last reader:
 *	1) Readers that waited past the bound, and none had its window since the
 *	   last writer: take them off the queue, open the window, wake them.
 *	2) Writers queued: wake the first one. If it was woken before and has not
 *	   run since, wake the next one as well.
 *	3) None queued: take as many readers off the queue as can run, wake them.
 *
 *  reader:
 *	1) Not write locked, and no writer queued: count itself in.
 *	2) Else queue, spin while the writer runs, sleep.
 *	3) Acquired: wake one more reader, where that may acquire it too.
 *
 *  writer:
 *	1) Free, no window, and first in the queue or allowed to pass the first: take
 *	   it. A writer of the same or a higher priority may pass, but not for ever; a
 *	   writer of any priority may, if the first was woken and has not run.
 *	2) Else spin while the owner runs, queue by priority, spin, sleep.
 *
 * A reader leaves the queue when it is woken, not when it acquires the lock. So a reader that
 * is woken and never scheduled is forgotten: it costs one window at most, and no release looks
 * at it again before it has run.
 *
 * A sleeping waiter has no timer but its timeout, and the end of a window or of a grace time
 * that it was told to wait for. The watcher looks at the lock for all of them.
 *
 * What this costs: a waiting reader is woken for nothing when a writer is quicker (it queues
 * again, with the age that it has); a woken writer that is not scheduled keeps new readers out
 * until the watcher, or the bound of a reader, passes it; and a priority is read when a task
 * starts to wait, not when it changes.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/unfair_rwsem.h>

#include "compat.h"
#include "lend.h"
#include "ranged_param.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"
#include "watcher.h"

#define WRITER	UNFAIR_RWSEM_WRITER
#define WWAIT	UNFAIR_RWSEM_WWAIT
#define RWAIT	UNFAIR_RWSEM_RWAIT
#define WINDOW	UNFAIR_RWSEM_WINDOW
#define LENT	UNFAIR_RWSEM_LENT
#define READER	UNFAIR_RWSEM_READER
#define FLAGS	UNFAIR_RWSEM_FLAGS

/* As it stands in a lock. */
#define BOUND_DEFAULT	(UNFAIR_RWSEM_BOUND_DEFAULT & 0xffffff)
/* How many woken writers that have not run a release looks past. */
#define MAX_ABSENT	8
/* How many times in a row writers may pass the first one that waits. */
#define MAX_STEALS	250
/* The grace time of a writer that was passed in its absence grows up to 2^6 times. */
#define MAX_LATE	6
/* How often a writer outside of the queue may lose the lock to others before it queues. */
#define MAX_LOST	8
/* cpu_relax() between two reads of the word: polling it slows down whoever writes it. */
#define POLL_PAUSE	16
/* How long to spin until a holder that was lent to runs, in nanoseconds. */
#define LENT_SPIN_NS	200000
/* How long to spin on a lock that shows no owner, in nanoseconds. */
#define BLIND_SPIN_NS	20000
/* Priorities as kept here: 0 deadline, 1-100 real-time, then nice, then idle. */
#define PRIO_FAIR	(MAX_RT_PRIO + 1)
#define PRIO_IDLE	(MAX_PRIO + 1)

struct waiter {
	struct task_struct	*task;
	struct rb_node		node;		/* in sem->writers or sem->readers */
	struct watch		watch;		/* if this waiter's is the one of the lock */
	u64			since;
	u64			woken_at;	/* expected to run since then; 0: it has */
	u64			spin_until;	/* a holder will run soon */
	unsigned long		deadline;	/* jiffies, if timed */
	unsigned int		state;		/* to sleep in */
	u64			order;		/* in the queue, among its equals */
	u16			window;		/* the one that it was woken for, 0: none */
	u8			prio;
	u8			late_wakeups;	/* how often it ran after its grace time */
	bool			write;
	bool			queued;
	bool			asleep;
	bool			timed;
	bool			reported;	/* the tasks that hold it up */
};

static struct ranged_param reader_bound_us = { 10000, 0, UNFAIR_RWSEM_BOUND_MAX_US };
module_param_cb(reader_bound_us, &ranged_param_ops, &reader_bound_us, 0644);
MODULE_PARM_DESC(reader_bound_us,
		 "a reader that waited longer opens a window, where its lock has no bound of its own; microseconds, 0 (never) to 10000000, default 10000");

static struct ranged_param window_us = { 200, 1, 10000 };
module_param_cb(window_us, &ranged_param_ops, &window_us, 0644);
MODULE_PARM_DESC(window_us,
		 "how long writers stand back for readers that waited too long; microseconds, 1 to 10000, default 200");

/* --- the queues ---------------------------------------------------------- */

static u8 current_prio(void)
{
	int prio = READ_ONCE(current->prio);

	/* unless it is lent more */
	if (READ_ONCE(current->policy) == SCHED_IDLE && prio >= MAX_RT_PRIO)
		return PRIO_IDLE;
	return prio + 1;
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

/* Real-time readers are before it in the queue. */
static struct waiter *oldest_fair_reader(struct unfair_rwsem *sem)
{
	struct rb_node *n = sem->readers.rb_node;
	struct waiter *oldest = NULL;

	while (n) {
		struct waiter *w = to_waiter(n);

		if (w->prio >= PRIO_FAIR)
			oldest = w;
		n = w->prio >= PRIO_FAIR ? n->rb_left : n->rb_right;
	}
	return oldest;
}

static bool writer_before(struct rb_node *na, const struct rb_node *nb)
{
	const struct waiter *a = rb_entry(na, struct waiter, node);
	const struct waiter *b = rb_entry(nb, struct waiter, node);

	return a->prio != b->prio ? a->prio < b->prio : a->order < b->order;
}

static bool reader_before(struct rb_node *na, const struct rb_node *nb)
{
	const struct waiter *a = rb_entry(na, struct waiter, node);
	const struct waiter *b = rb_entry(nb, struct waiter, node);
	u8 pa = min_t(u8, a->prio, PRIO_FAIR), pb = min_t(u8, b->prio, PRIO_FAIR);

	return pa != pb ? pa < pb : a->since < b->since;
}

static bool is_held(long word)
{
	return word & WRITER || word & ~FLAGS;
}

static struct task_struct *owner_of(long word)
{
	return (struct task_struct *)(word & ~FLAGS);
}

static bool is_window_open(const struct unfair_rwsem *sem)
{
	return sem->window_due;
}

/* The flags that the queues and the window stand for. */
static long flags_of(const struct unfair_rwsem *sem)
{
	return (RB_EMPTY_ROOT(&sem->writers.rb_root) ? 0 : WWAIT) |
	       (RB_EMPTY_ROOT(&sem->readers) ? 0 : RWAIT) |
	       (is_window_open(sem) ? WINDOW : 0);
}

static void sync_flags(struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word), new;

	do {
		new = (word & ~(WWAIT | RWAIT | WINDOW)) | flags_of(sem);
		if (word & WRITER)
			new &= ~WINDOW;
	} while (new != word && !atomic_long_try_cmpxchg(&sem->word, &word, new));
}

/* The waiter or section of @from has left; the lock may need another watch. Under wait_lock. */
void __unfair_rwsem_hand_over_watch(struct unfair_rwsem *sem, struct watch *from)
{
	struct waiter *w = first_writer(sem) ?: first_reader(sem);
	struct watch *to = w ? &w->watch : sem->expedited ? expedite_watch(sem) : NULL;

	if (to) {
		watch_move(from, to);
	} else {
		watch_stop(from);
		sem->watched = 0;
	}
}

/*
 * The caller queues for reading. Fair readers are in the order of their age: so the highest
 * level of those that have been queued since the queue was empty last is kept here. Real-time
 * readers come first in the queue.
 */
static void note_reader_level(struct unfair_rwsem *sem)
{
	struct lend_level others = { sem->reader_rt, sem->reader_nice };
	struct lend_level level = level_to_lend(sem, current);

	level.rt = min_t(u8, level.rt, 1);
	if (!RB_EMPTY_ROOT(&sem->readers))
		level = higher_level(level, others);
	sem->reader_rt = level.rt;
	sem->reader_nice = level.nice;
}

static void queue(struct unfair_rwsem *sem, struct waiter *w)
{
	w->queued = true;
	w->woken_at = 0;
	w->window = 0;
	if (w->write) {
		w->order = w->since;
		rb_add_cached(&w->node, &sem->writers, writer_before);
	} else {
		note_reader_level(sem);
		rb_add(&w->node, &sem->readers, reader_before);
	}
	sync_flags(sem);
}

static void unqueue(struct unfair_rwsem *sem, struct waiter *w)
{
	if (!w->queued)
		return;
	if (w->write)
		rb_erase_cached(&w->node, &sem->writers);
	else
		rb_erase(&w->node, &sem->readers);
	if (w->watch.sem)
		__unfair_rwsem_hand_over_watch(sem, &w->watch);
	/* a reader that spins reads it without wait_lock */
	WRITE_ONCE(w->queued, false);
}

/* --- waking -------------------------------------------------------------- */

static unsigned int max_wakes(void)
{
	return min_t(unsigned int, num_online_cpus(), MAX_WAKES);
}

static void wake_later(struct wakes *wakes, struct waiter *w, u64 now)
{
	w->woken_at = now;
	if (!w->asleep)
		return;
	w->asleep = false;
	wakes->task[wakes->nr++] = w->task;
}

/**
 * __unfair_rwsem_unlock_and_wake() - drop wait_lock and wake
 * @sem: the semaphore; it may be gone when this returns
 * @irqflags: from when wait_lock was acquired
 * @wakes: which tasks to wake; empty afterwards
 *
 * Not preempted before all tasks are awake. They stay that long: they waited when preemption
 * was disabled already, and RCU frees them.
 *
 * Context: under wait_lock.
 */
void __unfair_rwsem_unlock_and_wake(struct unfair_rwsem *sem, unsigned long irqflags,
				    struct wakes *wakes)
	__fsc_releases(&sem->wait_lock)
{
	unsigned int i;

	preempt_disable();
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	for (i = 0; i < wakes->nr; i++)
		wake_up_process(wakes->task[i]);
	wakes->nr = 0;
	preempt_enable();
}

static u64 window_ns(void)
{
	return (u64)READ_ONCE(window_us.value) * NSEC_PER_USEC;
}

/* How long the others wait for a writer that was woken. */
static u64 wake_grace_ns(const struct waiter *w)
{
	return window_ns() << w->late_wakeups;
}

/*
 * A writer that was woken and has not run in its grace time goes behind its equals, so that
 * the first one is a writer that may still run.
 */
static void wake_first_writer(struct unfair_rwsem *sem, struct wakes *wakes, u64 now)
{
	struct waiter *w = first_writer(sem), *next;
	unsigned int i;

	for (i = 0; w && i < MAX_ABSENT; i++) {
		if (w->asleep || !w->woken_at) {
			/* asleep, or about to look by itself */
			if (w->asleep || !compat_on_cpu(w->task))
				wake_later(wakes, w, now);
			return;
		}
		if (now - w->woken_at <= wake_grace_ns(w))
			return;
		next = to_waiter(rb_next(&w->node));
		rb_erase_cached(&w->node, &sem->writers);
		w->order = now;
		rb_add_cached(&w->node, &sem->writers, writer_before);
		w = next;
	}
}

static void wake_readers(struct unfair_rwsem *sem, struct wakes *wakes, unsigned int nr, u64 now)
{
	struct waiter *w;

	while (nr-- && wakes->nr < MAX_WAKES && (w = first_reader(sem))) {
		unqueue(sem, w);
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

/* A real-time reader does not wait for a writer of lower priority. */
static bool outranks_writers(struct unfair_rwsem *sem, const struct waiter *w)
{
	struct waiter *writer = first_writer(sem);

	/* none queued: the caller, which releases it, may be back before the reader runs */
	return w->prio < PRIO_FAIR && w->prio < (writer ? writer->prio : current_prio());
}

/* The rest of the window, in nanoseconds. Closes a window whose time is over. */
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
	sync_flags(sem);
	return 0;
}

/* One for each write section; and one for each bound, while no writer runs. */
static bool may_open_window(struct unfair_rwsem *sem, u64 now)
{
	u32 past = (u32)(now >> 10) - sem->window_end;
	/* the last one was closed before its time */
	bool closed_early = -past <= window_us.max;

	return !RB_EMPTY_ROOT(&sem->readers) && !is_window_open(sem) &&
	       (!sem->window_used || (!closed_early && past > bound_of(sem) >> 10));
}

/* The reader that has a right to a window; NULL if there is none. */
static struct waiter *reader_for_window(struct unfair_rwsem *sem, u64 now)
{
	struct waiter *w = first_reader(sem);

	if (!w || outranks_writers(sem, w) || is_overdue(sem, w, now))
		return w;
	w = oldest_fair_reader(sem);
	return w && is_overdue(sem, w, now) ? w : NULL;
}

/*
 * Takes readers that have waited too long off the queue, for a window. Returns how many; then
 * the caller has to put WINDOW into the word.
 */
static unsigned int open_window(struct unfair_rwsem *sem, struct wakes *wakes, u64 now)
{
	unsigned int room = max_wakes(), due = 0;
	struct waiter *w;

	if (!may_open_window(sem, now))
		return 0;
	while (due < room && wakes->nr < MAX_WAKES && (w = reader_for_window(sem, now))) {
		if (!due++) {
			sem->window_seq++;
			sem->window_seq += !sem->window_seq;
			sem->window_end = (u32)(now >> 10) + READ_ONCE(window_us.value);
			sem->window_used = 1;
		}
		unqueue(sem, w);
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

static bool window_is_for(const struct unfair_rwsem *sem, const struct waiter *w)
{
	return is_window_open(sem) && w->window == sem->window_seq;
}

/* A reader for which the window may be open has acquired the lock, or has given up. */
static void leave_window(struct unfair_rwsem *sem, struct waiter *w)
{
	if (window_is_for(sem, w)) {
		sem->window_due--;
		count_event(sem, EV_WINDOW_USED);
	}
	w->window = 0;
}

/* Wakes the waiters whose turn it is after a release. */
static void choose_next(struct unfair_rwsem *sem, struct wakes *wakes)
{
	u64 now = ktime_get_ns();
	unsigned int due = 0;

	/* with a window, a writer is woken all the same: it ends the window on time */
	if (first_writer(sem))
		wake_first_writer(sem, wakes, now);
	if (!window_left(sem, now))
		due = open_window(sem, wakes, now);
	if (!first_writer(sem))
		wake_readers(sem, wakes, max_wakes() - due, now);
}

/* --- acquiring ----------------------------------------------------------- */

static bool may_pass_writers(struct unfair_rwsem *sem, const struct waiter *w)
{
	return window_is_for(sem, w) || outranks_writers(sem, w);
}

static bool try_read(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes, u64 now)
{
	long word;

	window_left(sem, now);
	word = atomic_long_read(&sem->word);
	if (word & WWAIT && !(word & WRITER) && !may_pass_writers(sem, w)) {
		/* the lock is free, and the writer that was woken does not run? */
		if (is_held(word) || !w->queued || !is_overdue(sem, w, now) ||
		    !open_window(sem, wakes, now))
			return false;
		sync_flags(sem);
		if (!may_pass_writers(sem, w))
			return false;
		word = atomic_long_read(&sem->word);
	}
	do {
		if (word & WRITER)
			return false;
	} while (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, word + READER));

	visible_readers_publish(sem);
	unqueue(sem, w);
	leave_window(sem, w);
	if (!first_writer(sem))
		wake_readers(sem, wakes, 1, now);
	sync_flags(sem);
	return true;
}

/* May @w have the free lock before @first, which is queued? If not, @nap is when to ask again. */
static bool may_pass_first(struct unfair_rwsem *sem, struct waiter *first,
			   const struct waiter *w, u64 now, u64 *nap)
{
	if (w->prio <= first->prio && sem->steals < MAX_STEALS) {
		sem->steals++;
		return true;
	}
	if (!first->woken_at) {
		*nap = wake_grace_ns(first);
		/* running, it looks by itself */
		if (compat_on_cpu(first->task))
			return false;
		first->woken_at = now;
	}
	if (now - first->woken_at > wake_grace_ns(first))
		return true;
	*nap = first->woken_at + wake_grace_ns(first) - now;
	return false;
}

/* If it fails for a reason that time alone removes, @nap is how long that takes. */
static bool try_write(struct unfair_rwsem *sem, struct waiter *w, u64 now, u64 *nap)
{
	struct waiter *first = first_writer(sem);
	bool passes = first && first != w;
	long word, new;

	if (w->woken_at && now - w->woken_at > wake_grace_ns(w) && w->late_wakeups < MAX_LATE)
		w->late_wakeups++;
	w->woken_at = 0;
	*nap = window_left(sem, now);
	visible_readers_revoke_bias(sem);
	word = atomic_long_read(&sem->word);
	if (is_held(word)) {
		*nap = 0;
		return false;
	}
	if (*nap || (passes && !may_pass_first(sem, first, w, now, nap)))
		return false;

	new = (long)current | WRITER | (word & (RWAIT | LENT));
	if (passes || (w->queued && rb_next(&w->node)))
		new |= WWAIT;
	/* fails only for a task on a fast path: then that has the lock */
	if (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, new))
		return false;
	if (!passes)
		sem->steals = 0;
	unqueue(sem, w);
	return true;
}

/*
 * A reader gives up. It owes no wakeup: a writer holds the lock, or waits for it. One that
 * waits for the end of a window does so by a timer.
 */
static void leave_read(struct unfair_rwsem *sem, struct waiter *w)
{
	unqueue(sem, w);
	leave_window(sem, w);
	sync_flags(sem);
}

/* A writer gives up. Tasks that waited for it alone can go on. */
static void leave_write(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes, u64 now)
{
	long word = atomic_long_read(&sem->word);

	unqueue(sem, w);
	if (!first_writer(sem)) {
		sem->steals = 0;
		if (!(word & WRITER))
			wake_readers(sem, wakes, max_wakes(), now);
	} else if (!is_held(word)) {
		wake_first_writer(sem, wakes, now);
	}
	sync_flags(sem);
}

/* --- looking at the holders ---------------------------------------------- */

/* The highest level of all tasks that wait for the lock, or expedite it. */
static struct lend_level highest_level(struct unfair_rwsem *sem)
{
	struct lend_level readers = { sem->reader_rt, sem->reader_nice };
	struct lend_level level = expedite_level(sem);
	struct waiter *w = first_writer(sem);

	/* as they are now: a waiter may have been lent to, too */
	if (w)
		level = higher_level(level, level_to_lend(sem, w->task));
	w = first_reader(sem);
	if (w) {
		level = higher_level(level, level_to_lend(sem, w->task));
		level = higher_level(level, readers);
	}
	return level;
}

/**
 * __unfair_rwsem_look() - lend to holders that are off their CPU, one stretch of it
 * @sem: the semaphore
 * @look: all zero at first
 * @work: to be applied by the caller
 *
 * While writers are queued, the readers that hold the lock become fewer only: so a look is
 * over as soon as it has seen as many as are counted.
 *
 * Context: under wait_lock.
 * Return: true if there is more: drop wait_lock, apply @work, and call it again.
 */
bool __unfair_rwsem_look(struct unfair_rwsem *sem, struct look *look, struct lend_work *work)
{
	struct lend_level level = highest_level(sem);
	long word = atomic_long_read(&sem->word);

	if (!lends(level) || !is_held(word))
		return false;
	if (word & WRITER) {
		look->active |= compat_on_cpu(owner_of(word));
		/* a section is there for readers */
		if (first_writer(sem) || first_reader(sem))
			lend_to_owner(sem, owner_of(word), level, work);
		look->active |= work->nr;
		return false;
	}
	/* readers that wait for readers wait for a writer between them */
	if (is_biased(word) || !(first_writer(sem) || sem->expedited))
		return false;
	lend_announce(sem);
	if (!lend_to_readers(sem, level, look, work))
		return true;
	return look->seen < counted_readers(word) && ++look->step < VISIBLE_READERS_STEPS;
}

/**
 * __unfair_rwsem_watch() - look after the waiters of a semaphore, one stretch of it
 * @sem: the semaphore
 * @look: all zero at first
 * @work: to be applied by the caller
 * @wakes: to be woken by the caller
 *
 * Context: under wait_lock, the watcher.
 * Return: true if there is more, as of __unfair_rwsem_look().
 */
bool __unfair_rwsem_watch(struct unfair_rwsem *sem, struct look *look, struct lend_work *work,
			  struct wakes *wakes)
{
	struct waiter *w = first_writer(sem);
	u64 now = ktime_get_ns(), after;
	long word;

	/* readers may come in at any time */
	look->active |= sem->expedited;
	if (sem->expedited && !look->sections_seen) {
		look->sections_seen = true;
		expedite_look(sem, work);
		return true;
	}
	window_left(sem, now);
	word = atomic_long_read(&sem->word);
	if (!is_held(word) && !is_window_open(sem) && (w || first_reader(sem))) {
		/* as at a release: the tasks that were woken then may have no CPU */
		look->active = true;
		choose_next(sem, wakes);
		sync_flags(sem);
	} else if (!w && !(word & WRITER) && first_reader(sem)) {
		/* held for reading: so may be the tasks that were to wake these */
		look->active = true;
		wake_readers(sem, wakes, max_wakes(), now);
		sync_flags(sem);
	}
	if (!is_held(word))
		return false;
	after = report_holdup_after_ns();
	if (after && w && !w->reported && !look->reported && now - w->since > after) {
		w->reported = report_holdup(sem, w->task, now - w->since);
		look->reported = true;
		return true;
	}
	return __unfair_rwsem_look(sem, look, work);
}

/* A waiter looks itself before it sleeps. Drops wait_lock meanwhile. */
static void look_at_holders(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes,
			    unsigned long *irqflags)
	__fsc_must_hold(&sem->wait_lock)
{
	struct lend_work work = { };
	struct look look = { };
	bool more;

	do {
		more = __unfair_rwsem_look(sem, &look, &work);
		if (!more && !work.nr)
			return;
		__unfair_rwsem_unlock_and_wake(sem, *irqflags, wakes);
		lend_apply(&work);
		if (work.soon)
			w->spin_until = ktime_get_ns() + LENT_SPIN_NS;
		raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	} while (more);
}

/*
 * Has the lock one looker? The waiter that finds no watcher looks, and the first in each queue,
 * which may lend more than the others; each once in a sleep.
 */
static bool must_look(struct unfair_rwsem *sem, struct waiter *w)
{
	bool first = w == first_writer(sem) || w == first_reader(sem);

	if (!sem->watched) {
		sem->watched = 1;
		watch_start(sem, &w->watch);
		first = true;
	}
	return first;
}

/**
 * __unfair_rwsem_lenders_changed() - lower the loans of a task that lends no longer
 * @sem: the semaphore; the caller has added itself to @sem->leaving
 *
 * LENT stays in the word until the last such task is through: a loan that one of them made
 * must end at the release of its holder.
 *
 * Context: process context.
 */
void __unfair_rwsem_lenders_changed(struct unfair_rwsem *sem)
{
	struct lend_level level, last = LEND_NOTHING;
	struct lend_work work = { };
	unsigned long irqflags;
	unsigned int from = 0;
	bool more;

	do {
		raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
		level = highest_level(sem);
		/* all loans are compared with one level */
		if (!same_level(level, last))
			from = 0;
		last = level;
		more = lend_adjust(sem, level, &from, &work);
		if (!more && !--sem->leaving && !lends(level) && !sem->expedited)
			atomic_long_andnot(LENT, &sem->word);
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		lend_apply(&work);
	} while (more);
}

/*
 * Calls @fn for each task that sleeps in the queues, until it returns false, and for @max waiters
 * at most. Returns whether all were visited. Under wait_lock.
 */
bool __unfair_rwsem_sleepers(struct unfair_rwsem *sem, unsigned int max,
			     bool (*fn)(struct task_struct *task, bool write, u64 since, void *arg),
			     void *arg)
{
	struct waiter *w = first_writer(sem) ?: first_reader(sem);

	while (w && max--) {
		struct rb_node *next = rb_next(&w->node);

		if (w->asleep && !fn(w->task, w->write, w->since, arg))
			return false;
		w = next ? to_waiter(next) : w->write ? first_reader(sem) : NULL;
	}
	return !w;
}

/* --- spinning ------------------------------------------------------------ */

static int wait_over(const struct waiter *w)
{
	if (signal_pending_state(w->state, current))
		return -EINTR;
	if (w->timed && time_after_eq(jiffies, w->deadline))
		return -ETIME;
	return 0;
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
 * A writer outside of the queue spins while the writer that owns the lock runs and no task is
 * queued: then two writers that alternate need no wait_lock. Returns whether it has the lock.
 * The owner's task_struct stays: it owned the lock after preemption was disabled, and RCU
 * frees it.
 */
static bool spin_unqueued(struct unfair_rwsem *sem, const struct waiter *w)
{
	unsigned int lost = 0;
	bool won = false;

	if (!can_spin())
		return false;
	preempt_disable();
	while (!won && lost < MAX_LOST && !need_resched() && !wait_over(w)) {
		long word = atomic_long_read(&sem->word);

		if (!word) {
			won = __unfair_write_fast(sem);
			lost++;
			continue;
		}
		if (!(word & WRITER) || word & (WWAIT | RWAIT) || !compat_on_cpu(owner_of(word)))
			break;
		poll_pause();
	}
	preempt_enable();
	if (won)
		count_event(sem, EV_SPIN_WON);
	return won;
}

/* Is there a lock to be had, or a queue to join again? */
static bool worth_a_look(struct unfair_rwsem *sem, struct waiter *w, long word)
{
	if (w->write)
		return !is_held(word) && !(word & WINDOW) &&
		       READ_ONCE(sem->writers.rb_leftmost) == &w->node;
	return !READ_ONCE(w->queued) || !(word & (WRITER | WWAIT));
}

static enum holders_seen see_holders(struct unfair_rwsem *sem, long word, bool write)
{
	if (word & WRITER)
		return compat_on_cpu(owner_of(word)) ? HOLDERS_RUN : HOLDERS_OFF_CPU;
	/* a reader waits for the writer that was woken, not for readers */
	if (write && is_held(word))
		return visible_readers_state(sem, counted_readers(word));
	return HOLDERS_UNSEEN;
}

/*
 * A queued waiter spins while the writer that owns the lock runs, or, for a writer, while all
 * readers that hold it do, and for a moment where a holder was lent what makes it run. Only
 * the first writer spins, and a reader only while no writer is queued: the others cannot win.
 * Returns false if a holder does not run, or if spinning is over for another reason: then it
 * is time to sleep.
 *
 * Context: preemption disabled, so that need_resched() is seen, and for owner_of() as above.
 */
static bool spin(struct unfair_rwsem *sem, struct waiter *w)
{
	enum holders_seen seen;
	bool look = false;
	u64 blind = 0;

	if (!can_spin())
		return false;
	while (!need_resched() && !wait_over(w)) {
		long word = atomic_long_read(&sem->word);

		if (worth_a_look(sem, w, word)) {
			look = true;
			break;
		}
		/* another waiter will have the lock first */
		if (w->write ? READ_ONCE(sem->writers.rb_leftmost) != &w->node : word & WWAIT)
			break;
		seen = see_holders(sem, word, w->write);
		if (seen == HOLDERS_OFF_CPU && ktime_get_ns() >= w->spin_until)
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
	count_event(sem, look ? EV_SPIN_WON : EV_SPIN_LOST);
	return look;
}

/* --- the slow path ------------------------------------------------------- */

/* Sleeps until woken, or for @nap ns if not 0. Drops wait_lock meanwhile. */
static void wait_asleep(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes,
			unsigned long *irqflags, u64 nap)
	__fsc_must_hold(&sem->wait_lock)
{
	unsigned long left = MAX_SCHEDULE_TIMEOUT, now = jiffies;

	if (w->timed)
		left = time_before(now, w->deadline) ? w->deadline - now : 0;
	w->asleep = true;
	count_event(sem, EV_SLEPT);
	set_current_state(w->state);
	__unfair_rwsem_unlock_and_wake(sem, *irqflags, wakes);
	if (nap && nsecs_to_jiffies(nap) <= left) {
		ktime_t time = ns_to_ktime(nap);

		/* pinned, hard timer: a real-time task may starve softirqs */
		schedule_hrtimeout_range(&time, NSEC_PER_USEC, HRTIMER_MODE_REL_PINNED_HARD);
	} else {
		schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	w->asleep = false;
}

/**
 * __unfair_down_slow() - wait for the semaphore
 * @sem: the semaphore
 * @write: for writing
 * @state: task state to sleep in; decides which signals end the wait
 * @timeout: jiffies; MAX_SCHEDULE_TIMEOUT for no limit
 *
 * From the moment in which the waiter queues, it either spins with preemption disabled, or the
 * watcher knows the lock: whatever happens to the waiter, holders are lent to.
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held, -EINTR, -ETIME, or -EINVAL for a negative timeout.
 */
int __unfair_down_slow(struct unfair_rwsem *sem, bool write, unsigned int state, long timeout)
{
	struct waiter w = {
		.task = current,
		.since = ktime_get_ns(),
		.prio = current_prio(),
		.state = state,
		.timed = timeout != MAX_SCHEDULE_TIMEOUT,
		.deadline = jiffies + timeout,
		.write = write,
	};
	struct wakes wakes = { };
	unsigned long irqflags;
	bool may_spin = true, looked = false, has_queued = false, leaves;
	u64 now, nap = 0;
	int ret = 0;

	if (WARN_ONCE(timeout < 0, "fscommit: timeout of %ld jiffies: must be 0 to %ld\n",
		      timeout, MAX_SCHEDULE_TIMEOUT))
		return -EINVAL;
	count_event(sem, write ? EV_WRITE_SLOW : EV_READ_SLOW);
	lock_contended(&sem->dep_map, _RET_IP_);
	trace_contention_begin(sem, write ? LCB_F_WRITE : LCB_F_READ);
	if (write && spin_unqueued(sem, &w))
		goto out;
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	for (;;) {
		now = ktime_get_ns();
		if (write ? try_write(sem, &w, now, &nap) : try_read(sem, &w, &wakes, now))
			break;
		ret = wait_over(&w);
		if (ret)
			break;
		if (!w.queued) {
			/* and try again, now that no release can overlook it */
			queue(sem, &w);
			has_queued = true;
			continue;
		}
		if (may_spin && !nap) {
			preempt_disable();
			__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
			may_spin = spin(sem, &w);
			raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
			preempt_enable();
			continue;
		}
		may_spin = true;
		if (must_look(sem, &w) && !looked) {
			looked = true;
			look_at_holders(sem, &w, &wakes, &irqflags);
			continue;
		}
		looked = false;
		wait_asleep(sem, &w, &wakes, &irqflags, nap);
	}
	if (ret && write)
		leave_write(sem, &w, &wakes, now);
	else if (ret)
		leave_read(sem, &w);
	/* where a slot may name a reader of another lock, loans by mistake end here */
	leaves = has_queued && (ret || (write && BITS_PER_LONG == 32));
	sem->leaving += leaves;
	__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
	if (leaves)
		__unfair_rwsem_lenders_changed(sem);
out:
	if (static_branch_unlikely(&unfair_rwsem_stats))
		count_wait(sem, write, ktime_get_ns() - w.since);
	trace_contention_end(sem, ret);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_slow);

/**
 * __unfair_down_write_trylock_slow() - try again, where only readers wait
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 * Return: true with the semaphore held for writing.
 */
bool __unfair_down_write_trylock_slow(struct unfair_rwsem *sem)
{
	struct waiter w = { .task = current, .prio = current_prio(), .write = true };
	long word = atomic_long_read(&sem->word);
	unsigned long irqflags;
	bool taken;
	u64 nap;

	if ((is_held(word) && !is_biased(word)) || word & WWAIT)
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

/* A task waits, or has lent. Enables preemption. */
static void up_read_locked(struct unfair_rwsem *sem)
{
	struct lend_work work = { };
	struct wakes wakes = { };
	unsigned long irqflags;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	if (atomic_long_read(&sem->word) & LENT)
		lend_end(sem, current, false, &work);
	/* F: pairs with the acquire of the task that finds it free */
	word = atomic_long_sub_return_release(READER, &sem->word);
	if (!is_held(word)) {
		if (word & (WWAIT | RWAIT))
			compat_trace_contended_release(sem);
		choose_next(sem, &wakes);
		if (!sem->expedited)
			atomic_long_andnot(LENT, &sem->word);
		sync_flags(sem);
	}
	__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
	preempt_enable();
	lend_apply(&work);
}

/**
 * __unfair_up_read_counted() - release for reading by the word
 * @sem: the semaphore, held for reading by the caller, which has released its slot
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
		 * The last reader, with a task waiting, releases under wait_lock, so that it
		 * cannot be preempted between the release and the wakeup.
		 */
		if (word & LENT || (word & FLAGS && counted_readers(word) == 1)) {
			up_read_locked(sem);
			return;
		}
	} while (!atomic_long_try_cmpxchg_release(&sem->word, &word, word - READER));
	preempt_enable();
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_counted);

/* Releases write ownership; the word becomes @instead, 0 or READER, and the flags. */
static void give_up_write(struct unfair_rwsem *sem, long instead, const char *caller)
{
	struct lend_work work = { };
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
		lend_end(sem, current, false, &work);
	if (instead)
		visible_readers_publish(sem);
	sem->window_used = 0;
	choose_next(sem, &wakes);
	instead |= flags_of(sem);
	/* or a reader could set BIAS, and hide from the section */
	if (sem->expedited)
		instead |= LENT;
	/* G: pairs with the acquire of the task that finds it free; nobody else writes the word */
	atomic_long_set_release(&sem->word, instead);
	__unfair_rwsem_unlock_and_wake(sem, irqflags, &wakes);
	lend_apply(&work);
}

/**
 * __unfair_up_write_slow() - release for writing, with a task waiting
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
 * No other writer acquires it in between. Readers acquire it unless a writer waits; readers
 * that waited too long acquire it in any case. Called by a task that does not hold it for
 * writing, it warns once and does nothing.
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
 * __unfair_rwsem_init() - initialise a reader-unfair semaphore, for init_unfair_rwsem()
 * @sem: the semaphore; must not be held
 * @name: name of the lockdep class
 * @key: its key
 * @class: where the number of the class is kept: 0 at first
 *
 * Context: any.
 */
void __unfair_rwsem_init(struct unfair_rwsem *sem, const char *name, struct lock_class_key *key,
			 u16 *class)
{
	BUILD_BUG_ON(L1_CACHE_BYTES <= FLAGS);
	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) && !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) &&
		     !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) && sizeof(*sem) > 64);

	if (!READ_ONCE(*class))
		WRITE_ONCE(*class, lock_class_of(name, key));
	sem->class = READ_ONCE(*class);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	debug_check_no_locks_freed((void *)sem, sizeof(*sem));
	lockdep_init_map_wait(&sem->dep_map, sem->class ? lock_class_name(sem->class) : name, key,
			      0, LD_WAIT_SLEEP);
#endif
	/* one by one: to clear it as a whole takes longer */
	atomic_long_set(&sem->word, 0);
	sem->slots = visible_readers_region(sem);
	raw_spin_lock_init(&sem->wait_lock);
	sem->steals = 0;
	sem->window_due = 0;
	sem->window_used = 0;
	sem->expedited = 0;
	sem->watched = 0;
	sem->window_seq = 0;
	sem->writers = RB_ROOT_CACHED;
	sem->readers = RB_ROOT;
	sem->window_end = 0;
	sem->reader_bound = BOUND_DEFAULT;
	sem->lend = UNFAIR_LEND_DEFAULT;
	sem->bias_wait = UNFAIR_RWSEM_BIAS_FIRST;
	sem->reader_rt = 0;
	sem->reader_nice = 0;
	sem->leaving = 0;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_rwsem_init);

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
	u16 class = 0;

	__unfair_rwsem_init(sem, name, key, &class);
}
EXPORT_SYMBOL_FSCOMMIT(__init_unfair_rwsem);

/**
 * unfair_rwsem_set_reader_bound() - set how long a reader waits before its window
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
 * unfair_rwsem_set_lend() - set what its waiters lend to holders that are not running
 * @sem: the semaphore; may be in use
 * @lend: see enum unfair_rwsem_lend
 *
 * Tasks that wait already lend what they did; loans stay until they end.
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
