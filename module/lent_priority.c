// SPDX-License-Identifier: GPL-2.0
/*
 * Lent priority: which level a task lends, and how the priority of a lent task is set and
 * restored. lend.c keeps the loans.
 *
 * Policy, real-time priority and the reset-on-fork flag distinguish a lent priority from one that
 * another task has set. A value that is still as we set it is restored when the loans end. A
 * value that another task has changed stays, unless the change depends on the loan: any user may
 * lower the priority of their tasks, and the lowered value may still be above the task's own.
 * Such a value is restored, too.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/deadline.h>
#include <linux/sched/prio.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/user_namespace.h>
#include <uapi/linux/sched/types.h>

#include "internal.h"
#include "lent_priority.h"
#include "stats.h"
#include "trace.h"

/* See enum unfair_rwsem_lend. */
static struct fscommit_param lend = { UNFAIR_LEND_FULL, UNFAIR_LEND_OFF, UNFAIR_LEND_FULL };
module_param_cb(lend, &fscommit_param_ops, &lend, 0644);
MODULE_PARM_DESC(lend,
		 "What a waiter lends to a holder that is not on a CPU, unless the lock has its own setting: 1 (nothing), 2 (its nice value), 3 (SCHED_FIFO within the budget, then its nice value); default 3");

struct sched_values lent_priority_values(struct task_struct *task)
{
	/* another task may change @task meanwhile: each value is from before or after that */
	return (struct sched_values) {
		.policy = READ_ONCE(task->policy),
		.rt_priority = READ_ONCE(task->rt_priority),
		.nice = PRIO_TO_NICE(READ_ONCE(task->static_prio)),
		.reset_on_fork = task->sched_reset_on_fork,
		.slice = compat_custom_slice(task),
		.timer_slack = READ_ONCE(task->timer_slack_ns),
	};
}

/* What a semaphore permits to lend; read without wait_lock. */
static enum unfair_rwsem_lend mode_of(const struct unfair_rwsem *sem)
{
	/* lend is a bit field of one byte, which another task may set */
	return data_race(+sem->lend) ?: READ_ONCE(lend.value);
}

/**
 * unfair_rwsem_set_lend() - set what waiters lend to holders that are off their CPU
 * @sem: the semaphore; may be in use
 * @lend: see enum unfair_rwsem_lend
 *
 * Existing loans stay until they end.
 *
 * Context: any but NMI.
 * Return: 0; -EINVAL without a change if @lend is not one of the enum.
 */
int unfair_rwsem_set_lend(struct unfair_rwsem *sem, enum unfair_rwsem_lend lend)
{
	unsigned long irqflags;

	if ((unsigned int)lend > UNFAIR_LEND_FULL) {
		pr_err("fscommit: lend %d: must be %d to %d\n", lend, UNFAIR_LEND_DEFAULT,
		       UNFAIR_LEND_FULL);
		return -EINVAL;
	}
	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	sem->lend = lend;
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_set_lend);

/* @level, as far as @sem permits it */
struct lend_level lend_limit(const struct unfair_rwsem *sem, struct lend_level level)
{
	enum unfair_rwsem_lend mode = mode_of(sem);

	if (mode == UNFAIR_LEND_OFF)
		return LEND_NOTHING;
	if (mode == UNFAIR_LEND_NICE)
		level.rt = 0;
	return level;
}

struct lend_level lent_priority_level(const struct unfair_rwsem *sem, const struct sched_values *v)
{
	enum unfair_rwsem_lend mode = mode_of(sem);
	struct lend_level level = { .nice = v->nice };

	if (mode == UNFAIR_LEND_OFF || v->policy == SCHED_IDLE)
		return LEND_NOTHING;
	if (mode == UNFAIR_LEND_FULL) {
		if (v->policy == SCHED_DEADLINE)
			level.rt = MAX_LENT_RT;
		else if (v->rt_priority)
			level.rt = min(v->rt_priority, MAX_LENT_RT);
		else if (level.nice <= 0)
			level.rt = 1;
	}
	return level;
}

