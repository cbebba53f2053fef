// SPDX-License-Identifier: GPL-2.0
/*
 * Readers against writers that reuse objects from the queue.
 *
 * Objects are linked into slots. A writer replaces the object of a slot and enqueues the old
 * one. A reader takes the object of a slot, delays, and checks its state, like the pipe count of
 * rcutorture: the object may be unlinked by then, but not in use again. The number of uses, its
 * life, reveals reuse even after the object has been linked again.
 *
 * With stamps, an object stays in its slot. A writer frees it in place and stamps it, and a writer
 * that chooses the same slot later asks whether its next life may begin. Readers ignore an object
 * that is free.
 */
#include <linux/processor.h>	/* before bit_spinlock.h, which may lack it */
#include <linux/bit_spinlock.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "rcu_reuse_test_internal.h"

#define SLOTS		32
#define MAX_THREADS	64

struct torture {
	struct reuse_test	*r;
	bool			stamps;
	struct object __rcu	*slot[SLOTS];
	atomic64_t		reads, unlinked, damaged, reused;
};

static u32 rnd(struct rnd_state *state, u32 below)
{
	return prandom_u32_state(state) % below;
}

static void stay(struct reuse_test *r, struct rnd_state *rnd_state)
{
	u32 us = rnd(rnd_state, 256) ? rnd(rnd_state, 20) : 3000;
	u64 until = ktime_get_ns() + us * 1000ULL;

	if (r->setup.flavour == REUSE_TEST_SRCU && us == 3000)
		msleep(1);
	while (ktime_get_ns() < until)
		reuse_test_preempt_point();
}

/* The pipe count of the object: 0, linked; 1, unlinked or free; 2, reused, which is damage. */
static void read_once(struct torture *t, struct rnd_state *rnd_state)
{
	struct reuse_test *r = t->r;
	int idx = reuse_test_read_lock(r), pipe;
	struct object *o;
	u64 life;

	o = rcu_dereference_check(t->slot[rnd(rnd_state, SLOTS)], true);
	/* pairs with use_in_place(): the life of an object that is in use */
	if (smp_load_acquire(&o->free)) {
		reuse_test_read_unlock(r, idx);
		/* User-Mode Linux is not preempted by interrupts */
		reuse_test_preempt_point();
		return;
	}
	life = READ_ONCE(o->life);
	stay(r, rnd_state);
	pipe = READ_ONCE(o->pipe);
	/* read pipe before life: pipe is 0 again once the next life has begun */
	smp_rmb();
	if (READ_ONCE(o->life) != life)
		pipe = 2;
	reuse_test_read_unlock(r, idx);
	atomic64_inc(&t->reads);
	if (pipe)
		atomic64_inc(pipe == 1 ? &t->unlinked : &t->damaged);
}

static int reader(void *arg)
{
	struct torture *t = arg;
	struct rnd_state rnd_state;

	prandom_seed_state(&rnd_state, get_random_u64());
	while (!kthread_should_stop()) {
		read_once(t, &rnd_state);
		cond_resched();
	}
	return 0;
}

/* For an object that the queue refused. */
static void wait_for_readers(struct reuse_test *r)
{
	if (r->setup.flavour == REUSE_TEST_SRCU)
		synchronize_srcu(&r->srcu);
	else
		synchronize_rcu();
}

static struct object *take_new(struct torture *t)
{
	struct object *o = reuse_test_dequeue(t->r);

	if (o) {
		WRITE_ONCE(o->pipe, 2);
		atomic64_inc(&t->reused);
	} else {
		o = reuse_test_fresh(t->r);
		if (!o)
			return NULL;
	}
	WRITE_ONCE(o->life, o->life + 1);
	return o;
}

