// SPDX-License-Identifier: GPL-2.0
/* /dev/fscommit_test: see fscommit_test.h. Tests only, root only. */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/poison.h>
#include <linux/sched/signal.h>

#include "test_device.h"
#include "test_locks.h"

/* For lockdep: a subclass that the inner lock never has. */
#define LOCK_TEST_OUTER_SUBCLASS	7

#define LOCK_TEST_OUTER							\
	(LOCK_TEST_OUTER_READ | LOCK_TEST_OUTER_WRITE | LOCK_TEST_OUTER_EXPEDITE)

struct lock_test_file {
	struct mutex		setup;		/* serializes LOCK_TEST_CREATE */
	const struct test_lock_ops *ops;	/* NULL until created */
	u32			type;
	u32			nr;		/* order of creation */
	union test_lock		lock;
	wait_queue_head_t	go_queue;
	DECLARE_BITMAP(go, LOCK_TEST_MAX_IDS);
	atomic_t		readers, writers;
	atomic_t		acquiring[LOCK_TEST_NR_MODES];
	atomic64_t		taken, violations;
};

static void check_in(struct lock_test_file *f, bool write)
{
	if (write) {
		if (atomic_inc_return(&f->writers) != 1 || atomic_read(&f->readers))
			atomic64_inc(&f->violations);
	} else {
		atomic_inc(&f->readers);
		if (atomic_read(&f->writers))
			atomic64_inc(&f->violations);
	}
}

static void check_out(struct lock_test_file *f, bool write)
{
	if (write) {
		if (atomic_dec_return(&f->writers) || atomic_read(&f->readers))
			atomic64_inc(&f->violations);
	} else {
		if (atomic_read(&f->writers))
			atomic64_inc(&f->violations);
		atomic_dec(&f->readers);
	}
}

static bool is_killed(void)
{
	return fatal_signal_pending(current);
}

