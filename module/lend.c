// SPDX-License-Identifier: GPL-2.0
/*
 * Lent priority: while a task waits for a lock, each holder that is off its CPU is lent the
 * priority of the most important waiter. (Other parts of the kernel say boost.)
 *
 * A task has one loan for each lock that it holds while others wait, for which it waits as a
 * writer, or that it expedites. It runs at the highest of its loans. It ends a loan when it
 * releases the lock. A waiter that gives up lowers the loans of the lock.
 *
 *  lender	1) Under wait_lock: set LENT in the word, then scan the holders and note a
 *		   loan for each one that is not on a CPU. A task that releases the lock
 *		   after that acquires wait_lock and finds its loan. So a loan of a
 *		   holder is never noted after its release; a lease may be. A writer
 *		   with a loan from its wait sets LENT when it acquires the lock.
 *		2) Without a lock: apply.
 *
 *  lent task	1) Under wait_lock: release the lock and drop the loan.
 *		2) Without a lock: apply. Not before the release: the task could be
 *		   preempted again while it holds the lock.
 *
 *  apply	Set the priority that follows from the loans, and repeat until the loans
 *		have not changed meanwhile. One task at a time does this for a lent task.
 *		Other tasks change the loans and return. So a lender may apply before or
 *		after the release: the last pass always sees the last change.
 *
 * The budget (G12). The time that a task spends on a CPU with lent SCHED_FIFO is charged to the
 * task and to the CPU. Each has a bucket that drains at a fixed rate: lend_fifo_us or lend_cpu_us
 * per 100 ms. While one of the two buckets is full, the task gets a nice value only. A task's
 * bucket outlives its loans; tasks whose addresses have the same hash share one.
 *
 * chain.c follows a holder that is itself blocked. What it lends is a lease, which each look renews
 * and a pass of the watcher ends.
 *
 * Lending to holders goes back to priority inheritance (Sha, Rajkumar and Lehoczky, 1990). Peter
 * Zijlstra asked for it to reach the readers of a sleeping lock when a reader-unfair rwsem was
 * proposed in 2022.
 */
#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/sched/rt.h>
#include <linux/sched/task.h>

#include "chain.h"
#include "internal.h"
#include "lent_priority.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"
#include "watcher.h"

#define MAX_LENT_TASKS	256U
#define LENT_HASH_BITS	8
/* Loans of one task, each for another lock. */
#define MAX_LOANS	6
#define MAX_LEASES	4
/* The number of lent tasks from which on a task that sleeps, or waits for a lock, is not added. */
#define MAX_LENT_ASLEEP	(MAX_LENT_TASKS / 2)
#define MAX_LENT_WAITER	(MAX_LENT_TASKS / 4)
/* Lent tasks that a scan visits before it enables interrupts again. */
#define LEND_CHUNK	64U
#define BUDGET_INTERVAL	(100ULL * NSEC_PER_MSEC)
#define BUDGET_BITS	10
/* A lease ends at the end of this many passes, the one that renewed it included. */
#define LEASE_PASSES	2
#define CHAIN_BITS	6
#define CHAIN_PROBES	4

static struct fscommit_param lend_fifo_us = { 20000, 100, 1000000 };
module_param_cb(lend_fifo_us, &fscommit_param_ops, &lend_fifo_us, 0644);
MODULE_PARM_DESC(lend_fifo_us,
		 "CPU time that one task may spend with lent SCHED_FIFO per 100 ms, and at once; microseconds, 100 to 1000000, no limit from 100000 on, default 20000");

static struct fscommit_param lend_cpu_us = { 20000, 100, 1000000 };
module_param_cb(lend_cpu_us, &fscommit_param_ops, &lend_cpu_us, 0644);
MODULE_PARM_DESC(lend_cpu_us,
		 "CPU time that all tasks on one CPU may spend with lent SCHED_FIFO per 100 ms, and at once; microseconds, 100 to 1000000, no limit from 100000 on, default 20000");

static struct fscommit_param lend_period_us = { 1000, 50, 60000000 };
module_param_cb(lend_period_us, &fscommit_param_ops, &lend_period_us, 0644);
MODULE_PARM_DESC(lend_period_us,
		 "Period in which the watcher looks for holders that are not on a CPU, of locks with sleeping waiters or expedited sections, and least age at which a section takes effect; microseconds, 50 to 60000000, default 1000");

struct loan {
	const struct unfair_rwsem	*sem;		/* NULL: free */
	struct lend_level		level[NR_LOAN_KINDS];
	unsigned int			pass;		/* that renewed level[LOAN_CHAIN] */
	struct lend_level		renewed;	/* the highest level noted in that pass */
};

/* The level that a chain lends through a waiter of a semaphore. */
struct chain_level {
	const struct unfair_rwsem	*sem;		/* only compared: may have been freed */
	struct lend_level		level, before;	/* of that pass, and of the pass before */
	unsigned int			pass;		/* that renewed it */
};

