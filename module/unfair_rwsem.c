// SPDX-License-Identifier: GPL-2.0
/*
 * Reader-unfair, writer-preferring read/write semaphore: the queues, the window, and how a
 * task waits. visible_readers.c records which tasks hold a lock for reading. lend.c lends the
 * priority of waiters to holders. watcher.c looks at locks with sleeping waiters.
 *
 * Queue:
 *	1) Writers queue by their priority then, and by arrival. Real-time readers queue by
 *	   priority, then by age. All other readers queue behind them, by age.
 *	2) Under wait_lock, a waiter sets WWAIT or RWAIT, reads the word again, and sets its
 *	   task state. So it sees each earlier release, and each later release sees it.
 *	3) A release wakes the first writer. If that writer does not run within its grace time,
 *	   it is late: the next release or look of the watcher moves it behind all writers that
 *	   are not late, and wakes the next one. When it runs, it gets its place back.
 *	4) With no writer queued, a release wakes as many readers as CPUs are online, 16 at
 *	   most. Each of them wakes one more when it acquires the lock.
 *	5) A writer leaves the queue when it acquires the lock, a reader when it is woken. A
 *	   woken reader that finds the lock taken queues again with its old age. One that
 *	   never runs delays writers by one window at most.
 *
 * Window:
 *	1) A release opens a window if a queued reader is overdue or outranks all writers.
 *	   There is one window for each hold of a writer, one for each bound while no writer
 *	   acquires the lock, and any number while all queued writers are late. An overdue
 *	   reader that finds the lock free opens one itself.
 *	2) The task that opens it takes such readers off the queue and wakes them.
 *	3) While it is open, no writer acquires the lock, and its readers pass queued writers.
 *	4) It closes when its last reader acquires the lock or stops waiting, or after window_us.
 *
 * Waiting:
 *	1) A reader acquires the lock if no writer holds it, and if no writer is queued or the
 *	   reader may pass the queued ones: in its window, or because it outranks them all.
 *	2) A writer acquires the lock if it is free, no window is open, and the writer is
 *	   first in the queue or may pass the first one. A writer of the same or a higher
 *	   priority may do so MAX_STEALS times in a row, and any writer if the first one has
 *	   not run within its grace time.
 *	3) While no task is queued, a writer spins without queueing as long as the owner runs.
 *	4) In the queue, a waiter spins while the holders run, then sleeps. Its only timers are
 *	   its timeout and the end of a window or of a grace time. The watcher looks at the
 *	   lock for all sleeping waiters, and lends.
 *
 * Everything but fast paths, biased readers and spins runs under wait_lock. A fast path succeeds
 * only if there is no task to wake. A writer releases by one cmpxchg while the word has no flag.
 * A reader does so while LENT is clear, and no flag is set or other readers hold the lock.
 *
 * A releaser is not preempted between the release and the last wakeup. Otherwise the lock
 * could be free and the writer asleep, while the task that must wake it waits for a CPU.
 *
 * Costs: a reader is woken in vain if a writer acquires the lock first. A woken writer that does
 * not run holds back new readers until a look lends to it, or until a reader's bound expires.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/unfair_rwsem.h>

#include "expedite.h"
#include "internal.h"
#include "lend.h"
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

/* Times in a row that writers of the same or a higher priority may pass the first writer. */
#define MAX_STEALS	250
/* Attempts at a free lock after which a spinning writer queues. */
#define MAX_ATTEMPTS	8
/* cpu_relax() calls between two reads of the word: polling slows down the CPUs that write it. */
#define POLL_PAUSE	16
/* How long to spin while the holders are not visible, in nanoseconds. */
#define UNSEEN_SPIN_NS	20000
/* Waiters of each queue whose level a look compares. */
#define LOOK_WAITERS	64
/* Holders that are traced at one look, and the minimum interval to the next time, in ns. */
#define MAX_TRACED	8
#define TRACE_EVERY	(10ULL * NSEC_PER_MSEC)
/* waiter.prio, highest first: 0 deadline, 1-100 real-time, 101-140 nice, 141 SCHED_IDLE. */
#define PRIO_FAIR	(MAX_RT_PRIO + 1)
#define PRIO_IDLE	(MAX_PRIO + 1)

struct waiter {
	struct task_struct	*task;
	struct rb_node		node;		/* in sem->writers or sem->readers */
	struct unfair_watch	watch;		/* in the watcher's list: one per lock */
	u64			since;		/* start of the wait, ns */
	u64			grace_end;	/* ns, after it was woken; 0: it has run */
	unsigned long		deadline;	/* jiffies, if timed */
	unsigned int		state;		/* task state to sleep in */
	u16			window;		/* number of the reader's window; 0: none */
	u8			prio;
	bool			write;
	bool			late;		/* a writer that has not run in its grace time */
	bool			queued;
	bool			asleep;
	bool			timed;
};

FSCOMMIT_PARAM(reader_bound_us, 10000, 0, UNFAIR_RWSEM_BOUND_MAX_US);
MODULE_PARM_DESC(reader_bound_us,
		 "how long a reader waits before a window opens for it, for locks without a bound of their own; microseconds, 0 (never) to 10000000, default 10000");