/**
 * lend_level_of() - the level that a task lends to the holders of a semaphore
 * @sem: the semaphore
 * @task: the task
 *
 * A real-time task lends its own priority, at most MAX_LENT_RT; a deadline task lends MAX_LENT_RT.
 * Another task of nice 0 or better lends SCHED_FIFO priority 1: nothing less helps a holder in
 * another cgroup, which has a weight and a quota of its own. A task of worse nice lends only its
 * nice value. A SCHED_IDLE task lends nothing. The setting of @sem, or the parameter `lend`, may
 * allow less.
 *
 * Context: any.
 * Return: the level; LEND_NOTHING if the task lends nothing.
 */
struct lend_level lend_level_of(const struct unfair_rwsem *sem, struct task_struct *task)
{
	struct sched_values v = lent_priority_values(task);
	int prio = READ_ONCE(task->prio);

	/* @task may inherit a higher priority through an rt_mutex */
	if (prio < MAX_RT_PRIO && v.policy != SCHED_DEADLINE) {
		v.policy = SCHED_FIFO;
		v.rt_priority = MAX_RT_PRIO - 1 - max(prio, 0);
	}
	return lent_priority_level(sem, &v);
}

int lent_priority_set_values(struct task_struct *task, const struct sched_values *v)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = v->policy,
		.sched_flags = v->reset_on_fork ? SCHED_FLAG_RESET_ON_FORK : 0,
		.sched_nice = v->nice,
		.sched_priority = v->rt_priority,
		.sched_runtime = v->slice,
	};
	int ret = sched_setattr_nocheck(task, &attr);

	/* sched_setattr_nocheck() ignores the nice value for this policy */
	if (!ret && v->policy == SCHED_IDLE)
		set_user_nice(task, v->nice);
	return ret;
}

/*
 * Changes the values of @task. A real-time policy changes two more, which are restored when it
 * ends: the slack of timers, and the time that counts towards RLIMIT_RTTIME, which the kernel
 * resets only when a real-time task sleeps.
 */
static int change_values(struct task_struct *task, const struct sched_values *from,
			 const struct sched_values *to)
{
	int ret = lent_priority_set_values(task, to);

	if (!ret && is_rt_policy(from->policy) && !is_rt_policy(to->policy)) {
		WRITE_ONCE(task->timer_slack_ns, to->timer_slack);
		WRITE_ONCE(task->rt.timeout, 0);
	}
	return ret;
}

static bool has_lent_policy(const struct lent_priority *p, const struct sched_values *v)
{
	return v->policy == p->lent.policy && v->rt_priority == p->lent.rt_priority &&
	       v->reset_on_fork;
}

/* A real-time task ignores its nice value: a change of it does not count. */
static bool is_as_lent(const struct lent_priority *p, const struct sched_values *v)
{
	return has_lent_policy(p, v) && (is_rt_policy(v->policy) || v->nice == p->lent.nice);
}

/* The values of a task that has a loan of @level. */
static struct sched_values values_at(const struct lent_priority *p, struct lend_level level)
{
	struct sched_values v = p->own;

	if (level.rt > v.rt_priority) {
		v.policy = SCHED_FIFO;
		v.rt_priority = level.rt;
	} else if (!is_rt_policy(v.policy)) {
		if (v.policy == SCHED_IDLE)
			v.policy = SCHED_NORMAL;
		v.nice = min_t(int, v.nice, level.nice);
	}
	/* a child must not inherit the loan */
	v.reset_on_fork = true;
	return v;
}

/* Orders policies: a higher rank takes the CPU from a lower one. */
static int rank_of(const struct sched_values *v)
{
	if (v->policy == SCHED_DEADLINE)
		return MAX_RT_PRIO;
	if (is_rt_policy(v->policy))
		return v->rt_priority;
	return v->policy == SCHED_IDLE ? -1 : 0;
}

/* May @task set any priority? The check of the kernel, for another task than current. */
static bool has_cap_sys_nice(struct task_struct *task)
{
	const struct cred *cred;
	bool may;

	rcu_read_lock();
	cred = __task_cred(task);
	may = cred->user_ns == &init_user_ns && cap_raised(cred->cap_effective, CAP_SYS_NICE);
	rcu_read_unlock();
	return may;
}

/*
 * Decide whether to keep a change made by another task. We cannot tell which task made it, and
 * any user may lower a lent priority to one that is still above the task's own. Keep the change
 * if the new value is
 * - not above the task's own; or
 * - above the lent one, which takes a privilege; or
 * - one that the task could set by itself.
 */