struct lent_task {
	struct task_struct	*task;		/* NULL: free */
	struct hlist_node	hash;
	struct loan		loan[MAX_LOANS];
	bool			busy;		/* a task is in apply(); only it changes prio */
	bool			failed;		/* the scheduler refused to restore its priority */
	bool			has_fifo;
	bool			fifo_spent;	/* over the budget */
	bool			was_on_cpu;	/* at the last charge */
	unsigned long		switches;	/* context switches before the last charge */
	u64			charged_at;	/* time of the last charge, in ns */
	u64			fifo_from;	/* CPU time when it got SCHED_FIFO, in ns */
	u64			charged;	/* CPU time charged since then, in ns */
	struct lent_priority	prio;
};

/* Protects all variables below; nests within any wait_lock. */
static DEFINE_RAW_SPINLOCK(lend_lock);
static struct lent_task lent_tasks[MAX_LENT_TASKS];
static DECLARE_BITMAP(lent_used, MAX_LENT_TASKS);
static struct hlist_head lent_hash[1 << LENT_HASH_BITS];
static unsigned int nr_lent, nr_fifo, nr_failed, nr_leases;
/* Loans of SCHED_FIFO other than those of sections. */
static unsigned int nr_fifo_loans;
static struct chain_level chain_levels[1 << CHAIN_BITS];
/* Passes of the watcher, and the last one that renewed a chain level. */
static unsigned int pass = LEASE_PASSES, chain_pass;
/* A chain has reached a semaphore since the last pass. */
static bool chain_is_new;
/* The times in ns at which the buckets of tasks and of CPUs will be empty. */
static u64 task_budget[1 << BUDGET_BITS];
static DEFINE_PER_CPU(u64, cpu_budget);

u64 lend_period_ns(void)
{
	return (u64)READ_ONCE(lend_period_us.value) * NSEC_PER_USEC;
}

/* --- the budget ---------------------------------------------------------- */

static void charge_bucket(u64 *empty_at, u64 now, u64 ns, const struct fscommit_param *limit_us)
{
	u64 limit = (u64)READ_ONCE(limit_us->value) * NSEC_PER_USEC;

	if (limit >= BUDGET_INTERVAL)
		return;
	ns = div_u64(min_t(u64, ns, NSEC_PER_SEC) * BUDGET_INTERVAL, limit);
	/* limit the penalty when the watcher charges late */
	*empty_at = min(max(*empty_at, now) + ns, now + 2 * BUDGET_INTERVAL);
}

static u64 *budget_of(const struct task_struct *task)
{
	return &task_budget[hash_ptr(task, BUDGET_BITS)];
}

/* Does the fuller of the two buckets take more than @ns to drain? */
static bool over_budget(const struct task_struct *task, u64 now, u64 ns)
{
	return max(*budget_of(task), per_cpu(cpu_budget, task_cpu(task))) > now + ns;
}

static u64 cpu_time(const struct task_struct *task)
{
	u64 time = READ_ONCE(task->se.sum_exec_runtime), last;

	/* a 32-bit kernel reads and writes the two halves separately */
	do {
		last = time;
		if (!IS_ENABLED(CONFIG_64BIT))
			time = READ_ONCE(task->se.sum_exec_runtime);
	} while (time != last);
	return time;
}

static unsigned long switches_of(const struct task_struct *task)
{
	/* a slightly stale value will do */
	return data_race(task->nvcsw) + data_race(task->nivcsw);
}

/*
 * Charges the CPU time since the last charge. While the tick is stopped, the scheduler does not
 * update the CPU time of a running task. So a task that was not switched out since the last
 * charge is charged all the time that has passed.
 */
static void charge_fifo(struct lent_task *t, u64 now)
{
	u64 used = cpu_time(t->task) - t->fifo_from;
	bool on_cpu = compat_on_cpu(t->task);

	lockdep_assert_held(&lend_lock);
	if (on_cpu && t->was_on_cpu && t->switches == switches_of(t->task))
		used = max(used, t->charged + (now - t->charged_at));
	if (used > t->charged) {
		used -= t->charged;
		t->charged += used;
		charge_bucket(budget_of(t->task), now, used, &lend_fifo_us);
		charge_bucket(per_cpu_ptr(&cpu_budget, task_cpu(t->task)), now, used,
			      &lend_cpu_us);
	}
	t->charged_at = now;
	t->was_on_cpu = on_cpu;
	t->switches = switches_of(t->task);
}

static void start_fifo(struct lent_task *t)
{
	lockdep_assert_held(&lend_lock);
	t->has_fifo = true;
	t->fifo_from = cpu_time(t->task);
	t->charged = 0;
	t->was_on_cpu = false;
	t->charged_at = ktime_get_ns();
	nr_fifo++;
	lend_watcher_account();
}

