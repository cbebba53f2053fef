// SPDX-License-Identifier: GPL-2.0
/*
 * Lent priority: a waiter lends its own to whoever holds the lock and is not running.
 *
 * A borrower is a task that has a loan, one loan for each lock that it holds and that
 * somebody waits for. What it gets is the highest of its loans. It gives each back
 * itself, when it releases that lock; a lender that gives up takes its own back.
 *
 *  lender	1) Under wait_lock: set LENT in the word, then look for holders that
 *		   are not on a CPU, and note a loan for each. Whoever releases after
 *		   that takes wait_lock and finds its loan, so no loan is noted for a
 *		   task that has released.
 *		2) Without a lock: settle.
 *
 *  borrower	1) Release under wait_lock, and drop the loan there.
 *		2) Without a lock, and after the release: settle. Not before it, or it
 *		   would be preempted with the lock once more.
 *
 *  settle	Make the priority what the loans say, until they say nothing new. One
 *		task at a time does that for a borrower; others change the loans and
 *		leave it to that one. So it does not matter whether the lender, which
 *		may be preempted anywhere, sets the priority before the borrower has
 *		released or after: the last one to look makes it right.
 *
 * SCHED_FIFO is lent for lend_fifo_us on a CPU, then a nice value until the loan ends.
 * A kernel thread, woken by a timer, sees to that; the same one looks at expedited locks.
 *
 * Lending to a lock's holders goes back to priority inheritance (Sha, Rajkumar and
 * Lehoczky, 1990); that it should reach readers of a sleeping lock was asked for by
 * Peter Zijlstra when a reader-unfair rwsem was proposed in 2022. Expedite is named
 * after rcu_expedite_gp().
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/rt.h>
#include <linux/sched/task.h>

#include "compat.h"
#include "lent_priority.h"
#include "ranged_param.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"

#define MAX_BORROWERS	256
/* Locks that one borrower holds and others wait for. */
#define MAX_LOANS	6

static struct ranged_param lend_fifo_us = { 10000, 100, 1000000 };
module_param_cb(lend_fifo_us, &ranged_param_ops, &lend_fifo_us, 0644);
MODULE_PARM_DESC(lend_fifo_us,
		 "for how long on a CPU SCHED_FIFO is lent; microseconds, 100 to 1000000, default 10000");

static struct ranged_param lend_period_us = { 300, 50, 100000 };
module_param_cb(lend_period_us, &ranged_param_ops, &lend_period_us, 0644);
MODULE_PARM_DESC(lend_period_us,
		 "how often a waiter, or an expedited section, looks for holders that are not running; microseconds, 50 to 100000, default 300");

struct loan {
	const struct unfair_rwsem	*sem;
	struct lend_level		level;		/* as long as it holds sem */
	struct lend_level		section;	/* as long as it expedites sem */
};

struct borrower {
	struct task_struct	*task;		/* NULL: free */
	struct loan		loan[MAX_LOANS];
	bool			busy;		/* somebody is in settle(); the rest is its own */
	bool			has_fifo;
	bool			fifo_spent;
	u64			fifo_until;	/* look then whether it has had enough */
	u64			fifo_from;	/* its time on CPUs when it got SCHED_FIFO */
	struct lent_priority	is;
};

/* Protects borrowers; within any wait_lock. */
static DEFINE_RAW_SPINLOCK(lend_lock);
static struct borrower borrowers[MAX_BORROWERS];
static unsigned int nr_borrowers;	/* none is in use from here on */
static struct task_struct *watcher;
/* Wakes the watcher when SCHED_FIFO is to end; it is armed, or the watcher up, if: */
static struct hrtimer fifo_timer;
static bool fifo_timed;

u64 lend_period_ns(void)
{
	return (u64)READ_ONCE(lend_period_us.value) * NSEC_PER_USEC;
}

static u64 fifo_ns(void)
{
	return (u64)READ_ONCE(lend_fifo_us.value) * NSEC_PER_USEC;
}

static bool same_level(struct lend_level a, struct lend_level b)
{
	return a.rt == b.rt && a.nice == b.nice;
}

static struct lend_level level_of_loans(struct borrower *b)
{
	struct lend_level level = LEND_NOTHING;
	unsigned int i;

	lockdep_assert_held(&lend_lock);
	for (i = 0; i < MAX_LOANS; i++)
		if (b->loan[i].sem)
			level = higher_level(level, higher_level(b->loan[i].level,
								 b->loan[i].section));
	if (b->fifo_spent)
		level.rt = 0;
	return level;
}