FSCOMMIT_PARAM(window_us, 200, 1, 10000);
MODULE_PARM_DESC(window_us,
		 "length of a window, in which writers wait for overdue readers; microseconds, 1 to 10000, default 200");

/* --- the queues ---------------------------------------------------------- */

static u8 current_prio(void)
{
	int prio = lend_prio();

	/* a boosted task keeps its policy and has a real-time prio */
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

/* The first reader behind the real-time readers. */
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

	if (a->late != b->late)
		return b->late;
	return a->prio != b->prio ? a->prio < b->prio : a->since < b->since;
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

/* The flags that match the queues and the window. */
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
		/* free, and no task waits: the fast paths work again */
		if (new == LENT && !sem->expedited)
			new = 0;
	} while (new != word && !atomic_long_try_cmpxchg(&sem->word, &word, new));
}

/* @from loses its waiter or section: moves the watch to another one. Under wait_lock. */
static void hand_over_watch(struct unfair_rwsem *sem, struct unfair_watch *from)
{
	struct waiter *w = first_writer(sem) ?: first_reader(sem);
	struct unfair_watch *to = w ? &w->watch : sem->expedited ? expedite_watch(sem) : NULL;

	if (to)
		watcher_replace(from, to);
	else
		watcher_remove(from);
}

static void queue(struct unfair_rwsem *sem, struct waiter *w)
{
	w->queued = true;
	w->grace_end = 0;
	w->window = 0;
	if (w->write)
		rb_add_cached(&w->node, &sem->writers, writer_before);
	else
		rb_add(&w->node, &sem->readers, reader_before);
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
		hand_over_watch(sem, &w->watch);
	/* a spinning reader reads it without wait_lock */
	WRITE_ONCE(w->queued, false);
}

/* --- waking -------------------------------------------------------------- */

/* Work for after wait_lock is dropped: tasks to wake, one for each CPU at most; a loan to end. */
#define MAX_WAKES	16

struct wakes {
	struct donor		*loan;		/* of the caller, to end; NULL: none */
	unsigned int		nr;
	struct task_struct	*task[MAX_WAKES + 2];	/* a writer and the watcher, too */
};

/*
 * Drops wait_lock, and wakes. @sem may be freed before this returns.
 *
 * Preemption is disabled until all tasks are awake. It also keeps their task_structs valid: the
 * tasks were waiting when it was disabled, and RCU frees a task_struct.
 */
static void unlock_and_wake(struct unfair_rwsem *sem, unsigned long irqflags, struct wakes *wakes)
	__fsc_releases(&sem->wait_lock)
{
	unsigned int i;

	preempt_disable();
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	for (i = 0; i < wakes->nr; i++)
		wake_up_process(wakes->task[i]);
	wakes->nr = 0;
	/* before preemption is enabled: the budget does not suspend an UNLOCKED loan */
	if (wakes->loan)
		lend_unlock(wakes->loan);
	wakes->loan = NULL;
	preempt_enable();
}

static unsigned int max_wakes(void)
{
	return min_t(unsigned int, num_online_cpus(), MAX_WAKES);
}

/* Until then, other waiters wait for a writer that is woken now. */
static u64 grace_end(u64 now)
{
	return now + (u64)READ_ONCE(window_us.value) * NSEC_PER_USEC;
}

static void wake_later(struct wakes *wakes, struct waiter *w, u64 now)
{
	w->grace_end = grace_end(now);
	if (!w->asleep)
		return;
	w->asleep = false;
	wakes->task[wakes->nr++] = w->task;
}

static void set_late(struct unfair_rwsem *sem, struct waiter *w, bool late)
{
	rb_erase_cached(&w->node, &sem->writers);
	w->late = late;
	rb_add_cached(&w->node, &sem->writers, writer_before);
}

/* See Queue, 3. Late writers are awake. If the first one is late, all queued writers are. */
static void wake_first_writer(struct unfair_rwsem *sem, struct wakes *wakes, u64 now)
{
	struct waiter *w = first_writer(sem);

	if (w && w->grace_end && now >= w->grace_end && !w->asleep && !w->late) {
		set_late(sem, w, true);
		w = first_writer(sem);
	}
	/* if awake and on a CPU, it retries by itself */
	if (w && (w->asleep || (!w->grace_end && !owner_on_cpu(w->task))))
		wake_later(wakes, w, now);
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

	if (bound == UNFAIR_RWSEM_BOUND_DEFAULT)
		bound = READ_ONCE(reader_bound_us.value);
	return (u64)bound * NSEC_PER_USEC;
}

static bool is_overdue(struct unfair_rwsem *sem, const struct waiter *w, u64 now)
{
	u64 bound = bound_of(sem);

	return bound && now - w->since > bound;
}

/* A real-time reader does not wait for writers of lower priority. */
static bool outranks_writers(struct unfair_rwsem *sem, const struct waiter *w)
{
	struct waiter *writer = first_writer(sem);

	/* no writer queued: the releaser may acquire the lock again before the reader runs */
	return w->prio < PRIO_FAIR && w->prio < (writer ? writer->prio : current_prio());
}