static void end_fifo(struct lent_task *t)
{
	charge_fifo(t, ktime_get_ns());
	t->has_fifo = false;
	nr_fifo--;
}

/*
 * Begins or ends the charge of a task whose level has become @level. A task whose own priority is
 * as high is not charged. Called after the change of the class, which has brought the CPU time of a
 * running task up to date: its time before that is not charged.
 */
static void charge_for(struct lent_task *t, struct lend_level level)
{
	bool lent_fifo = level.rt > t->prio.own.rt_priority && !t->prio.unmanaged;

	if (lent_fifo && !t->has_fifo)
		start_fifo(t);
	if (!lent_fifo && t->has_fifo)
		end_fifo(t);
}

/* --- setting priorities -------------------------------------------------- */

static struct lend_level level_of_loan(const struct loan *loan)
{
	struct lend_level level = LEND_NOTHING;
	unsigned int kind;

	for (kind = 0; loan->sem && kind < NR_LOAN_KINDS; kind++)
		level = higher_level(level, loan->level[kind]);
	return level;
}

static struct lend_level level_of_loans(const struct lent_task *t)
{
	struct lend_level level = LEND_NOTHING;
	unsigned int i;

	lockdep_assert_held(&lend_lock);
	for (i = 0; i < MAX_LOANS; i++)
		level = higher_level(level, level_of_loan(&t->loan[i]));
	if (t->fifo_spent)
		level.rt = 0;
	return level;
}

static struct task_struct *free_lent_task(struct lent_task *t)
{
	struct task_struct *task = t->task;

	lockdep_assert_held(&lend_lock);
	hlist_del(&t->hash);
	t->task = NULL;
	__clear_bit(t - lent_tasks, lent_used);
	nr_lent--;
	return task;
}

/* The class of a task that has SCHED_FIFO already does not change. */
static bool must_stay_fair(struct task_struct *task, struct lend_level level)
{
	return level.rt && !is_rt_policy(READ_ONCE(task->policy)) && compat_class_upsets_psi(task);
}

/*
 * Preemption is disabled: a lender, even of nice -20, could be preempted here. Meanwhile the lent
 * task could release the lock, and return to user space with the lent priority.
 *
 * @t becomes busy here, not when its loans change: a lender that is preempted in between must not
 * keep running tasks from applying theirs. Until this call, another task may have applied the
 * loans, and @t may be free or in use for another task. Then this pass changes nothing.
 */
static void apply(struct lent_task *t)
{
	struct task_struct *done = NULL;
	struct lend_level level;
	unsigned long irqflags;
	int ret = 0;

	preempt_disable();
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	/* another task is in the loop below and will read the loans again */
	if (!t->task || t->busy)
		goto out;
	t->busy = true;
	nr_failed -= t->failed;
	t->failed = false;
	for (;;) {
		level = level_of_loans(t);
		/* until a later look, only the nice value */
		if (must_stay_fair(t->task, level))
			level.rt = 0;
		if (same_level(level, t->prio.now))
			break;
		raw_spin_unlock_irqrestore(&lend_lock, irqflags);
		ret = lent_priority_set(t->task, &t->prio, level);
		raw_spin_lock_irqsave(&lend_lock, irqflags);
		if (ret && !t->task->exit_state) {
			/* the watcher tries again */
			t->failed = true;
			nr_failed++;
			lend_watcher_account();
			break;
		}
		t->prio.now = level;
		charge_for(t, level);
	}
	t->busy = false;
	if (!lends(level) && !t->failed)
		done = free_lent_task(t);
out:
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	preempt_enable();
	if (done)
		put_task_struct(done);
}

/**
 * lend_apply() - set the priorities that follow from the loans
 * @work: the lent tasks; empty afterwards
 *
 * Context: any context in which bottom halves are enabled.
 */
void lend_apply(struct lend_work *work)
{
	unsigned int i;

	/* in their order: a committer before the readers that it lends to */
	for (i = 0; i < work->nr; i++) {
		apply(work->task[i]);
		lend_watcher_pause();
	}
	work->nr = 0;
}

/* --- loans --------------------------------------------------------------- */

static struct hlist_head *lent_bucket(const struct task_struct *task)
{
	return &lent_hash[hash_ptr(task, LENT_HASH_BITS)];
}

static struct lent_task *find_lent_task(const struct task_struct *task)
{
	struct lent_task *t;

	lockdep_assert_held(&lend_lock);
	hlist_for_each_entry(t, lent_bucket(task), hash)
		if (t->task == task)
			return t;
	return NULL;
}

/*
 * The priority that @task inherits through an rt_mutex; MAX_PRIO if none. That in task->prio is not
 * visible if the task has a loan as high. @task is the caller, or cannot exit.
 */