/* When the SCHED_FIFO of a borrower is to end next; 0: nobody has it. */
static u64 next_end(void)
{
	unsigned int i;
	u64 next = 0;

	lockdep_assert_held(&lend_lock);
	for (i = 0; i < nr_borrowers; i++) {
		const struct borrower *b = &borrowers[i];

		if (b->task && b->has_fifo && !b->fifo_spent && (!next || b->fifo_until < next))
			next = b->fifo_until;
	}
	return next;
}

static void start_fifo_timer(u64 end)
{
	lockdep_assert_held(&lend_lock);
	fifo_timed = end;
	if (end)
		hrtimer_start(&fifo_timer, ns_to_ktime(end), HRTIMER_MODE_ABS_HARD);
}

/* Most loans end long before their time: nobody is woken for these. */
static enum hrtimer_restart fifo_timeout(struct hrtimer *timer)
{
	unsigned long irqflags;
	u64 next;

	raw_spin_lock_irqsave(&lend_lock, irqflags);
	next = next_end();
	/* the watcher may have started it again meanwhile: it is not ours to change here */
	if (next && next <= ktime_get_ns())
		wake_up_process(watcher);
	else
		start_fifo_timer(next);
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return HRTIMER_NORESTART;
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

/* SCHED_FIFO is lent from now on, to end on time. */
static void start_fifo(struct borrower *b)
{
	lockdep_assert_held(&lend_lock);
	b->has_fifo = true;
	b->fifo_from = cpu_time(b->task);
	b->fifo_until = ktime_get_ns() + fifo_ns();
	if (!fifo_timed)
		start_fifo_timer(b->fifo_until);
}

/*
 * Not preempted where the kernel allows that: a lender of nice -20 may well be by
 * others, and whoever has released by then would wait for it with what it was lent.
 *
 * So it is here that @b becomes busy, and not when its loans change: a lender that is
 * preempted in between would keep others, who run, from lending. One of them has settled
 * then, and @b may be free, or another task's, who loses nothing by one more look.
 */
static void settle(struct borrower *b)
{
	struct task_struct *done = NULL;
	struct lend_level level;
	unsigned long irqflags;

	compat_settle_begin();
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	/* who is at it already looks once more */
	if (!b->task || b->busy)
		goto out;
	b->busy = true;
	for (;;) {
		level = level_of_loans(b);
		if (same_level(level, b->is.now))
			break;
		if (level.rt && !b->has_fifo)
			start_fifo(b);
		raw_spin_unlock_irqrestore(&lend_lock, irqflags);
		set_lent_priority(b->task, &b->is, level);
		raw_spin_lock_irqsave(&lend_lock, irqflags);
		b->is.now = level;
	}
	b->busy = false;
	if (!lends(level)) {
		done = b->task;
		b->task = NULL;
		while (nr_borrowers && !borrowers[nr_borrowers - 1].task)
			nr_borrowers--;
	}
out:
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	compat_settle_end();
	if (done)
		put_task_struct(done);
}

/**
 * settle_loans() - make priorities what the loans say
 * @todo: of whom; empty afterwards
 *
 * Context: process context. On 6.1 it may sleep, for the cpuset lock.
 */
void settle_loans(struct settlement *todo)
{
	while (todo->nr)
		settle(todo->who[--todo->nr]);
}

/* --- loans --------------------------------------------------------------- */

static struct borrower *find_borrower(const struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < nr_borrowers; i++)
		if (borrowers[i].task == task)
			return &borrowers[i];
	return NULL;
}

/**
 * own_level_to_lend() - what the caller lends of its own, without what it was lent itself
 * @sem: the semaphore
 *
 * Otherwise as level_to_lend().
 *
 * Return: the level.
 */
struct lend_level own_level_to_lend(const struct unfair_rwsem *sem)
{
	struct sched_values v = values_of(current);
	const struct borrower *b;
	unsigned long irqflags;

	raw_spin_lock_irqsave(&lend_lock, irqflags);
	b = find_borrower(current);
	/* known once what was lent has been set; its settler may be about to change these */
	if (b && lends(b->is.now) && !data_race(b->is.left_alone))
		/* as of before or after a renice */
		v = data_race(b->is.own);
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return level_of(sem, &v);
}