static void sleep_us(u32 us)
{
	ktime_t t = ns_to_ktime((u64)us * NSEC_PER_USEC);

	set_current_state(TASK_KILLABLE);
	schedule_hrtimeout(&t, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

/* A longer gap between two readings of the clock means that the task was preempted. */
#define LOCK_TEST_GAP_NS	(50 * NSEC_PER_USEC)

/*
 * Stays on the CPU for @ns of the task's own time or, if @f is not NULL, until LOCK_TEST_GO with
 * @id. Preemptible, also on kernels that preempt only where the code permits it.
 */
static void stay_busy(u64 ns, struct lock_test_file *f, u32 id)
{
	u64 last = ktime_get_ns(), now, spent = 0;

	while (spent < ns && !is_killed() && !(f && test_and_clear_bit(id, f->go))) {
		test_hold_busy(0, is_killed);
		cond_resched();
		now = ktime_get_ns();
		spent += min_t(u64, now - last, LOCK_TEST_GAP_NS);
		last = now;
	}
}

static void hold(struct lock_test_file *f, const struct lock_test_op *op, u32 id)
{
	switch (op->hold) {
	case LOCK_TEST_BUSY:
		test_hold_busy((u64)op->hold_us * NSEC_PER_USEC, is_killed);
		break;
	case LOCK_TEST_SLEEP:
		sleep_us(op->hold_us);
		break;
	case LOCK_TEST_UNTIL_GO:
		/* a killed task just releases */
		if (wait_event_killable(f->go_queue, test_and_clear_bit(id, f->go)))
			break;
		break;
	case LOCK_TEST_BUSY_GO:
		stay_busy((u64)LOCK_TEST_MAX_HOLD_US * NSEC_PER_USEC, f, id);
		stay_busy((u64)op->hold_us * NSEC_PER_USEC, NULL, 0);
		break;
	}
}

static int check_op(const struct lock_test_file *f, const struct lock_test_op *op)
{
	if (op->mode >= LOCK_TEST_NR_MODES || op->how >= LOCK_TEST_NR_HOWS ||
	    op->hold >= LOCK_TEST_NR_HOLDS || op->hold_us > LOCK_TEST_MAX_HOLD_US ||
	    op->timeout_ms > LOCK_TEST_MAX_TIMEOUT_MS || op->subclass >= 8 ||
	    op->id >= LOCK_TEST_MAX_IDS || op->flags & ~LOCK_TEST_FLAGS)
		return -EINVAL;
	if (op->flags & LOCK_TEST_DOWNGRADE) {
		if (op->mode != LOCK_TEST_WRITE || op->id + 1 >= LOCK_TEST_MAX_IDS)
			return -EINVAL;
		if (!f->ops->downgrade)
			return -EOPNOTSUPP;
	}
	if (hweight32(op->flags & LOCK_TEST_OUTER) > 1)
		return -EINVAL;
	if (op->flags & LOCK_TEST_OUTER_FIRST &&
	    (!(op->flags & LOCK_TEST_OUTER_WRITE) || op->id + 1 >= LOCK_TEST_MAX_IDS))
		return -EINVAL;
	if (op->flags & LOCK_TEST_EXPEDITE &&
	    (f->type != LOCK_TEST_UNFAIR || !(op->flags & LOCK_TEST_OUTER_READ)))
		return -EINVAL;
	if (op->flags & (LOCK_TEST_STAY | LOCK_TEST_INNER_SECTION) &&
	    (!(op->flags & LOCK_TEST_OUTER_EXPEDITE) || op->id + 2 >= LOCK_TEST_MAX_IDS))
		return -EINVAL;
	if (op->how >= LOCK_TEST_GUARD)
		return f->type == LOCK_TEST_UNFAIR && !op->flags ? 0 : -EOPNOTSUPP;
	return 0;
}

static void under_lock(struct lock_test_file *f, struct lock_test_op *op, u64 start)
{
	op->wait_ns = ktime_get_ns() - start;
	op->order = atomic64_inc_return(&f->taken);
	atomic_dec(&f->acquiring[op->mode]);
	check_in(f, op->mode);
	hold(f, op, op->id);
	check_out(f, op->mode);
}

/* On older kernels, a conditional guard that fails has no error: @otherwise. */
static int cond_guard_error(const struct unfair_rwsem *sem, int otherwise)
{
	return IS_ERR(sem) ? PTR_ERR(sem) : otherwise;
}

#define UNDER_COND_GUARD(class, otherwise)				\
do {									\
	CLASS(class, g)(sem);						\
	if (IS_ERR_OR_NULL(g.lock))					\
		return cond_guard_error(g.lock, otherwise);		\
	under_lock(f, op, start);					\
} while (0)

static int lock_by_guard(struct lock_test_file *f, struct lock_test_op *op, u64 start)
{
	struct unfair_rwsem *sem = &f->lock.unfair;
	bool write = op->mode == LOCK_TEST_WRITE;

	switch (op->how) {
	case LOCK_TEST_GUARD:
		if (write) {
			scoped_guard(unfair_rwsem_write, sem)
				under_lock(f, op, start);
		} else {
			guard(unfair_rwsem_read)(sem);
			under_lock(f, op, start);
		}
		break;
	case LOCK_TEST_GUARD_TRY:
		if (write)
			UNDER_COND_GUARD(unfair_rwsem_write_try, -EAGAIN);
		else
			UNDER_COND_GUARD(unfair_rwsem_read_try, -EAGAIN);
		break;
	case LOCK_TEST_GUARD_INTR:
		if (write)
			UNDER_COND_GUARD(unfair_rwsem_write_intr, -EINTR);
		else
			UNDER_COND_GUARD(unfair_rwsem_read_intr, -EINTR);
		break;
	case LOCK_TEST_GUARD_KILL:
		if (write)
			UNDER_COND_GUARD(unfair_rwsem_write_kill, -EINTR);
		else
			UNDER_COND_GUARD(unfair_rwsem_read_kill, -EINTR);
		break;
	}
	return 0;
}

static int do_lock(struct lock_test_file *f, struct lock_test_op *op)
{
	bool write = op->mode == LOCK_TEST_WRITE;
	u64 start = ktime_get_ns();
	int ret = check_op(f, op);

	if (ret)
		return ret;
	atomic_inc(&f->acquiring[op->mode]);
	if (op->how >= LOCK_TEST_GUARD)
		ret = lock_by_guard(f, op, start);
	else
		ret = f->ops->lock(&f->lock, write, op->how,
				   msecs_to_jiffies(op->timeout_ms), op->subclass);
	if (ret) {
		atomic_dec(&f->acquiring[op->mode]);
		op->wait_ns = ktime_get_ns() - start;
		return ret;
	}
	if (op->how >= LOCK_TEST_GUARD)
		return 0;
	under_lock(f, op, start);
	if (op->flags & LOCK_TEST_DOWNGRADE) {
		/* before the downgrade: the lock must never seem to have no holder */
		atomic_inc(&f->readers);
		f->ops->downgrade(&f->lock);
		hold(f, op, op->id + 1);
		check_out(f, false);
		f->ops->unlock(&f->lock, false);
	} else {
		f->ops->unlock(&f->lock, write);
	}
	return 0;
}

static const struct file_operations fscommit_test_fops;

/* Waits for LOCK_TEST_GO first: until then, waiters for @held can lend to this task. */
static int do_lock_expedited(struct lock_test_file *f, struct lock_test_op *op,
			     struct lock_test_file *held)
{
	const struct lock_test_op until_go = { .hold = LOCK_TEST_UNTIL_GO };
	int ret = check_op(f, op);

	if (ret)
		return ret;
	hold(held, &until_go, 0);
	scoped_guard(unfair_rwsem_expedite, &f->lock.unfair)
		ret = do_lock(f, op);
	return ret;
}

static int do_lock_in_section(struct lock_test_file *f, struct lock_test_op *op,
			      struct unfair_rwsem *expedited)
{
	const struct lock_test_op until_go = { .hold = LOCK_TEST_UNTIL_GO };
	struct unfair_section inner;
	int ret;

	if (op->flags & LOCK_TEST_OUTER_NESTED) {
		unfair_rwsem_expedite(expedited, &inner);
		unfair_rwsem_unexpedite(&inner);
	}
	if (op->flags & LOCK_TEST_INNER_SECTION)
		unfair_rwsem_expedite(expedited, &inner);
	ret = do_lock(f, op);
	if (op->flags & LOCK_TEST_INNER_SECTION)
		unfair_rwsem_unexpedite(&inner);
	if (!ret && op->flags & LOCK_TEST_STAY)
		hold(f, &until_go, op->id + 2);
	return ret;
}

static int do_lock_within_write(struct lock_test_file *f, struct lock_test_op *op,
				struct lock_test_file *outer)
{
	const struct lock_test_op until_go = { .hold = LOCK_TEST_UNTIL_GO };
	int ret = check_op(f, op);

	if (!ret)
		ret = outer->ops->lock(&outer->lock, true, LOCK_TEST_NESTED, 0,
				       LOCK_TEST_OUTER_SUBCLASS);
	if (ret)
		return ret;
	check_in(outer, true);
	if (op->flags & LOCK_TEST_OUTER_FIRST)
		hold(outer, &until_go, op->id + 1);
	ret = do_lock(f, op);
	check_out(outer, true);
	outer->ops->unlock(&outer->lock, true);
	return ret;
}

/*
 * True if @outer was created before @f: if all programs keep this order, they cannot deadlock. A
 * task that can be killed may break it.
 */
static bool is_ordered(const struct lock_test_file *f, const struct lock_test_op *op,
		       const struct lock_test_file *outer)
{
	if (outer == f)
		return op->flags & LOCK_TEST_OUTER_EXPEDITE;
	return outer->nr < f->nr ||
	       (op->flags & LOCK_TEST_OUTER_WRITE && op->how == LOCK_TEST_KILLABLE);
}

/* LOCK_TEST_LOCK with another lock held, or expedited. */
static int do_lock_within(struct lock_test_file *f, struct lock_test_op *op)
{
	struct file *file = fget(op->outer);
	struct lock_test_file *outer;
	int ret = -EINVAL;

	if (!file)
		return -EBADF;
	if (file->f_op != &fscommit_test_fops)
		goto out;
	outer = file->private_data;
	/* pairs with create() */
	if (!smp_load_acquire(&outer->ops) || !is_ordered(f, op, outer) ||
	    op->subclass == LOCK_TEST_OUTER_SUBCLASS)
		goto out;
	if (op->flags & LOCK_TEST_OUTER_WRITE) {
		ret = do_lock_within_write(f, op, outer);
		goto out;
	}
	if (outer->type != LOCK_TEST_UNFAIR)
		goto out;
	if (op->flags & LOCK_TEST_OUTER_EXPEDITE) {
		scoped_guard(unfair_rwsem_expedite, &outer->lock.unfair)
			ret = do_lock_in_section(f, op, &outer->lock.unfair);
		goto out;
	}
	unfair_down_read_nested(&outer->lock.unfair, LOCK_TEST_OUTER_SUBCLASS);
	check_in(outer, false);
	ret = op->flags & LOCK_TEST_EXPEDITE ? do_lock_expedited(f, op, outer) : do_lock(f, op);
	check_out(outer, false);
	unfair_up_read(&outer->lock.unfair);
out:
	fput(file);
	return ret;
}

static int do_loop(struct lock_test_file *f, struct lock_test_loop *l)
{
	bool write = l->mode == LOCK_TEST_WRITE;
	u64 start = ktime_get_ns(), end, before, held;

	if (l->mode >= LOCK_TEST_NR_MODES || l->duration_ms > LOCK_TEST_MAX_LOOP_MS ||
	    l->hold_ns > NSEC_PER_SEC || l->pause_us > LOCK_TEST_MAX_HOLD_US)
		return -EINVAL;
	end = start + (u64)l->duration_ms * NSEC_PER_MSEC;
	l->count = 0;
	l->wait_max_ns = 0;
	l->hold_max_ns = 0;
	do {
		before = ktime_get_ns();
		f->ops->lock(&f->lock, write, LOCK_TEST_PLAIN, 0, 0);
		held = ktime_get_ns();
		l->wait_max_ns = max(l->wait_max_ns, held - before);
		atomic64_inc(&f->taken);
		check_in(f, write);
		test_hold_busy(l->hold_ns, is_killed);
		check_out(f, write);
		f->ops->unlock(&f->lock, write);
		l->hold_max_ns = max(l->hold_max_ns, ktime_get_ns() - held);
		l->count++;
		if (l->pause_us)
			sleep_us(l->pause_us);
		cond_resched();
	} while (ktime_get_ns() < end && !signal_pending(current));
	return 0;
}

/* One function for each loop, so that the compiler optimizes each of them independently. */
#define DEFINE_PAIRS(name, lock, unlock)				\
static noinline void pairs_##name(union test_lock *l, u64 n)		\
{									\
	u64 i;								\
									\
	for (i = 0; i < n; i++) {					\
		lock;							\
		unlock;							\
		if (!(i & 0xffff)) {					\
			if (fatal_signal_pending(current))		\
				break;					\
			cond_resched();					\
		}							\
	}								\
}

DEFINE_PAIRS(rwsem_read, down_read(&l->rwsem), up_read(&l->rwsem))
DEFINE_PAIRS(rwsem_write, down_write(&l->rwsem), up_write(&l->rwsem))
DEFINE_PAIRS(f2fs_read, f2fs_style_down_read(&l->f2fs), f2fs_style_up_read(&l->f2fs))
DEFINE_PAIRS(f2fs_write, f2fs_style_down_write(&l->f2fs), f2fs_style_up_write(&l->f2fs))
DEFINE_PAIRS(percpu_read, percpu_down_read(&l->percpu), percpu_up_read(&l->percpu))
DEFINE_PAIRS(unfair_read, unfair_down_read(&l->unfair), unfair_up_read(&l->unfair))
DEFINE_PAIRS(unfair_write, unfair_down_write(&l->unfair), unfair_up_write(&l->unfair))
/* the empty loop, for subtraction */
DEFINE_PAIRS(nothing, barrier(), barrier())

static int do_pairs(struct lock_test_file *f, struct lock_test_pairs *p)
{
	static void (*const pairs[LOCK_TEST_NR_TYPES * 2])(union test_lock *l, u64 n) = {
		[LOCK_TEST_RWSEM * 2 + LOCK_TEST_READ] = pairs_rwsem_read,
		[LOCK_TEST_RWSEM * 2 + LOCK_TEST_WRITE] = pairs_rwsem_write,
		[LOCK_TEST_F2FS * 2 + LOCK_TEST_READ] = pairs_f2fs_read,
		[LOCK_TEST_F2FS * 2 + LOCK_TEST_WRITE] = pairs_f2fs_write,
		[LOCK_TEST_PERCPU * 2 + LOCK_TEST_READ] = pairs_percpu_read,
		[LOCK_TEST_UNFAIR * 2 + LOCK_TEST_READ] = pairs_unfair_read,
		[LOCK_TEST_UNFAIR * 2 + LOCK_TEST_WRITE] = pairs_unfair_write,
		[LOCK_TEST_BUSTED * 2 + LOCK_TEST_READ] = pairs_nothing,
		[LOCK_TEST_BUSTED * 2 + LOCK_TEST_WRITE] = pairs_nothing,
	};
	u64 start;

	if (p->mode >= LOCK_TEST_NR_MODES || p->pairs > LOCK_TEST_MAX_PAIRS)
		return -EINVAL;
	if (!pairs[f->type * 2 + p->mode])
		return -EOPNOTSUPP;
	start = ktime_get_ns();
	pairs[f->type * 2 + p->mode](&f->lock, p->pairs);
	p->ns = ktime_get_ns() - start;
	return 0;
}

static unsigned int count_slots(const struct unfair_rwsem *sem)
{
	unsigned int i, nr = __unfair_biased_readers(sem);

	for (i = 0; i < ARRAY_SIZE(unfair_reader_slots); i++) {
		unsigned long v = READ_ONCE(unfair_reader_slots[i]);

		nr += v && v == __unfair_reader_id(sem, __unfair_reader_pid(sem, v));
	}
	return nr;
}

static unsigned int count_nodes(const struct rb_root *root)
{
	const struct rb_node *n;
	unsigned int nr = 0;

	for (n = rb_first(root); n; n = rb_next(n))
		nr++;
	return nr;
}

static void get_state(struct lock_test_file *f, struct lock_test_state *s)
{
	*s = (struct lock_test_state) {
		.readers = atomic_read(&f->readers),
		.writers = atomic_read(&f->writers),
		.acquiring_readers = atomic_read(&f->acquiring[LOCK_TEST_READ]),
		.acquiring_writers = atomic_read(&f->acquiring[LOCK_TEST_WRITE]),
		.taken = atomic64_read(&f->taken),
		.violations = atomic64_read(&f->violations),
	};
	if (f->type == LOCK_TEST_UNFAIR) {
		struct unfair_rwsem *sem = &f->lock.unfair;
		unsigned long flags;

		s->is_locked = unfair_rwsem_is_locked(sem);
		s->is_write_locked = unfair_rwsem_is_write_locked(sem);
		s->is_contended = unfair_rwsem_is_contended(sem);
		s->window = !!(atomic_long_read(&sem->word) & UNFAIR_RWSEM_WINDOW);
		s->biased = !s->is_write_locked && atomic_long_read(&sem->word) < 0;
		s->seen = count_slots(sem);
		raw_spin_lock_irqsave(&sem->wait_lock, flags);
		s->expedited = sem->expedited;
		s->queued_readers = count_nodes(&sem->readers);
		s->queued_writers = count_nodes(&sem->writers.rb_root);
		raw_spin_unlock_irqrestore(&sem->wait_lock, flags);
	} else if (f->type == LOCK_TEST_RWSEM) {
		s->is_locked = rwsem_is_locked(&f->lock.rwsem);
		s->is_contended = rwsem_is_contended(&f->lock.rwsem);
	} else if (f->type == LOCK_TEST_MUTEX) {
		s->is_locked = mutex_is_locked(&f->lock.mutex);
	}
}

static int create(struct lock_test_file *f, u32 type)
{
	static atomic_t nr;
	int ret = -EBUSY;

	if (type >= LOCK_TEST_NR_TYPES)
		return -EINVAL;
	mutex_lock(&f->setup);
	if (!f->ops) {
		ret = test_lock_init(&f->lock, type);
		f->type = type;
		f->nr = atomic_inc_return(&nr);
		if (!ret) {
			/* publishes the initialised lock: pairs with run_ioctl() */
			smp_store_release(&f->ops, &test_locks[type]);
		}
	}
	mutex_unlock(&f->setup);
	return ret;
}

static int open_file(void **object)
{
	struct lock_test_file *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	mutex_init(&f->setup);
	init_waitqueue_head(&f->go_queue);
	*object = f;
	return 0;
}

static void release_file(void *object)
{
	struct lock_test_file *f = object;

	if (f->ops) {
		if (f->type == LOCK_TEST_UNFAIR)
			WARN_ON_ONCE(unfair_rwsem_is_locked(&f->lock.unfair) ||
				     unfair_rwsem_is_contended(&f->lock.unfair));
		test_lock_destroy(&f->lock, f->type);
	}
	/* its owner is no longer a pointer: a look that still follows it crashes */
	memset(f, POISON_FREE, sizeof(*f));
	barrier_data(f);
	kfree(f);
}

static int set_option(struct lock_test_file *f, unsigned int cmd, u32 v)
{
	if (cmd == LOCK_TEST_GO) {
		if (v >= LOCK_TEST_MAX_IDS)
			return -EINVAL;
		set_bit(v, f->go);
		wake_up_all(&f->go_queue);
		return 0;
	}
	if (f->type != LOCK_TEST_UNFAIR)
		return -EOPNOTSUPP;
	if (cmd == LOCK_TEST_SET_BOUND)
		return unfair_rwsem_set_reader_bound(&f->lock.unfair, v);
	unfair_rwsem_set_lend(&f->lock.unfair, v);
	return 0;
}

union lock_test_args {
	u32 v;
	struct lock_test_op op;
	struct lock_test_state state;
	struct lock_test_pairs pairs;
	struct lock_test_loop loop;
	struct lock_test_misuse misuse;
};

static int run_ioctl(void *object, unsigned int cmd, void *args)
{
	struct lock_test_file *f = object;
	union lock_test_args *u = args;

	if (cmd == LOCK_TEST_CREATE)
		return create(f, u->v);
	if (cmd == LOCK_TEST_MISUSE)
		return strnlen(u->misuse.name, sizeof(u->misuse.name)) < sizeof(u->misuse.name) ?
			lock_test_misuse(u->misuse.name) : -EINVAL;
	/* pairs with create() */
	if (!smp_load_acquire(&f->ops))
		return -ENXIO;

	switch (cmd) {
	case LOCK_TEST_LOCK:
		u->op.wait_ns = 0;
		u->op.order = 0;
		return u->op.flags & LOCK_TEST_OUTER ? do_lock_within(f, &u->op) :
						       do_lock(f, &u->op);
	case LOCK_TEST_GO:
	case LOCK_TEST_SET_BOUND:
	case LOCK_TEST_SET_LEND:
		return set_option(f, cmd, u->v);
	case LOCK_TEST_STATE:
		get_state(f, &u->state);
		return 0;
	case LOCK_TEST_PAIRS:
		return do_pairs(f, &u->pairs);
	case LOCK_TEST_LOOP:
		return do_loop(f, &u->loop);
	}
	return -ENOTTY;
}

TEST_DEVICE(fscommit_test, open_file, release_file, run_ioctl, union lock_test_args);

MODULE_DESCRIPTION("Locks for the tests of fscommit");
MODULE_LICENSE("GPL");
