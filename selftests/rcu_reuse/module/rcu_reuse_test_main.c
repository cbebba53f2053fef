// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/rcu_reuse_test: see rcu_reuse_test.h.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "rcu_reuse_test_internal.h"
#include "test_device.h"

/* --- objects ------------------------------------------------------------- */

void rrt_free(struct rrt *r, struct object *o)
{
	unsigned long irqflags;

	raw_spin_lock_irqsave(&r->free_lock, irqflags);
	o->next = r->free;
	r->free = o;
	r->nr_free++;
	raw_spin_unlock_irqrestore(&r->free_lock, irqflags);
}

struct object *rrt_fresh(struct rrt *r)
{
	unsigned long irqflags;
	struct object *o;

	raw_spin_lock_irqsave(&r->free_lock, irqflags);
	o = r->free;
	if (o) {
		r->free = o->next;
		r->nr_free--;
	}
	raw_spin_unlock_irqrestore(&r->free_lock, irqflags);
	return o;
}

static unsigned long unlink_cookie(struct rrt *r)
{
	return r->setup.flavour == RRT_SRCU ? get_state_synchronize_srcu(&r->srcu) :
					      get_state_synchronize_rcu();
}

/* What comes out of the queue must have been in, and for a grace period. */
static void check_out(struct rrt *r, struct object *o)
{
	bool passed = r->setup.flavour == RRT_SRCU ?
		poll_state_synchronize_srcu(&r->srcu, o->cookie) :
		poll_state_synchronize_rcu(o->cookie);

	if (!passed)
		atomic64_inc(&r->early);
	if (!o->queued)
		atomic64_inc(&r->foreign);
	o->queued = false;
}

static void busted_enqueue(struct rrt *r, struct object *o)
{
	unsigned long irqflags;

	raw_spin_lock_irqsave(&r->free_lock, irqflags);
	o->next = NULL;
	if (r->nr_busted++)
		r->busted_last->next = o;
	else
		r->busted_first = o;
	r->busted_last = o;
	raw_spin_unlock_irqrestore(&r->free_lock, irqflags);
}

static struct object *busted_dequeue(struct rrt *r)
{
	struct object *o = NULL;
	unsigned long irqflags;

	raw_spin_lock_irqsave(&r->free_lock, irqflags);
	if (r->nr_busted) {
		o = r->busted_first;
		r->busted_first = o->next;
		r->nr_busted--;
	}
	raw_spin_unlock_irqrestore(&r->free_lock, irqflags);
	return o;
}

int rrt_enqueue(struct rrt *r, struct object *o)
{
	int ret = 0;

	o->number = atomic64_inc_return(&r->numbers);
	o->queued = true;
	o->cookie = unlink_cookie(r);
	if (r->setup.flavour == RRT_BUSTED)
		busted_enqueue(r, o);
	else
		ret = rcu_reuse_enqueue(&r->queue, &o->reuse);
	if (ret)
		o->queued = false;
	return ret;
}

struct object *rrt_dequeue(struct rrt *r)
{
	struct rcu_reuse_head *head;
	struct object *o;

	if (r->setup.flavour == RRT_BUSTED) {
		o = busted_dequeue(r);
	} else {
		head = rcu_reuse_dequeue(&r->queue);
		o = head ? container_of(head, struct object, reuse) : NULL;
	}
	if (o)
		check_out(r, o);
	return o;
}

static void release(void *private, struct rcu_reuse_head *head)
{
	struct object *o = container_of(head, struct object, reuse);
	struct rrt *r = private;

	might_sleep();
	check_out(r, o);
	atomic64_inc(&r->released);
	rrt_free(r, o);
}

static const struct rcu_reuse_ops ops = { .release = release }, no_ops = { };

/* --- in any context ------------------------------------------------------ */

struct call {
	struct rrt	*r;
	struct rrt_io	*io;
	u64		last;
	unsigned int	chunk;
	bool		enqueue, end;
};

static void do_one(struct call *c)
{
	struct object *o;
	int ret;

	if (c->enqueue) {
		o = rrt_fresh(c->r);
		ret = o ? rrt_enqueue(c->r, o) : -ENOMEM;
		c->io->done += !ret;
		if (!ret)
			return;
		c->io->error = -ret;
		c->end = true;
		if (o)
			rrt_free(c->r, o);
		return;
	}
	o = rrt_dequeue(c->r);
	if (!o) {
		c->end = c->io->until_none;
		return;
	}
	c->io->done++;
	c->io->disorder += o->number < c->last;
	c->last = o->number;
	rrt_free(c->r, o);
}

static void do_chunk(void *arg)
{
	struct call *c = arg;
	unsigned int i;

	for (i = 0; i < c->chunk && !c->end; i++)
		do_one(c);
}