static struct borrower *new_borrower(struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < MAX_BORROWERS && borrowers[i].task; i++)
		;
	if (i == MAX_BORROWERS)
		return NULL;
	nr_borrowers = max(nr_borrowers, i + 1);
	borrowers[i] = (struct borrower) {
		.task = get_task_struct(task),
		.is.now = LEND_NOTHING,
	};
	return &borrowers[i];
}

static struct loan *find_loan(struct borrower *b, const struct unfair_rwsem *sem)
{
	unsigned int i;

	for (i = 0; i < MAX_LOANS; i++)
		if (b->loan[i].sem == sem)
			return &b->loan[i];
	return NULL;
}

static void end_if_empty(struct loan *loan)
{
	if (lends(loan->level) || lends(loan->section))
		return;
	count_event(loan->sem, EV_RETURNED);
	*loan = (struct loan){ };
}

static void settle_later(struct borrower *b, struct settlement *todo)
{
	todo->who[todo->nr++] = b;
}

/* A preempted holder on another CPU gets that as soon as it is lent to. */
static void expect_to_run(const struct task_struct *task, struct settlement *todo)
{
	if (todo->nr && task_is_running(task) && task_cpu(task) != raw_smp_processor_id())
		todo->soon = true;
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
		      struct lend_level level, bool of_section, struct settlement *todo)
{
	struct borrower *b;
	struct loan *loan;

	lockdep_assert_held(&sem->wait_lock);
	/* it is asleep, and the lender looks again */
	if (level.rt && !is_rt_policy(READ_ONCE(task->policy)) && compat_class_upsets_psi(task))
		return;
	raw_spin_lock(&lend_lock);
	b = find_borrower(task);
	if (!b) {
		if (!would_help(task, level))
			goto out;
		b = new_borrower(task);
	}
	loan = b ? find_loan(b, sem) : NULL;
	if (!loan) {
		loan = b ? find_loan(b, NULL) : NULL;
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
	if (!same_level(level_of_loans(b), b->is.now)) {
		settle_later(b, todo);
		expect_to_run(task, todo);
	}
out:
	raw_spin_unlock(&lend_lock);
}

struct lending {
	struct unfair_rwsem	*sem;
	struct lend_level	level;
	struct settlement	*todo;
};

static bool lend_to_reader(struct task_struct *task, u32 since, void *arg)
{
	struct lending *l = arg;

	if (!compat_on_cpu(task))
		note_loan(l->sem, task, l->level, false, l->todo);
	return l->todo->nr < MAX_LENT_AT_ONCE;
}

/* From here on, who releases comes to wait_lock and gives back. */
void expect_returns(struct unfair_rwsem *sem)
{
	atomic_long_or(UNFAIR_RWSEM_LENT, &sem->word);
	/* E: then look at slots; pairs with the release of a reader, slot before word */
	smp_mb__after_atomic();
}

/**
 * lend_to_readers() - lend to those that hold it for reading and are off their CPU
 * @sem: the semaphore; its bias is revoked, and it is held for reading or expedited
 * @level: what to lend
 * @todo: to be settled by the caller
 *
 * Context: under wait_lock.
 */
void lend_to_readers(struct unfair_rwsem *sem, struct lend_level level,
		     struct settlement *todo)
{
	struct lending l = { sem, level, todo };

	if (!lends(level))
		return;
	expect_returns(sem);
	for_each_reader(sem, lend_to_reader, &l);
}

/**
 * lend_to_expediter() - keep a task at what it lends
 * @sem: the semaphore that it expedites
 * @task: that task
 * @level: what it lends
 * @todo: to be settled by the caller
 *
 * Context: under wait_lock.
 */
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task,
		       struct lend_level level, struct settlement *todo)
{
	if (lends(level) && (task == current || !compat_on_cpu(task)))
		note_loan(sem, task, level, true, todo);
}

/**
 * lend_to_owner() - lend to the writer that holds it, if that is off its CPU
 * @sem: the semaphore, with somebody queued
 * @owner: the writer that holds it
 * @level: what to lend
 * @todo: to be settled by the caller
 *
 * Context: under wait_lock.
 */
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner,
		   struct lend_level level, struct settlement *todo)
{
	if (!lends(level) || compat_on_cpu(owner))
		return;
	expect_returns(sem);
	note_loan(sem, owner, level, false, todo);
}

