// SPDX-License-Identifier: GPL-2.0
/*
 * RCU reuse queue.
 *
 * Each CPU has a list, in segments:
 *
 *  open	enqueued since the last cookie was taken
 *  waiting	has a cookie: the grace period that must pass. There are two at most, since RCU
 *		has no more than two different cookies that have not passed: of the grace
 *		period that begins next and, while one is in progress, of the one after it
 *  ready	may be reused
 *
 *  enqueue	Append to open. Close open when it holds a batch, or when the worker or a
 *		dequeue that finds nothing ready wants it: take a cookie, and if no segment has
 *		it, request that grace period from RCU. On an idle machine no other caller
 *		requests it.
 *
 *  dequeue	Take the first object of ready. If there is none, poll the cookies, then hand
 *		over ready objects from some other CPUs. Else return NULL.
 *
 *  worker	While there are objects, four times in max_age_ms: poll, close, release the
 *		objects that were ready last time and still are. More often while objects are
 *		in excess of the quota. Visits only the lists of CPUs in q->active.
 *
 * The lock of a list is raw and taken with interrupts off, so that callers may have preemption or
 * interrupts off, on PREEMPT_RT, too; a local_lock would not allow that. A dequeue on another CPU
 * only tries it, and only when it has nothing ready. So the objects of an unplugged CPU are still
 * reused, and hotplug needs no callback.
 *
 * q->quota counts down the objects that may still be kept. A CPU takes a chunk of it at a time, so
 * the count is exact and its cache line is not written for each object. An object without quota is
 * in excess: it is accepted up to params.max, and the worker releases it, or another object of this
 * CPU in its place, as soon as one is ready.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

#include <linux/rcu_reuse.h>

#include "internal.h"
#include "trace.h"

#define HAND_OVER	16	/* objects at once */
#define HAND_OVER_CPUS	4	/* for each dequeue */
#define EXCESS_MS	4	/* period of the worker with objects in excess */
#define RELEASE_CHUNK	64	/* objects removed under the lock at once */
#define SHRINK_LISTS	8	/* lists that a call of the shrinker visits */

static struct workqueue_struct *reuse_wq;

enum rcu_reuse_event {
	REUSE_ENQUEUE,
	REUSE_REFUSED,		/* the queue was full */
	REUSE_DEQUEUE,
	REUSE_NONE,		/* dequeues that found nothing ready */
	REUSE_BATCH,		/* batches closed */
	REUSE_START,		/* grace periods requested */
	REUSE_HAND_OVER,	/* objects taken from another CPU */
	REUSE_SCAN,		/* visits of the worker */
	/* objects released, in the order of enum rcu_reuse_why */
	REUSE_EXCESS,
	REUSE_AGE,
	REUSE_SHRINK,
	REUSE_DRAIN,
	NR_REUSE_EVENTS,
};

/* First in, first out. */
struct reuse_segment {
	struct rcu_reuse_head	*first, *last;
	unsigned int		nr;
	unsigned long		cookie;		/* of waiting segments */
};

/* Different cookies that have not passed: two at most. */
#define REUSE_WAITING	2

/* All under @lock, which any CPU may take. */
struct rcu_reuse_list {
	raw_spinlock_t		lock;
	int			cpu;
	unsigned int		nr;		/* of all segments */
	unsigned int		nr_waiting;	/* segments in use */
	struct reuse_segment	open;		/* no cookie yet */
	struct reuse_segment	waiting[REUSE_WAITING];
	struct reuse_segment	ready;
	unsigned int		quota;		/* objects that may be added */
	unsigned int		excess;		/* objects without quota */
	unsigned int		aged;		/* first objects of ready, since the last aging */
	unsigned long		asked_at;	/* jiffies of the last request */
	int			last_asked;	/* CPU of the last hand-over */
	unsigned long		counts[NR_REUSE_EVENTS];
} ____cacheline_aligned_in_smp;

/* Ends each list: a NULL @next means that the object is not queued. */
static struct rcu_reuse_head rcu_reuse_end;

static inline void reuse_append(struct reuse_segment *to, struct rcu_reuse_head *head)
{
	head->next = &rcu_reuse_end;
	if (to->nr++)
		to->last->next = head;
	else
		to->first = head;
	to->last = head;
}

/* The object counts as queued until the caller clears its @next. */
static inline struct rcu_reuse_head *reuse_pop(struct reuse_segment *from)
{
	struct rcu_reuse_head *head = from->first;

	from->first = head->next;
	from->nr--;
	head->next = &rcu_reuse_end;
	return head;
}

static inline void reuse_splice(struct reuse_segment *from, struct reuse_segment *to)
{
	if (!from->nr)
		return;
	if (to->nr)
		to->last->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
	to->nr += from->nr;
	from->nr = 0;
}

/* Remove the first ready object. */
static inline struct rcu_reuse_head *reuse_take(struct rcu_reuse_list *l)
{
	l->nr--;
	if (l->aged)
		l->aged--;
	return reuse_pop(&l->ready);
}

