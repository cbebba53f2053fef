// SPDX-License-Identifier: GPL-2.0
/*
 * Misuses of the lock that the kernel must report. Each needs a boot of its own, because lockdep
 * switches itself off after its first report. Some of them test the harness itself.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/unfair_rwsem.h>

#include "fscommit_test.h"

static DEFINE_UNFAIR_RWSEM(a);
static DEFINE_UNFAIR_RWSEM(b);
static DEFINE_MUTEX(mutex);
static DECLARE_RWSEM(rwsem);
/* What a misuse must not have done. The program reports it as a failure. */
static bool failed;

#define MUST(cond)							\
do {									\
	if (!(cond)) {							\
		pr_err("misuse: this must be true: %s\n", #cond);	\
		failed = true;						\
	}								\
} while (0)

/* Does no task hold @sem, and can it be acquired and released? */
static bool is_usable(struct unfair_rwsem *sem)
{
	if (unfair_rwsem_is_locked(sem) || !unfair_down_write_trylock(sem))
		return false;
	unfair_up_write(sem);
	return !unfair_rwsem_is_locked(sem);
}

struct node {
	struct unfair_rwsem sem;
};

/* all nodes are of one lockdep class */
static void init_node(struct node *n)
{
	init_unfair_rwsem(&n->sem);
}

static void read_in_read(void)
{
	unfair_down_read(&a);
	unfair_down_read(&a);
	unfair_up_read(&a);
	unfair_up_read(&a);
}

static void write_in_read(void)
{
	/* with a timeout: lockdep checks the call, and the task does not hang */
	unfair_down_read(&a);
	if (unfair_down_write_timeout(&a, 1))
		pr_info("misuse: no write lock, as expected\n");
	unfair_up_read(&a);
}

static void abba_mutex(void)
{
	unfair_down_read(&a);
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	unfair_up_read(&a);

	mutex_lock(&mutex);
	unfair_down_write(&a);
	unfair_up_write(&a);
	mutex_unlock(&mutex);
}

static void abba_rwsem(void)
{
	unfair_down_write(&a);
	down_read(&rwsem);
	up_read(&rwsem);
	unfair_up_write(&a);

	down_write(&rwsem);
	unfair_down_read(&a);
	unfair_up_read(&a);
	up_write(&rwsem);
}

/* Readers of two locks in both orders deadlock if writers are queued. */
static void abba_readers(void)
{
	unfair_down_read(&a);
	unfair_down_read(&b);
	unfair_up_read(&b);
	unfair_up_read(&a);

	unfair_down_read(&b);
	unfair_down_read(&a);
	unfair_up_read(&a);
	unfair_up_read(&b);
}

/* Two locks of one class without a subclass. */
static void same_class(void)
{
	struct node n[2];

	init_node(&n[0]);
	init_node(&n[1]);
	unfair_down_write(&n[0].sem);
	unfair_down_write(&n[1].sem);
	unfair_up_write(&n[1].sem);
	unfair_up_write(&n[0].sem);
}

/* No misuse: the kernel must not report anything. */
static void nested(void)
{
	struct node n[2];

	init_node(&n[0]);
	init_node(&n[1]);
	unfair_down_write_nested(&n[0].sem, 0);
	unfair_down_write_nested(&n[1].sem, 1);
	unfair_up_write(&n[1].sem);
	unfair_up_write(&n[0].sem);
	unfair_down_read_nested(&n[0].sem, 0);
	unfair_down_read_nested(&n[1].sem, 1);
	unfair_up_read(&n[1].sem);
	unfair_up_read(&n[0].sem);
	mutex_lock(&mutex);
	unfair_down_write_nest_lock(&n[0].sem, &mutex);
	unfair_down_write_nest_lock(&n[1].sem, &mutex);
	unfair_up_write(&n[1].sem);
	unfair_up_write(&n[0].sem);
	mutex_unlock(&mutex);
	unfair_down_write(&a);
	unfair_rwsem_assert_held(&a);
	unfair_rwsem_assert_held_write(&a);
	unfair_downgrade_write(&a);
	unfair_rwsem_assert_held_read(&a);
	unfair_up_read(&a);
}

static void freed_while_held(void)
{
	struct node *n = kmalloc(sizeof(*n), GFP_KERNEL);

	if (!n)
		return;
	init_node(n);
	unfair_down_read(&n->sem);
	kfree(n);
}

static void initialised_while_held(void)
{
	struct node n;

	init_node(&n);
	unfair_down_write(&n.sem);
	init_node(&n);
}

static struct lock_class_key shared_key;

static void fair_then_unfair(void)
{
	struct rw_semaphore fair;
	struct unfair_rwsem unfair;

	init_rwsem(&fair);
	lockdep_set_class_and_name(&fair, &shared_key, "shared");
	down_read(&fair);
	up_read(&fair);
	__init_unfair_rwsem(&unfair, "shared", &shared_key);
	unfair_down_read(&unfair);
	unfair_up_read(&unfair);
}

static void unfair_then_fair(void)
{
	struct rw_semaphore fair;
	struct unfair_rwsem unfair;

	__init_unfair_rwsem(&unfair, "shared", &shared_key);
	unfair_down_read(&unfair);
	unfair_up_read(&unfair);
	init_rwsem(&fair);
	lockdep_set_class_and_name(&fair, &shared_key, "shared");
	down_read(&fair);
	up_read(&fair);
}

static void up_read_unheld(void)
{
	unfair_up_read(&a);
	MUST(is_usable(&a));
}

static void up_read_of_write(void)
{
	unfair_down_write(&a);
	unfair_up_read(&a);
	/* the call had no effect: the task still owns the lock */
	unfair_rwsem_assert_held_write(&a);
	unfair_up_write(&a);
	MUST(is_usable(&a));
}

static void up_write_unheld(void)
{
	unfair_up_write(&a);
	MUST(is_usable(&a));
}

static int hold_write(void *may_end)
{
	unfair_down_write(&a);
	wait_for_completion(may_end);
	unfair_up_write(&a);
	return 0;
}

/* Calls @fn while another task holds the lock for writing, which it must keep. */
static void while_another_writes(void (*fn)(struct unfair_rwsem *sem))
{
	DECLARE_COMPLETION_ONSTACK(may_end);
	struct task_struct *task;

	task = kthread_run(hold_write, &may_end, "misuse_holder");
	if (IS_ERR(task)) {
		failed = true;
		return;
	}
	while (!unfair_rwsem_is_write_locked(&a))
		msleep(1);
	fn(&a);
	MUST(unfair_rwsem_is_write_locked(&a));
	MUST(!unfair_down_read_trylock(&a));
	complete(&may_end);
	while (unfair_rwsem_is_locked(&a))
		msleep(1);
	MUST(is_usable(&a));
}

static void up_read_of_another(void)
{
	while_another_writes(unfair_up_read);
}

static void up_write_of_another(void)
{
	while_another_writes(unfair_up_write);
}

static void downgrade_of_another(void)
{
	while_another_writes(unfair_downgrade_write);
}

static void downgrade_unheld(void)
{
	unfair_downgrade_write(&a);
	MUST(is_usable(&a));
}

static void negative_timeout(void)
{
	unfair_down_write(&a);
	if (unfair_down_read_timeout(&b, -1) != 0)
		pr_info("misuse: timeout not checked without contention\n");
	else
		unfair_up_read(&b);
	unfair_up_write(&a);
	unfair_down_read(&a);
	MUST(unfair_down_write_timeout(&a, -1) == -EINVAL);
	unfair_up_read(&a);
	MUST(is_usable(&a));
}

static void bad_bound(void)
{
	/* logged with the range, without a warning */
	MUST(unfair_rwsem_set_reader_bound(&a, UNFAIR_RWSEM_BOUND_MAX_US + 1) == -EINVAL);
}

static void unexpedite_unheld(void)
{
	struct unfair_section ended;

	unfair_rwsem_expedite(&a, &ended);
	unfair_rwsem_unexpedite(&ended);
	unfair_rwsem_unexpedite(&ended);
	MUST(is_usable(&a));
}

static void assert_unheld(void)
{
	unfair_rwsem_assert_held_write(&a);
}

static void injected_warn(void)
{
	WARN(1, "injected by the test of the harness\n");
}

static void leak(void)
{
	/* kmemleak must lose its last pointer */
	void *volatile p = kmalloc(4321, GFP_KERNEL);

	p = NULL;
	(void)p;
}

static void leak_reference(void)
{
	__module_get(THIS_MODULE);
}

static const struct {
	const char *name;
	void (*do_it)(void);
} misuses[] = {
#define M(f) { #f, f }
	M(read_in_read), M(write_in_read), M(abba_mutex), M(abba_rwsem), M(abba_readers),
	M(same_class), M(nested), M(freed_while_held), M(initialised_while_held),
	M(fair_then_unfair), M(unfair_then_fair), M(up_read_unheld), M(up_read_of_write),
	M(up_write_unheld), M(downgrade_unheld), M(up_read_of_another), M(up_write_of_another),
	M(downgrade_of_another), M(negative_timeout), M(bad_bound), M(unexpedite_unheld),
	M(assert_unheld), M(injected_warn), M(leak), M(leak_reference),
};

int lock_test_misuse(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(misuses); i++) {
		if (!strcmp(name, misuses[i].name)) {
			pr_info("misuse: %s\n", name);
			failed = false;
			misuses[i].do_it();
			return failed ? -EIO : 0;
		}
	}
	return -EINVAL;
}
