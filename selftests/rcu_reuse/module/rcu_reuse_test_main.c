// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/rcu_reuse_test: see rcu_reuse_test.h.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/shrinker.h>
#include <linux/smp.h>

#include "rcu_reuse_test_internal.h"
#include "test_device.h"

/* --- objects ------------------------------------------------------------- */

void reuse_test_free(struct reuse_test *r, struct object *o)
{
	unsigned long irqflags;

	raw_spin_lock_irqsave(&r->free_lock, irqflags);
	o->next = r->free;
	r->free = o;
	r->nr_free++;
	raw_spin_unlock_irqrestore(&r->free_lock, irqflags);
}

struct object *reuse_test_fresh(struct reuse_test *r)
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

static unsigned long unlink_cookie(struct reuse_test *r)
{
	return r->setup.flavour == REUSE_TEST_SRCU ? get_state_synchronize_srcu(&r->srcu) :
					      get_state_synchronize_rcu();
}

static bool cookie_passed(struct reuse_test *r, unsigned long cookie)
{
	return r->setup.flavour == REUSE_TEST_SRCU ?
		poll_state_synchronize_srcu(&r->srcu, cookie) :
		poll_state_synchronize_rcu(cookie);
}

/* A dequeued object must have been queued, and its grace period must have ended. */
static void check_out(struct reuse_test *r, struct object *o)
{
	if (!cookie_passed(r, o->cookie))
		atomic64_inc(&r->early);
	if (!o->queued)
		atomic64_inc(&r->foreign);
	o->queued = false;
}

int reuse_test_enqueue(struct reuse_test *r, struct object *o)
{
	int ret;

	o->number = atomic64_inc_return(&r->numbers);
	o->queued = true;
	o->cookie = unlink_cookie(r);
	ret = rcu_reuse_enqueue(&r->queue, &o->reuse);
	if (ret)
		o->queued = false;
	return ret;
}

struct object *reuse_test_dequeue(struct reuse_test *r)
{
	struct rcu_reuse_head *head = rcu_reuse_dequeue(&r->queue);
	struct object *o;

	if (!head)
		return NULL;
	o = container_of(head, struct object, reuse);
	check_out(r, o);
	return o;
}

void reuse_test_stamp(struct reuse_test *r, struct object *o)
{
	o->stamp_cookie = unlink_cookie(r);
	o->stamped = true;
	rcu_reuse_stamp(&r->clock, &o->stamp);
}

bool reuse_test_passed(struct reuse_test *r, struct object *o)
{
	bool passed = rcu_reuse_passed(&r->clock, &o->stamp);

	if (passed && o->stamped && !cookie_passed(r, o->stamp_cookie))
		atomic64_inc(&r->early);
	return passed;
}

static void release(void *private, struct rcu_reuse_head *head)
{
	struct object *o = container_of(head, struct object, reuse);
	struct reuse_test *r = private;

	might_sleep();
	check_out(r, o);
	atomic64_inc(&r->released);
	reuse_test_free(r, o);
}

static const struct rcu_reuse_ops ops = { .release = release }, no_ops = { };

/* --- calls in any context ------------------------------------------------ */

struct call {
	struct reuse_test	*r;
	struct reuse_test_io	*io;
	unsigned int		cmd;
	u64			last;
	unsigned int		chunk;
	unsigned int		next;		/* object to stamp, or to ask for */
	bool			end;
};

static void stamp_one(struct call *c)
{
	reuse_test_stamp(c->r, &c->r->object[c->next++]);
	c->io->done++;
}

static void question_one(struct call *c)
{
	struct object *o = &c->r->object[c->next++];

	c->io->done += c->io->until_none ? cookie_passed(c->r, o->stamp_cookie) :
					   reuse_test_passed(c->r, o);
}

static void enqueue_one(struct call *c)
{
	struct object *o = reuse_test_fresh(c->r);
	int ret = o ? reuse_test_enqueue(c->r, o) : -ENOMEM;

	if (!ret) {
		c->io->done++;
		return;
	}
	c->io->error = -ret;
	c->end = true;
	if (o)
		reuse_test_free(c->r, o);
}

static void dequeue_one(struct call *c)
{
	struct object *o = reuse_test_dequeue(c->r);

	if (!o) {
		c->end = c->io->until_none;
		return;
	}
	c->io->done++;
	c->io->disorder += o->number < c->last;
	c->last = o->number;
	reuse_test_free(c->r, o);
}

static void do_one(struct call *c)
{
	switch (c->cmd) {
	case REUSE_TEST_ENQUEUE:
		enqueue_one(c);
		break;
	case REUSE_TEST_DEQUEUE:
		dequeue_one(c);
		break;
	case REUSE_TEST_STAMP:
		stamp_one(c);
		break;
	case REUSE_TEST_PASSED:
		question_one(c);
		break;
	}
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
	case REUSE_TEST_PLAIN:
		do_chunk(c);
		break;
	case REUSE_TEST_PREEMPT_OFF:
		preempt_disable();
		do_chunk(c);
		preempt_enable();
		break;
	case REUSE_TEST_IRQS_OFF:
		local_irq_disable();
		do_chunk(c);
		local_irq_enable();
		break;
	case REUSE_TEST_RAW_LOCK:
		raw_spin_lock_irq(&raw_lock);
		do_chunk(c);
		raw_spin_unlock_irq(&raw_lock);
		break;
	case REUSE_TEST_IPI:
		ret = smp_call_function_single(c->io->cpu, do_chunk, c, 1);
		break;
	}
	return ret;
}