static inline unsigned long reuse_cookie(struct srcu_struct *srcu)
{
	return srcu ? get_state_synchronize_srcu(srcu) : get_state_synchronize_rcu();
}

static inline bool reuse_passed(struct srcu_struct *srcu, unsigned long cookie)
{
	return srcu ? poll_state_synchronize_srcu(srcu, cookie) :
		      poll_state_synchronize_rcu(cookie);
}

/*
 * Lockless: may be stale. Writers hold the lock and use plain accesses. Callers check again under
 * the lock, or want a sum that is stale anyway.
 */
static inline unsigned int reuse_nr(const struct rcu_reuse_list *l)
{
	return data_race(READ_ONCE(l->nr));
}

/* Rates of the worker: a higher rate replaces a lower one. */
enum { RATE_STOPPED, RATE_SLOW, RATE_FAST };

static inline int reuse_rate(const struct rcu_reuse_list *l)
{
	return l->excess ? RATE_FAST : l->nr ? RATE_SLOW : RATE_STOPPED;
}

#define misused(q, fmt, ...)							\
do {										\
	atomic_inc(&(q)->misuses);						\
	WARN_ONCE(1, "fscommit: reuse queue %s: " fmt "\n", (q)->name, ##__VA_ARGS__);	\
} while (0)

/* --- grace periods ------------------------------------------------------- */

/*
 * Request again if a requested grace period has not passed by then: where a normal and an expedited
 * grace period overlap, polling may see one less than there were, and no other request may follow.
 */
#define REQUEST_AGAIN	max(HZ / 10, 1)

/* A cookie alone starts no grace period. A later request covers earlier cookies. */
static void start_grace_period(struct srcu_struct *srcu, bool expedited)
{
	if (srcu)
		start_poll_synchronize_srcu(srcu);
	else if (expedited)
		start_poll_synchronize_rcu_expedited();
	else
		start_poll_synchronize_rcu();
}

static void reuse_ask_work(struct work_struct *work)
{
	struct rcu_reuse_queue *q = container_of(work, struct rcu_reuse_queue, start);

	start_grace_period(q->params.srcu, q->params.expedited);
}

/*
 * Before 6.13 RCU requires enabled interrupts, and SRCU takes locks that sleep on PREEMPT_RT: a
 * work item makes these requests.
 */
static void reuse_request(struct srcu_struct *srcu, bool expedited, struct work_struct *work)
{
	if (srcu || irqs_disabled())
		queue_work(reuse_wq, work);
	else
		start_grace_period(NULL, expedited);
}

/* Outside the list's lock. */
static void reuse_ask(struct rcu_reuse_queue *q)
{
	reuse_request(q->params.srcu, q->params.expedited, &q->start);
}

/* Move the segments whose grace period has passed to ready. */
static void reuse_poll(const struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	/* B: pairs with A. Accesses of readers come before the end of the grace period */
	while (l->nr_waiting && reuse_passed(q->params.srcu, l->waiting[0].cookie)) {
		trace_rcu_reuse_ready(q->name, l->cpu, l->waiting[0].cookie,
				      l->waiting[0].nr);
		reuse_splice(&l->waiting[0], &l->ready);
		l->nr_waiting--;
		l->waiting[0] = l->waiting[1];
		l->waiting[1].nr = 0;
	}
}

/* Returns true if the caller must call reuse_ask() after it has released the lock. */
static bool reuse_close(const struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	struct reuse_segment *to = NULL;
	unsigned long cookie;
	bool ask = true;

	if (!l->open.nr)
		return false;
	/* A: full barrier after the last of these objects was unlinked. Pairs with B */
	cookie = reuse_cookie(q->params.srcu);
	/* else objects that wait for the last segment's cookie would have to wait for this one */
	if (l->nr_waiting == REUSE_WAITING)
		reuse_poll(q, l);
	if (l->nr_waiting) {
		to = &l->waiting[l->nr_waiting - 1];
		ask = to->cookie != cookie;
	}
	if (ask && l->nr_waiting < REUSE_WAITING)
		to = &l->waiting[l->nr_waiting++];
	/* with both segments in use, the last waits longer: a later cookie covers both */
	to->cookie = cookie;
	l->counts[REUSE_BATCH]++;
	if (ask) {
		l->asked_at = jiffies;
		l->counts[REUSE_START]++;
	}
	trace_rcu_reuse_batch(q->name, l->cpu, cookie, l->open.nr, ask);
	reuse_splice(&l->open, to);
	return ask;
}

/* Returns true if the caller must call reuse_ask(), as for reuse_close(). */
static bool reuse_ask_again(struct rcu_reuse_list *l)
{
	if (!l->nr_waiting || jiffies - l->asked_at < REQUEST_AGAIN)
		return false;
	l->asked_at = jiffies;
	l->counts[REUSE_START]++;
	return true;
}

/* --- stamps -------------------------------------------------------------- */

/*
 * Publish the cookie after the request: a CPU that reads it need not request it. Two CPUs may
 * both request it, and RCU starts one grace period.
 */
static void clock_request(struct rcu_reuse_clock *clock, unsigned long cookie)
{
	reuse_request(clock->srcu, false, &clock->work);
	WRITE_ONCE(clock->requested_at, jiffies);
	WRITE_ONCE(clock->requested, cookie);
	/* may miss one of two at once */
	data_race(clock->requests++);
}

static void clock_work(struct work_struct *work)
{
	start_grace_period(container_of(work, struct rcu_reuse_clock, work)->srcu, false);
}

/**
 * rcu_reuse_clock_init() - initialise a clock
 * @clock: the clock, which requests grace periods for the stamps of many objects
 * @srcu: the domain of the readers, which must outlive the clock; NULL: they use RCU
 *
 * Context: any. Cannot fail.
 */
void rcu_reuse_clock_init(struct rcu_reuse_clock *clock, struct srcu_struct *srcu)
{
	*clock = (struct rcu_reuse_clock) { .srcu = srcu, .requested = RCU_REUSE_NO_COOKIE };
	INIT_WORK(&clock->work, clock_work);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_clock_init);

/**
 * rcu_reuse_clock_destroy() - end the use of a clock
 * @clock: the clock
 *
 * All calls of rcu_reuse_stamp() and rcu_reuse_passed() with @clock must have returned. Stamps need
 * no cleanup. With SRCU, the caller may free the domain afterwards.
 *
 * Context: process context; sleeps, with SRCU for a grace period.
 */
void rcu_reuse_clock_destroy(struct rcu_reuse_clock *clock)
{
	cancel_work_sync(&clock->work);
	/* requested grace periods have ended */
	if (clock->srcu)
		synchronize_srcu(clock->srcu);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_clock_destroy);

/**
 * rcu_reuse_stamp() - note that an object was freed
 * @clock: the clock of this kind of object
 * @stamp: the stamp of the object
 *
 * Call this after the last change that new readers must see to ignore the object, for example
 * after a flag was set or a name was removed. The caller orders this call before
 * rcu_reuse_passed() of the same object, usually by the object's own lock. A later stamp replaces
 * an earlier one.
 *
 * The grace period that the object must wait for is requested, too: once for all objects that wait
 * for it. That request takes a raw spinlock of RCU and may wake its kthread; all other calls take
 * no lock. With SRCU, or with interrupts off, a worker makes the request. Grace periods chosen
 * for inodes that XFS may reuse were proposed in 2021 and 2022 (Dave Chinner, Brian Foster).
 *
 * Context: any but NMI, also with preemption or interrupts off or a raw spinlock held, on
 * PREEMPT_RT, too; not under locks of the scheduler. Does not sleep. Cannot fail.
 */
void rcu_reuse_stamp(struct rcu_reuse_clock *clock, struct rcu_reuse_cookie *stamp)
{
	/* A: full barrier after the object was freed. Pairs with B */
	unsigned long cookie = reuse_cookie(clock->srcu);

	WRITE_ONCE(stamp->cookie, cookie);
	if (unlikely(READ_ONCE(clock->requested) != cookie))
		clock_request(clock, cookie);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_stamp);

/**
 * rcu_reuse_passed() - whether an object may be reused
 * @clock: the clock that was used for the stamp
 * @stamp: the stamp of the object
 *
 * If this returns true, all accesses, in RCU read-side critical sections, of readers that found
 * the object before its stamp happen before what the caller does next. It remains true until the
 * next rcu_reuse_stamp(). On 32-bit machines, SRCU of older kernels answers false for a stamp that
 * is 2^29 grace periods old, until the object is stamped again.
 *
 * Context: as rcu_reuse_stamp(). Does not sleep, and waits for no grace period. Takes no lock,
 * unless the grace period is still missing 100 ms after its request: then it is requested again.
 * Return: true if the whole grace period has passed, or if the object was never stamped.
 */
bool rcu_reuse_passed(struct rcu_reuse_clock *clock, const struct rcu_reuse_cookie *stamp)
{
	unsigned long cookie = READ_ONCE(stamp->cookie);

	/* B: pairs with A. Accesses of readers come before the end of the grace period */
	if (cookie == RCU_REUSE_NO_COOKIE || reuse_passed(clock->srcu, cookie))
		return true;
	/* unsigned: a request of any age is old */
	if (unlikely(jiffies - READ_ONCE(clock->requested_at) >= REQUEST_AGAIN))
		clock_request(clock, cookie);
	return false;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_passed);

/* --- quota ---------------------------------------------------------------- */

static bool take_quota(struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	unsigned int chunk;
	int quota;

	if (!l->quota) {
		quota = atomic_read(&q->quota);
		do {
			chunk = min_t(unsigned int, quota, q->chunk);
		} while (chunk && !atomic_try_cmpxchg(&q->quota, &quota, quota - chunk));
		l->quota = chunk;
	}
	if (l->quota) {
		l->quota--;
		return true;
	}
	if (!q->params.max)
		atomic_inc(&q->excess);
	else if (!atomic_add_unless(&q->excess, 1, q->params.max - q->params.keep))
		return false;
	l->excess++;
	return true;
}

/* Return all but @left to the shared quota. */
static void reuse_trim_quota(struct rcu_reuse_queue *q, struct rcu_reuse_list *l,
			     unsigned int left)
{
	if (l->quota <= left)
		return;
	atomic_add(l->quota - left, &q->quota);
	l->quota = left;
}

static void reuse_return_quota(struct rcu_reuse_queue *q, struct rcu_reuse_list *l,
			       unsigned int nr)
{
	unsigned int excess = min(nr, l->excess);

	if (unlikely(excess)) {
		l->excess -= excess;
		atomic_sub(excess, &q->excess);
	}
	l->quota += nr - excess;
	if (l->quota > 2 * q->chunk)
		reuse_trim_quota(q, l, q->chunk);
}

/* --- the worker's rate --------------------------------------------------- */

static unsigned long reuse_jiffies(const struct rcu_reuse_queue *q, int rate)
{
	unsigned int ms = rate == RATE_FAST ? EXCESS_MS : q->params.max_age_ms / 4;

	return max(msecs_to_jiffies(ms), 1UL);
}

/* Jiffies until objects age; 0: now. */
static unsigned long until_aging(const struct rcu_reuse_queue *q)
{
	unsigned long left = READ_ONCE(q->next_aging) - jiffies;

	/* unsigned: any other time is past */
	return left <= reuse_jiffies(q, RATE_SLOW) ? left : 0;
}

/*
 * Schedule the worker. Of two concurrent calls the higher rate wins, in any order: only
 * RATE_FAST changes the timer of a work that is already queued.
 */
static void reuse_set_rate(struct rcu_reuse_queue *q, int rate)
{
	int old = READ_ONCE(q->rate);

	do {
		if (old >= rate)
			return;
	} while (!try_cmpxchg(&q->rate, &old, rate));
	if (rate == RATE_FAST)
		mod_delayed_work(reuse_wq, &q->tick, reuse_jiffies(q, rate));
	else
		queue_delayed_work(reuse_wq, &q->tick, until_aging(q) ?: reuse_jiffies(q, rate));
}

/*
 * C: under the lock of a list that has grown; pairs with scan_list(). Either the worker finds the
 * objects, or it held the lock first: then we see the RATE_STOPPED that it set before.
 */
static int new_rate(const struct rcu_reuse_queue *q, const struct rcu_reuse_list *l)
{
	int rate = reuse_rate(l);

	return rate > READ_ONCE(q->rate) ? rate : RATE_STOPPED;
}

/*
 * Under the lock of a list that has grown, before new_rate(). The worker clears the bit under the
 * lock of an empty list, so the shared mask is written once for many objects.
 */
static void reuse_set_active(struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	/* E: full barrier. The worker sees the bit, or new_rate() sees RATE_STOPPED */
	if (unlikely(!cpumask_test_cpu(l->cpu, q->active)))
		cpumask_test_and_set_cpu(l->cpu, q->active);
}

/* --- enqueue and dequeue ------------------------------------------------- */

/**
 * rcu_reuse_enqueue() - free an object into a queue
 * @q: the queue
 * @head: head of the object, which is unlinked and in no queue
 *
 * Context: any but NMI, also with preemption or interrupts off or a raw spinlock held, on
 * PREEMPT_RT, too; not under locks of the scheduler. Does not sleep.
 * Return: 0, and the object is the queue's. -ENOSPC if the queue is full, or -ESHUTDOWN, with a
 * warning, after rcu_reuse_destroy() began: the object stays the caller's, who waits for a grace
 * period another way. -EBUSY, with a warning, if the object is already queued: do not free it.
 */
int rcu_reuse_enqueue(struct rcu_reuse_queue *q, struct rcu_reuse_head *head)
{
	int ret = -ESHUTDOWN, rate = RATE_STOPPED;
	struct rcu_reuse_list *l;
	unsigned long irqflags;
	bool ask = false;

	if (unlikely(cmpxchg(&head->next, NULL, &rcu_reuse_end))) {
		misused(q, "the object is already in a queue");
		return -EBUSY;
	}
	/* D: until the last access to @q: rcu_reuse_destroy() waits for it */
	rcu_read_lock();
	local_irq_save(irqflags);
	if (unlikely(READ_ONCE(q->ending)))
		goto out;
	l = this_cpu_ptr(q->lists);
	raw_spin_lock(&l->lock);
	if (likely(take_quota(q, l))) {
		reuse_append(&l->open, head);
		l->nr++;
		reuse_set_active(q, l);
		l->counts[REUSE_ENQUEUE]++;
		if (l->open.nr >= q->params.batch)
			ask = reuse_close(q, l);
		rate = new_rate(q, l);
		ret = 0;
	} else {
		l->counts[REUSE_REFUSED]++;
		ret = -ENOSPC;
	}
	raw_spin_unlock(&l->lock);
	/* interrupts stay off: once q->rate is set, only this CPU queues the work */
	if (unlikely(rate))
		reuse_set_rate(q, rate);
out:
	local_irq_restore(irqflags);
	if (unlikely(ret))
		head->next = NULL;
	if (ret == -ESHUTDOWN)
		misused(q, "an object is enqueued after rcu_reuse_destroy() began");
	if (unlikely(ask))
		reuse_ask(q);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_enqueue);

/* Under both locks; @to has no ready objects. */
static void move_ready(struct rcu_reuse_list *from, struct rcu_reuse_list *to)
{
	unsigned int nr = min_t(unsigned int, from->ready.nr, HAND_OVER);
	unsigned int aged = min(nr, from->aged), excess = min(nr, from->excess), i;

	for (i = 0; i < nr; i++)
		reuse_append(&to->ready, reuse_take(from));
	to->nr += nr;
	to->aged = aged;
	from->excess -= excess;
	to->excess += excess;
	to->counts[REUSE_HAND_OVER] += nr;
}

/*
 * Try some CPUs; the next call continues with others. CPUs whose lock is held are skipped.
 * Returns true if the caller must call reuse_ask().
 */
static bool hand_over(struct rcu_reuse_queue *q, struct rcu_reuse_list *to)
{
	bool ask = false;
	int i;

	for (i = 0; i < HAND_OVER_CPUS && !to->ready.nr; i++) {
		int cpu = cpumask_next(to->last_asked, q->active);
		struct rcu_reuse_list *from;

		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(q->active);
		if (cpu >= nr_cpu_ids)
			break;
		to->last_asked = cpu;
		from = per_cpu_ptr(q->lists, cpu);
		if (from == to || !reuse_nr(from) || !raw_spin_trylock(&from->lock))
			continue;
		reuse_poll(q, from);
		if (from->ready.nr) {
			move_ready(from, to);
			reuse_set_active(q, to);
			trace_rcu_reuse_hand_over(q->name, from->cpu, to->cpu, to->ready.nr);
		} else if (!from->nr_waiting) {
			ask |= reuse_close(q, from);
		}
		raw_spin_unlock(&from->lock);
	}
	return ask;
}

/**
 * rcu_reuse_dequeue() - take an object whose grace period has passed
 * @q: the queue
 *
 * Takes the oldest object of this CPU. If it has none ready, tries up to four other CPUs,
 * different ones each time.
 *
 * Context: as rcu_reuse_enqueue(). Does not sleep, and waits for no grace period.
 * Return: the object, which is the caller's; NULL if none was found, or after
 * rcu_reuse_destroy() began: the caller allocates a new one.
 */
struct rcu_reuse_head *rcu_reuse_dequeue(struct rcu_reuse_queue *q)
{
	bool ask = false, handed_over = false;
	struct rcu_reuse_head *head = NULL;
	struct rcu_reuse_list *l;
	unsigned long irqflags;
	int rate;

	/* D: see rcu_reuse_enqueue() */
	rcu_read_lock();
	local_irq_save(irqflags);
	if (unlikely(READ_ONCE(q->ending)))
		goto out;
	l = this_cpu_ptr(q->lists);
	raw_spin_lock(&l->lock);
	if (!l->ready.nr) {
		reuse_poll(q, l);
		/* close a batch that is not full only if no other one waits */
		if (!l->ready.nr)
			ask = l->nr_waiting ? reuse_ask_again(l) : reuse_close(q, l);
		if (!l->ready.nr) {
			ask |= hand_over(q, l);
			handed_over = l->ready.nr;
		}
	}
	if (l->ready.nr) {
		head = reuse_take(l);
		head->next = NULL;
		reuse_return_quota(q, l, 1);
		l->counts[REUSE_DEQUEUE]++;
	} else {
		l->counts[REUSE_NONE]++;
	}
	/* the worker may have scanned this list before, and the other list after the move */
	rate = handed_over ? new_rate(q, l) : RATE_STOPPED;
	raw_spin_unlock(&l->lock);
	if (unlikely(rate))
		reuse_set_rate(q, rate);
out:
	local_irq_restore(irqflags);
	if (unlikely(ask))
		reuse_ask(q);
	rcu_read_unlock();
	return head;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_dequeue);

/**
 * rcu_reuse_count() - number of objects in a queue
 * @q: the queue
 *
 * Context: any. Reads each CPU's list without a lock: exact if no other call runs.
 * Return: the number of objects, ready or not.
 */
unsigned long rcu_reuse_count(const struct rcu_reuse_queue *q)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += reuse_nr(per_cpu_ptr(q->lists, cpu));
	return sum;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_count);