/* Returns the rest of the window in nanoseconds. Closes an expired window. */
static u64 window_left(struct unfair_rwsem *sem, u64 now)
{
	u32 left;

	if (!is_window_open(sem))
		return 0;
	left = sem->window_end - (u32)(now >> 10);
	/* the time wraps: an end long past seems to be far ahead */
	if (left && left <= window_us.max)
		return (u64)left << 10;
	sem->window_due = 0;
	sync_flags(sem);
	return 0;
}

static bool may_open_window(struct unfair_rwsem *sem, u64 now)
{
	u32 past = (u32)(now >> 10) - sem->window_end;
	/* window_end is still ahead: the last window closed early */
	bool closed_early = -past <= window_us.max;
	struct waiter *first = first_writer(sem);

	return !RB_EMPTY_ROOT(&sem->readers) && !is_window_open(sem) &&
	       (!sem->window_used || (first && first->late) ||
		(!closed_early && past > bound_of(sem) >> 10));
}

/* The next reader that may have a window; NULL if there is none. */
static struct waiter *reader_for_window(struct unfair_rwsem *sem, u64 now)
{
	struct waiter *w = first_reader(sem);
	unsigned int i;

	/* real-time readers queue by priority: an overdue one may be behind one that is not */
	for (i = 0; w && w->prio < PRIO_FAIR && i < MAX_WAKES; i++) {
		if (outranks_writers(sem, w) || is_overdue(sem, w, now))
			return w;
		w = to_waiter(rb_next(&w->node));
	}
	w = oldest_fair_reader(sem);
	return w && is_overdue(sem, w, now) ? w : NULL;
}

/*
 * Takes at most @max readers off the queue for a new window, @w first if it is not NULL, and
 * returns their number. If that is not 0, the caller must set WINDOW in the word.
 */
static unsigned int open_window(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes,
				unsigned int max, u64 now)
{
	unsigned int nr = 0;

	if (!may_open_window(sem, now))
		return 0;
	while (nr < max && wakes->nr < MAX_WAKES && (w || (w = reader_for_window(sem, now)))) {
		if (!nr++) {
			sem->window_seq++;
			sem->window_seq += !sem->window_seq;
			sem->window_end = (u32)(now >> 10) + READ_ONCE(window_us.value);
			sem->window_used = 1;
		}
		unqueue(sem, w);
		w->window = sem->window_seq;
		wake_later(wakes, w, now);
		w = NULL;
	}
	if (nr) {
		sem->window_due = nr;
		trace_unfair_window(sem, nr);
		count_event(sem, EV_WINDOW);
	}
	return nr;
}

static bool window_is_for(const struct unfair_rwsem *sem, const struct waiter *w)
{
	return is_window_open(sem) && w->window == sem->window_seq;
}

/* @w has acquired the lock or stopped waiting: an open window no longer waits for it. */
static void leave_window(struct unfair_rwsem *sem, struct waiter *w)
{
	if (window_is_for(sem, w))
		sem->window_due--;
	w->window = 0;
}