static void replace_one(struct torture *t, struct rnd_state *rnd_state)
{
	struct object __rcu **slot = &t->slot[rnd(rnd_state, SLOTS)];
	struct object *o = take_new(t), *old;

	if (!o) {
		schedule_timeout_idle(1);
		return;
	}
	/* write life before pipe: pairs with read_once() */
	smp_wmb();
	WRITE_ONCE(o->pipe, 0);
	old = unrcu_pointer(xchg(slot, RCU_INITIALIZER(o)));
	WRITE_ONCE(old->pipe, 1);
	if (reuse_test_enqueue(t->r, old)) {
		wait_for_readers(t->r);
		reuse_test_free(t->r, old);
	}
}

/* The slot is chosen before its object is known to be reusable. */
static void use_in_place(struct torture *t, struct rnd_state *rnd_state)
{
	struct object *o = rcu_dereference_protected(t->slot[rnd(rnd_state, SLOTS)], true);

	bit_spin_lock(0, &o->busy);
	if (!o->free && rnd(rnd_state, 64)) {
		/* used for a while, so that readers find it */
	} else if (!o->free) {
		WRITE_ONCE(o->pipe, 1);
		WRITE_ONCE(o->free, true);
		reuse_test_stamp(t->r, o);
	} else if (reuse_test_passed(t->r, o)) {
		WRITE_ONCE(o->pipe, 2);
		WRITE_ONCE(o->life, o->life + 1);
		/* write life before pipe: pairs with read_once() */
		smp_wmb();
		WRITE_ONCE(o->pipe, 0);
		/* pairs with read_once() */
		smp_store_release(&o->free, false);
		atomic64_inc(&t->reused);
	}
	bit_spin_unlock(0, &o->busy);
}

static int writer(void *arg)
{
	struct torture *t = arg;
	struct rnd_state rnd_state;

	prandom_seed_state(&rnd_state, get_random_u64());
	while (!kthread_should_stop()) {
		if (t->stamps)
			use_in_place(t, &rnd_state);
		else
			replace_one(t, &rnd_state);
		if (!rnd(&rnd_state, 64))
			usleep_range(10, 500);
		cond_resched();
	}
	return 0;
}

static int run(struct torture *t, const struct reuse_test_torture *args)
{
	struct task_struct **task;
	unsigned int i, nr = 0, all = args->readers + args->writers;
	int ret = 0;

	task = kcalloc(all, sizeof(*task), GFP_KERNEL);
	if (!task)
		return -ENOMEM;
	for (i = 0; i < all; i++) {
		bool reads = i < args->readers;

		task[i] = kthread_run(reads ? reader : writer, t, "reuse_test_%s/%u",
				      reads ? "read" : "write", i);
		if (IS_ERR(task[i])) {
			ret = PTR_ERR(task[i]);
			break;
		}
		nr++;
	}
	if (!ret)
		msleep_interruptible(args->ms);
	for (i = 0; i < nr; i++)
		kthread_stop(task[i]);
	kfree(task);
	return ret;
}

int reuse_test_torture(struct reuse_test *r, struct reuse_test_torture *args)
{
	struct torture *t;
	int i, ret = -ENOMEM;

	if (!args->readers || args->readers > MAX_THREADS || !args->writers ||
	    args->writers > MAX_THREADS || args->ms > 3600000 || !r->has_queue)
		return -EINVAL;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->r = r;
	t->stamps = args->stamps;
	for (i = 0; i < SLOTS; i++) {
		struct object *o = reuse_test_fresh(r);

		if (!o)
			goto out;
		o->pipe = 0;
		o->free = false;
		RCU_INIT_POINTER(t->slot[i], o);
	}
	ret = run(t, args);
	args->reads = atomic64_read(&t->reads);
	args->unlinked = atomic64_read(&t->unlinked);
	args->damaged = atomic64_read(&t->damaged);
	args->reused = atomic64_read(&t->reused);
out:
	/* all readers have ended */
	for (i = 0; i < SLOTS; i++) {
		struct object *o = rcu_dereference_protected(t->slot[i], true);

		if (o)
			reuse_test_free(r, o);
	}
	kfree(t);
	return ret;
}