static int do_in_context(struct call *c)
{
	static DEFINE_RAW_SPINLOCK(raw_lock);
	int ret = 0;

	switch (c->io->context) {
	case RRT_PLAIN:
		do_chunk(c);
		break;
	case RRT_PREEMPT_OFF:
		preempt_disable();
		do_chunk(c);
		preempt_enable();
		break;
	case RRT_IRQS_OFF:
		local_irq_disable();
		do_chunk(c);
		local_irq_enable();
		break;
	case RRT_RAW_LOCK:
		raw_spin_lock_irq(&raw_lock);
		do_chunk(c);
		raw_spin_unlock_irq(&raw_lock);
		break;
	case RRT_IPI:
		ret = smp_call_function_single(c->io->cpu, do_chunk, c, 1);
		break;
	}
	return ret;
}

static int many(struct rrt *r, struct rrt_io *io, bool enqueue)
{
	struct call c = { .r = r, .io = io, .enqueue = enqueue };
	unsigned int left = io->nr;
	int ret = 0;

	if (io->context >= RRT_NR_CONTEXTS || io->cpu >= nr_cpu_ids)
		return -EINVAL;
	io->done = 0;
	io->error = 0;
	io->disorder = 0;
	while (left && !c.end && !ret) {
		c.chunk = min(left, 1000U);
		left -= c.chunk;
		ret = do_in_context(&c);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return ret;
}

/* --- a reader ------------------------------------------------------------ */

static int reader(void *arg)
{
	struct rrt *r = arg;
	int idx = rrt_read_lock(r);

	complete(&r->reader_is_in);
	while (!kthread_should_stop()) {
		if (kthread_should_park()) {
			rrt_read_unlock(r, idx);
			kthread_parkme();
			idx = rrt_read_lock(r);
		}
		if (r->setup.flavour == RRT_SRCU)
			msleep(20);
		else
			rrt_preempt_point();
	}
	rrt_read_unlock(r, idx);
	return 0;
}

/*
 * On the last CPU: where the kernel preempts at certain points only, there are none in a read
 * section of RCU, and nothing else runs there.
 */
static int reader_in(struct rrt *r)
{
	struct task_struct *task;

	if (r->reader)
		return -EBUSY;
	init_completion(&r->reader_is_in);
	task = kthread_create(reader, r, "rrt_reader");
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpumask_last(cpu_online_mask));
	r->reader = task;
	wake_up_process(task);
	wait_for_completion(&r->reader_is_in);
	return 0;
}

/* It stays as a task: one that exits asks for a grace period. Until RRT_READER_OUT. */
static int reader_rests(struct rrt *r)
{
	struct task_struct *task = xchg(&r->reader, NULL);

	if (!task)
		return -ENOENT;
	kthread_park(task);
	WRITE_ONCE(r->reader, task);
	return 0;
}

/* Without the lock: who has it may wait for the reader. */
static int reader_out(struct rrt *r)
{
	struct task_struct *task = xchg(&r->reader, NULL);

	return task ? kthread_stop(task) : -ENOENT;
}

/* --- setup --------------------------------------------------------------- */

static int make_queue(struct rrt *r)
{
	const struct rrt_setup *s = &r->setup;
	struct rcu_reuse_params params = {
		.batch = s->batch, .keep = s->keep, .max = s->max, .max_age_ms = s->max_age_ms,
		.srcu = s->flavour == RRT_SRCU || s->srcu_expedited ? &r->srcu : NULL,
		.expedited = s->flavour == RRT_EXPEDITED || s->srcu_expedited,
	};

	return rcu_reuse_init(&r->queue, "test", s->no_release ? &no_ops : &ops, r, &params);
}

static int set_up(struct rrt *r, const struct rrt_setup *s)
{
	struct object *object;
	unsigned int i;
	int ret;

	if (r->object)
		return -EBUSY;
	if (s->flavour >= RRT_NR_FLAVOURS || !s->objects || s->objects > RRT_MAX_OBJECTS)
		return -EINVAL;
	r->setup = *s;
	ret = init_srcu_struct(&r->srcu);
	if (ret)
		return ret;
	object = kvcalloc(s->objects, sizeof(*object), GFP_KERNEL);
	ret = object ? make_queue(r) : -ENOMEM;
	if (ret) {
		kvfree(object);
		cleanup_srcu_struct(&r->srcu);
		return ret;
	}
	for (i = 0; i < s->objects; i++) {
		rcu_reuse_head_init(&object[i].reuse);
		rrt_free(r, &object[i]);
	}
	r->has_queue = true;
	/* from now on, who finds it is set up */
	smp_store_release(&r->object, object);
	return 0;
}