/* Wakes the next waiters after a release. */
static void choose_next(struct unfair_rwsem *sem, struct wakes *wakes)
{
	unsigned int max = max_wakes();
	u64 now = ktime_get_ns();

	/* also if a window opens: the writer closes it on time */
	wake_first_writer(sem, wakes, now);
	if (!window_left(sem, now))
		max -= open_window(sem, NULL, wakes, max, now);
	if (!first_writer(sem))
		wake_readers(sem, wakes, max, now);
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
		/* a free lock whose first writer does not run: an overdue reader opens a window */
		if (is_held(word) || !w->queued || !is_overdue(sem, w, now) ||
		    !open_window(sem, w, wakes, max_wakes(), now))
			return false;
		sync_flags(sem);
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

/* May @w acquire the free lock before @first? If not, retry after @timeout_ns. */
static bool may_pass_first(struct unfair_rwsem *sem, struct waiter *first,
			   const struct waiter *w, u64 now, u64 *timeout_ns)
{
	u64 end = first->grace_end ?: grace_end(now);

	if (w->prio <= first->prio && sem->steals < MAX_STEALS) {
		sem->steals++;
		return true;
	}
	if (now >= end)
		return true;
	/* if on a CPU, it retries by itself */
	if (!owner_on_cpu(first->task))
		first->grace_end = end;
	*timeout_ns = end - now;
	return false;
}

/* On failure, @timeout_ns is the time after which to retry; 0: when woken. */
static bool try_write(struct unfair_rwsem *sem, struct waiter *w, u64 now, u64 *timeout_ns)
{
	struct waiter *first;
	long word, new;
	bool passes;

	w->grace_end = 0;
	if (w->late)
		set_late(sem, w, false);
	first = first_writer(sem);
	passes = first && first != w;
	*timeout_ns = window_left(sem, now);
	visible_readers_revoke_bias(sem);
	word = atomic_long_read(&sem->word);
	if (is_held(word)) {
		*timeout_ns = 0;
		return false;
	}
	if (*timeout_ns || (passes && !may_pass_first(sem, first, w, now, timeout_ns)))
		return false;

	/* with LENT, the release ends the writer's own loan */
	new = (long)current | WRITER | (word & (RWAIT | LENT)) | (lend_keep(sem, false) ? LENT : 0);
	if (passes || (w->queued && rb_next(&w->node)))
		new |= WWAIT;
	/* fails only if another task acquired the lock by a fast path */
	if (!atomic_long_try_cmpxchg_acquire(&sem->word, &word, new))
		return false;
	lend_keep(sem, true);
	if (!passes)
		sem->steals = 0;
	unqueue(sem, w);
	return true;
}

/*
 * A reader stops waiting. It need not wake another task: a writer holds the lock or waits for
 * it, and a writer that waits for the end of a window has a timer.
 */
static void leave_read(struct unfair_rwsem *sem, struct waiter *w)
{
	unqueue(sem, w);
	leave_window(sem, w);
	sync_flags(sem);
}

/* A writer stops waiting. Wakes the tasks that waited only for it. */
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

/* The highest level of the first waiters in each queue, and of the expedited sections. */
static u8 highest_level(struct unfair_rwsem *sem)
{
	struct rb_node *queues[] = { rb_first_cached(&sem->writers), rb_first(&sem->readers) };
	u8 level = expedite_level(sem);
	unsigned int q, i;

	for (q = 0; q < ARRAY_SIZE(queues); q++) {
		struct rb_node *n = queues[q];

		for (i = 0; n && i < LOOK_WAITERS; n = rb_next(n), i++)
			level = max(level, lend_level(sem, to_waiter(n)->task));
	}
	return level;
}

/*
 * Returns true if another step follows. It ends as soon as it has seen as many readers as the word
 * counts: while writers are queued, only readers of a window and real-time readers acquire the
 * lock. A reader that was seen in one step and releases the lock before the next hides another one
 * until the next look.
 */
static bool lend_to_holders(struct unfair_rwsem *sem, struct look *look, struct lend_work *work)
{
	long word = atomic_long_read(&sem->word);

	if (!is_held(word))
		return false;
	if (word & WRITER) {
		/* a section alone does not lend to a writer */
		if (first_writer(sem) || first_reader(sem))
			lend_to_owner(sem, owner_of(word), look, work);
		return false;
	}
	/* queued readers do not wait for readers, but for a writer between them */
	if (is_biased(word) || !(first_writer(sem) || sem->expedited))
		return false;
	look->group = first_writer(sem) ? NULL : look->group;
	lend_announce(sem);
	if (!lend_to_readers(sem, look, work))
		return true;
	return look->seen < counted_readers(word) && ++look->step < VISIBLE_READERS_STEPS;
}

/* Lends to the first writer, and to late ones, which were first and have no CPU. */
static void lend_to_writers(struct unfair_rwsem *sem, const struct look *look,
			    struct lend_work *work)
{
	struct waiter *first = first_writer(sem), *w = to_waiter(rb_last(&sem->writers.rb_root));
	unsigned int i;

	if (first && work->nr < LEND_WORK_MAX)
		lend_to_writer(sem, first->task, look->level, work);
	for (i = 0; w && w->late && i < LOOK_WAITERS && work->nr < LEND_WORK_MAX; i++) {
		lend_to_writer(sem, w->task, look->level, work);
		w = to_waiter(rb_prev(&w->node));
	}
}

/**
 * look_at_holders() - lend to holders that are off their CPU, in steps
 * @sem: the semaphore
 * @look: all zero at first
 * @work: loans for the caller to apply
 *
 * And to writers, so that they run as soon as they are woken: last, as their donors need not run
 * before those of the holders.
 *
 * Context: under wait_lock.
 * Return: true if another step follows: drop wait_lock, apply @work, and call it again.
 */
static bool look_at_holders(struct unfair_rwsem *sem, struct look *look, struct lend_work *work)
{
	if (!look->started) {
		look->started = true;
		look->level = lend_is_on(sem) ? highest_level(sem) : 0;
	}
	if (!look->level)
		return false;
	if (lend_to_holders(sem, look, work))
		return true;
	lend_to_writers(sem, look, work);
	return false;
}

static void trace_holder(struct unfair_hold *hold, struct task_struct *holder)
{
	hold->holder = holder;
	hold->state = holder ? trace_state_of(holder) : '-';
	hold->lent = holder ? lend_level_now(holder) : 0;
	trace_unfair_holder(hold);
}

/*
 * Traces the holders of a lock for which a task sleeps, at most MAX_TRACED readers, which are in
 * the lock's own region or in converted biased slots.
 */
static void trace_holders(struct unfair_rwsem *sem, u64 now)
{
	struct waiter *w = first_writer(sem) ?: first_reader(sem);
	long word = atomic_long_read(&sem->word);
	unsigned int step, i, nr = 0;
	struct task_struct *task;
	struct unfair_hold hold;

	if (!w || !w->asleep || now < sem->watch->trace_due)
		return;
	sem->watch->trace_due = now + TRACE_EVERY;
	hold = (struct unfair_hold){
		.sem = sem, .waiter = w->task, .wants_write = w->write,
		.waited_ns = now - w->since, .write = word & WRITER,
	};
	if (word & WRITER) {
		trace_holder(&hold, owner_of(word));
		return;
	}
	rcu_read_lock();
	for (step = 0; step < 2; step++)
		for_each_visible_reader(sem, step, i, task)
			if (nr++ < MAX_TRACED)
				trace_holder(&hold, task);
	rcu_read_unlock();
	if (!nr)
		trace_holder(&hold, NULL);
}

/*
 * Wakes and lends for the waiters of a semaphore, in steps. The caller applies @work, and wakes.
 * Returns true if another step follows, as for look_at_holders().
 */
static bool look_at_lock(struct unfair_rwsem *sem, struct look *look, struct lend_work *work,
			 struct wakes *wakes)
{
	struct waiter *w = first_writer(sem);
	u64 now = ktime_get_ns();
	long word;

	if (trace_unfair_holder_enabled())
		trace_holders(sem, now);
	if (sem->expedited && !look->sections_seen) {
		look->sections_seen = true;
		if (expedite_look(sem, look, work))
			return true;
	}
	window_left(sem, now);
	word = atomic_long_read(&sem->word);
	if (!is_held(word) && !is_window_open(sem) && (w || first_reader(sem))) {
		/* wake as a release does: the tasks woken then may have no CPU */
		choose_next(sem, wakes);
		sync_flags(sem);
	} else if (!w && !(word & WRITER) && first_reader(sem)) {
		/* the woken readers should wake these, but may have no CPU */
		wake_readers(sem, wakes, max_wakes(), now);
		sync_flags(sem);
	}
	return look_at_holders(sem, look, work);
}

/* Called by the watcher, see struct watcher_calls. */
static bool look_and_apply(struct unfair_rwsem *sem, struct look *look, unsigned long irqflags)
	__fsc_releases(&sem->wait_lock)
{
	struct lend_work work = { };
	struct wakes wakes = { };
	bool more = look_at_lock(sem, look, &work, &wakes);

	unlock_and_wake(sem, irqflags, &wakes);
	lend_apply(&work);
	return more;
}

/* --- spinning ------------------------------------------------------------ */

static int wait_over(const struct waiter *w)
{
	/* a signal that is being sent counts at the next call */
	if (data_race(signal_pending_state(w->state, current)))
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
 * A writer spins without queueing while the owning writer runs and no task is queued: two
 * writers that alternate then need no wait_lock. Returns true if it acquires the lock. The
 * owner's task_struct stays valid: the task owned the lock after the caller had disabled
 * preemption, and RCU frees it.
 */
static bool spin_unqueued(struct unfair_rwsem *sem, const struct waiter *w)
{
	unsigned int attempts = 0;
	bool acquired = false;

	if (!can_spin())
		return false;
	while (!acquired && attempts < MAX_ATTEMPTS && !need_resched() && !wait_over(w)) {
		long word = atomic_long_read(&sem->word);

		if (!word) {
			acquired = __unfair_write_fast(sem);
			attempts++;
			continue;
		}
		if (!(word & WRITER) || word & (WWAIT | RWAIT) || !owner_on_cpu(owner_of(word)))
			break;
		poll_pause();
	}
	return acquired;
}

/* May @w acquire the lock now, or must it queue again? */
static bool should_retry(struct unfair_rwsem *sem, struct waiter *w, long word)
{
	if (w->write)
		return !is_held(word) && !(word & WINDOW) &&
		       READ_ONCE(sem->writers.rb_leftmost) == &w->node;
	return !READ_ONCE(w->queued) || !(word & (WRITER | WWAIT));
}

static enum holders_state holders_state(struct unfair_rwsem *sem, long word, bool write)
{
	if (word & WRITER)
		return owner_on_cpu(owner_of(word)) ? HOLDERS_RUN : HOLDERS_OFF_CPU;
	/* a queued reader waits for the woken writer, not for readers */
	if (write && is_held(word))
		return visible_readers_state(sem, counted_readers(word));
	return HOLDERS_UNSEEN;
}

/*
 * A queued waiter spins while the owning writer runs. The first writer also spins while all
 * readers that hold the lock run. Other writers do not spin, and readers only while no writer is
 * queued: they cannot win. Returns true if the waiter should retry, false if it should sleep.
 *
 * Context: preemption disabled, for need_resched() and as in spin_unqueued().
 */
static bool spin(struct unfair_rwsem *sem, struct waiter *w)
{
	enum holders_state state;
	bool retry = false;
	u64 unseen_until = 0;

	if (!can_spin())
		return false;
	while (!need_resched() && !wait_over(w)) {
		long word = atomic_long_read(&sem->word);

		if (should_retry(sem, w, word)) {
			retry = true;
			break;
		}
		/* another waiter will acquire the lock first */
		if (w->write ? READ_ONCE(sem->writers.rb_leftmost) != &w->node : word & WWAIT)
			break;
		state = holders_state(sem, word, w->write);
		if (state == HOLDERS_OFF_CPU)
			break;
		if (state != HOLDERS_UNSEEN)
			unseen_until = 0;
		else if (!unseen_until)
			unseen_until = ktime_get_ns() + UNSEEN_SPIN_NS;
		else if (ktime_get_ns() > unseen_until)
			break;
		poll_pause();
	}
	return retry;
}

/* --- the slow path ------------------------------------------------------- */

/*
 * Before it sleeps, a waiter makes sure that the watcher looks at the lock: in the next pass, or at
 * once if it lends, is the first one of a queue, and a writer, which must be lent to, or behind a
 * holder without a CPU.
 */
static void watch_asleep(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes)
{
	long word = atomic_long_read(&sem->word);
	struct task_struct *watcher = NULL;

	if (!sem->watch)
		watcher_add(sem, &w->watch);
	if (w != first_writer(sem) && w != first_reader(sem))
		return;
	if (lend_is_on(sem) && lend_level(sem, current) &&
	    (w->write || (is_held(word) && holders_state(sem, word, true) == HOLDERS_OFF_CPU)))
		watcher = watcher_look_now(sem);
	if (watcher)
		wakes->task[wakes->nr++] = watcher;
}

/* Sleeps until woken, or for @timeout_ns if that is not 0. Drops wait_lock meanwhile. */
static void wait_asleep(struct unfair_rwsem *sem, struct waiter *w, struct wakes *wakes,
			unsigned long *irqflags, u64 timeout_ns)
	__fsc_must_hold(&sem->wait_lock)
{
	unsigned long left = MAX_SCHEDULE_TIMEOUT, now = jiffies;

	if (w->timed)
		left = time_before(now, w->deadline) ? w->deadline - now : 0;
	watch_asleep(sem, w, wakes);
	w->asleep = true;
	count_event(sem, EV_SLEPT);
	set_current_state(w->state);
	unlock_and_wake(sem, *irqflags, wakes);
	if (timeout_ns && nsecs_to_jiffies(timeout_ns) <= left) {
		ktime_t time = ns_to_ktime(timeout_ns);

		/* pinned, hard timer: a real-time task may starve softirqs */
		schedule_hrtimeout_range(&time, NSEC_PER_USEC, HRTIMER_MODE_REL_PINNED_HARD);
	} else {
		schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
	raw_spin_lock_irqsave(&sem->wait_lock, *irqflags);
	w->asleep = false;
}

/*
 * The wait loop. A queued waiter either spins with preemption disabled, or the watcher has the
 * lock in its list. So holders are lent to even if the waiter itself gets no CPU. Called with
 * preemption disabled, which it enables.
 */
static int wait_for_lock(struct unfair_rwsem *sem, struct waiter *w)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	u64 now, timeout_ns = 0;
	bool may_spin = true;
	int ret = 0;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	preempt_enable();
	for (;;) {
		now = ktime_get_ns();
		if (w->write ? try_write(sem, w, now, &timeout_ns) : try_read(sem, w, &wakes, now))
			break;
		ret = wait_over(w);
		if (ret)
			break;
		if (!w->queued) {
			/* retry: from now on, no release misses this waiter */
			queue(sem, w);
			continue;
		}
		if (may_spin && !timeout_ns) {
			preempt_disable();
			unlock_and_wake(sem, irqflags, &wakes);
			may_spin = spin(sem, w);
			raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
			preempt_enable();
			continue;
		}
		wait_asleep(sem, w, &wakes, &irqflags, timeout_ns);
		/* with a loan of its own, a writer does not spin: that would spend the budget */
		may_spin = !lend_level_now(current);
	}
	if (ret && w->write) {
		leave_write(sem, w, &wakes, now);
		wakes.loan = lend_end(sem, false);
	} else if (ret) {
		leave_read(sem, w);
	}
	unlock_and_wake(sem, irqflags, &wakes);
	return ret;
}

/**
 * __unfair_down_slow() - wait for the semaphore
 * @sem: the semaphore
 * @write: acquire it for writing
 * @state: task state to sleep in; decides which signals end the wait
 * @timeout: jiffies; MAX_SCHEDULE_TIMEOUT for no limit
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
	int ret = 0;

	if (WARN_ONCE(timeout < 0, "fscommit: timeout of %ld jiffies: must be 0 to %ld\n",
		      timeout, MAX_SCHEDULE_TIMEOUT))
		return -EINVAL;
	/* until it is queued, nothing would bring a preempted writer back */
	preempt_disable();
	count_event(sem, write ? EV_WRITE_SLOW : EV_READ_SLOW);
	lock_contended(&sem->dep_map, _RET_IP_);
	trace_contention_begin(sem, write ? LCB_F_WRITE : LCB_F_READ);
	if (write && spin_unqueued(sem, &w))
		preempt_enable();
	else
		ret = wait_for_lock(sem, &w);
	if (trace_unfair_wait_end_enabled())
		trace_unfair_wait_end(sem, write, ktime_get_ns() - w.since, ret);
	trace_contention_end(sem, ret);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_slow);

/**
 * __unfair_down_write_trylock_slow() - retry a trylock if the lock is free or biased
 * @sem: the semaphore
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 * Return: true with the semaphore held for writing.
 */
bool __unfair_down_write_trylock_slow(struct unfair_rwsem *sem)
{
	struct waiter w = { .task = current, .prio = current_prio(), .write = true };
	long word = atomic_long_read(&sem->word);
	unsigned long irqflags;
	bool acquired;
	u64 timeout_ns;

	if ((is_held(word) && !is_biased(word)) || word & WWAIT)
		return false;
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	acquired = !first_writer(sem) && try_write(sem, &w, ktime_get_ns(), &timeout_ns);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	return acquired;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_down_write_trylock_slow);

/* --- releasing ----------------------------------------------------------- */

static void warn_not_read_held(long word)
{
	WARN_ONCE(1, "fscommit: unfair_up_read() by %s[%d] of a semaphore that is not held for reading (flags %#lx)\n",
		  current->comm, task_pid_nr(current), word & FLAGS);
}

/* Releases the lock while a task waits or has lent. Enables preemption. */
static void up_read_locked(struct unfair_rwsem *sem)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	if (atomic_long_read(&sem->word) & LENT)
		wakes.loan = lend_end(sem, false);
	/* F: pairs with the acquire of the next holder */
	word = atomic_long_sub_return_release(READER, &sem->word);
	if (!is_held(word)) {
		if (word & (WWAIT | RWAIT))
			compat_trace_contended_release(sem);
		choose_next(sem, &wakes);
		if (!sem->expedited)
			atomic_long_andnot(LENT, &sem->word);
		sync_flags(sem);
	} else if (!sem->watch && !lend_any()) {
		/* nobody waits, and no reader has a loan: they may release by the fast path */
		atomic_long_andnot(LENT, &sem->word);
	}
	unlock_and_wake(sem, irqflags, &wakes);
	preempt_enable();
}

