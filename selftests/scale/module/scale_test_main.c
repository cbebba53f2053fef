// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/scale_test: see scale_test.h. It uses only the public interface of the lock.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/unfair_rwsem.h>
#include <linux/workqueue.h>

#include "scale_test.h"
#include "test_device.h"

#define ROUNDS		100
#define CROWDED_ROUNDS	5
#define PAIRS		16	/* between two clock readings */
#define READS		300	/* of one lock; enough to make it biased */

static int move_to(u32 cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	return set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

/* --- growth -------------------------------------------------------------- */

static u64 time_pairs(struct unfair_rwsem *lock, bool write)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < PAIRS; i++) {
		if (write) {
			unfair_down_write(lock);
			unfair_up_write(lock);
		} else {
			unfair_down_read(lock);
			unfair_up_read(lock);
		}
	}
	return (ktime_get_ns() - start) / PAIRS;
}

static u64 time_migrated_unlock(struct unfair_rwsem *lock, const struct scale_count *c)
{
	u64 start;

	if (move_to(c->from_cpu))
		return 0;
	unfair_down_read(lock);
	if (move_to(c->to_cpu)) {
		unfair_up_read(lock);
		return 0;
	}
	start = ktime_get_ns();
	unfair_up_read(lock);
	return ktime_get_ns() - start;
}

static int wait_in_queue(void *lock)
{
	unfair_down_read(lock);
	unfair_up_read(lock);
	return 0;
}

static bool all_asleep(struct task_struct **task, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (READ_ONCE(task[i]->on_cpu) || task_is_running(task[i]))
			return false;
	return true;
}

static u64 time_crowded_unlock(struct unfair_rwsem *lock, u32 waiters)
{
	struct task_struct **task = kvcalloc(waiters, sizeof(*task), GFP_KERNEL), *t;
	u64 start, ns = 0;
	u32 nr;

	if (!task)
		return 0;
	unfair_down_write(lock);
	for (nr = 0; nr < waiters; nr++) {
		t = kthread_run(wait_in_queue, lock, "scale/%u", nr);
		if (IS_ERR(t))
			break;
		/* it cannot end before the lock is released */
		task[nr] = get_task_struct(t);
	}
	do
		msleep(20);
	while (!all_asleep(task, nr));
	/* a woken reader must not run before the release has ended */
	preempt_disable();
	start = ktime_get_ns();
	unfair_up_write(lock);
	ns = ktime_get_ns() - start;
	preempt_enable();
	while (nr--) {
		kthread_stop(task[nr]);
		put_task_struct(task[nr]);
	}
	kvfree(task);
	return ns;
}

/* Report the fastest round: interrupts and other CPUs disturb the others. */
static int count(struct unfair_rwsem *lock, struct scale_count *c)
{
	u32 i, rounds = c->path == SCALE_CROWDED_UNLOCK ? CROWDED_ROUNDS : ROUNDS;
	u64 ns = 0, min_ns = U64_MAX, min_clock = U64_MAX, start;

	if (c->path >= SCALE_NR_PATHS || c->waiters > SCALE_MAX_WAITERS)
		return -EINVAL;
	for (i = 0; i < rounds; i++) {
		switch (c->path) {
		case SCALE_READ_PAIR:
		case SCALE_WRITE_PAIR:
			ns = time_pairs(lock, c->path == SCALE_WRITE_PAIR);
			break;
		case SCALE_MIGRATED_UNLOCK:
			ns = time_migrated_unlock(lock, c);
			break;
		case SCALE_CROWDED_UNLOCK:
			ns = time_crowded_unlock(lock, c->waiters);
			break;
		}
		if (!ns)
			return -EINVAL;
		min_ns = min(min_ns, ns);
		start = ktime_get_ns();
		min_clock = min(min_clock, ktime_get_ns() - start);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	if (c->path > SCALE_WRITE_PAIR)
		min_ns -= min(min_ns, min_clock);
	c->min_ns = min_ns;
	return 0;
}

/* --- many locks ---------------------------------------------------------- */

struct object {
	struct unfair_rwsem	lock;
	u32			value;
	bool			written;	/* being written */
};

struct many {
	struct object		*objects;
	u32			nr, reads, violations;
};

static int read_all(void *arg)
{
	struct many *m = arg;
	struct object *o;
	u32 i;

	for (i = 0; !kthread_should_stop(); i = (i + 1 + i % 7) % m->nr) {
		o = &m->objects[i];
		unfair_down_read(&o->lock);
		m->violations += READ_ONCE(o->written);
		unfair_up_read(&o->lock);
		m->reads++;
		cond_resched();
	}
	return 0;
}

static long read_often(void *arg)
{
	struct unfair_rwsem *lock = arg;
	int i;

	for (i = 0; i < READS; i++) {
		unfair_down_read(lock);
		unfair_up_read(lock);
	}
	return 0;
}

static void write_each(struct many *m)
{
	struct object *o;

	for (o = m->objects; o < m->objects + m->nr; o++) {
		/* overlapping reads make the lock biased */
		unfair_down_read(&o->lock);
		work_on_cpu(cpumask_last(cpu_online_mask), read_often, &o->lock);
		unfair_up_read(&o->lock);
		unfair_down_write(&o->lock);
		WRITE_ONCE(o->written, true);
		o->value++;
		WRITE_ONCE(o->written, false);
		unfair_up_write(&o->lock);
		cond_resched();
	}
}

static int many(struct scale_many *a)
{
	struct many m = { .nr = a->locks };
	struct task_struct *reader;
	u32 i;

	if (!a->locks || a->locks > SCALE_MAX_LOCKS)
		return -EINVAL;
	m.objects = kvcalloc(a->locks, sizeof(*m.objects), GFP_KERNEL);
	if (!m.objects)
		return -ENOMEM;
	for (i = 0; i < m.nr; i++)
		init_unfair_rwsem(&m.objects[i].lock);
	reader = kthread_run(read_all, &m, "scale_reader");
	if (!IS_ERR(reader)) {
		write_each(&m);
		kthread_stop(reader);
	}
	a->locked = 0;
	for (i = 0; i < m.nr; i++) {
		a->locked += unfair_rwsem_is_locked(&m.objects[i].lock) ||
			     unfair_rwsem_is_contended(&m.objects[i].lock);
		m.violations += m.objects[i].value != 1;
	}
	a->violations = m.violations;
	a->reads = m.reads;
	kvfree(m.objects);
	return PTR_ERR_OR_ZERO(reader);
}

/* --- the device ---------------------------------------------------------- */

union scale_args {
	struct scale_count	count;
	struct scale_many	many;
};

static int run_scale(void *lock, unsigned int cmd, void *args)
{
	union scale_args *a = args;

	switch (cmd) {
	case SCALE_COUNT:
		return count(lock, &a->count);
	case SCALE_MANY:
		return many(&a->many);
	}
	return -ENOTTY;
}

static int open_scale(void **object)
{
	struct unfair_rwsem *lock = kzalloc(sizeof(*lock), GFP_KERNEL);

	if (!lock)
		return -ENOMEM;
	init_unfair_rwsem(lock);
	*object = lock;
	return 0;
}

TEST_DEVICE(scale_test, open_scale, kfree, run_scale, union scale_args);

MODULE_DESCRIPTION("How the lock scales with CPUs, readers and locks");
MODULE_LICENSE("GPL");