static int inherited_prio(struct task_struct *task)
{
	int prio = MAX_PRIO;
#ifdef CONFIG_RT_MUTEXES
	unsigned long irqflags;

	/* the lock keeps the waiter in the queue of the rt_mutex */
	raw_spin_lock_irqsave(&task->pi_lock, irqflags);
	if (task->pi_top_task)
		prio = READ_ONCE(task->pi_top_task->prio);
	raw_spin_unlock_irqrestore(&task->pi_lock, irqflags);
#endif
	return prio;
}

/**
 * lend_own_level() - the level that a task lends, without its own loans
 * @sem: the semaphore
 * @task: the task
 *
 * Like lend_level_of(), but a priority that we have lent @task does not count.
 *
 * Context: any.
 * Return: the level; LEND_NOTHING if @task lends nothing.
 */
struct lend_level lend_own_level(const struct unfair_rwsem *sem, struct task_struct *task)
{
	const struct lent_task *t;
	struct sched_values v;
	unsigned long irqflags;
	bool lent = false;
	int prio;

	if (hlist_empty(lent_bucket(task)))
		return lend_level_of(sem, task);
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	t = find_lent_task(task);
	/* also before its first loan was applied; a task in apply() may change both meanwhile */
	if (t && !data_race(t->prio.unmanaged)) {
		/* from before or after a renice */
		v = data_race(t->prio.own);
		lent = true;
	}
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	if (!lent)
		return lend_level_of(sem, task);
	/* a priority that it inherits is not a loan */
	prio = MAX_RT_PRIO - 1 - max(inherited_prio(task), 0);
	if (prio > v.rt_priority && v.policy != SCHED_DEADLINE) {
		v.policy = SCHED_FIFO;
		v.rt_priority = prio;
	}
	return lent_priority_level(sem, &v);
}

/**
 * lend_level_now() - what a task has been lent
 * @task: the task
 *
 * Context: any.
 * Return: the level; LEND_NOTHING if it has no loan, or has had its priority changed since.
 */
struct lend_level lend_level_now(const struct task_struct *task)
{
	struct lend_level level = LEND_NOTHING;
	const struct lent_task *t;
	unsigned long irqflags;

	if (hlist_empty(lent_bucket(task)))
		return level;
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	t = find_lent_task(task);
	/* a task in apply() may set it now */
	if (t && !data_race(t->prio.unmanaged))
		level = t->prio.now;
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return level;
}

static bool lends_to_itself_only(const struct lent_task *t)
{
	struct lend_level level = LEND_NOTHING;
	unsigned int i, kind;

	for (i = 0; i < MAX_LOANS; i++)
		for (kind = 0; t->loan[i].sem && kind < NR_LOAN_KINDS; kind++)
			if (kind != LOAN_WAITER)
				level = higher_level(level, t->loan[i].level[kind]);
	return !lends(level);
}

/**
 * lend_prio() - the priority with which the caller queues
 *
 * A writer that has slept for a lock has a loan of its own until it releases that lock. It must not
 * pass the waiters of other locks because of that.
 *
 * Context: any.
 * Return: the priority as in task->prio, without such a loan.
 */
int lend_prio(void)
{
	int prio = READ_ONCE(current->prio);
	const struct lent_task *t;
	struct sched_values own;
	unsigned long irqflags;

	if (hlist_empty(lent_bucket(current)))
		return prio;
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	t = find_lent_task(current);
	/* a task in apply() may set it now */
	if (t && !data_race(t->prio.unmanaged) && lends_to_itself_only(t)) {
		/* from before or after a renice */
		own = data_race(t->prio.own);
		if (!is_rt_policy(own.policy))
			prio = NICE_TO_PRIO(own.nice);
	}
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return min(prio, inherited_prio(current));
}

/*
 * Half of the entries are reserved for runnable holders: a sleeping holder cannot use a CPU yet,
 * and the watcher will look at it again. Waiters may use a quarter.
 */
static struct lent_task *new_lent_task(struct task_struct *task, enum loan_kind kind)
{
	unsigned int i = find_first_zero_bit(lent_used, MAX_LENT_TASKS);
	unsigned int max = kind == LOAN_WAITER ? MAX_LENT_WAITER :
			   task_is_running(task) ? MAX_LENT_TASKS : MAX_LENT_ASLEEP;

	lockdep_assert_held(&lend_lock);
	if (nr_lent >= max)
		return NULL;
	__set_bit(i, lent_used);
	nr_lent++;
	lent_tasks[i] = (struct lent_task) {
		.task = get_task_struct(task),
		.prio.now = LEND_NOTHING,
		.prio.own = lent_priority_values(task),
	};
	hlist_add_head(&lent_tasks[i].hash, lent_bucket(task));
	return &lent_tasks[i];
}

static struct loan *find_loan(struct lent_task *t, const struct unfair_rwsem *sem)
{
	unsigned int i;

	for (i = 0; i < MAX_LOANS; i++)
		if (t->loan[i].sem == sem)
			return &t->loan[i];
	return NULL;
}