/**
 * __unfair_up_read_counted() - release a semaphore whose word counts the caller
 * @sem: the semaphore, held for reading by the caller, whose slot is already empty
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
		/* the last reader must not be preempted between release and wakeup */
		if (word & LENT || (word & FLAGS && counted_readers(word) == 1)) {
			up_read_locked(sem);
			return;
		}
	} while (!atomic_long_try_cmpxchg_release(&sem->word, &word, word - READER));
	preempt_enable();
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_counted);

/* Releases write ownership: sets the word to @instead, 0 or READER, with the flags. */
static void release_write(struct unfair_rwsem *sem, long instead, const char *caller)
{
	struct wakes wakes = { };
	unsigned long irqflags;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	word = atomic_long_read(&sem->word);
	if (unlikely(!(word & WRITER) || owner_of(word) != current)) {
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		WARN_ONCE(1, "fscommit: %s() of a semaphore that %s[%d] does not hold for writing (flags %#lx)\n",
			  caller, current->comm, task_pid_nr(current), word & FLAGS);
		return;
	}
	if (word & (WWAIT | RWAIT))
		compat_trace_contended_release(sem);
	if (word & LENT)
		wakes.loan = lend_end(sem, false);
	if (instead)
		visible_readers_publish(sem);
	sem->window_used = 0;
	choose_next(sem, &wakes);
	instead |= flags_of(sem);
	/* without LENT, a reader could set BIAS and hide from the section */
	if (sem->expedited)
		instead |= LENT;
	/* G: pairs with the acquire of the next holder; no other task writes the word now */
	atomic_long_set_release(&sem->word, instead);
	unlock_and_wake(sem, irqflags, &wakes);
}

