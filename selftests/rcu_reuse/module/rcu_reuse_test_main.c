// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/rcu_reuse_test: see rcu_reuse_test.h.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcu_reuse.h>
#include <linux/rcupdate.h>

#include "rcu_reuse_test.h"
#include "test_device.h"

struct object {
	unsigned long	stamp;
	unsigned long	own_cookie;	/* taken before the stamp */
};

struct reuse_test {
	struct mutex		lock;		/* one call at a time */
	struct rcu_reuse_clock	clock;
	struct object		*object;
	u32			early;
	struct task_struct	*reader;
	struct completion	reader_is_in;
	bool			reader_leaves;
};

/* Allow preemption in a section if the kernel can preempt RCU readers. */
static void preempt_point(void)
{
	preempt_disable();
	cpu_relax();
	preempt_enable();
}

/* --- objects ------------------------------------------------------------- */

static void stamp(struct reuse_test *r, struct object *o)
{
	o->own_cookie = get_state_synchronize_rcu();
	o->stamp = rcu_reuse_stamp(&r->clock);
	if ((long)(o->stamp - o->own_cookie) < 0)
		r->early++;
}

static bool passed(struct reuse_test *r, const struct object *o)
{
	bool ret = rcu_reuse_passed(&r->clock, o->stamp);

	if (ret && !poll_state_synchronize_rcu(o->own_cookie))
		r->early++;
	return ret;
}

/* --- calls ---------------------------------------------------------------- */

static int do_calls(struct reuse_test *r, unsigned int cmd, struct reuse_test_io *io)
{
	unsigned int i;

	if (io->first > REUSE_TEST_OBJECTS || io->nr > REUSE_TEST_OBJECTS - io->first)
		return -EINVAL;
	io->done = 0;
	for (i = io->first; i < io->first + io->nr; i++) {
		struct object *o = &r->object[i];

		if (io->atomic)
			preempt_disable();
		if (cmd == REUSE_TEST_STAMP) {
			stamp(r, o);
			io->cookie = o->own_cookie;
			io->done++;
		} else {
			io->done += io->own_cookie ? poll_state_synchronize_rcu(o->own_cookie) :
						     passed(r, o);
		}
		if (io->atomic)
			preempt_enable();
		cond_resched();
	}
	io->requests = READ_ONCE(r->clock.requests);
	io->early = r->early;
	return 0;
}

/* --- a reader ------------------------------------------------------------ */

static int reader(void *arg)
{
	struct reuse_test *r = arg;

	rcu_read_lock();
	complete(&r->reader_is_in);
	while (!READ_ONCE(r->reader_leaves) && !kthread_should_stop())
		preempt_point();
	rcu_read_unlock();
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

static int run_locked(struct reuse_test *r, unsigned int cmd, struct reuse_test_io *io)
{
	switch (cmd) {
	case REUSE_TEST_STAMP:
	case REUSE_TEST_PASSED:
		return do_calls(r, cmd, io);
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

	unsigned int i;

	if (r)
		r->object = kvcalloc(REUSE_TEST_OBJECTS, sizeof(*r->object), GFP_KERNEL);
	if (!r || !r->object) {
		kfree(r);
		return -ENOMEM;
	}
	for (i = 0; i < REUSE_TEST_OBJECTS; i++) {
		r->object[i].stamp = get_completed_synchronize_rcu();
		r->object[i].own_cookie = r->object[i].stamp;
	}
	mutex_init(&r->lock);
	*object = r;
	return 0;
}

static void reuse_test_release(void *object)
{
	struct reuse_test *r = object;

	reader_out(r);
	kvfree(r->object);
	kfree(r);
}

TEST_DEVICE(rcu_reuse_test, reuse_test_open, reuse_test_release, reuse_test_run,
	    struct reuse_test_io);

MODULE_DESCRIPTION("Tests of reuse stamps");
MODULE_LICENSE("GPL");