/**
 * give_back() - the loan for @sem ends, as @task releases it, or its expedited section ends
 * @sem: the semaphore
 * @task: who has it
 * @section: false; true: it goes on holding it or not, but expedites it no more
 * @todo: to be settled by the caller, after the release
 *
 * Context: under wait_lock.
 */
void give_back(struct unfair_rwsem *sem, struct task_struct *task, bool section,
	       struct settlement *todo)
{
	struct borrower *b;
	struct loan *loan;

	raw_spin_lock(&lend_lock);
	b = find_borrower(task);
	loan = b ? find_loan(b, sem) : NULL;
	if (loan && section)
		loan->section = LEND_NOTHING;
	else if (loan)
		loan->level = LEND_NOTHING;
	if (loan) {
		end_if_empty(loan);
		settle_later(b, todo);
	}
	raw_spin_unlock(&lend_lock);
}

/**
 * relevel_loans() - lenders have gone: the loans for @sem are worth less now
 * @sem: the semaphore
 * @level: the highest of those that are left; LEND_NOTHING if none is
 * @todo: to be settled by the caller
 *
 * Context: under wait_lock.
 * Return: true if there are more than @todo takes; then call it again.
 */
bool relevel_loans(struct unfair_rwsem *sem, struct lend_level level, struct settlement *todo)
{
	bool more = false;
	unsigned int i;

	raw_spin_lock(&lend_lock);
	for (i = 0; i < nr_borrowers; i++) {
		struct borrower *b = &borrowers[i];
		struct loan *loan = b->task ? find_loan(b, sem) : NULL;

		/* not of one that only expedites it */
		if (!loan || !lends(loan->level) || same_level(loan->level, level))
			continue;
		if (todo->nr == MAX_LENT_AT_ONCE) {
			more = true;
			break;
		}
		loan->level = level;
		end_if_empty(loan);
		settle_later(b, todo);
	}
	raw_spin_unlock(&lend_lock);
	return more;
}

/* --- the watcher --------------------------------------------------------- */

/* Ends SCHED_FIFO where it has lasted long enough. */
static void end_fifo(void)
{
	struct settlement todo = { };
	unsigned int i;
	u64 now;

	raw_spin_lock_irq(&lend_lock);
	now = ktime_get_ns();
	for (i = 0; i < nr_borrowers && todo.nr < MAX_LENT_AT_ONCE; i++) {
		struct borrower *b = &borrowers[i];
		u64 left;

		if (!b->task || !b->has_fifo || b->fifo_spent || b->fifo_until > now)
			continue;
		/* asleep, or behind others, it uses none of its time, and needs it later */
		left = b->fifo_from + fifo_ns() - cpu_time(b->task);
		if ((s64)left > 0) {
			b->fifo_until = now + max(left, fifo_ns() / 8);
			continue;
		}
		b->fifo_spent = true;
		count_event(NULL, EV_FIFO_ENDED);
		settle_later(b, &todo);
	}
	raw_spin_unlock_irq(&lend_lock);
	settle_loans(&todo);
}

/* There are expedited sections from now on. */
void wake_watcher(void)
{
	wake_up_process(watcher);
}

static int watch(void *unused)
{
	while (!kthread_should_stop()) {
		bool expedited = watch_expedites();
		ktime_t period = ns_to_ktime(lend_period_ns());

		end_fifo();
		set_current_state(TASK_IDLE);
		raw_spin_lock_irq(&lend_lock);
		if (fifo_timed)
			start_fifo_timer(next_end());
		raw_spin_unlock_irq(&lend_lock);
		if (expedited && !kthread_should_stop())
			schedule_hrtimeout_range(&period, 0, HRTIMER_MODE_REL);
		/* one that begins after this look wakes us */
		else if (!any_expedites() && !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

int __init init_lending(void)
{
	/* above all that is lent, or it could not take that back */
	static const struct sched_values top = { SCHED_FIFO, MAX_RT_PRIO - 1 };

	compat_hrtimer_setup(&fifo_timer, fifo_timeout, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS_HARD);
	watcher = kthread_run(watch, NULL, "fscommit_lend");
	if (IS_ERR(watcher))
		return PTR_ERR(watcher);
	set_values(watcher, &top);
	return 0;
}

void exit_lending(void)
{
	/* nobody borrows any more, so it is not armed again */
	hrtimer_cancel(&fifo_timer);
	kthread_stop(watcher);
}