/* --- release ------------------------------------------------------------- */

enum rcu_reuse_why { WHY_EXCESS, WHY_AGE, WHY_SHRINK, WHY_DRAIN };

static unsigned int nr_to_release(const struct rcu_reuse_list *l, enum rcu_reuse_why why,
				  unsigned long limit)
{
	unsigned int nr = l->ready.nr;

	if (why == WHY_EXCESS)
		nr = min(nr, l->excess);
	else if (why == WHY_AGE)
		nr = min(nr, l->aged);
	return min3((unsigned long)nr, limit, (unsigned long)RELEASE_CHUNK);
}

/*
 * Release up to @limit ready objects, the oldest first. Returns their number. With memory short,
 * close the open batch, so that more are ready next time.
 */
static unsigned long release_ready(struct rcu_reuse_queue *q, struct rcu_reuse_list *l,
				   enum rcu_reuse_why why, unsigned long limit)
{
	unsigned long sum = 0;
	bool ask = false;
	unsigned int nr;

	do {
		struct reuse_segment out = { };
		unsigned int i;

		raw_spin_lock_irq(&l->lock);
		reuse_poll(q, l);
		if (why == WHY_SHRINK)
			ask |= reuse_close(q, l);
		nr = nr_to_release(l, why, limit - sum);
		for (i = 0; i < nr; i++)
			reuse_append(&out, reuse_take(l));
		reuse_return_quota(q, l, nr);
		l->counts[REUSE_EXCESS + why] += nr;
		raw_spin_unlock_irq(&l->lock);
		if (nr)
			trace_rcu_reuse_release(q->name, l->cpu, nr, why);
		sum += nr;
		while (out.nr) {
			struct rcu_reuse_head *head = reuse_pop(&out);

			head->next = NULL;
			q->ops->release(q->private, head);
		}
		cond_resched();
	} while (nr == RELEASE_CHUNK);
	if (ask)
		reuse_ask(q);
	return sum;
}