static void set_level(struct loan *loan, enum loan_kind kind, struct lend_level level)
{
	if (kind == LOAN_CHAIN)
		nr_leases += lends(level) - lends(loan->level[kind]);
	if (kind != LOAN_SECTION)
		WRITE_ONCE(nr_fifo_loans,
			   nr_fifo_loans + !!level.rt - !!loan->level[kind].rt);
	loan->level[kind] = level;
}

/* @sem: to count the end of the loan for; NULL if the semaphore may have been freed */
static void drop_if_empty(struct loan *loan, const struct unfair_rwsem *sem)
{
	if (lends(level_of_loan(loan)))
		return;
	count_event(sem, EV_LOAN_ENDED);
	*loan = (struct loan){ };
}

static void apply_later(struct lent_task *t, struct lend_work *work)
{
	if (!work->nr || work->task[work->nr - 1] != t)
		work->task[work->nr++] = t;
}

static bool would_help(const struct task_struct *task, struct lend_level level)
{
	int policy = READ_ONCE(task->policy);

	if (policy == SCHED_DEADLINE || task->exit_state)
		return false;
	if (is_rt_policy(policy))
		return level.rt > READ_ONCE(task->rt_priority);
	return level.rt || policy == SCHED_IDLE ||
	       level.nice < PRIO_TO_NICE(READ_ONCE(task->static_prio));
}

/* Has any task a loan of SCHED_FIFO, other than as a committer? */
bool lend_has_fifo(void)
{
	return READ_ONCE(nr_fifo_loans);
}

/* Returns whether the task has a loan of @kind now. */
static bool note_loan(struct unfair_rwsem *sem, struct task_struct *task,
		      struct lend_level level, enum loan_kind kind, struct lend_work *work)
{
	struct lend_level at_first = level;
	u64 now = ktime_get_ns();
	struct lent_task *t;
	struct loan *loan;
	bool noted = false;

	lockdep_assert_held(&sem->wait_lock);
	raw_spin_lock(&lend_lock);
	t = find_lent_task(task);
	if (!t && kind == LOAN_WAITER && over_budget(task, now, BUDGET_INTERVAL))
		at_first.rt = 0;
	if (!t && would_help(task, at_first))
		t = new_lent_task(task, kind);
	else if (!t)
		goto out;
	loan = t ? find_loan(t, sem) : NULL;
	if (!loan) {
		loan = t ? find_loan(t, NULL) : NULL;
		/* leases leave entries for the locks that the task holds */
		if (!loan || (kind == LOAN_CHAIN && loan >= &t->loan[MAX_LEASES])) {
			count_event(sem, EV_LEND_FAILED);
			goto out;
		}
		*loan = (struct loan){ sem, { [0 ... NR_LOAN_KINDS - 1] = LEND_NOTHING } };
		count_event(sem, EV_LOAN);
	}
	if (kind == LOAN_CHAIN) {
		bool lease = lends(loan->level[kind]);

		if (!lease)
			count_event(sem, EV_CHAIN);
		loan->renewed = lease && loan->pass == pass ?
				higher_level(loan->renewed, level) : level;
		loan->pass = pass;
		lend_watcher_account();
	}
	/* lowered when a lender leaves, or at the end of the pass: the next look may lend more */
	if (kind == LOAN_HOLDER || kind == LOAN_CHAIN)
		level = higher_level(loan->level[kind], level);
	set_level(loan, kind, level);
	noted = true;
	/* SCHED_FIFO ends when a bucket is full, and returns when both are half empty */
	if (!t->has_fifo)
		t->fifo_spent = over_budget(task, now, t->fifo_spent ? BUDGET_INTERVAL / 2 :
								      BUDGET_INTERVAL);
	if (!same_level(level_of_loans(t), t->prio.now)) {
		apply_later(t, work);
		/* a preempted holder on another CPU will run there as soon as it has the loan */
		if (task_is_running(task) && task_cpu(task) == raw_smp_processor_id())
			work->here = true;
		else if (task_is_running(task))
			work->soon = true;
	}
out:
	raw_spin_unlock(&lend_lock);
	return noted;
}

/* After this, a task that releases @sem acquires wait_lock and ends its loan. */
void lend_announce(struct unfair_rwsem *sem)
{
	atomic_long_or(UNFAIR_RWSEM_LENT, &sem->word);
	/* E: word before slots; pairs with the release by a reader, slot before word */
	smp_mb__after_atomic();
}

static bool has_lease(const struct unfair_rwsem *sem, const struct task_struct *task)
{
	struct lent_task *t;
	struct loan *loan;
	bool lease;

	lockdep_assert_held(&sem->wait_lock);
	if (hlist_empty(lent_bucket(task)))
		return false;
	raw_spin_lock(&lend_lock);
	t = find_lent_task(task);
	loan = t ? find_loan(t, sem) : NULL;
	lease = loan && lends(loan->level[LOAN_CHAIN]);
	raw_spin_unlock(&lend_lock);
	return lease;
}