/**
 * __unfair_up_write_slow() - release for writing while a flag is set
 * @sem: the semaphore
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 */
void __unfair_up_write_slow(struct unfair_rwsem *sem)
{
	release_write(sem, 0, "unfair_up_write");
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_write_slow);

/**
 * unfair_downgrade_write() - change from holding for writing to holding for reading
 * @sem: the semaphore; held for writing by the caller
 *
 * No other writer acquires it in between. Other readers acquire it unless a writer waits;
 * overdue readers acquire it even then. If the caller does not hold @sem for writing, the
 * function warns once and does nothing.
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 */
void unfair_downgrade_write(struct unfair_rwsem *sem)
{
	lock_downgrade(&sem->dep_map, _RET_IP_);
	release_write(sem, READER, "unfair_downgrade_write");
}
EXPORT_SYMBOL_FSCOMMIT(unfair_downgrade_write);

/* --- expedited sections --------------------------------------------------- */

/**
 * unfair_rwsem_expedite() - lend to the readers of a semaphore without waiting for it
 * @sem: the semaphore; the caller does not hold it, or holds it for reading
 * @section: storage for the section, until unfair_rwsem_unexpedite() has returned
 *
 * For a commit that may wait for a folio or a mutex that a reader of @sem owns. The section takes
 * effect one to six times lend_period_us later. If the caller is not blocked when it is first due,
 * it takes effect up to twelve times lend_period_us after it began; either is later if the watcher
 * is busy. From then on until unfair_rwsem_unexpedite(), each task that holds @sem for reading and
 * is not on a CPU is lent the caller's level, again each time it is preempted. Not a reader of
 * the caller's cgroup with the same or a better nice value, unless the caller is a real-time task:
 * it competes for the CPU as the caller does. While any task is lent to, the caller is lent its own
 * level, too, so that it can run beside that. A section that ends earlier lends nothing. Sections
 * nest, and any number of tasks may expedite the same semaphore.
 *
 * Context: process context; may sleep. The same task must end the section, before it exits.
 */
