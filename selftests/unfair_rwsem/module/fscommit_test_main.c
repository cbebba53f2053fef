// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/fscommit_test: see fscommit_test.h. Tests only, root only.
 */
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "misuse.h"
#include "test_locks.h"

/* For lockdep: not one that the lock inside has. */
#define FCT_OUTER_SUBCLASS	7

struct fct_file {
	struct mutex		setup;		/* FCT_CREATE against itself */
	const struct test_lock_ops *ops;	/* NULL until created */
	u32			type;
	u32			nr;		/* in the order in which they were made */
	union test_lock		lock;
	wait_queue_head_t	go_queue;
	DECLARE_BITMAP(go, FCT_MAX_IDS);
	atomic_t		readers, writers;
	atomic_t		acquiring[FCT_NR_MODES];
	atomic64_t		taken, violations;
};

static void check_in(struct fct_file *f, bool write)
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

static void check_out(struct fct_file *f, bool write)
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

/* A gap between two looks at the clock is time in which the task was preempted. */
#define FCT_GAP_NS	(50 * NSEC_PER_USEC)

/*
 * Stay on the CPU for @ns of the task's own time, or until FCT_GO with @id if @f is not NULL.
 * Preemptible, also on kernels that preempt only where the code allows it.
 */
static void stay_busy(u64 ns, struct fct_file *f, u32 id)
{
	u64 last = ktime_get_ns(), now, spent = 0;

	while (spent < ns && !is_killed() && !(f && test_and_clear_bit(id, f->go))) {
		test_hold_busy(0, is_killed);
		cond_resched();
		now = ktime_get_ns();
		spent += min_t(u64, now - last, FCT_GAP_NS);
		last = now;
	}
}

static void hold(struct fct_file *f, const struct fct_op *op, u32 id)
{
	switch (op->hold) {
	case FCT_BUSY:
		test_hold_busy((u64)op->hold_us * NSEC_PER_USEC, is_killed);
		break;
	case FCT_SLEEP:
		sleep_us(op->hold_us);
		break;
	case FCT_UNTIL_GO:
		/* killed: release at once, whatever the return value */
		if (wait_event_killable(f->go_queue, test_and_clear_bit(id, f->go)))
			break;
		break;
	case FCT_BUSY_GO:
		stay_busy((u64)FCT_MAX_HOLD_US * NSEC_PER_USEC, f, id);
		stay_busy((u64)op->hold_us * NSEC_PER_USEC, NULL, 0);
		break;
	}
}

static int check_op(const struct fct_file *f, const struct fct_op *op)
{
	if (op->mode >= FCT_NR_MODES || op->how >= FCT_NR_HOWS || op->hold >= FCT_NR_HOLDS ||
	    op->hold_us > FCT_MAX_HOLD_US || op->timeout_ms > FCT_MAX_TIMEOUT_MS ||
	    op->subclass >= 8 || op->id >= FCT_MAX_IDS || op->flags & ~FCT_FLAGS)
		return -EINVAL;
	if (op->flags & FCT_DOWNGRADE) {
		if (op->mode != FCT_WRITE || op->id + 1 >= FCT_MAX_IDS)
			return -EINVAL;
		if (!f->ops->downgrade)
			return -EOPNOTSUPP;
	}
	if (op->flags & FCT_OUTER_READ && op->flags & FCT_OUTER_EXPEDITE)
		return -EINVAL;
	if (op->flags & FCT_EXPEDITE && (f->type != FCT_UNFAIR || !(op->flags & FCT_OUTER_READ)))
		return -EINVAL;
	if (op->flags & (FCT_STAY | FCT_INNER_SECTION) &&
	    (!(op->flags & FCT_OUTER_EXPEDITE) || op->id + 2 >= FCT_MAX_IDS))
		return -EINVAL;
	if (op->how == FCT_GUARD || op->how == FCT_GUARD_TRY)
		return f->type == FCT_UNFAIR && !op->flags ? 0 : -EOPNOTSUPP;
	return 0;
}

