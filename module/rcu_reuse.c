// SPDX-License-Identifier: GPL-2.0
/*
 * RCU reuse queue: what goes in and comes out. For what leaves otherwise, the worker, and the
 * beginning and end of a queue, see rcu_reuse_release.c.
 *
 * Each CPU has a list, in segments:
 *
 *  open	what was enqueued since the last look at the number of grace periods
 *  waiting	what that look has given a cookie: the grace period that must have passed.
 *		There are two at the most, since RCU hands out no more than two different
 *		cookies that have not passed: of the grace period that begins next, and,
 *		when one is on its way, of the one after it
 *  ready	what may be used again
 *
 *  enqueue	Append to open. When that is a batch, or the worker or a dequeue that
 *		finds nothing else wants it, close it: take a cookie, and if no segment had
 *		it, ask RCU for that grace period: nobody else need do so, and on an idle
 *		machine nobody does.
 *
 *  dequeue	The first of ready. If there is none, poll the cookies; then look at some
 *		other CPUs, and take some of theirs along. Else NULL.
 *
 *  worker	While there are objects, four times in max_age_ms: polls, closes, releases
 *		those that were ready last time and still are. More often while there are
 *		objects beyond what is to be kept.
 *
 * The lock of a list is raw and taken with interrupts off, so that all of it can be called
 * with either off, on PREEMPT_RT, too; a local_lock could not. It is the CPU's own, and
 * another one tries it only when it has nothing itself. So a list is as good without its
 * CPU, and hotplug needs no callback.
 *
 * How many objects there may be is counted down from q->room. A CPU takes a chunk of it at
 * a time, so it is exact, and the line is not shared for each object. Without room an
 * object is "over": taken all the same, up to params.max, and released as soon as it is
 * ready, or any other one of this CPU in its place.
 */
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/srcu.h>

#include <linux/rcu_reuse.h>

#include "compat.h"
#include "rcu_reuse_lists.h"
#include "trace.h"

#define HAND_OVER	16	/* objects at once */
#define HAND_OVER_CPUS	4	/* that one dequeue looks at */
#define OVER_MS		4	/* between looks at objects that are over */

static struct workqueue_struct *reuse_wq;

struct rcu_reuse_head rcu_reuse_end;

