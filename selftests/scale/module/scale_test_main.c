// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/scale_test: see scale_test.h. It uses only the public interface of the lock.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "scale_test.h"
#include "test_locks.h"
#include "test_device.h"

/* Readers of one object in SCALE_MANY besides the holder. */
#define MAX_SWEEPERS	3
/* Pairs between two clock readings. */
#define PAIRS_PER_ROUND	16

struct scale {
	struct mutex		setup;	/* protects the fields below */
	const struct test_lock_ops *ops;	/* NULL until created */
	u32			type;
	union test_lock		lock;
	struct completion	go;
	atomic_t		readers;
	u64			first_tick, first_ns;	/* of SCALE_CREATE */
};

static int move_to(u32 cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	return set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

/* User-Mode Linux's clock has a resolution of only 256 ns. */
static u64 ticks(void)
{
#if defined(CONFIG_X86) || defined(CONFIG_UML_X86)
	u32 low, high;

	asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
#else
	return ktime_get_ns();
#endif
}

static u64 ticks_to_ns(const struct scale *s, u64 nr)
{
	u64 ns = ktime_get_ns() - s->first_ns;
	u64 per_us = div64_u64((ticks() - s->first_tick) * 1000, max(ns, 1ULL));

	return div64_u64(nr * 1000, max(per_us, 1ULL));
}

static int create(struct scale *s, u32 type)
{
	int ret = -EBUSY;

	if (type >= LOCK_TEST_NR_TYPES)
		return -EINVAL;
	mutex_lock(&s->setup);
	if (!s->ops) {
		ret = test_lock_init(&s->lock, type);
		s->type = type;
		s->first_tick = ticks();
		s->first_ns = ktime_get_ns();
		if (!ret)
			/* pairs with run_scale(): ops imply an initialised lock */
			smp_store_release(&s->ops, &test_locks[type]);
	}
	mutex_unlock(&s->setup);
	return ret;
}

static u64 clock_ns(void)
{
	u64 start = ktime_get_ns();

	return ktime_get_ns() - start;
}

/* --- sleeping readers ---------------------------------------------------- */

static int read_and_move(struct scale *s, struct scale_read *r)
{
	int ret = move_to(r->from_cpu);
	u64 start;

	if (ret)
		return ret;
	s->ops->lock(&s->lock, false, LOCK_TEST_PLAIN, 0, 0);
	atomic_inc(&s->readers);
	ret = wait_for_completion_killable(&s->go);
	if (!ret)
		ret = move_to(r->to_cpu);
	atomic_dec(&s->readers);
	start = ticks();
	r->clock_ns = ticks() - start;
	start = ticks();
	s->ops->unlock(&s->lock, false);
	r->unlock_ns = ticks_to_ns(s, ticks() - start);
	r->clock_ns = ticks_to_ns(s, r->clock_ns);
	return ret;
}

/* --- instructions -------------------------------------------------------- */

/* Inline calls, as in a driver. */
#define TIME_PAIRS(lock_call, unlock_call, sem)				\
({									\
	u64 _start = ktime_get_ns();					\
	int _i;								\
									\
	for (_i = 0; _i < PAIRS_PER_ROUND; _i++) {			\
		lock_call(sem);						\
		unlock_call(sem);					\
	}								\
	ktime_get_ns() - _start;					\
})

static u64 time_pairs(struct scale *s, bool write)
{
	struct rw_semaphore *rwsem = &s->lock.rwsem;
	struct unfair_rwsem *unfair = &s->lock.unfair;

	if (s->type != LOCK_TEST_UNFAIR)
		return write ? TIME_PAIRS(down_write, up_write, rwsem) :
			       TIME_PAIRS(down_read, up_read, rwsem);
	return write ? TIME_PAIRS(unfair_down_write, unfair_up_write, unfair) :
		       TIME_PAIRS(unfair_down_read, unfair_up_read, unfair);
}

static u64 time_sections(struct scale *s)
{
#define BEGIN_SECTION(sem)	unfair_rwsem_expedite(sem, &section)
#define END_SECTION(sem)	unfair_rwsem_unexpedite(&section)
	struct unfair_section section;

	return TIME_PAIRS(BEGIN_SECTION, END_SECTION, &s->lock.unfair);
}

static u64 time_unlock(struct scale *s)
{
	u64 start = ktime_get_ns();

	if (s->type == LOCK_TEST_UNFAIR)
		unfair_up_read(&s->lock.unfair);
	else
		up_read(&s->lock.rwsem);
	return ktime_get_ns() - start;
}

static int migrated_unlock(struct scale *s, const struct scale_count *c, u64 *ns)
{
	int ret = move_to(c->from_cpu);

	if (ret)
		return ret;
	s->ops->lock(&s->lock, false, LOCK_TEST_PLAIN, 0, 0);
	ret = move_to(c->to_cpu);
	*ns = time_unlock(s);
	return ret;
}

/* Report the fastest round: interrupts and other CPUs disturb the others. */
static int count(struct scale *s, struct scale_count *c)
{
	u64 ns = 0, min_ns = U64_MAX, min_clock = U64_MAX;
	u32 i, pairs = c->path == SCALE_MIGRATED_UNLOCK ? 1 : PAIRS_PER_ROUND;
	int ret = 0;

	if (c->path >= SCALE_NR_PATHS || !c->rounds || c->rounds > SCALE_MAX_ROUNDS)
		return -EINVAL;
	if (s->type != LOCK_TEST_UNFAIR &&
	    (s->type != LOCK_TEST_RWSEM || c->path == SCALE_SECTION))
		return -EOPNOTSUPP;
	for (i = 0; i < c->rounds && !ret; i++) {
		switch (c->path) {
		case SCALE_READ_PAIR:
		case SCALE_WRITE_PAIR:
			ns = time_pairs(s, c->path == SCALE_WRITE_PAIR);
			break;
		case SCALE_MIGRATED_UNLOCK:
			ret = migrated_unlock(s, c, &ns);
			break;
		case SCALE_SECTION:
			ns = time_sections(s);
			break;
		}
		min_ns = min(min_ns, ns);
		min_clock = min(min_clock, clock_ns());
		if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	c->min_ns = (min_ns - min(min_ns, min_clock)) / pairs;
	return ret;
}

/* --- initialisation ------------------------------------------------------ */

static int init_locks(struct scale_init *in)
{
	bool unfair = in->type == LOCK_TEST_UNFAIR;
	size_t size = unfair ? sizeof(struct unfair_rwsem) : sizeof(struct rw_semaphore);
	struct unfair_rwsem *u;
	struct rw_semaphore *r;
	u64 start;
	void *all;
	u32 i;

	if ((!unfair && in->type != LOCK_TEST_RWSEM) || !in->locks ||
	    in->locks > SCALE_MAX_LOCKS)
		return -EINVAL;
	all = kvcalloc(in->locks, size, GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	u = all;
	r = all;
	start = ktime_get_ns();
	if (unfair) {
		for (i = 0; i < in->locks; i++)
			init_unfair_rwsem(&u[i]);
	} else {
		for (i = 0; i < in->locks; i++)
			init_rwsem(&r[i]);
	}
	in->ns = ktime_get_ns() - start;
	kvfree(all);
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
	u32			nr, reads;
	u32			turn;		/* objects held so far; U32_MAX: phase two */
	bool			stop;
	atomic_t		done, violations;
	atomic64_t		concurrent_reads;
	struct completion	ended;
};

/* Sleep at times: the task waited for may run on a virtual CPU that has no host CPU. */
#define SPIN_UNTIL(cond)				\
do {							\
	u32 _spins = 0;					\
							\
	while (!(cond)) {				\
		if (++_spins % 1000 && !need_resched())	\
			cpu_relax();			\
		else					\
			usleep_range(10, 50);		\
	}						\
} while (0)

static void read_object(struct many *m, struct object *o)
{
	unfair_down_read(&o->lock);
	if (READ_ONCE(o->written))
		atomic_inc(&m->violations);
	unfair_up_read(&o->lock);
}

static int sweep(void *data)
{
	struct many *m = data;
	u32 i, r, turn, seen = 0;

	for (;;) {
		/* pairs with read_every_other(): its lock is held */
		SPIN_UNTIL((turn = smp_load_acquire(&m->turn)) != seen);
		if (turn == U32_MAX)
			break;
		seen = turn;
		for (r = 0; r < m->reads; r++)
			read_object(m, &m->objects[(turn - 1) * 2]);
		atomic_inc_return(&m->done);
	}
	while (!READ_ONCE(m->stop)) {
		for (i = 0; i < m->nr && !READ_ONCE(m->stop); i += 1 + i % 7) {
			read_object(m, &m->objects[i]);
			atomic64_inc(&m->concurrent_reads);
			if (need_resched())
				schedule();
		}
	}
	kthread_complete_and_exit(&m->ended, 0);
}

static void read_every_other(struct many *m, int sweepers)
{
	struct object *o;
	u32 i;

	for (i = 0; i < m->nr / 2; i++) {
		o = &m->objects[i * 2];
		unfair_down_read(&o->lock);
		atomic_set(&m->done, 0);
		/* pairs with sweep() */
		smp_store_release(&m->turn, i + 1);
		SPIN_UNTIL(atomic_read(&m->done) == sweepers);
		unfair_up_read(&o->lock);
	}
}

static void write_each(struct many *m)
{
	struct object *o;
	u32 i;

	for (i = 0; i < m->nr; i++) {
		o = &m->objects[i];
		unfair_down_write(&o->lock);
		WRITE_ONCE(o->written, true);
		o->value++;
		WRITE_ONCE(o->written, false);
		unfair_up_write(&o->lock);
		if (need_resched())
			schedule();
	}
}

static int start_sweepers(struct many *m)
{
	int cpu, n = 0, want = min_t(int, MAX_SWEEPERS, num_online_cpus() - 1);
	struct task_struct *t;

	for_each_online_cpu(cpu) {
		if (n == want)
			break;
		/* the holder runs on the first CPU */
		if (cpu == cpumask_first(cpu_online_mask))
			continue;
		t = kthread_create(sweep, m, "scale/%d", cpu);
		if (IS_ERR(t))
			break;
		kthread_bind(t, cpu);
		wake_up_process(t);
		n++;
	}
	return n;
}

static int many(struct scale_many *a)
{
	struct many *m;
	int sweepers, i, ret = -ENOMEM;
	u64 start;
	u32 n;

	if (!a->locks || a->locks > SCALE_MAX_LOCKS || a->reads > 10000)
		return -EINVAL;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->objects = kvcalloc(a->locks, sizeof(*m->objects), GFP_KERNEL);
	if (!m->objects)
		goto out;
	ret = move_to(cpumask_first(cpu_online_mask));
	if (ret)
		goto out;
	m->nr = a->locks;
	m->reads = a->reads;
	init_completion(&m->ended);
	for (n = 0; n < m->nr; n++)
		init_unfair_rwsem(&m->objects[n].lock);
	sweepers = start_sweepers(m);

	start = ktime_get_ns();
	read_every_other(m, sweepers);
	a->read_ns = ktime_get_ns() - start;
	WRITE_ONCE(m->turn, U32_MAX);
	start = ktime_get_ns();
	write_each(m);
	a->write_ns = ktime_get_ns() - start;
	WRITE_ONCE(m->stop, true);
	for (i = 0; i < sweepers; i++)
		wait_for_completion(&m->ended);

	a->locked = 0;
	for (n = 0; n < m->nr; n++) {
		a->locked += unfair_rwsem_is_locked(&m->objects[n].lock) ||
			     unfair_rwsem_is_contended(&m->objects[n].lock);
		if (m->objects[n].value != 1)
			atomic_inc(&m->violations);
	}
	a->violations = atomic_read(&m->violations);
	a->concurrent_reads = atomic64_read(&m->concurrent_reads);
out:
	kvfree(m->objects);
	kfree(m);
	return ret;
}

/* --- the device ---------------------------------------------------------- */

union scale_args {
	u32			type;
	struct scale_read	read;
	struct scale_count	count;
	struct scale_init	init;
	struct scale_many	many;
	struct scale_state	state;
};

static int run_scale(void *object, unsigned int cmd, void *args)
{
	struct scale *s = object;
	union scale_args *a = args;

	switch (cmd) {
	case SCALE_CREATE:
		return create(s, a->type);
	case SCALE_INIT:
		return init_locks(&a->init);
	case SCALE_MANY:
		return many(&a->many);
	case SCALE_GO:
		complete_all(&s->go);
		return 0;
	case SCALE_STATE:
		a->state.readers = atomic_read(&s->readers);
		return 0;
	}
	/* pairs with create() */
	if (!smp_load_acquire(&s->ops))
		return -ENXIO;
	switch (cmd) {
	case SCALE_READ:
		return read_and_move(s, &a->read);
	case SCALE_COUNT:
		return count(s, &a->count);
	}
	return -ENOTTY;
}

static int open_scale(void **object)
{
	struct scale *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->setup);
	init_completion(&s->go);
	*object = s;
	return 0;
}

static void release_scale(void *object)
{
	struct scale *s = object;

	if (s->ops)
		test_lock_destroy(&s->lock, s->type);
	kfree(s);
}

TEST_DEVICE(scale_test, open_scale, release_scale, run_scale, union scale_args);

MODULE_DESCRIPTION("How the lock scales with CPUs, readers and locks");
MODULE_LICENSE("GPL");