void unfair_rwsem_expedite(struct unfair_rwsem *sem, struct unfair_section *section)
{
	might_sleep();
	*section = (struct unfair_section) {
		.sem = sem,
		.task = current,
		.level = lend_own_level(current),
		.real_time = READ_ONCE(current->normal_prio) < MAX_RT_PRIO,
		.since = ktime_get_ns(),
	};
	count_event(sem, EV_EXPEDITED);
	if (section->level)
		expedite_begin(section);
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_expedite);

/* Ends the loan of the section's task. The loans to readers end as leases. */
static void end_active_section(struct unfair_rwsem *sem, struct unfair_section *section)
{
	struct wakes wakes = { };
	unsigned long irqflags;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	expedite_deactivate(section);
	wakes.loan = lend_end(sem, true);
	if (section->watch.sem)
		hand_over_watch(sem, &section->watch);
	sync_flags(sem);
	unlock_and_wake(sem, irqflags, &wakes);
}

/**
 * unfair_rwsem_unexpedite() - end an expedited section
 * @section: of unfair_rwsem_expedite(), by the same task; its semaphore may be freed when this
 *	returns
 *
 * A call for a section that has not begun, and is all zero, or that has ended already, warns once
 * and does nothing.
 *
 * Context: process context; may sleep.
 */