/*
 * Is @task in the cgroup of all sections, with a priority of its own as high as theirs? Then it
 * competes for the CPU as the committer does, and a loan would help it against tasks that the
 * committer would have to wait for, too.
 */
static bool is_equal(const struct unfair_rwsem *sem, struct task_struct *task,
		     struct lend_level level, const struct look *look)
{
	struct lend_level own;

	if (!look->group || compat_task_group(task) != look->group)
		return false;
	own = lend_own_level(sem, task);
	return same_level(higher_level(own, level), own);
}

/*
 * Lends to a holder that is not on a CPU, and to the tasks that it waits for. Renews the lease of a
 * holder that runs.
 */
static void lend_to_holder(struct unfair_rwsem *sem, struct task_struct *task,
			   struct lend_levels levels, struct look *look, struct lend_work *work)
{
	struct lend_level level = higher_level(levels.own, levels.chain);
	bool on_cpu = compat_on_cpu(task);

	if (!on_cpu && lends(levels.own) && !is_equal(sem, task, levels.own, look))
		note_loan(sem, task, levels.own, LOAN_HOLDER, work);
	if (!same_level(level, levels.own)) {
		lend_to_link(sem, task, levels.chain, work);
		look->active = true;
	}
	look->active |= on_cpu || chain_lend(sem, task, level, look, work);
}

/**
 * lend_to_readers() - lend to readers that are not on a CPU, for one step of a look
 * @sem: the semaphore, after lend_announce(), with its bias revoked
 * @levels: the levels to lend
 * @look: the progress of the look
 * @work: for the caller to apply
 *
 * Context: under wait_lock.
 * Return: false if @work is full, or after STEP_LINKS links: apply @work, then repeat the step. It
 * goes on with the same reader.
 */
bool lend_to_readers(struct unfair_rwsem *sem, struct lend_levels levels, struct look *look,
		     struct lend_work *work)
{
	unsigned int before = work->nr, i;
	struct task_struct *task;
	bool full = false;

	look->last_owner = NULL;
	rcu_read_lock();
	for_each_visible_reader(sem, look->step, i, task) {
		if (i < look->slot)
			continue;
		look->slot = i;
		lend_to_holder(sem, task, levels, look, work);
		full = work->nr == LEND_WORK_MAX || look->links >= STEP_LINKS;
		if (full)
			break;
		look->seen++;
	}
	rcu_read_unlock();
	look->active |= work->nr > before;
	if (full)
		look->links = 0;
	else
		look->slot = 0;
	return !full;
}

/**
 * lend_to_owner() - lend to the owner if it is not on a CPU
 * @sem: the semaphore, with a waiter queued
 * @owner: the task that holds it for writing
 * @levels: the levels to lend
 * @look: the progress of the look
 * @work: for the caller to apply
 *
 * Context: under wait_lock.
 */
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner,
		   struct lend_levels levels, struct look *look, struct lend_work *work)
{
	if (compat_on_cpu(owner) && !lends(levels.chain)) {
		look->active = true;
		return;
	}
	look->group = NULL;
	look->last_owner = NULL;
	lend_announce(sem);
	lend_to_holder(sem, owner, levels, look, work);
	look->active |= work->nr;
}

/*
 * Lends a committer the level that it lends to readers, if any task has a loan of SCHED_FIFO: it
 * could not run beside that. The loans of committers do not count, or they would keep each other
 * alive. Otherwise as lend_to_owner().
 */
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task,
		       struct lend_level level, struct look *look, struct lend_work *work)
{
	if (!lends(level) || compat_on_cpu(task))
		return;
	if (lend_has_fifo())
		note_loan(sem, task, level, LOAN_SECTION, work);
	chain_lend(sem, task, level, look, work);
}

/**
 * lend_to_link() - lend to a task that a holder waits for
 * @sem: the semaphore of the holder
 * @task: the task
 * @level: the level to lend
 * @work: for the caller to apply
 *
 * The loan ends LEASE_PASSES passes of the watcher after the last call, or when no task waits for
 * @sem or expedites it any more. A call for a task on a CPU only renews its loan, if it has one:
 * otherwise a task that uses its loan would lose it.
 *
 * Context: under wait_lock of @sem.
 */
void lend_to_link(struct unfair_rwsem *sem, struct task_struct *task, struct lend_level level,
		  struct lend_work *work)
{
	if (!compat_on_cpu(task) || has_lease(sem, task))
		note_loan(sem, task, level, LOAN_CHAIN, work);
}

static bool is_renewed(unsigned int renewed)
{
	return READ_ONCE(pass) - renewed < LEASE_PASSES;
}

static struct chain_level *first_chain_level(const struct unfair_rwsem *sem)
{
	return &chain_levels[hash_ptr(sem, CHAIN_BITS) & ~(CHAIN_PROBES - 1)];
}