static int do_calls(struct reuse_test *r, struct reuse_test_io *io, unsigned int cmd)
{
	struct call c = { .r = r, .io = io, .cmd = cmd };
	unsigned int left = io->nr;
	int ret = 0;

	if (io->context >= REUSE_TEST_NR_CONTEXTS || io->cpu >= nr_cpu_ids)
		return -EINVAL;
	if ((cmd == REUSE_TEST_STAMP || cmd == REUSE_TEST_PASSED) && io->nr > r->setup.objects)
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
	io->requests = READ_ONCE(r->clock.requests);
	return ret;
}

/* --- a reader ------------------------------------------------------------ */

static int reader(void *arg)
{
	struct reuse_test *r = arg;
	int idx = reuse_test_read_lock(r);

	complete(&r->reader_is_in);
	while (!kthread_should_stop()) {
		if (kthread_should_park()) {
			reuse_test_read_unlock(r, idx);
			kthread_parkme();
			idx = reuse_test_read_lock(r);
		}
		if (r->setup.flavour == REUSE_TEST_SRCU)
			msleep(20);
		else
			reuse_test_preempt_point();
	}
	reuse_test_read_unlock(r, idx);
	return 0;
}

/*
 * The reader occupies the last CPU: without preemptible RCU nothing else can run there while it
 * is in its section.
 */
static int reader_in(struct reuse_test *r)
{
	struct task_struct *task;

	if (r->reader)
		return -EBUSY;
	init_completion(&r->reader_is_in);
	task = kthread_create(reader, r, "reuse_test_reader");
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpumask_last(cpu_online_mask));
	r->reader = task;
	wake_up_process(task);
	wait_for_completion(&r->reader_is_in);
	return 0;
}

/* End the section but keep the task until READER_OUT: a task that exits needs a grace period. */
static int reader_rests(struct reuse_test *r)
{
	struct task_struct *task = xchg(&r->reader, NULL);

	if (!task)
		return -ENOENT;
	kthread_park(task);
	WRITE_ONCE(r->reader, task);
	return 0;
}

/* Does not take the lock: its holder may be waiting for the reader. */
static int reader_out(struct reuse_test *r)
{
	struct task_struct *task = xchg(&r->reader, NULL);

	return task ? kthread_stop(task) : -ENOENT;
}

/* --- setup --------------------------------------------------------------- */

static int make_queue(struct reuse_test *r)
{
	const struct reuse_test_setup *s = &r->setup;
	struct rcu_reuse_params params = {
		.batch = s->batch, .keep = s->keep, .max = s->max, .max_age_ms = s->max_age_ms,
		.srcu = s->flavour == REUSE_TEST_SRCU || s->srcu_expedited ? &r->srcu : NULL,
		.expedited = s->flavour == REUSE_TEST_EXPEDITED || s->srcu_expedited,
	};

	return rcu_reuse_init(&r->queue, "test", s->no_release ? &no_ops : &ops, r, &params);
}

static int set_up(struct reuse_test *r, const struct reuse_test_setup *s)
{
	struct object *object;
	unsigned int i;
	int ret;

	if (r->object)
		return -EBUSY;
	if (s->flavour >= REUSE_TEST_NR_FLAVOURS || !s->objects ||
	    s->objects > REUSE_TEST_MAX_OBJECTS)
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
		rcu_reuse_stamp_init(&object[i].stamp);
		reuse_test_free(r, &object[i]);
	}
	rcu_reuse_clock_init(&r->clock, s->flavour == REUSE_TEST_SRCU ? &r->srcu : NULL);
	r->has_queue = true;
	/* pairs with reuse_test_run(): publish after setup */
	smp_store_release(&r->object, object);
	return 0;
}

/* The user of a queue must exclude operations during destroy. */
static void destroy(struct reuse_test *r)
{
	down_write(&r->life);
	if (r->has_queue) {
		rcu_reuse_destroy(&r->queue);
		rcu_reuse_clock_destroy(&r->clock);
	}
	r->has_queue = false;
	up_write(&r->life);
}

static void get_state(struct reuse_test *r, struct reuse_test_state *s)
{
	raw_spin_lock_irq(&r->free_lock);
	s->free = r->nr_free;
	s->queued = 0;
	raw_spin_unlock_irq(&r->free_lock);
	if (down_read_trylock(&r->life)) {
		if (r->has_queue)
			s->queued = rcu_reuse_count(&r->queue);
		up_read(&r->life);
	}
	s->released = atomic64_read(&r->released);
	s->early = atomic64_read(&r->early);
	s->foreign = atomic64_read(&r->foreign);
}