/* --- the worker ---------------------------------------------------------- */

/*
 * C: under the lock, after q->rate was set to RATE_STOPPED. Pairs with new_rate(). Returns the rate
 * of the worker that this list needs.
 */
static int scan_end(struct rcu_reuse_queue *q, struct rcu_reuse_list *l, bool due)
{
	if (due)
		l->aged = l->ready.nr;
	if (!l->nr) {
		reuse_trim_quota(q, l, 0);
		cpumask_clear_cpu(l->cpu, q->active);
	}
	return reuse_rate(l);
}

/* One lock for a list with nothing to release. @due: objects age */
static int scan_list(struct rcu_reuse_queue *q, struct rcu_reuse_list *l, bool due)
{
	bool ask, release;
	int rate = RATE_STOPPED;

	raw_spin_lock_irq(&l->lock);
	l->counts[REUSE_SCAN]++;
	reuse_poll(q, l);
	ask = reuse_close(q, l) || reuse_ask_again(l);
	release = l->ready.nr && (l->excess || (due && l->aged));
	if (!release)
		rate = scan_end(q, l, due);
	raw_spin_unlock_irq(&l->lock);
	if (ask)
		reuse_ask(q);
	if (!release)
		return rate;

	/* no more than there are now: this worker also serves the other CPUs */
	release_ready(q, l, WHY_EXCESS, reuse_nr(l));
	if (due)
		release_ready(q, l, WHY_AGE, ULONG_MAX);
	raw_spin_lock_irq(&l->lock);
	rate = scan_end(q, l, due);
	raw_spin_unlock_irq(&l->lock);
	return rate;
}

