// SPDX-License-Identifier: GPL-2.0
/*
 * RCU reuse queue: what is released, by whom, and the beginning and end of a queue. How it
 * works: rcu_reuse.c.
 */
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/srcu.h>

#include <linux/rcu_reuse.h>

#include "compat.h"
#include "rcu_reuse_lists.h"
#include "trace.h"

#define RELEASE_CHUNK	64	/* objects that are taken out under the lock at once */

/* --- release ------------------------------------------------------------- */

enum rcu_reuse_why { WHY_OVER, WHY_AGE, WHY_SHRINK, WHY_DRAIN };

static unsigned int nr_to_release(const struct rcu_reuse_list *l, enum rcu_reuse_why why,
				  unsigned long limit)
{
	unsigned int nr = l->ready.nr;

	if (why == WHY_OVER)
		nr = min(nr, l->over);
	else if (why == WHY_AGE)
		nr = min(nr, l->aged);
	return min3((unsigned long)nr, limit, (unsigned long)RELEASE_CHUNK);
}

/* Ready ones, the oldest first; returns how many. */
static unsigned long release_some(struct rcu_reuse_queue *q, struct rcu_reuse_list *l,
				  enum rcu_reuse_why why, unsigned long limit)
{
	unsigned long sum = 0;
	unsigned int nr;

	do {
		struct reuse_segment out = { };
		unsigned int i;

		raw_spin_lock_irq(&l->lock);
		reuse_poll(q, l);
		nr = nr_to_release(l, why, limit - sum);
		for (i = 0; i < nr; i++)
			reuse_append(&out, reuse_take(l));
		reuse_give_room(q, l, nr);
		l->counts[REUSE_OVER + why] += nr;
		raw_spin_unlock_irq(&l->lock);
		if (nr)
			trace_rcu_reuse_release(q->name, l->cpu, nr, why);
		sum += nr;
		while (out.nr)
			q->ops->release(q->private, reuse_pop(&out));
		cond_resched();
	} while (nr == RELEASE_CHUNK);
	return sum;
}

/* --- the worker ---------------------------------------------------------- */

/* Returns the pace that this list needs. */
static int look_after(struct rcu_reuse_queue *q, struct rcu_reuse_list *l)
{
	bool ask, due;
	int pace;

	raw_spin_lock_irq(&l->lock);
	reuse_poll(q, l);
	ask = reuse_close(q, l);
	due = time_after_eq(jiffies, l->next_age);
	/*
	 * Once more, for those that wait for long: polling may see one grace period less than
	 * there were, where a normal and an expedited one overlap, and then nobody else asks.
	 */
	if (due && l->nr_waiting && !ask) {
		ask = true;
		l->counts[REUSE_START]++;
	}
	raw_spin_unlock_irq(&l->lock);
	if (ask)
		reuse_ask(q);

	release_some(q, l, WHY_OVER, ULONG_MAX);
	if (due)
		release_some(q, l, WHY_AGE, ULONG_MAX);

	/* C: under the lock, after q->pace was stopped: see rcu_reuse_enqueue() */
	raw_spin_lock_irq(&l->lock);
	if (due) {
		l->aged = l->ready.nr;
		l->next_age = jiffies + reuse_jiffies(q, PACE_SLOW);
	}
	if (!l->nr)
		reuse_trim_room(q, l, 0);
	pace = reuse_pace(l);
	raw_spin_unlock_irq(&l->lock);
	return pace;
}

static void tick_work(struct work_struct *work)
{
	struct rcu_reuse_queue *q = container_of(work, struct rcu_reuse_queue, tick.work);
	int cpu, pace = PACE_STOPPED;

	WRITE_ONCE(q->pace, PACE_STOPPED);
	for_each_possible_cpu(cpu)
		pace = max(pace, look_after(q, per_cpu_ptr(q->lists, cpu)));
	reuse_set_pace(q, pace);
}

/* --- drain --------------------------------------------------------------- */

/* Not once only: see look_after(). */
static void wait_for_cookie(const struct rcu_reuse_queue *q, unsigned long cookie)
{
	while (!reuse_passed(q, cookie)) {
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
 * All that were enqueued before, but for some that other CPUs take over meanwhile. The queue
 * can be used meanwhile and afterwards.
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
	/* none of theirs is later than this one */
	if (waiting)
		wait_for_cookie(q, reuse_cookie(q));
	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		release_some(q, l, WHY_DRAIN, reuse_nr(l));
	}
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_drain);