/**
 * lend_note_chain() - lend to the holders of a semaphore what one of its waiters is lent
 * @sem: the semaphore
 * @level: the level, for the next looks at @sem
 *
 * Ends like a loan of lend_to_link(). Without effect if many other chains have the same hash.
 *
 * Context: interrupts disabled.
 */
void lend_note_chain(const struct unfair_rwsem *sem, struct lend_level level)
{
	struct chain_level *c, *first = first_chain_level(sem), *free = NULL;
	struct lend_level before = LEND_NOTHING;

	raw_spin_lock(&lend_lock);
	for (c = first; c < first + CHAIN_PROBES; c++) {
		if (!is_renewed(c->pass))
			free = c;
		if (is_renewed(c->pass) && c->sem == sem)
			break;
	}
	if (c == first + CHAIN_PROBES) {
		c = free;
		chain_is_new |= !!free;
	} else if (c->pass == pass) {
		level = higher_level(level, c->level);
		before = c->before;
	} else {
		before = c->level;
	}
	if (c)
		*c = (struct chain_level){ sem, level, before, pass };
	WRITE_ONCE(chain_pass, pass);
	/* only passes end it */
	lend_watcher_account();
	raw_spin_unlock(&lend_lock);
}

/*
 * The level of lend_note_chain(); LEND_NOTHING if there is none. While a pass may still note more,
 * that of the pass before counts, too. Interrupts are disabled.
 */
struct lend_level lend_chain_level(const struct unfair_rwsem *sem)
{
	struct chain_level *c, *first = first_chain_level(sem);
	struct lend_level level = LEND_NOTHING;

	if (!is_renewed(READ_ONCE(chain_pass)))
		return level;
	raw_spin_lock(&lend_lock);
	for (c = first; c < first + CHAIN_PROBES; c++)
		if (c->sem == sem && is_renewed(c->pass))
			level = c->pass == pass ? higher_level(c->level, c->before) : c->level;
	raw_spin_unlock(&lend_lock);
	return lend_limit(sem, level);
}

/**
 * lend_to_waiter() - let a queued writer run as soon as it is woken
 * @sem: the semaphore
 * @task: the writer
 * @others: what others lend it; LEND_NOTHING for a writer about to sleep
 * @work: for the caller to apply
 *
 * Lends the writer the SCHED_FIFO that it lends to others, if any, and @others. While it sleeps,
 * the loan costs it nothing; when it is woken, it preempts all fair tasks. It keeps the loan until
 * it releases @sem: if it ended before, the writer could lose its CPU with the lock held. If it
 * gives up, or sleeps again with nothing to lend itself, it calls lend_end().
 *
 * Context: under wait_lock.
 * Return: true if @task has a loan.
 */
bool lend_to_waiter(struct unfair_rwsem *sem, struct task_struct *task, struct lend_level others,
		    struct lend_work *work)
{
	struct lend_level level = lend_own_level(sem, task);

	if (level.rt)
		others = higher_level(level, others);
	return lends(others) && note_loan(sem, task, others, LOAN_WAITER, work);
}

/**
 * lend_end() - end the loan of a task for a semaphore
 * @sem: the semaphore
 * @task: the task
 * @kind: LOAN_HOLDER if the task releases @sem, which also ends a lease for @sem and its loan as a
 *	waiter; LOAN_SECTION if it ends its expedited section; LOAN_WAITER if it stops waiting, or
 *	sleeps with nothing to lend itself
 * @work: for the caller to apply after the release
 *
 * Context: under wait_lock.
 */
void lend_end(struct unfair_rwsem *sem, struct task_struct *task, enum loan_kind kind,
	      struct lend_work *work)
{
	struct lent_task *t;
	struct loan *loan;

	/* loans for @sem are noted under this wait_lock: an empty list has none */
	if (hlist_empty(lent_bucket(task)))
		return;
	raw_spin_lock(&lend_lock);
	t = find_lent_task(task);
	loan = t ? find_loan(t, sem) : NULL;
	if (loan) {
		set_level(loan, kind, LEND_NOTHING);
		if (kind == LOAN_HOLDER) {
			set_level(loan, LOAN_CHAIN, LEND_NOTHING);
			set_level(loan, LOAN_WAITER, LEND_NOTHING);
		}
		drop_if_empty(loan, sem);
	}
	/* also without a loan: the lender that dropped it may not have applied that yet */
	if (t)
		apply_later(t, work);
	raw_spin_unlock(&lend_lock);
}

/**
 * lend_adjust() - lower the loans for a semaphore after a lender has left
 * @sem: the semaphore
 * @level: the highest level of the remaining lenders; LEND_NOTHING if there is none
 * @from: the position of the scan; 0 at first
 * @work: for the caller to apply
 *
 * Context: under wait_lock.
 * Return: true if the scan is not complete: apply @work, then call it again.
 */
bool lend_adjust(struct unfair_rwsem *sem, struct lend_level level, unsigned int *from,
		 struct lend_work *work)
{
	unsigned int i, visited = 0;