/* Each misuse has no lasting effect. Return 0 if it was refused as required. */
static int misuse(struct reuse_test *r, u32 which)
{
	struct object *o = reuse_test_fresh(r);
	int ret = -EINVAL;

	if (!o)
		return -ENOMEM;
	switch (which) {
	case REUSE_TEST_ENQUEUE_TWICE:
		ret = reuse_test_enqueue(r, o);
		if (ret)
			break;
		ret = rcu_reuse_enqueue(&r->queue, &o->reuse) == -EBUSY ? 0 : -EPROTO;
		/* the object is still queued, once */
		if (rcu_reuse_count(&r->queue) != 1)
			ret = -EPROTO;
		rcu_reuse_drain(&r->queue);
		if (atomic64_read(&r->released) != 1 || atomic64_read(&r->foreign))
			ret = -EPROTO;
		return ret;
	case REUSE_TEST_ENQUEUE_AFTER_END:
		destroy(r);
		ret = -EPROTO;
		if (reuse_test_enqueue(r, o) == -ESHUTDOWN && !reuse_test_dequeue(r))
			ret = 0;
		break;
	}
	reuse_test_free(r, o);
	return ret;
}

/* --- the device ---------------------------------------------------------- */

union reuse_test_args {
	struct reuse_test_setup setup;
	struct reuse_test_io io;
	struct reuse_test_state state;
	struct reuse_test_torture torture;
	struct reuse_test_bench bench;
	u32 number;
};

/* Commands that change the reader or the queue. */
static int control(struct reuse_test *r, unsigned int cmd, union reuse_test_args *a)
{
	switch (cmd) {
	case REUSE_TEST_SETUP:
		return set_up(r, &a->setup);
	case REUSE_TEST_READER_IN:
		return reader_in(r);
	case REUSE_TEST_READER_RESTS:
		return reader_rests(r);
	case REUSE_TEST_DESTROY:
		destroy(r);
		return 0;
	case REUSE_TEST_TORTURE:
		return reuse_test_torture(r, &a->torture);
	case REUSE_TEST_MISUSE:
		return misuse(r, a->number);
	}
	return -ENOTTY;
}

static void shrinker_count(struct reuse_test *r, struct reuse_test_io *io)
{
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL };
	struct shrinker *shrinker = r->queue.shrinker;

	local_irq_disable();
	io->done = shrinker->count_objects(shrinker, &sc);
	io->error = irqs_disabled() ? 0 : EPROTO;
	local_irq_enable();
}

static int use_queue(struct reuse_test *r, unsigned int cmd, union reuse_test_args *a)
{
	int ret = 0;

	if (down_read_killable(&r->life))
		return -EINTR;
	if (!r->has_queue)
		ret = -ENXIO;
	else if (cmd == REUSE_TEST_DRAIN)
		rcu_reuse_drain(&r->queue);
	else if (cmd == REUSE_TEST_COUNT)
		shrinker_count(r, &a->io);
	else
		ret = do_calls(r, &a->io, cmd);
	up_read(&r->life);
	return ret;
}

static int reuse_test_run(void *object, unsigned int cmd, void *args)
{
	union reuse_test_args *a = args;
	struct reuse_test *r = object;
	int ret;

	if (cmd == REUSE_TEST_BENCH)
		return reuse_test_bench(&a->bench);
	/* pairs with set_up() */
	if (cmd != REUSE_TEST_SETUP && !smp_load_acquire(&r->object))
		return -ENXIO;
	switch (cmd) {
	case REUSE_TEST_ENQUEUE:
	case REUSE_TEST_DEQUEUE:
	case REUSE_TEST_STAMP:
	case REUSE_TEST_PASSED:
	case REUSE_TEST_COUNT:
	case REUSE_TEST_DRAIN:
		return use_queue(r, cmd, a);
	/* allowed while destroy waits for the reader */
	case REUSE_TEST_READER_OUT:
		return reader_out(r);
	case REUSE_TEST_STATE:
		get_state(r, &a->state);
		return 0;
	}
	if (mutex_lock_killable(&r->lock))
		return -EINTR;
	ret = control(r, cmd, a);
	mutex_unlock(&r->lock);
	return ret;
}

static int reuse_test_open(void **object)
{
	struct reuse_test *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	mutex_init(&r->lock);
	init_rwsem(&r->life);
	raw_spin_lock_init(&r->free_lock);
	*object = r;
	return 0;
}

static void reuse_test_release(void *object)
{
	struct reuse_test *r = object;

	if (r->object) {
		reader_out(r);
		destroy(r);
		cleanup_srcu_struct(&r->srcu);
		kvfree(r->object);
	}
	kfree(r);
}

TEST_DEVICE(rcu_reuse_test, reuse_test_open, reuse_test_release, reuse_test_run,
	    union reuse_test_args);

MODULE_DESCRIPTION("Tests of the RCU reuse queue");
MODULE_LICENSE("GPL");
