// SPDX-License-Identifier: GPL-2.0
/*
 * Chains: a holder that is lent to may itself wait for another lock. Who owns that one?
 *
 * A link through a mutex, or a rw_semaphore held for writing, is found in what the kernel records
 * of a blocked task: task->blocker for both (CONFIG_DETECT_HUNG_TASK_BLOCKER), task->blocked_on
 * for mutexes only. Nothing calls us when such a lock is released. So the loan of a link ends as a
 * lease, when no look finds the link any more.
 *
 * A link through another unfair_rwsem needs nothing here: its waiter lends what it has been lent,
 * see lend_level(). A link through an rt_mutex, as all locks of PREEMPT_RT are, is the kernel's.
 *
 * The recorded lock is valid only while the task is blocked on it. A task in a sleeping state that
 * is off its run queue leaves that state only in try_to_wake_up(), under its pi_lock. So it stays
 * blocked, and keeps its place in the queue of the lock, as long as we hold that. In TASK_WAKING it
 * has left it. The owner in the lock owned it at that moment, so RCU keeps its task_struct valid
 * afterwards.
 *
 * A task blocked in proxy execution stays on its run queue. There is no link: the scheduler runs
 * the owner in its place, if that can run.
 *
 * The transitive rule is that of priority inheritance (Sha, Rajkumar and Lehoczky, 1990).
 */
#include <linux/module.h>
#include <linux/sched.h>

#include "chain.h"
#include "internal.h"

static int kinds_set(const char *value, const struct kernel_param *kp)
{
	return 0;	/* at load, which must not fail */
}

static int kinds_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", COMPAT_BLOCKER_KINDS ?: "none");
}

static const struct kernel_param_ops kinds_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG, .set = kinds_set, .get = kinds_get,
};

module_param_cb(lend_links_kinds, &kinds_ops, NULL, 0444);
MODULE_PARM_DESC(lend_links_kinds,
		 "The kinds of locks whose owner this kernel shows, so that a loan passes through them");

/* Under pi_lock of @task, which therefore stays blocked. */
static bool is_blocked(struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);

	/* a task in TASK_WAKING may become runnable without its pi_lock */
	if (state == TASK_RUNNING || state == TASK_WAKING)
		return false;
	smp_rmb();	/* the state, then on_rq: as try_to_wake_up() reads them */
	/* pairs with the release in __block_task(): what the task recorded comes before */
	if (smp_load_acquire(&task->on_rq) && !compat_sched_delayed(task))
		return false;
	/* after sched_delayed, which is stored after a full barrier in __schedule() */
	smp_rmb();
	return !owner_on_cpu(task);
}

/**
 * chain_owner() - the owner of the lock of the kernel that a task is blocked on
 * @task: the task
 *
 * The owner may have released the lock, and @task may run again, when this returns.
 *
 * Context: under rcu_read_lock(); any but hard interrupts.
 * Return: the owner; NULL if @task is not blocked on such a lock, or if its owner is not known.
 */
struct task_struct *chain_owner(struct task_struct *task)
{
	struct task_struct *owner = NULL;
	unsigned long irqflags;

	if (!COMPAT_BLOCKER_KINDS || task_is_running(task))
		return NULL;
	raw_spin_lock_irqsave(&task->pi_lock, irqflags);
	if (is_blocked(task))
		owner = compat_blocker_owner(task);
	raw_spin_unlock_irqrestore(&task->pi_lock, irqflags);
	return owner;
}