#define misused(q, fmt, ...)							\
do {										\
	atomic_inc(&(q)->misuses);						\
	WARN_ONCE(1, "fscommit: reuse queue %s: " fmt "\n", (q)->name, ##__VA_ARGS__);	\
} while (0)

/* --- grace periods ------------------------------------------------------- */

/* A cookie alone starts nothing. What is asked for later covers it. */
static void start_grace_period(const struct rcu_reuse_queue *q)
{
	if (q->params.srcu)
		start_poll_synchronize_srcu(q->params.srcu);
	else if (q->params.expedited)
		start_poll_synchronize_rcu_expedited();
	else
		start_poll_synchronize_rcu();
}

void reuse_ask_work(struct work_struct *work)
{
	start_grace_period(container_of(work, struct rcu_reuse_queue, start));
}

/*
 * Outside of the list's lock. RCU wants interrupts enabled for this before 6.13, and SRCU
 * takes locks that sleep on PREEMPT_RT: then a worker asks.
 */
void reuse_ask(struct rcu_reuse_queue *q)
{
	if (q->params.srcu || irqs_disabled())
		queue_work(reuse_wq, &q->start);
	else
		start_grace_period(q);
}

/* What waited long enough becomes ready. */
void reuse_poll(const struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	/* B: pairs with A. What readers did came before the grace period has passed */
	while (l->nr_waiting && reuse_passed(q, l->waiting[0].cookie)) {
		trace_rcu_reuse_ready(q->name, l->cpu, l->waiting[0].cookie,
				      l->waiting[0].nr);
		reuse_splice(&l->waiting[0], &l->ready);
		l->nr_waiting--;
		l->waiting[0] = l->waiting[1];
		l->waiting[1].nr = 0;
	}
}

/* Returns true if the caller has to ask for a grace period, when the lock is released. */
bool reuse_close(const struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	struct reuse_segment *to = NULL;
	unsigned long cookie;
	bool ask = true;

	if (!l->open.nr)
		return false;
	/* A: after the last of them was unlinked; a full barrier. Pairs with B */
	cookie = reuse_cookie(q);
	if (l->nr_waiting) {
		to = &l->waiting[l->nr_waiting - 1];
		ask = to->cookie != cookie;
	}
	if (ask && l->nr_waiting < REUSE_WAITING)
		to = &l->waiting[l->nr_waiting++];
	/* with no segment left the last one waits longer: a later cookie is good for all */
	to->cookie = cookie;
	l->counts[REUSE_BATCH]++;
	l->counts[REUSE_START] += ask;
	trace_rcu_reuse_batch(q->name, l->cpu, cookie, l->open.nr, ask);
	reuse_splice(&l->open, to);
	return ask;
}

/* --- room ---------------------------------------------------------------- */

static bool take_room(struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	unsigned int chunk;
	int room;

	if (!l->room) {
		room = atomic_read(&q->room);
		do {
			chunk = min_t(unsigned int, room, q->chunk);
		} while (chunk && !atomic_try_cmpxchg(&q->room, &room, room - chunk));
		l->room = chunk;
	}
	if (l->room) {
		l->room--;
		return true;
	}
	if (!q->params.max)
		atomic_inc(&q->over);
	else if (!atomic_add_unless(&q->over, 1, q->params.max - q->params.keep))
		return false;
	l->over++;
	return true;
}

/* Back to all, but for so much. */
void reuse_trim_room(struct rcu_reuse_queue *q, struct rcu_reuse_list *l, unsigned int left)
{
	if (l->room <= left)
		return;
	atomic_add(l->room - left, &q->room);
	l->room = left;
}

void reuse_give_room(struct rcu_reuse_queue *q, struct rcu_reuse_list *l, unsigned int nr)
{
	unsigned int over = min(nr, l->over);

	if (unlikely(over)) {
		l->over -= over;
		atomic_sub(over, &q->over);
	}
	l->room += nr - over;
	if (l->room > 2 * q->chunk)
		reuse_trim_room(q, l, q->chunk);
}

/* --- when the worker comes ----------------------------------------------- */

unsigned long reuse_jiffies(const struct rcu_reuse_queue *q, int pace)
{
	unsigned int ms = pace == PACE_FAST ? OVER_MS : q->params.max_age_ms / 4;

	return max(msecs_to_jiffies(ms), 1UL);
}

/*
 * The worker is to come. In whatever order two of these end, the higher pace wins: only
 * that one changes the time of a work that is already queued.
 */
void reuse_set_pace(struct rcu_reuse_queue *q, int pace)
{
	int old = READ_ONCE(q->pace);

	do {
		if (old >= pace)
			return;
	} while (!try_cmpxchg(&q->pace, &old, pace));
	if (pace == PACE_FAST)
		mod_delayed_work(reuse_wq, &q->tick, reuse_jiffies(q, pace));
	else
		queue_delayed_work(reuse_wq, &q->tick, reuse_jiffies(q, pace));
}

/*
 * C: under the lock of a list that has got more; pairs with look_after(). Either that finds
 * the objects, or its lock came first, and the pace that it stopped before is seen here.
 */
static int new_pace(const struct rcu_reuse_queue *q, const struct rcu_reuse_list *l)
{
	int pace = reuse_pace(l);

	return pace > READ_ONCE(q->pace) ? pace : PACE_STOPPED;
}

/* --- enqueue and dequeue ------------------------------------------------- */

/**
 * rcu_reuse_enqueue() - an object is free
 * @q: the queue
 * @head: of the object: unlinked, and since then in no queue
 *
 * Context: any but NMI, also with preemption or interrupts off, or a raw spinlock held, on
 * PREEMPT_RT, too; not under locks of the scheduler. Does not sleep.
 * Return: 0, and the object is the queue's. Else it is still the caller's, who has to wait
 * for a grace period some other way: -ENOSPC if the queue is full; with a warning, -EBUSY
 * if the object is in a queue, and -ESHUTDOWN after rcu_reuse_destroy() began.
 */
int rcu_reuse_enqueue(struct rcu_reuse_queue *q, struct rcu_reuse_head *head)
{
	int ret = -ESHUTDOWN, pace = PACE_STOPPED;
	struct rcu_reuse_list *l;
	unsigned long irqflags;
	bool ask = false;

	if (unlikely(cmpxchg(&head->next, NULL, &rcu_reuse_end))) {
		misused(q, "an object is enqueued that is in a queue");
		return -EBUSY;
	}
	/* D: to the last look at the queue: rcu_reuse_destroy() waits for it */
	rcu_read_lock();
	local_irq_save(irqflags);
	if (unlikely(READ_ONCE(q->ending)))
		goto out;
	l = this_cpu_ptr(q->lists);
	raw_spin_lock(&l->lock);
	if (likely(take_room(q, l))) {
		reuse_append(&l->open, head);
		l->nr++;
		l->counts[REUSE_ENQUEUE]++;
		if (l->open.nr >= q->params.batch)
			ask = reuse_close(q, l);
		pace = new_pace(q, l);
		ret = 0;
	} else {
		l->counts[REUSE_REFUSED]++;
		ret = -ENOSPC;
	}
	raw_spin_unlock(&l->lock);
	/* not preempted in between: nobody else queues the work any more */
	if (unlikely(pace))
		reuse_set_pace(q, pace);
out:
	local_irq_restore(irqflags);
	if (unlikely(ret))
		head->next = NULL;
	if (ret == -ESHUTDOWN)
		misused(q, "an object is enqueued after the end began");
	if (unlikely(ask))
		reuse_ask(q);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_enqueue);

/* Under the locks of both, @to is out of ready ones: some of the other CPU's. */
static void move_ready(struct rcu_reuse_list *from, struct rcu_reuse_list *to)
{
	unsigned int nr = min_t(unsigned int, from->ready.nr, HAND_OVER);
	unsigned int aged = min(nr, from->aged), over = min(nr, from->over), i;

	for (i = 0; i < nr; i++)
		reuse_append(&to->ready, reuse_take(from));
	to->nr += nr;
	to->aged = aged;
	from->over -= over;
	to->over += over;
	to->counts[REUSE_HAND_OVER] += nr;
}

/*
 * Some CPUs each time, in turn: the next dequeue goes on with others. One whose lock is
 * taken is passed over. Returns true if somebody has to ask for a grace period.
 */
static bool hand_over(struct rcu_reuse_queue *q, struct rcu_reuse_list *to)
{
	bool ask = false;
	int i;

	for (i = 0; i < HAND_OVER_CPUS && !to->ready.nr; i++) {
		int cpu = cpumask_next(to->last_asked, cpu_possible_mask);
		struct rcu_reuse_list *from;

		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_possible_mask);
		to->last_asked = cpu;
		from = per_cpu_ptr(q->lists, cpu);
		if (from == to || !reuse_nr(from) || !raw_spin_trylock(&from->lock))
			continue;
		reuse_poll(q, from);
		if (from->ready.nr) {
			move_ready(from, to);
			trace_rcu_reuse_hand_over(q->name, from->cpu, to->cpu, to->ready.nr);
		} else if (!from->nr_waiting) {
			ask |= reuse_close(q, from);
		}
		raw_spin_unlock(&from->lock);
	}
	return ask;
}

