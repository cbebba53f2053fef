/* SPDX-License-Identifier: GPL-2.0 */
/* The lock types that tests and benchmarks compare, as a vector of operations. */
#ifndef FSCOMMIT_TEST_LOCKS_H
#define FSCOMMIT_TEST_LOCKS_H

#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/unfair_rwsem.h>
#include <linux/version.h>
#include <linux/wait.h>

#include "fscommit_test.h"

/* every module with these locks imports fscommit's symbols */
#include "import_fscommit.h"

/* Like f2fs_rwsem, written from its description: readers use trylock and wait on a waitqueue. */
struct f2fs_style {
	struct rw_semaphore	sem;
	wait_queue_head_t	readers;
};

static inline void f2fs_style_down_read(struct f2fs_style *l)
{
	wait_event(l->readers, down_read_trylock(&l->sem));
}

static inline void f2fs_style_up_read(struct f2fs_style *l)
{
	up_read(&l->sem);
}

static inline void f2fs_style_down_write(struct f2fs_style *l)
{
	down_write(&l->sem);
}

static inline void f2fs_style_up_write(struct f2fs_style *l)
{
	up_write(&l->sem);
	wake_up_all(&l->readers);
}

union test_lock {
	struct rw_semaphore		rwsem;
	struct f2fs_style		f2fs;
	struct percpu_rw_semaphore	percpu;
	struct unfair_rwsem		unfair;
	struct mutex			mutex;	/* LOCK_TEST_MUTEX */
};

struct test_lock_ops {
	/* Returns 0 or an error. @how: enum lock_test_how, @timeout: jiffies */
	int (*lock)(union test_lock *l, bool write, unsigned int how, long timeout,
		    unsigned int subclass);
	void (*unlock)(union test_lock *l, bool write);
	void (*downgrade)(union test_lock *l);	/* optional */
};

static int test_rwsem_lock(union test_lock *l, bool write, unsigned int how, long timeout,
			   unsigned int subclass)
{
	switch (how) {
	case LOCK_TEST_PLAIN:
		write ? down_write(&l->rwsem) : down_read(&l->rwsem);
		return 0;
	case LOCK_TEST_KILLABLE:
		return write ? down_write_killable(&l->rwsem) : down_read_killable(&l->rwsem);
	case LOCK_TEST_TRYLOCK:
		return (write ? down_write_trylock(&l->rwsem) : down_read_trylock(&l->rwsem)) ?
			0 : -EAGAIN;
	case LOCK_TEST_NESTED:
		write ? down_write_nested(&l->rwsem, subclass) :
			down_read_nested(&l->rwsem, subclass);
		return 0;
	}
	return -EOPNOTSUPP;
}

static void test_rwsem_unlock(union test_lock *l, bool write)
{
	write ? up_write(&l->rwsem) : up_read(&l->rwsem);
}

static void test_rwsem_downgrade(union test_lock *l)
{
	downgrade_write(&l->rwsem);
}

static int test_f2fs_lock(union test_lock *l, bool write, unsigned int how, long timeout,
			  unsigned int subclass)
{
	switch (how) {
	case LOCK_TEST_PLAIN:
		write ? f2fs_style_down_write(&l->f2fs) : f2fs_style_down_read(&l->f2fs);
		return 0;
	case LOCK_TEST_TRYLOCK:
		return (write ? down_write_trylock(&l->f2fs.sem) :
			down_read_trylock(&l->f2fs.sem)) ? 0 : -EAGAIN;
	}
	return -EOPNOTSUPP;
}

static void test_f2fs_unlock(union test_lock *l, bool write)
{
	write ? f2fs_style_up_write(&l->f2fs) : f2fs_style_up_read(&l->f2fs);
}

static int test_percpu_lock(union test_lock *l, bool write, unsigned int how, long timeout,
			    unsigned int subclass)
{
	switch (how) {
	case LOCK_TEST_PLAIN:
		write ? percpu_down_write(&l->percpu) : percpu_down_read(&l->percpu);
		return 0;
	case LOCK_TEST_TRYLOCK:
		if (write)
			return -EOPNOTSUPP;
		return percpu_down_read_trylock(&l->percpu) ? 0 : -EAGAIN;
	}
	return -EOPNOTSUPP;
}

static void test_percpu_unlock(union test_lock *l, bool write)
{
	write ? percpu_up_write(&l->percpu) : percpu_up_read(&l->percpu);
}

