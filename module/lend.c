// SPDX-License-Identifier: GPL-2.0
/*
 * Lent priority: while a task waits for a lock, each holder that is off its CPU is lent the
 * priority of the most important waiter. (Other parts of the kernel say boost.)
 *
 * A task has one loan for each lock that it holds and that others wait for, and one for each
 * lock that it expedites. It gets the highest of its loans. It ends a loan itself when it
 * releases the lock; a waiter that gives up lowers the loans of its lock.
 *
 *  lender	1) Under wait_lock: set LENT in the word, then look for holders that
 *		   are not on a CPU, and note a loan for each. A task that releases the
 *		   lock after that takes wait_lock and finds its loan, so no loan is
 *		   noted for a task that has released.
 *		2) Without a lock: apply.
 *
 *  lent task	1) Release under wait_lock, and drop the loan there.
 *		2) Without a lock, and after the release: apply. Not before it: the task
 *		   would be preempted with the lock once more.
 *
 *  apply	Set the priority to what the loans say, until they say nothing new. One
 *		task at a time does that for a lent task; others change the loans and
 *		leave the rest to that one. So a lender may set the priority before or
 *		after the lent task has released: the last one to look sets it right.
 *
 * The budget (G12). SCHED_FIFO that is lent is charged, by the time that the task spends on
 * a CPU, to the task and to the CPU. Each has a bucket that drains at a fixed rate:
 * lend_fifo_us or lend_cpu_us in 100 ms. While one of the two is full, a loan is a nice value.
 * A task's bucket outlives its loans; tasks whose addresses have the same hash share one.
 *
 * Lending to a lock's holders goes back to priority inheritance (Sha, Rajkumar and
 * Lehoczky, 1990); that it should reach readers of a sleeping lock was asked for by
 * Peter Zijlstra when a reader-unfair rwsem was proposed in 2022.
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

#include "compat.h"
#include "lent_priority.h"
#include "ranged_param.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"
#include "watcher.h"

#define MAX_LENT_TASKS	256U
#define LENT_HASH_BITS	8
/* Locks that one lent task holds and others wait for. */
#define MAX_LOANS	6
/* Lent tasks that are visited with interrupts off. */
#define LEND_CHUNK	64U
#define BUDGET_WINDOW	(100ULL * NSEC_PER_MSEC)
#define BUDGET_BITS	10

static struct ranged_param lend_fifo_us = { 10000, 100, 1000000 };
module_param_cb(lend_fifo_us, &ranged_param_ops, &lend_fifo_us, 0644);
MODULE_PARM_DESC(lend_fifo_us,
		 "how much SCHED_FIFO one task may be lent in 100 ms, and at once; microseconds on a CPU, 100 to 1000000, from 100000 on without a bound, default 10000");

static struct ranged_param lend_cpu_us = { 20000, 100, 1000000 };
module_param_cb(lend_cpu_us, &ranged_param_ops, &lend_cpu_us, 0644);
MODULE_PARM_DESC(lend_cpu_us,
		 "how much SCHED_FIFO all tasks on one CPU may be lent in 100 ms, and at once; microseconds, 100 to 1000000, from 100000 on without a bound, default 20000");

static struct ranged_param lend_period_us = { 300, 50, 60000000 };
module_param_cb(lend_period_us, &ranged_param_ops, &lend_period_us, 0644);
MODULE_PARM_DESC(lend_period_us,
		 "how often locks with sleeping waiters or expedited sections are looked at for holders that are not running; microseconds, 50 to 60000000, default 300");

struct loan {
	const struct unfair_rwsem	*sem;		/* NULL: free */
	struct lend_level		level;		/* while the task holds sem */
	struct lend_level		section;	/* while the task expedites sem */
};