static void tick_work(struct work_struct *work)
{
	struct rcu_reuse_queue *q = container_of(work, struct rcu_reuse_queue, tick.work);
	int cpu, rate = RATE_STOPPED;
	bool due = !until_aging(q);

	if (due)
		WRITE_ONCE(q->next_aging, jiffies + reuse_jiffies(q, RATE_SLOW));
	/* E: full barrier before the mask is read. Pairs with reuse_set_active() */
	xchg(&q->rate, RATE_STOPPED);
	WRITE_ONCE(q->ticks, q->ticks + 1);
	for_each_cpu(cpu, q->active)
		rate = max(rate, scan_list(q, per_cpu_ptr(q->lists, cpu), due));
	reuse_set_rate(q, rate);
}

/* --- drain --------------------------------------------------------------- */

/* One grace period may not be enough: see REQUEST_AGAIN. */
static void wait_for_cookie(const struct rcu_reuse_queue *q, unsigned long cookie)
{
	while (!reuse_passed(q->params.srcu, cookie)) {
		if (q->params.srcu)
			synchronize_srcu(q->params.srcu);
		else if (q->params.expedited)
			synchronize_rcu_expedited();
		else
			synchronize_rcu();
	}
}

/**
 * rcu_reuse_drain() - release all objects
 * @q: the queue
 *
 * Releases all objects that were enqueued before the call, except objects that move to another
 * CPU meanwhile. The worker or reclaim may still be in &rcu_reuse_ops.release of some of them when
 * this returns: only rcu_reuse_destroy() waits for that. The queue may be used during the call and
 * afterwards.
 *
 * Context: process context; sleeps, for a grace period if an object waits for one.
 */