	raw_spin_lock(&lend_lock);
	for (i = find_next_bit(lent_used, MAX_LENT_TASKS, *from);
	     i < MAX_LENT_TASKS && visited < LEND_CHUNK && work->nr < LEND_WORK_MAX;
	     i = find_next_bit(lent_used, MAX_LENT_TASKS, i + 1), visited++) {
		struct lent_task *t = &lent_tasks[i];
		struct loan *loan = find_loan(t, sem);
		struct lend_level before;

		if (!loan)
			continue;
		before = level_of_loan(loan);
		/* only a look raises a loan; waiters and sections are lent their own level */
		set_level(loan, LOAN_HOLDER, lower_level(loan->level[LOAN_HOLDER], level));
		/* a lease would end by itself, but maybe after its task has released @sem */
		if (!sem->watched)
			set_level(loan, LOAN_CHAIN, LEND_NOTHING);
		if (same_level(level_of_loan(loan), before))
			continue;
		drop_if_empty(loan, sem);
		apply_later(t, work);
	}
	*from = i;
	raw_spin_unlock(&lend_lock);
	return i < MAX_LENT_TASKS;
}

/* Calls @fn for each lent task, under lend_lock, and applies its loans if @fn returns true. */
static void visit_lent_tasks(bool (*fn)(struct lent_task *t))
{
	struct lend_work work = { };
	unsigned int i = 0, end;

	do {
		raw_spin_lock_irq(&lend_lock);
		end = min(i + LEND_CHUNK, MAX_LENT_TASKS);
		for (i = find_next_bit(lent_used, end, i);
		     i < end && work.nr < LEND_WORK_MAX; i = find_next_bit(lent_used, end, i + 1))
			if (fn(&lent_tasks[i]))
				apply_later(&lent_tasks[i], &work);
		i = min(i, end);
		raw_spin_unlock_irq(&lend_lock);
		lend_apply(&work);
	} while (i < MAX_LENT_TASKS);
}

static bool must_restore(struct lent_task *t)
{
	u64 now = ktime_get_ns();

	if (t->has_fifo && !t->fifo_spent) {
		charge_fifo(t, now);
		t->fifo_spent = over_budget(t->task, now, BUDGET_INTERVAL);
		if (t->fifo_spent)
			count_event(NULL, EV_FIFO_ENDED);
	}
	return t->failed || (t->has_fifo && t->fifo_spent);
}

/**
 * lend_account() - charge the use of lent SCHED_FIFO, and end it when the budget is spent
 *
 * Also tries again to restore priorities that the scheduler refused to restore.
 *
 * Context: the watcher.
 * Return: true if the watcher must call it again, or must make another pass.
 */
bool lend_account(void)
{
	bool again;

	visit_lent_tasks(must_restore);
	raw_spin_lock_irq(&lend_lock);
	again = nr_fifo || nr_failed || nr_leases || is_renewed(chain_pass);
	raw_spin_unlock_irq(&lend_lock);
	return again;
}

static bool lease_lowered(struct lent_task *t)
{
	bool lowered = false;
	unsigned int i;

	for (i = 0; i < MAX_LOANS; i++) {
		struct loan *loan = &t->loan[i];
		struct lend_level level = is_renewed(loan->pass) ? loan->renewed : LEND_NOTHING;

		if (!loan->sem || !lends(loan->level[LOAN_CHAIN]) ||
		    same_level(loan->level[LOAN_CHAIN], level))
			continue;
		set_level(loan, LOAN_CHAIN, level);
		drop_if_empty(loan, NULL);
		lowered = true;
	}
	return lowered;
}

/**
 * lend_end_pass() - end the leases that no look has renewed, and lower those that looks lent less
 *
 * Context: the watcher, after a look at each lock.
 * Return: true if a chain has reached another lock, which the next pass must look at.
 */
bool lend_end_pass(void)
{
	unsigned int leases;
	bool is_new;

	raw_spin_lock_irq(&lend_lock);
	WRITE_ONCE(pass, pass + 1);
	leases = nr_leases;
	is_new = chain_is_new;
	chain_is_new = false;
	raw_spin_unlock_irq(&lend_lock);
	if (leases)
		visit_lent_tasks(lease_lowered);
	return is_new;
}

/* No lock is in use. Only tasks whose priority could not be restored may be left. */
void lend_exit(void)
{
	unsigned int i;

	/* the watcher is gone: nothing else ends the leases */
	for (i = 0; i < LEASE_PASSES; i++)
		lend_end_pass();
	lend_account();
	for_each_set_bit(i, lent_used, MAX_LENT_TASKS) {
		struct task_struct *task = lent_tasks[i].task;

		pr_warn("fscommit: %s[%d] keeps a lent priority: the scheduler refuses to restore its own\n",
			task->comm, task_pid_nr(task));
		put_task_struct(task);
	}
}
