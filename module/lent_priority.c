// SPDX-License-Identifier: GPL-2.0
/*
 * Lent priority: which priority a task lends, and how the priority of a task is set and
 * restored. Which task has which loans is in lend.c.
 *
 * Policy, priority and the reset-on-fork flag tell a lent priority from one that somebody
 * else has set. A value that is not as we left it stays, now and when the loan ends; a value
 * that is still as we left it is restored. So is a value that any user may have made of it:
 * the kernel lets a user lower the priority of a task, and a lent one can be lowered far.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/deadline.h>
#include <linux/sched/prio.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/user_namespace.h>
#include <uapi/linux/sched/types.h>

#include "compat.h"
#include "lent_priority.h"
#include "ranged_param.h"
#include "stats.h"
#include "trace.h"

/* See enum unfair_rwsem_lend. */
static struct ranged_param lend = { UNFAIR_LEND_FULL, UNFAIR_LEND_OFF, UNFAIR_LEND_FULL };
module_param_cb(lend, &ranged_param_ops, &lend, 0644);
MODULE_PARM_DESC(lend,
		 "what a waiter lends to a holder that is not running, where its lock does not say: 1 nothing, 2 its nice value, 3 SCHED_FIFO for a time, then its nice value; default 3");

struct sched_values lent_priority_values(struct task_struct *task)
{
	return (struct sched_values) {
		.policy = READ_ONCE(task->policy),
		.rt_priority = task->rt_priority,
		.nice = task_nice(task),
		.reset_on_fork = task->sched_reset_on_fork,
		.slice = compat_custom_slice(task),
		.timer_slack = READ_ONCE(task->timer_slack_ns),
	};
}

struct lend_level lent_priority_level(const struct unfair_rwsem *sem, const struct sched_values *v)
{
	/* may be set meanwhile: a byte of a word that has other fields */
	unsigned int mode = data_race(+sem->lend) ?: READ_ONCE(lend.value);
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
 * level_to_lend() - what a task lends to the holders of @sem
 * @sem: the semaphore
 * @task: the task
 *
 * A real-time task lends its own priority at most. A task of nice 0 or better lends
 * the lowest one of SCHED_FIFO: nothing less reaches a task in another cgroup, whose
 * weight or quota is not the lender's. One of worse nice is not to set off SCHED_FIFO.
 *
 * Return: the level, as far as the semaphore and the parameter `lend` allow it.
 */
struct lend_level level_to_lend(const struct unfair_rwsem *sem, struct task_struct *task)
{
	struct sched_values v = lent_priority_values(task);
	int prio = READ_ONCE(task->prio);