struct lent_task {
	struct task_struct	*task;		/* NULL: free */
	struct hlist_node	hash;
	struct loan		loan[MAX_LOANS];
	bool			busy;		/* a task is in apply(); it owns is */
	bool			failed;		/* its own priority could not be restored */
	bool			has_fifo;
	bool			fifo_spent;	/* over the budget */
	bool			was_on_cpu;	/* at the last charge */
	unsigned long		switches;	/* context switches until then */
	u64			charged_at;	/* then */
	u64			fifo_from;	/* its time on CPUs when it got SCHED_FIFO */
	u64			charged;	/* ns since it got SCHED_FIFO */
	struct lent_priority	is;
};

/* Protects all that follows; nests within any wait_lock. */
static DEFINE_RAW_SPINLOCK(lend_lock);
static struct lent_task lent_tasks[MAX_LENT_TASKS];
static DECLARE_BITMAP(lent_used, MAX_LENT_TASKS);
static struct hlist_head lent_hash[1 << LENT_HASH_BITS];
static unsigned int nr_lent, nr_fifo, nr_failed;
/* When the bucket of a task, or of a CPU, is empty again. */
static u64 task_budget[1 << BUDGET_BITS];
static DEFINE_PER_CPU(u64, cpu_budget);

u64 lend_period_ns(void)
{
	return (u64)READ_ONCE(lend_period_us.value) * NSEC_PER_USEC;
}

/* --- the budget ---------------------------------------------------------- */

static void charge_bucket(u64 *empty_at, u64 now, u64 ns, const struct ranged_param *limit_us)
{
	u64 limit = (u64)READ_ONCE(limit_us->value) * NSEC_PER_USEC;

	if (limit >= BUDGET_WINDOW)
		return;
	ns = div_u64(min_t(u64, ns, NSEC_PER_SEC) * BUDGET_WINDOW, limit);
	/* where the watcher was late itself, nobody pays for it for longer than this */
	*empty_at = min(max(*empty_at, now) + ns, now + 2 * BUDGET_WINDOW);
}

static u64 *budget_of(const struct task_struct *task)
{
	return &task_budget[hash_ptr(task, BUDGET_BITS)];
}

/* Is the fuller one of the two buckets filled for more than @ns of draining? */
static bool over_budget(const struct task_struct *task, u64 now, u64 ns)
{
	return max(*budget_of(task), per_cpu(cpu_budget, task_cpu(task))) > now + ns;
}

static u64 cpu_time(const struct task_struct *task)
{
	u64 time = READ_ONCE(task->se.sum_exec_runtime), last;

	/* on 32 bits it is read, and written, by halves */
	do {
		last = time;
		if (!IS_ENABLED(CONFIG_64BIT))
			time = READ_ONCE(task->se.sum_exec_runtime);
	} while (time != last);
	return time;
}

static unsigned long switches_of(const struct task_struct *task)
{
	/* as of now, or of a moment ago */
	return data_race(task->nvcsw) + data_race(task->nivcsw);
}

/*
 * Charges what the task has used since the last charge. Where the tick is stopped, its time
 * on CPUs is not brought up to date: a task that was not switched out has run all the time.
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
	watcher_account();
}

static void end_fifo(struct lent_task *t)
{
	charge_fifo(t, ktime_get_ns());
	t->has_fifo = false;
	nr_fifo--;
}

/* --- setting priorities -------------------------------------------------- */

static struct lend_level level_of_loans(const struct lent_task *t)
{
	struct lend_level level = LEND_NOTHING;
	unsigned int i;