/* --- shrinker ------------------------------------------------------------ */

/* What is ready. What is not, may be so next time: memory is short. */
static unsigned long count_objects(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct rcu_reuse_queue *q = compat_shrinker_private(shrinker);
	unsigned long sum = 0;
	bool ask = false;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		if (!reuse_nr(l))
			continue;
		raw_spin_lock_irq(&l->lock);
		ask |= reuse_close(q, l);
		reuse_poll(q, l);
		sum += l->ready.nr;
		raw_spin_unlock_irq(&l->lock);
	}
	if (ask)
		reuse_ask(q);
	return sum;
}

static unsigned long scan_objects(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct rcu_reuse_queue *q = compat_shrinker_private(shrinker);
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (sum < sc->nr_to_scan)
			sum += release_some(q, per_cpu_ptr(q->lists, cpu), WHY_SHRINK,
					    sc->nr_to_scan - sum);
	}
	return sum ?: SHRINK_STOP;
}

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

static bool are_wrong(const char *name, const struct rcu_reuse_params *p)
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
 * rcu_reuse_init() - a queue without objects
 * @q: the queue
 * @name: for messages and debugfs; is not copied
 * @ops: what the owner of the objects does
 * @private: for @ops
 * @params: see there; is copied
 *
 * Context: process context; may sleep.
 * Return: 0; -ENOMEM; -EINVAL for a parameter out of range or no
 * &rcu_reuse_ops.release: the log names it.
 */
int rcu_reuse_init(struct rcu_reuse_queue *q, const char *name,
		   const struct rcu_reuse_ops *ops, void *private,
		   const struct rcu_reuse_params *params)
{
	int cpu;

	if (are_wrong(name, params))
		return -EINVAL;
	if (!ops->release) {
		pr_err("fscommit: reuse queue %s: no release()\n", name);
		return -EINVAL;
	}
	*q = (struct rcu_reuse_queue) {
		.params = *params, .ops = ops, .private = private, .name = name,
		/* CPUs may have two chunks in reserve: half of it all */
		.chunk = clamp(params->keep / (4 * num_possible_cpus()), 1U, params->batch),
	};
	q->lists = alloc_percpu(struct rcu_reuse_list);
	if (!q->lists)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		raw_spin_lock_init(&l->lock);
		l->cpu = cpu;
		l->last_asked = cpu;
		l->next_age = jiffies;
	}
	atomic_set(&q->room, params->keep);
	atomic_set(&q->over, 0);
	INIT_DELAYED_WORK(&q->tick, tick_work);
	INIT_WORK(&q->start, reuse_ask_work);
	q->shrinker = compat_shrinker_new(name, count_objects, scan_objects, q);
	if (!q->shrinker) {
		free_percpu(q->lists);
		q->lists = NULL;
		return -ENOMEM;
	}
	list_queue(q);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_init);

/**
 * rcu_reuse_destroy() - release all objects, and end
 * @q: the queue
 *
 * From the moment that it begins, nothing can be enqueued, and nothing is handed out.
 * Afterwards no &rcu_reuse_ops.release is called, nor in progress. Other calls for the queue
 * must have returned before its memory is freed.
 *
 * Context: process context; sleeps, for grace periods.
 */
void rcu_reuse_destroy(struct rcu_reuse_queue *q)
{
	WRITE_ONCE(q->ending, true);
	/* D: whoever has not seen that is done with the lists, whatever the flavour */
	synchronize_rcu();
	unlist_queue(q);
	compat_shrinker_free(q->shrinker);
	cancel_delayed_work_sync(&q->tick);
	cancel_work_sync(&q->start);
	/* what was asked for has ended, so the domain may go, too */
	if (q->params.srcu)
		synchronize_srcu(q->params.srcu);
	rcu_reuse_drain(q);
	WARN_ONCE(rcu_reuse_count(q), "fscommit: reuse queue %s: %lu objects are lost\n",
		  q->name, rcu_reuse_count(q));
	free_percpu(q->lists);
	q->lists = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_destroy);