	/* inherited through an rt_mutex */
	if (prio < MAX_RT_PRIO && v.policy != SCHED_DEADLINE && !is_rt_policy(v.policy)) {
		v.policy = SCHED_FIFO;
		v.rt_priority = MAX_RT_PRIO - 1 - prio;
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

	/* which leaves the nice value alone for this policy */
	if (!ret && v->policy == SCHED_IDLE)
		set_user_nice(task, v->nice);
	return ret;
}

/*
 * From @from back to what it had. A real-time policy has taken more than that: the slack of
 * its timers, and of RLIMIT_RTTIME, which is counted until a real-time task sleeps.
 */
static int return_to(struct task_struct *task, const struct sched_values *from,
		     const struct sched_values *own)
{
	int ret = lent_priority_set_values(task, own);

	if (!ret && is_rt_policy(from->policy) && !is_rt_policy(own->policy)) {
		WRITE_ONCE(task->timer_slack_ns, own->timer_slack);
		WRITE_ONCE(task->rt.timeout, 0);
	}
	return ret;
}

/* Is that as we left it? */
static bool has_lent_policy(const struct lent_priority *p, const struct sched_values *v)
{
	return v->policy == p->lent.policy && v->rt_priority == p->lent.rt_priority &&
	       v->reset_on_fork;
}

/* The nice value does not count where it has no effect. */
static bool is_as_lent(const struct lent_priority *p, const struct sched_values *v)
{
	return has_lent_policy(p, v) && (is_rt_policy(v->policy) || v->nice == p->lent.nice);
}

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
	/* what it forks is not to inherit it */
	v.reset_on_fork = true;
	return v;
}

static int rank_of(const struct sched_values *v)
{
	if (v->policy == SCHED_DEADLINE)
		return MAX_RT_PRIO;
	if (is_rt_policy(v->policy))
		return v->rt_priority;
	return v->policy == SCHED_IDLE ? -1 : 0;
}

/* As the kernel asks it of whoever sets a priority. */
static bool may_set_any(struct task_struct *task)
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
 * May what somebody else has set stay? By whom it was is not known, and anybody may lower what
 * was lent to what is still more than the task's own. It may if it is no more than that; or
 * more than what was lent, which takes a privilege; or if the task could have had it by itself.
 */
static bool nice_may_stay(struct task_struct *task, const struct lent_priority *p,
			  const struct sched_values *v)
{
	return v->nice >= p->own.nice || v->nice < p->lent.nice ||
	       nice_to_rlimit(v->nice) <= task_rlimit(task, RLIMIT_NICE) ||
	       may_set_any(task);
}

static bool policy_may_stay(struct task_struct *task, const struct lent_priority *p,
			    const struct sched_values *v)
{
	int rank = rank_of(v);

	/* nor is the flag taken off without a privilege */
	if (rank <= rank_of(&p->own) || rank > rank_of(&p->lent) || !v->reset_on_fork)
		return true;
	if (rank > 0 ? rank <= task_rlimit(task, RLIMIT_RTPRIO) :
		       nice_to_rlimit(v->nice) <= task_rlimit(task, RLIMIT_NICE))
		return true;
	return may_set_any(task);
}

/*
 * Somebody else has changed @task to @v. renice leaves our policy and flag where they are,
 * and chrt our nice value.
 */
static int take_back_the_rest(struct task_struct *task, const struct lent_priority *p,
			      const struct sched_values *v)
{
	struct sched_values own = p->own;

	if (v->nice != p->lent.nice && nice_may_stay(task, p, v))
		own.nice = v->nice;
	if (has_lent_policy(p, v) || !policy_may_stay(task, p, v))
		return return_to(task, v, &own);
	if (v->nice != own.nice)
		set_user_nice(task, own.nice);
	return 0;
}

/**
 * lent_priority_set() - set the priority of a task to what it is lent
 * @task: the task
 * @p: what it was lent, and had before; the caller stores @level there afterwards
 * @level: LEND_NOTHING: its own priority again
 *
 * Context: process context, one caller at a time for a task.
 * Return: 0, or the error of the scheduler when @task could not get its own priority back.
 */
int lent_priority_set(struct task_struct *task, struct lent_priority *p, struct lend_level level)
{
	struct sched_values was = lent_priority_values(task), v;
	int ret;

	if (p->left_alone)
		return 0;
	if (!lends(p->now)) {
		/* it has become SCHED_DEADLINE since: not to be changed */
		p->left_alone = was.policy == SCHED_DEADLINE;
		if (p->left_alone)
			return 0;
		p->own = was;
	} else if (!is_as_lent(p, &was)) {
		ret = take_back_the_rest(task, p, &was);
		if (ret) {
			count_event(NULL, EV_LEND_FAILED);
			return lends(level) ? 0 : ret;
		}
		p->left_alone = true;
		count_event(NULL, EV_LEFT_ALONE);
		return 0;
	} else if (was.nice != p->lent.nice && nice_may_stay(task, p, &was)) {
		/* reniced under SCHED_FIFO: it takes effect when that ends */
		p->own.nice = was.nice;
	}
	if (!is_rt_policy(was.policy))
		p->own.timer_slack = was.timer_slack;
	v = lends(level) ? values_at(p, level) : p->own;
	ret = return_to(task, &was, &v);
	if (ret) {
		count_event(NULL, EV_LEND_FAILED);
		if (lends(level)) {
			p->left_alone = !lends(p->now);
			return 0;
		}
		/* a BPF scheduler may refuse the policy that the task had */
		v.policy = SCHED_NORMAL;
		v.rt_priority = 0;
		if (p->own.policy == SCHED_NORMAL || return_to(task, &was, &v))
			return ret;
	}
	p->lent = v;
	/* no real-time policy changes it, not even if a nice value was lent before */
	if (is_rt_policy(v.policy))
		p->lent.nice = was.nice;
	if (lends(level))
		trace_unfair_lend(task, v.policy, v.rt_priority, v.nice);
	else
		trace_unfair_give_back(task, v.policy, v.rt_priority, v.nice);
	return 0;
}