	lockdep_assert_held(&lend_lock);
	for (i = 0; i < MAX_LOANS; i++)
		if (t->loan[i].sem)
			level = higher_level(level, higher_level(t->loan[i].level,
								 t->loan[i].section));
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

/*
 * Preemption is disabled where the kernel allows it: a lender of nice -20 may be preempted
 * by others, and a lent task that has released by then would return to user space with what
 * it was lent.
 *
 * So @t becomes busy here, and not when its loans change: a lender that is preempted in
 * between would keep others, which run, from lending. In the meantime another task may have
 * applied the loans, and @t may be free, or in use for another task: one more look at its
 * loans does no harm.
 */
static void apply(struct lent_task *t)
{
	struct task_struct *done = NULL;
	struct lend_level level;
	unsigned long irqflags;
	int ret = 0;

	compat_lend_apply_begin();
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	/* another task is already in the loop below, and will read the loans again */
	if (!t->task || t->busy)
		goto out;
	t->busy = true;
	nr_failed -= t->failed;
	t->failed = false;
	for (;;) {
		level = level_of_loans(t);
		if (same_level(level, t->is.now))
			break;
		/* not where the task has as much of its own */
		if (level.rt && !t->has_fifo &&
		    !(lends(t->is.now) && t->is.own.rt_priority >= level.rt))
			start_fifo(t);
		raw_spin_unlock_irqrestore(&lend_lock, irqflags);
		ret = lent_priority_set(t->task, &t->is, level);
		raw_spin_lock_irqsave(&lend_lock, irqflags);
		if (ret && !t->task->exit_state) {
			/* the watcher tries again */
			t->failed = true;
			nr_failed++;
			watcher_account();
			break;
		}
		t->is.now = level;
		if (t->has_fifo && !level.rt)
			end_fifo(t);
	}
	t->busy = false;
	if (!lends(level) && !t->failed)
		done = free_lent_task(t);
out:
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	compat_lend_apply_end();
	if (done)
		put_task_struct(done);
}

/**
 * lend_apply() - set priorities to what the loans say
 * @work: whose; empty afterwards
 *
 * Context: any context in which bottom halves are enabled.
 */
void lend_apply(struct lend_work *work)
{
	while (work->nr)
		apply(work->task[--work->nr]);
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

/**
 * lend_own_level() - what the caller lends of its own, without what it was lent itself
 * @sem: the semaphore
 *
 * Otherwise as level_to_lend().
 *
 * Return: the level.
 */
struct lend_level lend_own_level(const struct unfair_rwsem *sem)
{
	struct sched_values v = lent_priority_values(current);
	const struct lent_task *t;
	unsigned long irqflags;

	raw_spin_lock_irqsave(&lend_lock, irqflags);
	t = find_lent_task(current);
	/* known once what was lent has been set; the task in apply() may be about to change it */
	if (t && lends(t->is.now) && !data_race(t->is.left_alone))
		/* as of before or after a renice */
		v = data_race(t->is.own);
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return lent_priority_level(sem, &v);
}

/*
 * A holder that sleeps cannot use the CPU yet, and the watcher looks again: half of the
 * entries are for those that want to run.
 */
static struct lent_task *new_lent_task(struct task_struct *task)
{
	unsigned int i = find_first_zero_bit(lent_used, MAX_LENT_TASKS);

	lockdep_assert_held(&lend_lock);
	if (i == MAX_LENT_TASKS || (nr_lent >= MAX_LENT_TASKS / 2 && !task_is_running(task)))
		return NULL;
	__set_bit(i, lent_used);
	nr_lent++;
	lent_tasks[i] = (struct lent_task) {
		.task = get_task_struct(task),
		.is.now = LEND_NOTHING,
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

static void drop_if_empty(struct loan *loan)
{
	if (lends(loan->level) || lends(loan->section))
		return;
	count_event(loan->sem, EV_RETURNED);
	*loan = (struct loan){ };
}

static void apply_later(struct lent_task *t, struct lend_work *work)
{
	work->task[work->nr++] = t;
}

/* A preempted holder on another CPU gets that as soon as it is lent to. */
static bool runs_soon(const struct task_struct *task)
{
	return task_is_running(task) && task_cpu(task) != raw_smp_processor_id();
}

static bool would_help(const struct task_struct *task, struct lend_level level)
{
	int policy = READ_ONCE(task->policy);

	if (policy == SCHED_DEADLINE || task->exit_state)
		return false;
	if (is_rt_policy(policy))
		return level.rt > task->rt_priority;
	return level.rt || policy == SCHED_IDLE || level.nice < task_nice(task);
}

static void note_loan(struct unfair_rwsem *sem, struct task_struct *task,
		      struct lend_level level, bool of_section, struct lend_work *work)
{
	u64 now = ktime_get_ns();
	struct lent_task *t;
	struct loan *loan;

	lockdep_assert_held(&sem->wait_lock);
	/* the task is asleep, and the watcher looks again */
	if (level.rt && !is_rt_policy(READ_ONCE(task->policy)) && compat_class_upsets_psi(task))
		return;
	raw_spin_lock(&lend_lock);
	t = find_lent_task(task);
	if (!t && would_help(task, level))
		t = new_lent_task(task);
	else if (!t)
		goto out;
	loan = t ? find_loan(t, sem) : NULL;
	if (!loan) {
		loan = t ? find_loan(t, NULL) : NULL;
		if (!loan) {
			count_event(sem, EV_LEND_FAILED);
			goto out;
		}
		*loan = (struct loan){ sem, LEND_NOTHING, LEND_NOTHING };
		count_event(sem, EV_LENT);
	}
	if (of_section)
		loan->section = level;
	else
		loan->level = higher_level(loan->level, level);
	/* SCHED_FIFO ends with a full bucket, and comes back with one that is half empty */
	if (!t->has_fifo)
		t->fifo_spent = over_budget(task, now, t->fifo_spent ? BUDGET_WINDOW / 2 :
								      BUDGET_WINDOW);
	if (!same_level(level_of_loans(t), t->is.now)) {
		apply_later(t, work);
		work->soon |= runs_soon(task);
	}
out:
	raw_spin_unlock(&lend_lock);
}

/* From here on, a task that releases @sem takes wait_lock and ends its loan. */
void lend_announce(struct unfair_rwsem *sem)
{
	atomic_long_or(UNFAIR_RWSEM_LENT, &sem->word);
	/* E: then look at slots; pairs with the release of a reader, slot before word */
	smp_mb__after_atomic();
}

/**
 * lend_to_readers() - lend to readers that are off their CPU
 * @sem: the semaphore; lend_announce() was called for it, and its bias is revoked
 * @level: what to lend
 * @look: which step it is, and what it has seen
 * @work: to be applied by the caller
 *
 * Context: under wait_lock.
 * Return: false if @work is full; then apply it and call again for the same step.
 */
bool lend_to_readers(struct unfair_rwsem *sem, struct lend_level level, struct look *look,
		     struct lend_work *work)
{
	unsigned int before = work->nr, i;
	struct task_struct *task;
	unsigned long nr = 0;

	rcu_read_lock();
	for_each_visible_reader(sem, look->step, i, task) {
		nr++;
		if (compat_on_cpu(task))
			look->active = true;
		else
			note_loan(sem, task, level, false, work);
		if (work->nr == LEND_WORK_MAX)
			break;
	}
	rcu_read_unlock();
	look->active |= work->nr > before;
	if (work->nr == LEND_WORK_MAX)
		return false;
	look->seen += nr;
	return true;
}

/**
 * lend_to_expediter() - keep a task at what it lends
 * @sem: the semaphore that it expedites
 * @task: that task
 * @level: what it lends
 * @work: to be applied by the caller
 *
 * Context: under wait_lock.
 */
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task,
		       struct lend_level level, struct lend_work *work)
{
	if (lends(level) && (task == current || !compat_on_cpu(task)))
		note_loan(sem, task, level, true, work);
}

/**
 * lend_to_owner() - lend to the writer that holds the lock, if that is off its CPU
 * @sem: the semaphore, with a task queued
 * @owner: the writer that holds it
 * @level: what to lend
 * @work: to be applied by the caller
 *
 * Context: under wait_lock.
 */
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner,
		   struct lend_level level, struct lend_work *work)
{
	if (!lends(level) || compat_on_cpu(owner))
		return;
	lend_announce(sem);
	note_loan(sem, owner, level, false, work);
}

/**
 * lend_end() - end the loan of a task for a semaphore
 * @sem: the semaphore
 * @task: the task
 * @section: false: it releases @sem; true: it expedites @sem no longer
 * @work: to be applied by the caller, after the release
 *
 * Context: under wait_lock.
 */
void lend_end(struct unfair_rwsem *sem, struct task_struct *task, bool section,
	      struct lend_work *work)
{
	struct lent_task *t;
	struct loan *loan;

	/* a loan for @sem was noted under this wait_lock: then the list is not empty */
	if (hlist_empty(lent_bucket(task)))
		return;
	raw_spin_lock(&lend_lock);
	t = find_lent_task(task);
	loan = t ? find_loan(t, sem) : NULL;
	if (loan && section)
		loan->section = LEND_NOTHING;
	else if (loan)
		loan->level = LEND_NOTHING;
	if (loan)
		drop_if_empty(loan);
	/* also without a loan: a lender that dropped it may not have applied that yet */
	if (t)
		apply_later(t, work);
	raw_spin_unlock(&lend_lock);
}

/**
 * lend_adjust() - lower the loans for a semaphore, after a lender has gone
 * @sem: the semaphore
 * @level: the highest level that is left; LEND_NOTHING if none is
 * @from: where to go on; 0 at first
 * @work: to be applied by the caller
 *
 * Context: under wait_lock.
 * Return: true if there are more; apply @work, then call it again.
 */
bool lend_adjust(struct unfair_rwsem *sem, struct lend_level level, unsigned int *from,
		 struct lend_work *work)
{
	unsigned int end = min(*from + LEND_CHUNK, MAX_LENT_TASKS), i;

	raw_spin_lock(&lend_lock);
	for (i = find_next_bit(lent_used, end, *from);
	     i < end && work->nr < LEND_WORK_MAX; i = find_next_bit(lent_used, end, i + 1)) {
		struct lent_task *t = &lent_tasks[i];
		struct loan *loan = find_loan(t, sem);

		/* not of a task that only expedites it */
		if (!loan || !lends(loan->level) || same_level(loan->level, level))
			continue;
		/* to raise a loan is for a look at the task */
		loan->level = lower_level(loan->level, level);
		drop_if_empty(loan);
		apply_later(t, work);
	}
	*from = min(i, end);
	raw_spin_unlock(&lend_lock);
	return *from < MAX_LENT_TASKS;
}

/**
 * lend_account() - charge what was used of lent SCHED_FIFO, and end it beyond the budget
 *
 * Tries again, too, where a task could not get its own priority back.
 *
 * Context: the watcher.
 * Return: true if it must be called again after a period.
 */
bool lend_account(void)
{
	struct lend_work work = { };
	unsigned int i = 0, end;
	bool again;

	do {
		raw_spin_lock_irq(&lend_lock);
		end = min(i + LEND_CHUNK, MAX_LENT_TASKS);
		for (i = find_next_bit(lent_used, end, i);
		     i < end && work.nr < LEND_WORK_MAX; i = find_next_bit(lent_used, end, i + 1)) {
			struct lent_task *t = &lent_tasks[i];
			u64 now = ktime_get_ns();

			if (t->has_fifo && !t->fifo_spent) {
				charge_fifo(t, now);
				t->fifo_spent = over_budget(t->task, now, BUDGET_WINDOW);
				if (t->fifo_spent)
					count_event(NULL, EV_FIFO_ENDED);
			}
			if (t->failed || (t->has_fifo && t->fifo_spent))
				apply_later(t, &work);
		}
		i = min(i, end);
		raw_spin_unlock_irq(&lend_lock);
		lend_apply(&work);
	} while (i < MAX_LENT_TASKS);
	raw_spin_lock_irq(&lend_lock);
	again = nr_fifo || nr_failed;
	raw_spin_unlock_irq(&lend_lock);
	return again;
}

/* No lock is in use any more. Only tasks whose own priority was refused may be left. */
void lend_exit(void)
{
	unsigned int i;

	lend_account();
	for_each_set_bit(i, lent_used, MAX_LENT_TASKS) {
		struct task_struct *task = lent_tasks[i].task;

		pr_warn("fscommit: %s[%d] keeps a lent priority: the scheduler refuses its own\n",
			task->comm, task_pid_nr(task));
		put_task_struct(task);
	}
}