static bool nice_may_stay(struct task_struct *task, const struct lent_priority *p,
			  const struct sched_values *v)
{
	return v->nice >= p->own.nice || v->nice < p->lent.nice ||
	       nice_to_rlimit(v->nice) <= task_rlimit(task, RLIMIT_NICE) ||
	       has_cap_sys_nice(task);
}

static bool policy_may_stay(struct task_struct *task, const struct lent_priority *p,
			    const struct sched_values *v)
{
	int rank = rank_of(v);

	/* to clear the reset-on-fork flag takes a privilege, too */
	if (rank <= rank_of(&p->own) || rank > rank_of(&p->lent) || !v->reset_on_fork)
		return true;
	if (rank > 0 ? rank <= task_rlimit(task, RLIMIT_RTPRIO) :
		       nice_to_rlimit(v->nice) <= task_rlimit(task, RLIMIT_NICE))
		return true;
	return has_cap_sys_nice(task);
}

/*
 * Another task has changed @task to @v: restore the values that it did not change. renice does
 * not change the lent policy and flag, chrt does not change the lent nice value.
 */
static int restore_unchanged(struct task_struct *task, const struct lent_priority *p,
			     const struct sched_values *v)
{
	struct sched_values own = p->own;

	if (v->nice != p->lent.nice && nice_may_stay(task, p, v))
		own.nice = v->nice;
	if (has_lent_policy(p, v) || !policy_may_stay(task, p, v))
		return change_values(task, v, &own);
	if (v->nice != own.nice)
		set_user_nice(task, own.nice);
	return 0;
}

/**
 * lent_priority_set() - set the priority of a lent task
 * @task: the task
 * @p: its lent priority; after success, the caller stores @level in @p->now
 * @level: the new level; LEND_NOTHING restores the priority of the task's own
 *
 * If another task has changed the priority, the function restores the remaining values and leaves
 * @task as it is until its loans end.
 *
 * Context: process context, with bottom halves enabled; one caller at a time for a task.
 * Return: 0, also if the scheduler refuses a loan; its error if it refuses to restore the
 * priority.
 */
int lent_priority_set(struct task_struct *task, struct lent_priority *p, struct lend_level level)
{
	struct sched_values was = lent_priority_values(task), v;
	int ret;

	if (p->unmanaged)
		return 0;
	if (!lends(p->now)) {
		/* @task became SCHED_DEADLINE after the loan was noted */
		p->unmanaged = was.policy == SCHED_DEADLINE;
		if (p->unmanaged)
			return 0;
		p->own = was;
	} else if (!is_as_lent(p, &was)) {
		ret = restore_unchanged(task, p, &was);
		if (ret) {
			count_event(NULL, EV_LEND_FAILED);
			return lends(level) ? 0 : ret;
		}
		p->unmanaged = true;
		count_event(NULL, EV_OVERRIDDEN);
		return 0;
	} else if (was.nice != p->lent.nice && nice_may_stay(task, p, &was)) {
		/* reniced while it has SCHED_FIFO: takes effect when that ends */
		p->own.nice = was.nice;
	}
	if (!is_rt_policy(was.policy))
		p->own.timer_slack = was.timer_slack;
	v = lends(level) ? values_at(p, level) : p->own;
	ret = change_values(task, &was, &v);
	if (ret) {
		count_event(NULL, EV_LEND_FAILED);
		if (lends(level)) {
			p->unmanaged = !lends(p->now);
			return 0;
		}
		/* a BPF scheduler may refuse the policy of the task's own */
		v.policy = SCHED_NORMAL;
		v.rt_priority = 0;
		if (p->own.policy == SCHED_NORMAL || change_values(task, &was, &v))
			return ret;
	}
	p->lent = v;
	/* a real-time policy does not set the nice value: that of an earlier loan stays */
	if (is_rt_policy(v.policy))
		p->lent.nice = was.nice;
	if (lends(level))
		trace_unfair_lend(task, v.policy, v.rt_priority, v.nice);
	else
		trace_unfair_lend_end(task, v.policy, v.rt_priority, v.nice);
	return 0;
}