void unfair_rwsem_unexpedite(struct unfair_section *section)
{
	might_sleep();
	if (WARN_ONCE(!section->sem, "fscommit: %s() by %s[%d] of a section that has not begun\n",
		      __func__, current->comm, task_pid_nr(current)))
		return;
	if (section->level && expedite_end(section))
		end_active_section(section->sem, section);
	section->sem = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_unexpedite);

/* --- setup --------------------------------------------------------------- */

/**
 * __unfair_rwsem_init() - initialise a reader-unfair semaphore, for init_unfair_rwsem()
 * @sem: the semaphore; must not be held
 * @name: name of the lockdep class
 * @key: its key
 * @class: caches the number of the class; 0 at first
 *
 * Context: any but NMI.
 */
void __unfair_rwsem_init(struct unfair_rwsem *sem, const char *name, struct lock_class_key *key,
			 u16 *class)
{
	BUILD_BUG_ON(L1_CACHE_BYTES <= FLAGS);
	BUILD_BUG_ON(IS_ENABLED(CONFIG_64BIT) && !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) &&
		     !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) && sizeof(*sem) > 64);

	if (!READ_ONCE(*class)) {
		/* after the class's name; pairs with the address dependency of its readers */
		smp_store_release(class, unfair_stats_class_of(name, key));
	}
	sem->class = READ_ONCE(*class);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	debug_check_no_locks_freed((void *)sem, sizeof(*sem));
	if (sem->class)
		name = unfair_stats_class_name(sem->class);
	lockdep_init_map_wait(&sem->dep_map, name, key, 0, LD_WAIT_SLEEP);
#endif
	/* field by field: faster than memset() */
	atomic_long_set(&sem->word, 0);
	sem->region = hash_ptr(sem, ilog2(UNFAIR_REGIONS));
	raw_spin_lock_init(&sem->wait_lock);
	sem->steals = 0;
	sem->window_due = 0;
	sem->window_used = 0;
	sem->expedited = 0;
	sem->watch = NULL;
	sem->window_seq = 0;
	sem->writers = RB_ROOT_CACHED;
	sem->readers = RB_ROOT;
	sem->window_end = 0;
	sem->reader_bound = UNFAIR_RWSEM_BOUND_DEFAULT;
	sem->lend_off = 0;
	sem->bias_wait = UNFAIR_RWSEM_BIAS_FIRST;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_rwsem_init);

/**
 * __init_unfair_rwsem() - initialise a reader-unfair semaphore of a given class
 * @sem: the semaphore; must not be held
 * @name: name of the lockdep class
 * @key: its key: static, or registered by lockdep_register_key()
 *
 * For wrappers of init_unfair_rwsem(), and for call sites that share a class.
 *
 * Context: any but NMI.
 */
void __init_unfair_rwsem(struct unfair_rwsem *sem, const char *name, struct lock_class_key *key)
{
	u16 class = 0;

	__unfair_rwsem_init(sem, name, key, &class);
}
EXPORT_SYMBOL_FSCOMMIT(__init_unfair_rwsem);

/**
 * unfair_rwsem_set_reader_bound() - set how long a reader waits before a window opens for it
 * @sem: the semaphore; may be in use
 * @us: microseconds, 1 to UNFAIR_RWSEM_BOUND_MAX_US; 0: no bound;
 *	UNFAIR_RWSEM_BOUND_DEFAULT: the module parameter reader_bound_us
 *
 * Without a bound, a stream of writers can starve readers for ever.
 *
 * Context: any but NMI.
 * Return: 0; -EINVAL without a change if @us is out of range.
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

int __init unfair_rwsem_setup(void)
{
	static const struct watcher_calls calls = {
		.look = look_and_apply, .activate = expedite_activate,
	};
	int ret = lend_init();

	if (ret)
		return ret;
	expedite_init();
	ret = watcher_init(&calls);
	if (ret)
		lend_exit();
	return ret;
}

/* No lock is in use. */
void unfair_rwsem_teardown(void)
{
	watcher_exit();
	expedite_exit();
	lend_exit();
}