void rcu_reuse_drain(struct rcu_reuse_queue *q)
{
	bool waiting = false;
	int cpu;

	might_sleep();
	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		raw_spin_lock_irq(&l->lock);
		reuse_close(q, l);
		reuse_poll(q, l);
		waiting |= l->nr_waiting;
		raw_spin_unlock_irq(&l->lock);
	}
	/* no cookie of these segments is later than this one */
	if (waiting)
		wait_for_cookie(q, reuse_cookie(q->params.srcu));
	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		release_ready(q, l, WHY_DRAIN, reuse_nr(l));
	}
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_drain);

/* --- shrinker ------------------------------------------------------------ */

/*
 * Reclaim calls this on all CPUs at once: no lock, no poll, no grace period. It counts waiting
 * objects, too: scan_objects() finds out which are ready.
 */
static unsigned long count_objects(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct rcu_reuse_queue *q = compat_shrinker_private(shrinker);
	unsigned long sum = 0;
	int cpu;

	for_each_cpu(cpu, q->active)
		sum += reuse_nr(per_cpu_ptr(q->lists, cpu));
	return sum;
}

/* Continue where the last call stopped, so that calls on many CPUs visit different lists. */
static unsigned long scan_objects(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct rcu_reuse_queue *q = compat_shrinker_private(shrinker);
	int cpu, visits = 0, start = READ_ONCE(q->shrunk) + 1;
	unsigned long sum = 0;

	for_each_cpu_wrap(cpu, q->active, start < nr_cpu_ids ? start : 0) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		if (!reuse_nr(l))
			continue;
		WRITE_ONCE(q->shrunk, cpu);
		sum += release_ready(q, l, WHY_SHRINK, sc->nr_to_scan - sum);
		/* the next call visits other lists */
		if (sum >= sc->nr_to_scan || ++visits == SHRINK_LISTS)
			return sum;
	}
	return sum ?: SHRINK_STOP;
}

