// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/rcu_reuse_test: see rcu_reuse_test.h.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcu_reuse.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

#include "rcu_reuse_test.h"
#include "test_device.h"

struct object {
	struct rcu_reuse_cookie	stamp;
	unsigned long		own_cookie;	/* taken before the stamp */
	bool			stamped;
};

struct reuse_test {
	struct mutex		lock;		/* one call at a time */
	u32			flavour;
	struct srcu_struct	srcu;
	struct rcu_reuse_clock	clock;
	struct object		*object;	/* NULL until set up */
	u32			early;
	struct task_struct	*reader;
	struct completion	reader_is_in;
	bool			reader_leaves;
};

static int section_begin(struct reuse_test *r)
{
	if (r->flavour == REUSE_TEST_SRCU)
		return srcu_read_lock(&r->srcu);
	rcu_read_lock();
	return 0;
}

static void section_end(struct reuse_test *r, int idx)
{
	if (r->flavour == REUSE_TEST_SRCU)
		srcu_read_unlock(&r->srcu, idx);
	else
		rcu_read_unlock();
}

/* Allow preemption in a section if the kernel can preempt RCU readers. */
static void preempt_point(void)
{
	preempt_disable();
	cpu_relax();
	preempt_enable();
}

/* --- objects ------------------------------------------------------------- */

static bool own_cookie_passed(struct reuse_test *r, const struct object *o)
{
	return r->flavour == REUSE_TEST_SRCU ?
		poll_state_synchronize_srcu(&r->srcu, o->own_cookie) :
		poll_state_synchronize_rcu(o->own_cookie);
}

static void stamp(struct reuse_test *r, struct object *o)
{
	o->own_cookie = r->flavour == REUSE_TEST_SRCU ? get_state_synchronize_srcu(&r->srcu) :
						       get_state_synchronize_rcu();
	o->stamped = true;
	rcu_reuse_stamp(&r->clock, &o->stamp);
	if ((long)(o->stamp.cookie - o->own_cookie) < 0)
		r->early++;
}

static bool passed(struct reuse_test *r, const struct object *o)
{
	bool ret = rcu_reuse_passed(&r->clock, &o->stamp);

	if (ret && o->stamped && !own_cookie_passed(r, o))
		r->early++;
	return ret;
}

/* --- calls in any context ------------------------------------------------ */

struct call {
	struct reuse_test	*r;
	struct reuse_test_io	*io;
	unsigned int		cmd;
	struct object		*object, *end;
};

static void do_chunk(void *arg)
{
	struct call *c = arg;
	struct object *o;

	for (o = c->object; o < c->end; o++) {
		if (c->cmd == REUSE_TEST_STAMP) {
			stamp(c->r, o);
			c->io->cookie = o->own_cookie;
			c->io->done++;
		} else {
			c->io->done += c->io->own_cookie ? own_cookie_passed(c->r, o) :
							   passed(c->r, o);
		}
	}
}

static int do_in_context(struct call *c)
{
	static DEFINE_RAW_SPINLOCK(raw_lock);

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
		return smp_call_function_single(0, do_chunk, c, 1);
	}
	return 0;
}

static int do_calls(struct reuse_test *r, unsigned int cmd, struct reuse_test_io *io)
{
	struct call c = { .r = r, .io = io, .cmd = cmd };
	struct object *last;
	int ret = 0;

	if (io->context >= REUSE_TEST_NR_CONTEXTS || io->first > REUSE_TEST_OBJECTS ||
	    io->nr > REUSE_TEST_OBJECTS - io->first)
		return -EINVAL;
	io->done = 0;
	c.object = r->object + io->first;
	last = c.object + io->nr;
	for (; c.object < last && !ret; c.object = c.end) {
		c.end = min(c.object + 1000, last);
		ret = do_in_context(&c);
		cond_resched();
	}
	io->requests = READ_ONCE(r->clock.requests);
	io->early = r->early;
	return ret;
}

/* --- a reader ------------------------------------------------------------ */

static int reader(void *arg)
{
	struct reuse_test *r = arg;
	int idx = section_begin(r);

	complete(&r->reader_is_in);
	while (!READ_ONCE(r->reader_leaves) && !kthread_should_stop()) {
		if (r->flavour == REUSE_TEST_SRCU)
			msleep(20);
		else
			preempt_point();
	}
	section_end(r, idx);
	/* a task that exits needs a grace period */
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
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
	r->reader_leaves = false;
	task = kthread_create(reader, r, "reuse_test_reader");
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpumask_last(cpu_online_mask));
	r->reader = task;
	wake_up_process(task);
	wait_for_completion(&r->reader_is_in);
	return 0;
}

static int reader_out(struct reuse_test *r)
{
	struct task_struct *task = r->reader;

	r->reader = NULL;
	return task ? kthread_stop(task) : -ENOENT;
}

/* --- the device ---------------------------------------------------------- */

static int set_up(struct reuse_test *r, u32 flavour)
{
	unsigned int i;

	if (r->object)
		return -EBUSY;
	if (flavour >= REUSE_TEST_NR_FLAVOURS)
		return -EINVAL;
	if (init_srcu_struct(&r->srcu))
		return -ENOMEM;
	r->object = kvcalloc(REUSE_TEST_OBJECTS, sizeof(*r->object), GFP_KERNEL);
	if (!r->object) {
		cleanup_srcu_struct(&r->srcu);
		return -ENOMEM;
	}
	r->flavour = flavour;
	for (i = 0; i < REUSE_TEST_OBJECTS; i++)
		rcu_reuse_stamp_init(&r->object[i].stamp);
	rcu_reuse_clock_init(&r->clock, flavour == REUSE_TEST_SRCU ? &r->srcu : NULL);
	return 0;
}

union reuse_test_args {
	struct reuse_test_io io;
	u32 flavour;
};

static int run_locked(struct reuse_test *r, unsigned int cmd, union reuse_test_args *a)
{
	if (cmd == REUSE_TEST_SETUP)
		return set_up(r, a->flavour);
	if (!r->object)
		return -ENXIO;
	switch (cmd) {
	case REUSE_TEST_STAMP:
	case REUSE_TEST_PASSED:
		return do_calls(r, cmd, &a->io);
	case REUSE_TEST_READER_IN:
		return reader_in(r);
	case REUSE_TEST_READER_OUT:
		return reader_out(r);
	}
	return -ENOTTY;
}

static int reuse_test_run(void *object, unsigned int cmd, void *args)
{
	struct reuse_test *r = object;
	int ret;

	/* without the lock: a call may wait for the reader */
	if (cmd == REUSE_TEST_READER_RESTS) {
		WRITE_ONCE(r->reader_leaves, true);
		return 0;
	}
	mutex_lock(&r->lock);
	ret = run_locked(r, cmd, args);
	mutex_unlock(&r->lock);
	return ret;
}

static int reuse_test_open(void **object)
{
	struct reuse_test *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	mutex_init(&r->lock);
	*object = r;
	return 0;
}

static void reuse_test_release(void *object)
{
	struct reuse_test *r = object;

	if (r->object) {
		reader_out(r);
		rcu_reuse_clock_destroy(&r->clock);
		cleanup_srcu_struct(&r->srcu);
		kvfree(r->object);
	}
	kfree(r);
}

TEST_DEVICE(rcu_reuse_test, reuse_test_open, reuse_test_release, reuse_test_run,
	    union reuse_test_args);

MODULE_DESCRIPTION("Tests of reuse stamps");
MODULE_LICENSE("GPL");