static void under_lock(struct fct_file *f, struct fct_op *op, u64 start)
{
	op->wait_ns = ktime_get_ns() - start;
	op->order = atomic64_inc_return(&f->taken);
	atomic_dec(&f->acquiring[op->mode]);
	check_in(f, op->mode);
	hold(f, op, op->id);
	check_out(f, op->mode);
}

static int lock_by_guard(struct fct_file *f, struct fct_op *op, u64 start)
{
	struct unfair_rwsem *sem = &f->lock.unfair;

	if (op->how == FCT_GUARD && op->mode == FCT_WRITE) {
		scoped_guard(unfair_rwsem_write, sem)
			under_lock(f, op, start);
	} else if (op->how == FCT_GUARD) {
		guard(unfair_rwsem_read)(sem);
		under_lock(f, op, start);
	} else if (op->mode == FCT_WRITE) {
		CLASS(unfair_rwsem_write_try, g)(sem);
		if (!g.lock)
			return -EAGAIN;
		under_lock(f, op, start);
	} else {
		CLASS(unfair_rwsem_read_try, g)(sem);
		if (!g.lock)
			return -EAGAIN;
		under_lock(f, op, start);
	}
	return 0;
}

static int do_lock(struct fct_file *f, struct fct_op *op)
{
	bool write = op->mode == FCT_WRITE;
	u64 start = ktime_get_ns();
	int ret = check_op(f, op);

	if (ret)
		return ret;
	atomic_inc(&f->acquiring[op->mode]);
	if (op->how == FCT_GUARD || op->how == FCT_GUARD_TRY)
		ret = lock_by_guard(f, op, start);
	else
		ret = f->ops->lock(&f->lock, write, op->how,
				   msecs_to_jiffies(op->timeout_ms), op->subclass);
	if (ret) {
		atomic_dec(&f->acquiring[op->mode]);
		op->wait_ns = ktime_get_ns() - start;
		return ret;
	}
	if (op->how == FCT_GUARD || op->how == FCT_GUARD_TRY)
		return 0;
	under_lock(f, op, start);
	if (op->flags & FCT_DOWNGRADE) {
		/* count in as a reader first: no moment in which nobody seems to hold it */
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

static const struct file_operations fct_fops;

/* What was lent on account of the lock that is held has been by then. */
static int do_lock_expedited(struct fct_file *f, struct fct_op *op, struct fct_file *held)
{
	const struct fct_op until_go = { .hold = FCT_UNTIL_GO };
	int ret = check_op(f, op);

	if (ret)
		return ret;
	hold(held, &until_go, 0);
	scoped_guard(unfair_rwsem_expedite, &f->lock.unfair)
		ret = do_lock(f, op);
	return ret;
}

static int do_lock_in_section(struct fct_file *f, struct fct_op *op, struct unfair_rwsem *expedited)
{
	const struct fct_op until_go = { .hold = FCT_UNTIL_GO };
	int ret;

	if (op->flags & FCT_OUTER_NESTED) {
		unfair_rwsem_expedite(expedited);
		unfair_rwsem_unexpedite(expedited);
	}
	if (op->flags & FCT_INNER_SECTION)
		unfair_rwsem_expedite(expedited);
	ret = do_lock(f, op);
	if (op->flags & FCT_INNER_SECTION)
		unfair_rwsem_unexpedite(expedited);
	if (!ret && op->flags & FCT_STAY)
		hold(f, &until_go, op->id + 2);
	return ret;
}

/* With another lock held, or expedited. */
static int do_lock_within(struct fct_file *f, struct fct_op *op)
{
	struct file *file = fget(op->outer);
	struct fct_file *outer;
	int ret = -EINVAL;
	bool itself;

	if (!file)
		return -EBADF;
	if (file->f_op != &fct_fops)
		goto out;
	outer = file->private_data;
	itself = outer == f && op->flags & FCT_OUTER_EXPEDITE;
	/* the older one outside, always, or two programs could lock each other out */
	if (!smp_load_acquire(&outer->ops) || outer->type != FCT_UNFAIR ||
	    (outer->nr >= f->nr && !itself) || op->subclass == FCT_OUTER_SUBCLASS)
		goto out;
	if (op->flags & FCT_OUTER_EXPEDITE) {
		scoped_guard(unfair_rwsem_expedite, &outer->lock.unfair)
			ret = do_lock_in_section(f, op, &outer->lock.unfair);
		goto out;
	}
	unfair_down_read_nested(&outer->lock.unfair, FCT_OUTER_SUBCLASS);
	check_in(outer, false);
	ret = op->flags & FCT_EXPEDITE ? do_lock_expedited(f, op, outer) : do_lock(f, op);
	check_out(outer, false);
	unfair_up_read(&outer->lock.unfair);
out:
	fput(file);
	return ret;
}

static int do_loop(struct fct_file *f, struct fct_loop *l)
{
	bool write = l->mode == FCT_WRITE;
	u64 start = ktime_get_ns(), end, before, held;

	if (l->mode >= FCT_NR_MODES || l->duration_ms > FCT_MAX_LOOP_MS ||
	    l->hold_ns > NSEC_PER_SEC || l->pause_us > FCT_MAX_HOLD_US)
		return -EINVAL;
	end = start + (u64)l->duration_ms * NSEC_PER_MSEC;
	l->count = 0;
	l->wait_max_ns = 0;
	l->hold_max_ns = 0;
	do {
		before = ktime_get_ns();
		f->ops->lock(&f->lock, write, FCT_PLAIN, 0, 0);
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

/* A function for each: what the compiler does in one loop does not depend on the others. */
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
/* the empty loop, to be taken off */
DEFINE_PAIRS(nothing, barrier(), barrier())

static int do_pairs(struct fct_file *f, struct fct_pairs *p)
{
	static void (*const pairs[FCT_NR_TYPES * 2])(union test_lock *l, u64 n) = {
		[FCT_RWSEM * 2 + FCT_READ] = pairs_rwsem_read,
		[FCT_RWSEM * 2 + FCT_WRITE] = pairs_rwsem_write,
		[FCT_F2FS * 2 + FCT_READ] = pairs_f2fs_read,
		[FCT_F2FS * 2 + FCT_WRITE] = pairs_f2fs_write,
		[FCT_PERCPU * 2 + FCT_READ] = pairs_percpu_read,
		[FCT_UNFAIR * 2 + FCT_READ] = pairs_unfair_read,
		[FCT_UNFAIR * 2 + FCT_WRITE] = pairs_unfair_write,
		[FCT_BUSTED * 2 + FCT_READ] = pairs_nothing,
		[FCT_BUSTED * 2 + FCT_WRITE] = pairs_nothing,
	};
	u64 start;

	if (p->mode >= FCT_NR_MODES || p->pairs > FCT_MAX_PAIRS)
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

		nr += v && v == __unfair_reader_id(sem, v & (BIT(UNFAIR_PID_BITS) - 1));
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

static void get_state(struct fct_file *f, struct fct_state *s)
{
	*s = (struct fct_state) {
		.readers = atomic_read(&f->readers),
		.writers = atomic_read(&f->writers),
		.acquiring_readers = atomic_read(&f->acquiring[FCT_READ]),
		.acquiring_writers = atomic_read(&f->acquiring[FCT_WRITE]),
		.taken = atomic64_read(&f->taken),
		.violations = atomic64_read(&f->violations),
	};
	if (f->type == FCT_UNFAIR) {
		struct unfair_rwsem *sem = &f->lock.unfair;
		unsigned long flags;

		s->is_locked = unfair_rwsem_is_locked(sem);
		s->is_write_locked = unfair_rwsem_is_write_locked(sem);
		s->is_contended = unfair_rwsem_is_contended(sem);
		s->window = !!(atomic_long_read(&sem->word) & UNFAIR_RWSEM_WINDOW);
		s->biased = !s->is_write_locked && atomic_long_read(&sem->word) < 0;
		s->seen = count_slots(sem);
		raw_spin_lock_irqsave(&sem->wait_lock, flags);
		s->queued_readers = count_nodes(&sem->readers);
		s->queued_writers = count_nodes(&sem->writers.rb_root);
		raw_spin_unlock_irqrestore(&sem->wait_lock, flags);
	} else if (f->type == FCT_RWSEM) {
		s->is_locked = rwsem_is_locked(&f->lock.rwsem);
		s->is_contended = rwsem_is_contended(&f->lock.rwsem);
	}
}

static int create(struct fct_file *f, u32 type)
{
	static atomic_t nr;
	int ret = -EBUSY;

	if (type >= FCT_NR_TYPES)
		return -EINVAL;
	mutex_lock(&f->setup);
	if (!f->ops) {
		ret = test_lock_init(&f->lock, type);
		f->type = type;
		f->nr = atomic_inc_return(&nr);
		if (!ret) {
			/* whoever sees ops sees the lock initialised: pairs with fct_ioctl() */
			smp_store_release(&f->ops, &test_locks[type]);
		}
	}
	mutex_unlock(&f->setup);
	return ret;
}

static int fct_open(struct inode *inode, struct file *file)
{
	struct fct_file *f;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	mutex_init(&f->setup);
	init_waitqueue_head(&f->go_queue);
	file->private_data = f;
	return 0;
}

static int fct_release(struct inode *inode, struct file *file)
{
	struct fct_file *f = file->private_data;

	if (f->ops) {
		if (f->type == FCT_UNFAIR)
			WARN_ON_ONCE(unfair_rwsem_is_locked(&f->lock.unfair) ||
				     unfair_rwsem_is_contended(&f->lock.unfair));
		test_lock_destroy(&f->lock, f->type);
	}
	kfree(f);
	return 0;
}

static long fct_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct fct_file *f = file->private_data;
	void __user *p = (void __user *)arg;
	union {
		u32 v;
		struct fct_op op;
		struct fct_state state;
		struct fct_pairs pairs;
		struct fct_loop loop;
		struct fct_misuse misuse;
	} u;
	long ret;

	if (_IOC_TYPE(cmd) != 'F' || _IOC_SIZE(cmd) > sizeof(u))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&u, p, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == FCT_CREATE)
		return create(f, u.v);
	if (cmd == FCT_MISUSE)
		return strnlen(u.misuse.name, sizeof(u.misuse.name)) < sizeof(u.misuse.name) ?
			fct_misuse(u.misuse.name) : -EINVAL;
	/* pairs with create() */
	if (!smp_load_acquire(&f->ops))
		return -ENXIO;

	switch (cmd) {
	case FCT_LOCK:
		u.op.wait_ns = 0;
		u.op.order = 0;
		ret = u.op.flags & (FCT_OUTER_READ | FCT_OUTER_EXPEDITE) ?
			do_lock_within(f, &u.op) : do_lock(f, &u.op);
		break;
	case FCT_GO:
		if (u.v >= FCT_MAX_IDS)
			return -EINVAL;
		set_bit(u.v, f->go);
		wake_up_all(&f->go_queue);
		return 0;
	case FCT_STATE:
		get_state(f, &u.state);
		ret = 0;
		break;
	case FCT_SET_BOUND:
		return f->type == FCT_UNFAIR ?
			unfair_rwsem_set_reader_bound(&f->lock.unfair, u.v) : -EOPNOTSUPP;
	case FCT_SET_LEND:
		return f->type == FCT_UNFAIR ?
			unfair_rwsem_set_lend(&f->lock.unfair, u.v) : -EOPNOTSUPP;
	case FCT_PAIRS:
		ret = do_pairs(f, &u.pairs);
		break;
	case FCT_LOOP:
		ret = do_loop(f, &u.loop);
		break;
	default:
		return -ENOTTY;
	}
	if (copy_to_user(p, &u, _IOC_SIZE(cmd)))
		return -EFAULT;
	return ret;
}

static const struct file_operations fct_fops = {
	.owner = THIS_MODULE,
	.open = fct_open,
	.release = fct_release,
	.unlocked_ioctl = fct_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice fct_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fscommit_test",
	.fops = &fct_fops,
	.mode = 0600,
};

module_misc_device(fct_dev);

MODULE_DESCRIPTION("Locks for the tests of fscommit to fight over");
MODULE_LICENSE("GPL");