/* --- debugfs ------------------------------------------------------------- */

static const char * const event_names[NR_REUSE_EVENTS] = {
	[REUSE_ENQUEUE] = "enqueued",
	[REUSE_REFUSED] = "refused",
	[REUSE_DEQUEUE] = "dequeued",
	[REUSE_NONE] = "none_ready",
	[REUSE_BATCH] = "batches",
	[REUSE_START] = "grace_periods",
	[REUSE_HAND_OVER] = "handed_over",
	[REUSE_SCAN] = "scanned",
	[REUSE_EXCESS] = "released_excess",
	[REUSE_AGE] = "released_age",
	[REUSE_SHRINK] = "released_shrink",
	[REUSE_DRAIN] = "released_drain",
};

static DEFINE_MUTEX(queues_mutex);
static LIST_HEAD(queues);

static void list_queue(struct rcu_reuse_queue *q)
{
	mutex_lock(&queues_mutex);
	list_add_tail(&q->node, &queues);
	mutex_unlock(&queues_mutex);
}

static void unlist_queue(struct rcu_reuse_queue *q)
{
	mutex_lock(&queues_mutex);
	list_del(&q->node);
	mutex_unlock(&queues_mutex);
}

static void show_queue(struct seq_file *m, struct rcu_reuse_queue *q)
{
	unsigned long counts[NR_REUSE_EVENTS] = { }, nr = 0, ready = 0, open = 0;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		raw_spin_lock_irq(&l->lock);
		nr += l->nr;
		ready += l->ready.nr;
		open += l->open.nr;
		for (i = 0; i < NR_REUSE_EVENTS; i++)
			counts[i] += l->counts[i];
		raw_spin_unlock_irq(&l->lock);
	}
	seq_printf(m, "%s objects=%lu ready=%lu waiting=%lu open=%lu excess=%d batch=%u keep=%u max=%u max_age_ms=%u%s\n",
		   q->name, nr, ready, nr - ready - open, open, atomic_read(&q->excess),
		   q->params.batch, q->params.keep, q->params.max, q->params.max_age_ms,
		   q->params.srcu ? " srcu" : q->params.expedited ? " expedited" : "");
	for (i = 0; i < NR_REUSE_EVENTS; i++)
		seq_printf(m, "  %s %lu\n", event_names[i], counts[i]);
	/* after the lists: the worker counts a run before its visits */
	seq_printf(m, "  ticks %lu\n", READ_ONCE(q->ticks));
	seq_printf(m, "  misuses %d\n", atomic_read(&q->misuses));
}