static int test_unfair_lock(union test_lock *l, bool write, unsigned int how, long timeout,
			    unsigned int subclass)
{
	struct unfair_rwsem *sem = &l->unfair;

	switch (how) {
	case LOCK_TEST_PLAIN:
		write ? unfair_down_write(sem) : unfair_down_read(sem);
		return 0;
	case LOCK_TEST_INTERRUPTIBLE:
		return write ? unfair_down_write_interruptible(sem) :
			       unfair_down_read_interruptible(sem);
	case LOCK_TEST_KILLABLE:
		return write ? unfair_down_write_killable(sem) : unfair_down_read_killable(sem);
	case LOCK_TEST_TIMEOUT:
		return write ? unfair_down_write_timeout(sem, timeout) :
			       unfair_down_read_timeout(sem, timeout);
	case LOCK_TEST_TRYLOCK:
		return (write ? unfair_down_write_trylock(sem) : unfair_down_read_trylock(sem)) ?
			0 : -EAGAIN;
	case LOCK_TEST_NESTED:
		write ? unfair_down_write_nested(sem, subclass) :
			unfair_down_read_nested(sem, subclass);
		return 0;
	}
	return -EOPNOTSUPP;
}

static void test_unfair_unlock(union test_lock *l, bool write)
{
	write ? unfair_up_write(&l->unfair) : unfair_up_read(&l->unfair);
}

static void test_unfair_downgrade(union test_lock *l)
{
	unfair_downgrade_write(&l->unfair);
}

static int test_busted_lock(union test_lock *l, bool write, unsigned int how, long timeout,
			    unsigned int subclass)
{
	return 0;
}

static void test_busted_unlock(union test_lock *l, bool write)
{
}

static int test_mutex_lock(union test_lock *l, bool write, unsigned int how, long timeout,
			   unsigned int subclass)
{
	switch (how) {
	case LOCK_TEST_PLAIN:
		mutex_lock(&l->mutex);
		return 0;
	case LOCK_TEST_KILLABLE:
		return mutex_lock_killable(&l->mutex);
	case LOCK_TEST_TRYLOCK:
		return mutex_trylock(&l->mutex) ? 0 : -EAGAIN;
	case LOCK_TEST_NESTED:
		mutex_lock_nested(&l->mutex, subclass);
		return 0;
	}
	return -EOPNOTSUPP;
}

static void test_mutex_unlock(union test_lock *l, bool write)
{
	mutex_unlock(&l->mutex);
}

static const struct test_lock_ops test_locks[LOCK_TEST_NR_TYPES] = {
	[LOCK_TEST_RWSEM] = { test_rwsem_lock, test_rwsem_unlock, test_rwsem_downgrade },
	[LOCK_TEST_F2FS] = { test_f2fs_lock, test_f2fs_unlock },
	[LOCK_TEST_PERCPU] = { test_percpu_lock, test_percpu_unlock },
	[LOCK_TEST_UNFAIR] = { test_unfair_lock, test_unfair_unlock, test_unfair_downgrade },
	[LOCK_TEST_BUSTED] = { test_busted_lock, test_busted_unlock },
	[LOCK_TEST_MUTEX] = { test_mutex_lock, test_mutex_unlock },
};

static int test_lock_init(union test_lock *l, unsigned int type)
{
	switch (type) {
	case LOCK_TEST_RWSEM:
		init_rwsem(&l->rwsem);
		return 0;
	case LOCK_TEST_F2FS:
		init_rwsem(&l->f2fs.sem);
		init_waitqueue_head(&l->f2fs.readers);
		return 0;
	case LOCK_TEST_PERCPU:
		return percpu_init_rwsem(&l->percpu);
	case LOCK_TEST_UNFAIR:
		init_unfair_rwsem(&l->unfair);
		return 0;
	case LOCK_TEST_MUTEX:
		mutex_init(&l->mutex);
		return 0;
	}
	return 0;
}

static void test_lock_destroy(union test_lock *l, unsigned int type)
{
	if (type == LOCK_TEST_PERCPU)
		percpu_free_rwsem(&l->percpu);
}

/*
 * Stays on the CPU for @ns or until @stop(). Preemptible at each step, also on kernels that check
 * for preemption only when it is enabled again (User-Mode Linux).
 */
static inline void test_hold_busy(u64 ns, bool (*stop)(void))
{
	u64 end = ktime_get_ns() + ns;

	do {
		preempt_disable();
		cpu_relax();
		preempt_enable();
	} while (ktime_get_ns() < end && !stop());
}

#endif /* FSCOMMIT_TEST_LOCKS_H */