/**
 * rcu_reuse_dequeue() - an object whose grace period has passed
 * @q: the queue
 *
 * The oldest one of this CPU; or, if it has none, of one of some other CPUs, others each
 * time.
 *
 * Context: as rcu_reuse_enqueue(). Never waits.
 * Return: the object, which is the caller's; NULL if none was found, or after
 * rcu_reuse_destroy() began: to make a new one.
 */
struct rcu_reuse_head *rcu_reuse_dequeue(struct rcu_reuse_queue *q)
{
	bool ask = false, handed_over = false;
	struct rcu_reuse_head *head = NULL;
	struct rcu_reuse_list *l;
	unsigned long irqflags;
	int pace;

	/* D: see rcu_reuse_enqueue() */
	rcu_read_lock();
	local_irq_save(irqflags);
	if (unlikely(READ_ONCE(q->ending)))
		goto out;
	l = this_cpu_ptr(q->lists);
	raw_spin_lock(&l->lock);
	if (!l->ready.nr) {
		reuse_poll(q, l);
		/* a batch that is wanted need not be full, but one is enough */
		if (!l->ready.nr && !l->nr_waiting)
			ask = reuse_close(q, l);
		if (!l->ready.nr) {
			ask |= hand_over(q, l);
			handed_over = l->ready.nr;
		}
	}
	if (l->ready.nr) {
		head = reuse_take(l);
		reuse_give_room(q, l, 1);
		l->counts[REUSE_DEQUEUE]++;
	} else {
		l->counts[REUSE_NONE]++;
	}
	/* the worker may have looked at this list before, and at the other one afterwards */
	pace = handed_over ? new_pace(q, l) : PACE_STOPPED;
	raw_spin_unlock(&l->lock);
	if (unlikely(pace))
		reuse_set_pace(q, pace);
out:
	local_irq_restore(irqflags);
	if (unlikely(ask))
		reuse_ask(q);
	rcu_read_unlock();
	return head;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_dequeue);

/**
 * rcu_reuse_count() - how many objects are in a queue
 * @q: the queue
 *
 * Context: any; looks at each CPU's list, without a lock: exact if nothing else goes on.
 * Return: the number, whatever they wait for.
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

/* --- setup --------------------------------------------------------------- */

int __init init_rcu_reuse(struct dentry *debugfs)
{
	/* is needed to free memory */
	reuse_wq = alloc_workqueue("fscommit_reuse", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!reuse_wq)
		return -ENOMEM;
	init_rcu_reuse_debugfs(debugfs);
	return 0;
}

void exit_rcu_reuse(void)
{
	destroy_workqueue(reuse_wq);
}