static int rcu_reuse_show(struct seq_file *m, void *unused)
{
	struct rcu_reuse_queue *q;

	mutex_lock(&queues_mutex);
	list_for_each_entry(q, &queues, node)
		show_queue(m, q);
	mutex_unlock(&queues_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rcu_reuse);

/* --- init and destroy ---------------------------------------------------- */

#define OUT_OF_RANGE(name, p, field, lo, hi)						\
({											\
	bool _out = (p)->field < (lo) || (p)->field > (hi);				\
											\
	if (_out)									\
		pr_err("fscommit: reuse queue %s: " #field "=%u: must be from %u to %u\n",	\
		       name, (p)->field, lo, hi);					\
	_out;										\
})

static bool params_invalid(const char *name, const struct rcu_reuse_params *p)
{
	if (OUT_OF_RANGE(name, p, batch, 1U, RCU_REUSE_MAX_BATCH) ||
	    OUT_OF_RANGE(name, p, keep, 1U, RCU_REUSE_MAX_OBJECTS) ||
	    OUT_OF_RANGE(name, p, max_age_ms, RCU_REUSE_MIN_AGE_MS, RCU_REUSE_MAX_AGE_MS))
		return true;
	if (p->max && OUT_OF_RANGE(name, p, max, p->keep, RCU_REUSE_MAX_OBJECTS))
		return true;
	if (p->srcu && p->expedited) {
		pr_err("fscommit: reuse queue %s: expedited is for RCU, not for SRCU\n", name);
		return true;
	}
	return false;
}

/**
 * rcu_reuse_init() - initialise an empty queue
 * @q: the queue
 * @name: for messages and debugfs; not copied
 * @ops: operations of the owner of the objects
 * @private: for @ops
 * @params: see &struct rcu_reuse_params; copied
 *
 * Context: process context; may sleep.
 * Return: 0; -ENOMEM; -EINVAL for a parameter out of range or a missing &rcu_reuse_ops.release,
 * which the log names.
 */
int rcu_reuse_init(struct rcu_reuse_queue *q, const char *name,
		   const struct rcu_reuse_ops *ops, void *private,
		   const struct rcu_reuse_params *params)
{
	int cpu;

	if (params_invalid(name, params))
		return -EINVAL;
	if (!ops->release) {
		pr_err("fscommit: reuse queue %s: no release()\n", name);
		return -EINVAL;
	}
	*q = (struct rcu_reuse_queue) {
		.params = *params, .ops = ops, .private = private, .name = name,
		/* a CPU reserves up to two chunks: half of keep for all CPUs */
		.chunk = clamp(params->keep / (4 * num_possible_cpus()), 1U, params->batch),
	};
	q->active = kzalloc(cpumask_size(), GFP_KERNEL);
	if (!q->active)
		return -ENOMEM;
	q->lists = alloc_percpu(struct rcu_reuse_list);
	if (!q->lists)
		goto out_mask;
	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		raw_spin_lock_init(&l->lock);
		l->cpu = cpu;
		l->last_asked = cpu;
	}
	atomic_set(&q->quota, params->keep);
	atomic_set(&q->excess, 0);
	INIT_DELAYED_WORK(&q->tick, tick_work);
	INIT_WORK(&q->start, reuse_ask_work);
	q->shrinker = compat_shrinker_new(name, count_objects, scan_objects, q);
	if (!q->shrinker)
		goto out_lists;
	list_queue(q);
	return 0;

out_lists:
	free_percpu(q->lists);
	q->lists = NULL;
out_mask:
	kfree(q->active);
	return -ENOMEM;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_init);

/**
 * rcu_reuse_destroy() - release all objects and destroy a queue
 * @q: the queue
 *
 * From the start of this call, rcu_reuse_enqueue() and rcu_reuse_dequeue() fail. When it returns,
 * no &rcu_reuse_ops.release runs any more. The caller frees @q only after all other calls for
 * it have returned. Drains and counts must have returned before this call.
 *
 * Context: process context; sleeps, for grace periods.
 */
void rcu_reuse_destroy(struct rcu_reuse_queue *q)
{
	WRITE_ONCE(q->ending, true);
	/* D: callers that did not see @ending no longer use the lists, whatever the flavour */
	synchronize_rcu();
	unlist_queue(q);
	compat_shrinker_free(q->shrinker);
	cancel_delayed_work_sync(&q->tick);
	cancel_work_sync(&q->start);
	/* requested grace periods have ended: the caller may free the domain */
	if (q->params.srcu)
		synchronize_srcu(q->params.srcu);
	rcu_reuse_drain(q);
	WARN_ONCE(rcu_reuse_count(q), "fscommit: reuse queue %s: %lu objects are lost\n",
		  q->name, rcu_reuse_count(q));
	free_percpu(q->lists);
	q->lists = NULL;
	kfree(q->active);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_destroy);

/* --- setup --------------------------------------------------------------- */

int __init rcu_reuse_setup(struct dentry *debugfs)
{
	/* reclaim may depend on it */
	reuse_wq = alloc_workqueue("fscommit_reuse", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!reuse_wq)
		return -ENOMEM;
	debugfs_create_file("rcu_reuse", 0400, debugfs, NULL, &rcu_reuse_fops);
	return 0;
}

void rcu_reuse_teardown(void)
{
	destroy_workqueue(reuse_wq);
}