/* With nobody within an operation: that is up to the driver. */
static void destroy(struct rrt *r)
{
	down_write(&r->life);
	if (r->has_queue)
		rcu_reuse_destroy(&r->queue);
	r->has_queue = false;
	up_write(&r->life);
}

static void get_state(struct rrt *r, struct rrt_state *s)
{
	raw_spin_lock_irq(&r->free_lock);
	s->free = r->nr_free;
	s->queued = r->nr_busted;
	raw_spin_unlock_irq(&r->free_lock);
	if (down_read_trylock(&r->life)) {
		if (r->has_queue && r->setup.flavour != RRT_BUSTED)
			s->queued = rcu_reuse_count(&r->queue);
		up_read(&r->life);
	}
	s->released = atomic64_read(&r->released);
	s->early = atomic64_read(&r->early);
	s->foreign = atomic64_read(&r->foreign);
}

/* Each leaves all as it was, and returns 0 if it was refused as it must be. */
static int misuse(struct rrt *r, u32 which)
{
	struct object *o = rrt_fresh(r);
	int ret = -EINVAL;

	if (!o)
		return -ENOMEM;
	switch (which) {
	case RRT_ENQUEUE_TWICE:
		ret = rrt_enqueue(r, o);
		if (ret)
			break;
		return rcu_reuse_enqueue(&r->queue, &o->reuse) == -EBUSY ? 0 : -EPROTO;
	case RRT_ENQUEUE_AFTER_END:
		destroy(r);
		ret = rrt_enqueue(r, o) == -ESHUTDOWN && !rrt_dequeue(r) ? 0 : -EPROTO;
		break;
	}
	rrt_free(r, o);
	return ret;
}

/* --- the device ---------------------------------------------------------- */

union rrt_args {
	struct rrt_setup setup;
	struct rrt_io io;
	struct rrt_state state;
	struct rrt_torture torture;
	struct rrt_bench bench;
	u32 number;
};

static int with_lock(struct rrt *r, unsigned int cmd, union rrt_args *a)
{
	switch (cmd) {
	case RRT_READER_IN:
		return reader_in(r);
	case RRT_READER_RESTS:
		return reader_rests(r);
	case RRT_DESTROY:
		destroy(r);
		return 0;
	case RRT_TORTURE:
		return rrt_torture(r, &a->torture);
	case RRT_MISUSE:
		return misuse(r, a->number);
	}
	return -ENOTTY;
}

static int on_queue(struct rrt *r, unsigned int cmd, union rrt_args *a)
{
	int ret = 0;

	if (down_read_killable(&r->life))
		return -EINTR;
	if (!r->has_queue)
		ret = -ENXIO;
	else if (cmd == RRT_DRAIN)
		rcu_reuse_drain(&r->queue);
	else
		ret = many(r, &a->io, cmd == RRT_ENQUEUE);
	up_read(&r->life);
	return ret;
}

static int rrt_do(struct rrt *r, unsigned int cmd, union rrt_args *a)
{
	int ret;

	switch (cmd) {
	case RRT_ENQUEUE:
	case RRT_DEQUEUE:
	case RRT_DRAIN:
		return on_queue(r, cmd, a);
	/* while a destroy waits for it */
	case RRT_READER_OUT:
		return reader_out(r);
	case RRT_STATE:
		get_state(r, &a->state);
		return 0;
	}
	if (mutex_lock_killable(&r->lock))
		return -EINTR;
	ret = with_lock(r, cmd, a);
	mutex_unlock(&r->lock);
	return ret;
}

static int rrt_run(void *object, unsigned int cmd, void *args)
{
	union rrt_args *a = args;
	struct rrt *r = object;
	int ret;

	if (cmd == RRT_BENCH)
		return rrt_bench(&a->bench);
	if (cmd != RRT_SETUP) {
		/* pairs with set_up() */
		return smp_load_acquire(&r->object) ? rrt_do(r, cmd, a) : -ENXIO;
	}
	mutex_lock(&r->lock);
	ret = set_up(r, &a->setup);
	mutex_unlock(&r->lock);
	return ret;
}

static int rrt_open(void **object)
{
	struct rrt *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	mutex_init(&r->lock);
	init_rwsem(&r->life);
	raw_spin_lock_init(&r->free_lock);
	*object = r;
	return 0;
}

static void rrt_release(void *object)
{
	struct rrt *r = object;

	if (r->object) {
		reader_out(r);
		destroy(r);
		cleanup_srcu_struct(&r->srcu);
		kvfree(r->object);
	}
	kfree(r);
}

TEST_DEVICE(rcu_reuse_test, rrt_open, rrt_release, rrt_run, union rrt_args);

MODULE_DESCRIPTION("Tests of the RCU reuse queue");
MODULE_LICENSE("GPL");
