// SPDX-License-Identifier: GPL-2.0
/*
 * Loans: while a task waits for a lock, each holder that is off its CPU is lent the priority of
 * the most important waiter. (Other parts of the kernel say boost.)
 *
 * A loan is the kernel's own priority inheritance. A *donor*, a kernel thread of ours with the lent
 * real-time priority, waits for its rt_mutex, whose owner is the lent task. Nothing else of the
 * task changes: no policy, no nice value, no flag. So nothing needs to be restored, and the kernel
 * sorts several loans of a task and passes them on along rt_mutexes.
 *
 *  watcher	1) Under wait_lock: set LENT in the word, then scan the holders. For each
 *		   one that is not on a CPU, take an idle donor, make the task the owner
 *		   of its rt_mutex, and enter the loan in the hash (OUT).
 *		2) Without a lock: set the donor's priority and wake it.
 *
 *  donor	Look at the task again: if it runs, take the loan back. Otherwise wait for
 *		the rt_mutex. When that returns, drop the task and be idle (IDLE).
 *
 *  lent task	1) Under wait_lock: release the lock, and take the loan out of the hash
 *		   (UNLOCKED). A release sees LENT or comes before the scan.
 *		2) Without a lock, and not preempted in between: unlock the rt_mutex. Not
 *		   before the release: the task could be preempted while it holds the lock.
 *
 * Each loan is a lease. It ends at the release, or at the second pass of the watcher in which no
 * look renewed it: a waiter that gives up does nothing. The watcher then takes the loan out of the
 * hash (CANCELLED) and sends the donor a signal. Only the task that takes a loan out of the hash
 * ends it, so an unlock and a cancellation exclude each other. A writer that was lent to while it
 * waited keeps its loan until it releases the lock, whoever still waits.
 *
 * Only the watcher makes and changes loans. It and, at its exit, the module cancel them; a donor
 * cancels its own when the lent task has got a CPU.
 *
 * A waiter of an rt_mutex spins while the owner runs. A donor on another CPU than the lent task may
 * see it run at once, and spin. That time is charged to the budget. The watcher moves a donor that
 * it finds on a CPU to that of the lent task: it cannot run there while the task does.
 *
 * The budget (G12). The time that a task spends on a CPU during a loan, and that of its donor, is
 * charged to the CPU and to the task's cgroup. Each has a bucket that drains at a fixed rate:
 * lend_cpu_us or lend_group_us per 100 ms. While one of the two is full, the loan is suspended: the
 * donor has SCHED_NORMAL.
 *
 * Lending to holders goes back to priority inheritance (Sha, Rajkumar and Lehoczky, 1990). Peter
 * Zijlstra asked for it to reach the readers of a sleeping lock when a reader-unfair rwsem was
 * proposed in 2022. A task becomes the owner of an rt_mutex that it never locked in the kernel's
 * PI futexes, too.
 */
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rtmutex.h>
#include <linux/sched/prio.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>

#include "chain.h"
#include "internal.h"
#include "lend.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"

#define MAX_DONORS	256U
/* Donors that exist at any time, and idle ones below which more are created. */
#define MIN_DONORS	8U
#define SPARE_DONORS	4U
/* The interval in which donors that were not needed are reaped. */
#define REAP_EVERY	(10 * HZ)
#define LENT_HASH_BITS	8
#define BUDGET_INTERVAL	(100ULL * NSEC_PER_MSEC)
#define GROUP_BITS	8
/* A lease ends in this pass after the one that renewed it. */
#define LEASE_PASSES	2
/*
 * A loan that brings its task no CPU for STARVED ns is suspended until STARVED_PAUSE ns after the
 * task has got one, and for STARVED_MAX_PAUSE ns at most. The kernel keeps 50 ms for fair tasks
 * in each second, at its end.
 */
#define STARVED		(50ULL * NSEC_PER_MSEC)
#define STARVED_PAUSE	(100ULL * NSEC_PER_MSEC)
#define STARVED_MAX_PAUSE (2ULL * NSEC_PER_SEC)
/* The priority of a donor's thread that the watcher has not set yet. */
#define LEVEL_UNKNOWN	255

FSCOMMIT_PARAM(lend, 1, 0, 1);
MODULE_PARM_DESC(lend,
		 "Whether waiters lend their priority to holders that are not on a CPU; 0 ends all loans; 0 or 1, default 1");

/*
 * On PREEMPT_RT the lowest real-time priority is that of the threads that run timers, irq_work and
 * RCU callbacks: a lent task would delay them.
 */
#define LEND_NICE_NONE	(MIN_NICE - 1)
FSCOMMIT_PARAM(lend_nice, IS_ENABLED(CONFIG_PREEMPT_RT) ? LEND_NICE_NONE : 0, LEND_NICE_NONE,
	       MAX_NICE);
MODULE_PARM_DESC(lend_nice,
		 "The highest nice value of a waiter that lends; -20 to 19, or -21: only real-time waiters lend; default 0, and -21 on PREEMPT_RT");

FSCOMMIT_PARAM(lend_donors, 64, 1, MAX_DONORS);
MODULE_PARM_DESC(lend_donors,
		 "The maximum number of loans at a time, each of which needs a kernel thread; 1 to 256, default 64");

FSCOMMIT_PARAM(lend_group_us, 20000, 100, 1000000);
MODULE_PARM_DESC(lend_group_us,
		 "CPU time that all tasks of a cgroup, other than the root, may spend with a lent priority per 100 ms, and at once; microseconds, 100 to 1000000, no limit from 100000 on, default 20000");

FSCOMMIT_PARAM(lend_cpu_us, 20000, 100, 1000000);
MODULE_PARM_DESC(lend_cpu_us,
		 "CPU time that all tasks on one CPU may spend with a lent priority per 100 ms, and at once; microseconds, 100 to 1000000, no limit from 100000 on, default 20000");

FSCOMMIT_PARAM(lend_period_us, 1000, 50, 60000000);
MODULE_PARM_DESC(lend_period_us,
		 "Period in which the watcher looks for holders that are not on a CPU, of locks with sleeping waiters or expedited sections, and least age at which a section takes effect; microseconds, 50 to 60000000, default 1000");

FSCOMMIT_PARAM(lend_links, LEND_MAX_LINKS, 0, LEND_MAX_LINKS);
MODULE_PARM_DESC(lend_links,
		 "Number of locks that a loan passes through, from a holder that is itself blocked to the owner of that lock; 0 (none) to 8, default 8");

enum donor_state {
	DONOR_NONE,		/* has no thread */
	DONOR_IDLE,
	DONOR_OUT,		/* in the hash: @task is lent to */
	DONOR_UNLOCKED,		/* @task has ended the loan and unlocks */
	DONOR_CANCELLED,	/* the watcher, or the donor itself, has ended the loan */
};

struct donor {
	struct rt_mutex		lock;		/* owner: @task, until it unlocks */
	struct task_struct	*thread;
	enum donor_state	state;
	struct list_head	entry;		/* in idle_donors */
	struct hlist_node	hash;		/* of loans that are OUT, by @task */
	struct task_struct	*task;		/* referenced until the donor is idle */
	const struct unfair_rwsem *sem;		/* only compared: may have been freed */
	u8			level;
	u8			noted;		/* the highest level noted in the pass below */
	unsigned int		pass;		/* that renewed it; after a cancel: the next */
	bool			kept;		/* until the release: no lease */
	bool			section;	/* of a committer */
	bool			suspended;
	bool			was_on_cpu;	/* at the last charge */
	unsigned long		switches;	/* context switches before the last charge */
	u64			charged_at;	/* time of the last charge, in ns */
	u64			from;		/* CPU time of the task at the start, in ns */
	u64			charged;	/* CPU time charged since then, in ns */
	u64			donor_charged;	/* CPU time of the donor at the last charge, ns */
	u64			ran_at;		/* when it last ran, slept or was suspended, ns */
	u64			resume_at;	/* not before, ns; 0: not starved */
	/* of the watcher, without a lock */
	u8			set;		/* the thread's priority; 0: SCHED_NORMAL */
	bool			must_wake;	/* for a new loan */
	bool			must_signal;
	bool			must_move;	/* it spins: to the CPU below */
	bool			moved;
	bool			in_work;	/* also read under lend_lock */
	unsigned int		cpu;
};

/* Protects all variables below; nests within any wait_lock. */
static DEFINE_RAW_SPINLOCK(lend_lock);
static struct donor donors[MAX_DONORS];
static LIST_HEAD(idle_donors);
static struct hlist_head lent_hash[1 << LENT_HASH_BITS];
/* Donors with a thread, donors that are not idle, and the fewest idle ones since the last reap. */
static unsigned int nr_donors, nr_busy, min_idle;
/* Loans that are OUT, other than those of sections. */
static unsigned int nr_lent;
/* Passes of the watcher. */
static unsigned int pass;
/* CPU time in ns that loans have used, with that of their donors. */
static u64 lent_ns;
/* The times in ns at which the buckets of cgroups and of CPUs will be empty. */
static u64 group_budget[1 << GROUP_BITS];
static DEFINE_PER_CPU(u64, cpu_budget);

/* Of the watcher: since when it runs without a pause, and the time in its pauses. */
static u64 burst_start, paused;

static void create_donors(struct work_struct *work);
static void reap_donors(struct work_struct *work);
static DECLARE_WORK(create_work, create_donors);
static DECLARE_DELAYED_WORK(reap_work, reap_donors);

u64 lend_period_ns(void)
{
	return (u64)READ_ONCE(lend_period_us.value) * NSEC_PER_USEC;
}

/* Is any loan not over yet? */
bool lend_any(void)
{
	return READ_ONCE(nr_busy);
}

/* Is any task lent to, other than as a committer? */
bool lend_to_others(void)
{
	return READ_ONCE(nr_lent);
}

static struct hlist_head *lent_bucket(const struct task_struct *task)
{
	return &lent_hash[hash_ptr(task, LENT_HASH_BITS)];
}

/* @section: the loan that @task has as a committer, which expedites @sem. */
static struct donor *find_loan(const struct task_struct *task, const struct unfair_rwsem *sem,
			       bool section)
{
	struct donor *d;

	lockdep_assert_held(&lend_lock);
	hlist_for_each_entry(d, lent_bucket(task), hash)
		if (d->task == task && d->sem == sem && d->section == section)
			return d;
	return NULL;
}

/* --- levels -------------------------------------------------------------- */

static int donate(void *arg);

static bool is_donor(struct task_struct *task)
{
	return task->flags & PF_KTHREAD && kthread_func(task) == donate;
}

/*
 * The priority of @task without our loans: its own, or the one that it inherits through an rt_mutex
 * that is not a donor's, unless a donor's is higher. @task is the caller, or cannot exit.
 */
static int own_prio(struct task_struct *task)
{
	int prio = READ_ONCE(task->normal_prio);
	unsigned long irqflags;

	if (READ_ONCE(task->prio) >= prio)
		return prio;
	/* the lock keeps the waiter in the queue of the rt_mutex */
	raw_spin_lock_irqsave(&task->pi_lock, irqflags);
	if (task->pi_top_task && !is_donor(task->pi_top_task))
		prio = min(prio, READ_ONCE(task->pi_top_task->prio));
	raw_spin_unlock_irqrestore(&task->pi_lock, irqflags);
	return prio;
}

/**
 * lend_own_level() - the level that a task lends, without what it has been lent
 * @task: the task; the caller, or one that cannot exit
 *
 * A real-time task lends its own priority, a deadline task the highest one, and a task whose nice
 * value is at most lend_nice the lowest one.
 *
 * Context: any but NMI, and not under pi_lock of @task.
 * Return: a real-time priority from 1 to MAX_LENT_RT; 0: nothing.
 */
u8 lend_own_level(struct task_struct *task)
{
	int prio = own_prio(task);

	if (prio < MAX_RT_PRIO)
		return clamp(MAX_RT_PRIO - 1 - prio, 1, MAX_LENT_RT);
	return READ_ONCE(task->policy) != SCHED_IDLE &&
	       PRIO_TO_NICE(READ_ONCE(task->static_prio)) <= READ_ONCE(lend_nice.value);
}

/*
 * What a task has been lent, but not for @skip. Of a writer's loan that it has kept, only what is
 * more than @kept.
 */
static u8 lent_to(const struct task_struct *task, const struct unfair_rwsem *skip, u8 kept)
{
	unsigned long irqflags;
	struct donor *d;
	u8 level = 0;

	if (hlist_empty(lent_bucket(task)))
		return 0;
	raw_spin_lock_irqsave(&lend_lock, irqflags);
	hlist_for_each_entry(d, lent_bucket(task), hash)
		if (d->task == task && d->sem != skip && !(d->kept && d->level <= kept))
			level = max(level, d->level);
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return level;
}

/* What a task has been lent; 0: nothing. Context: any but NMI. */
u8 lend_level_now(const struct task_struct *task)
{
	return lent_to(task, NULL, 0);
}

/**
 * lend_level() - the level that a task lends to the holders of a semaphore that it waits for
 * @sem: the semaphore
 * @task: the task; the caller, or one that cannot exit
 *
 * As lend_own_level(), and what @task has been lent for other semaphores: so a loan passes through
 * a waiter of another semaphore. What it was lent for @sem does not count: that comes from the
 * other waiters of @sem, and would keep itself alive.
 *
 * Context: any but NMI, and not under pi_lock of @task.
 * Return: the level; 0: nothing.
 */
u8 lend_level(const struct unfair_rwsem *sem, struct task_struct *task)
{
	return max(lend_own_level(task), lent_to(task, sem, 0));
}

/**
 * lend_prio() - the priority with which the caller queues
 *
 * A writer that has slept for a lock keeps its loan until it releases that lock. It must not pass
 * the waiters of other locks because of that, unless it was lent more than it lends itself.
 *
 * Context: any but NMI, and not under pi_lock of the caller.
 * Return: the priority as in task->prio, without such a loan.
 */
int lend_prio(void)
{
	int prio = own_prio(current);
	u8 lent = lent_to(current, NULL, lend_own_level(current));

	return lent ? min(prio, MAX_RT_PRIO - 1 - lent) : prio;
}

/* Read without wait_lock. */
bool lend_is_on(const struct unfair_rwsem *sem)
{
	/* a bit field of one byte, which another task may set */
	return READ_ONCE(lend.value) && !data_race(+sem->lend_off);
}

/**
 * unfair_rwsem_set_lend() - set whether waiters lend to holders that are off their CPU
 * @sem: the semaphore; may be in use
 * @on: false: they lend nothing. true, as at first: the module parameter lend decides
 *
 * A loan that exists ends as if its waiters had given up.
 *
 * Context: any but NMI.
 */
void unfair_rwsem_set_lend(struct unfair_rwsem *sem, bool on)
{
	unsigned long irqflags;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	sem->lend_off = !on;
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_set_lend);

/* --- the budget ---------------------------------------------------------- */

static void charge_bucket(u64 *empty_at, u64 now, u64 ns, const struct fscommit_param *limit_us)
{
	u64 limit = (u64)READ_ONCE(limit_us->value) * NSEC_PER_USEC;

	if (limit >= BUDGET_INTERVAL)
		return;
	ns = div_u64(min_t(u64, ns, NSEC_PER_SEC) * BUDGET_INTERVAL, limit);
	/* limit the penalty when the watcher charges late */
	*empty_at = min(max(*empty_at, now) + ns, now + NSEC_PER_SEC);
}

/* Of the task's cgroup or autogroup; NULL for the root, which has no quota to exceed. */
static u64 *budget_of_group(const struct task_struct *task)
{
	const void *group = compat_task_group(task);

	return group == compat_task_group(&init_task) ? NULL :
	       &group_budget[hash_ptr(group, GROUP_BITS)];
}

/* Does the fuller of the two buckets take more than @ns to drain? */
static bool over_budget(const struct task_struct *task, u64 now, u64 ns)
{
	const u64 *group = budget_of_group(task);

	return per_cpu(cpu_budget, task_cpu(task)) > now + ns || (group && *group > now + ns);
}

u64 lend_cpu_time(const struct task_struct *task)
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

static void start_charge(struct donor *d, u64 now)
{
	d->from = lend_cpu_time(d->task);
	d->charged = 0;
	d->donor_charged = lend_cpu_time(d->thread);
	d->charged_at = now;
	d->was_on_cpu = false;
}

/* Of several loans of a task, one is charged for the task's time. */
static bool must_charge(const struct donor *d)
{
	const struct donor *other;

	hlist_for_each_entry(other, lent_bucket(d->task), hash)
		if (other->task == d->task && !other->suspended)
			return other == d;
	return true;
}

/*
 * Charges the CPU time since the last charge. While the tick is stopped, the scheduler does not
 * update the CPU time of a running task. So a task that was not switched out since the last
 * charge is charged all the time that has passed.
 */
static void charge(struct donor *d, u64 now)
{
	u64 used = lend_cpu_time(d->task) - d->from, donor = lend_cpu_time(d->thread), ns, *group;
	bool on_cpu = owner_on_cpu(d->task);

	lockdep_assert_held(&lend_lock);
	if (on_cpu && d->was_on_cpu && d->switches == switches_of(d->task))
		used = max(used, d->charged + (now - d->charged_at));
	ns = donor - d->donor_charged;
	if (used > d->charged && must_charge(d))
		ns += used - d->charged;
	lent_ns += ns;
	charge_bucket(per_cpu_ptr(&cpu_budget, task_cpu(d->task)), now, ns, &lend_cpu_us);
	group = budget_of_group(d->task);
	if (group)
		charge_bucket(group, now, ns, &lend_group_us);
	d->charged = max(used, d->charged);
	d->donor_charged = donor;
	d->charged_at = now;
	d->was_on_cpu = on_cpu;
	d->switches = switches_of(d->task);
}

/*
 * A task that is runnable and gets no CPU although it is lent to waits behind tasks of a higher
 * real-time priority. Without the loan it may get the share of the CPU that the kernel keeps for
 * fair tasks.
 */
static bool is_starved(struct donor *d, u64 now)
{
	/* since the last charge, or since the loan was suspended */
	bool ran = !task_is_running(d->task) || owner_on_cpu(d->task) ||
		   d->switches != switches_of(d->task);

	if (d->resume_at) {
		if (ran)
			d->resume_at = min(d->resume_at, now + STARVED_PAUSE);
		if (now < d->resume_at)
			return true;
		d->resume_at = 0;
		d->ran_at = now;
	}
	/* the time that it is over its budget does not count */
	if (ran || d->suspended)
		d->ran_at = now;
	if (now - d->ran_at <= STARVED)
		return false;
	d->resume_at = now + STARVED_MAX_PAUSE;
	count_event(NULL, EV_NO_CPU);
	return true;
}

/* Suspends or resumes a loan. Returns whether it has done so. */
static bool review_loan(struct donor *d, u64 now)
{
	bool starved = is_starved(d, now), before = d->suspended;

	if (!before)
		charge(d, now);
	d->suspended = starved ||
		       over_budget(d->task, now, before ? BUDGET_INTERVAL / 2 : BUDGET_INTERVAL) ||
		       (before && compat_class_upsets_psi(d->task));
	if (before && !d->suspended)
		start_charge(d, now);
	if (!before && d->suspended && !starved)
		count_event(NULL, EV_BUDGET_SPENT);
	return d->suspended != before;
}

/* --- donors -------------------------------------------------------------- */

/* The donor's thread reads it without lend_lock. */
static void set_state(struct donor *d, enum donor_state state)
{
	lockdep_assert_held(&lend_lock);
	if (d->state == DONOR_OUT) {
		hlist_del_init(&d->hash);
		if (!d->section)
			WRITE_ONCE(nr_lent, nr_lent - 1);
	}
	WRITE_ONCE(d->state, state);
}

/* While no task waits for the rt_mutex. */
static void set_owner(struct donor *d, struct task_struct *task)
	__fsc_unchecked
{
	d->lock.rtmutex.owner = task;
}

/* So that a class change of a sleeping task does not upset psi, nor a donor spin. */
static bool is_off_cpu(struct task_struct *task)
{
	return !owner_on_cpu(task) && !compat_class_upsets_psi(task);
}

/* Returns false for a cancelled loan, or if its task has got a CPU; true also once UNLOCKED. */
static bool must_wait(struct donor *d)
{
	bool wait;

	raw_spin_lock_irq(&lend_lock);
	if (d->state == DONOR_OUT && !is_off_cpu(d->task)) {
		count_event(NULL, EV_LATE);
		set_state(d, DONOR_CANCELLED);
		d->pass = pass + 1;
	}
	wait = d->state != DONOR_CANCELLED;
	raw_spin_unlock_irq(&lend_lock);
	return wait;
}

/* Context: the donor, which waits for a release or for the end of the lease. */
static void wait_for_release(struct donor *d)
	__fsc_unchecked
{
	struct task_struct *task;
	bool acquired = false;

	while (!acquired && must_wait(d)) {
		acquired = !rt_mutex_lock_interruptible(&d->lock);
		/* also of an administrator: if the loan is not cancelled, wait again */
		if (!acquired)
			flush_signals(current);
	}
	if (acquired)
		rt_mutex_unlock(&d->lock);
	else
		/* no task waits for it, and its owner has lost the loan: nobody uses it now */
		set_owner(d, NULL);

	raw_spin_lock_irq(&lend_lock);
	/* the change of its priority has brought the CPU time of the lent task up to date */
	if (!d->suspended)
		charge(d, ktime_get_ns());
	task = d->task;
	d->task = NULL;
	set_state(d, DONOR_IDLE);
	list_add(&d->entry, &idle_donors);
	WRITE_ONCE(nr_busy, nr_busy - 1);
	raw_spin_unlock_irq(&lend_lock);
	count_event(NULL, EV_LOAN_ENDED);
	put_task_struct(task);
}

static int donate(void *arg)
{
	struct donor *d = arg;

	allow_signal(SIGUSR1);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (READ_ONCE(d->state) <= DONOR_IDLE) {
			if (kthread_should_stop())
				break;
			schedule();
		}
		__set_current_state(TASK_RUNNING);
		if (READ_ONCE(d->state) > DONOR_IDLE)
			wait_for_release(d);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static struct donor *take_donor(void)
{
	struct donor *d = list_first_entry_or_null(&idle_donors, struct donor, entry);

	lockdep_assert_held(&lend_lock);
	if (!d)
		return NULL;
	list_del(&d->entry);
	WRITE_ONCE(nr_busy, nr_busy + 1);
	min_idle = min(min_idle, nr_donors - nr_busy);
	return d;
}

static bool create_donor(struct donor *d, unsigned int nr)
{
	struct task_struct *thread = kthread_create(donate, d, "fscommit_d/%u", nr);

	if (IS_ERR(thread))
		return false;
	d->thread = get_task_struct(thread);
	d->set = LEVEL_UNKNOWN;
	d->moved = false;
	rt_mutex_init(&d->lock);
	INIT_HLIST_NODE(&d->hash);
	wake_up_process(thread);
	raw_spin_lock_irq(&lend_lock);
	set_state(d, DONOR_IDLE);
	list_add_tail(&d->entry, &idle_donors);
	nr_donors++;
	raw_spin_unlock_irq(&lend_lock);
	return true;
}

static bool needs_donors(void)
{
	unsigned int nr = READ_ONCE(nr_donors), max = READ_ONCE(lend_donors.value);

	return nr < max && (nr < MIN_DONORS || nr - READ_ONCE(nr_busy) < SPARE_DONORS);
}

/* Protects what creates and reaps donors. */
static DEFINE_MUTEX(pool_mutex);
/* CPU time in ns of donors that were reaped. */
static u64 reaped_ns;

static void create_donors(struct work_struct *work)
{
	unsigned int i;

	mutex_lock(&pool_mutex);
	for (i = 0; i < MAX_DONORS && needs_donors(); i++)
		if (READ_ONCE(donors[i].state) == DONOR_NONE && !create_donor(&donors[i], i))
			break;
	if (READ_ONCE(nr_donors) > MIN_DONORS)
		schedule_delayed_work(&reap_work, REAP_EVERY);
	mutex_unlock(&pool_mutex);
}

/* Takes one idle donor out of the pool. */
static struct donor *retire_donor(void)
{
	struct donor *d;

	raw_spin_lock_irq(&lend_lock);
	list_for_each_entry_reverse(d, &idle_donors, entry) {
		/* the watcher may still set its priority */
		if (d->in_work)
			continue;
		list_del(&d->entry);
		set_state(d, DONOR_NONE);
		nr_donors--;
		raw_spin_unlock_irq(&lend_lock);
		return d;
	}
	raw_spin_unlock_irq(&lend_lock);
	return NULL;
}

/* Reaps donors that were idle since the last call. */
static void reap_donors(struct work_struct *work)
{
	unsigned int unused, nr;
	struct donor *d;

	mutex_lock(&pool_mutex);
	nr = READ_ONCE(nr_donors);
	unused = READ_ONCE(min_idle);
	for (; unused > SPARE_DONORS && nr > MIN_DONORS && (d = retire_donor()); unused--, nr--) {
		kthread_stop(d->thread);
		reaped_ns += lend_cpu_time(d->thread);
		put_task_struct(d->thread);
	}
	raw_spin_lock_irq(&lend_lock);
	min_idle = nr_donors - nr_busy;
	raw_spin_unlock_irq(&lend_lock);
	if (nr > MIN_DONORS)
		schedule_delayed_work(&reap_work, REAP_EVERY);
	mutex_unlock(&pool_mutex);
}

/* --- loans --------------------------------------------------------------- */

static void apply_later(struct donor *d, struct lend_work *work)
{
	if (d->in_work)
		return;
	d->in_work = true;
	work->donor[work->nr++] = d;
}

static bool would_help(struct task_struct *task, u8 level)
{
	return READ_ONCE(task->policy) != SCHED_DEADLINE && !(task->flags & PF_EXITING) &&
	       READ_ONCE(task->normal_prio) > MAX_RT_PRIO - 1 - level;
}

/*
 * Half of the donors are reserved for runnable tasks: a sleeping task cannot use a CPU yet, and the
 * watcher will look at it again.
 */
static struct donor *new_loan(const struct unfair_rwsem *sem, struct task_struct *task,
			      bool section)
{
	unsigned int max = READ_ONCE(lend_donors.value);
	u64 now = ktime_get_ns();
	struct donor *d = NULL;

	if (over_budget(task, now, BUDGET_INTERVAL)) {
		count_event(sem, EV_BUDGET_SPENT);
		return NULL;
	}
	if (nr_busy < (task_is_running(task) ? max : DIV_ROUND_UP(max, 2)))
		d = take_donor();
	if (!d) {
		count_event(sem, EV_NO_DONOR);
		return NULL;
	}
	d->task = get_task_struct(task);
	d->sem = sem;
	d->level = 0;
	d->kept = false;
	d->section = section;
	d->suspended = false;
	d->must_wake = true;
	d->ran_at = now;
	d->resume_at = 0;
	start_charge(d, now);
	d->switches = switches_of(task);
	/* before the task can find the loan: it may unlock before the donor waits */
	set_owner(d, task);
	hlist_add_head(&d->hash, lent_bucket(task));
	WRITE_ONCE(d->state, DONOR_OUT);
	if (!section)
		WRITE_ONCE(nr_lent, nr_lent + 1);
	count_event(sem, EV_LOAN);
	return d;
}

/*
 * Lends to a task that is off its CPU. For a task that runs, renews its loan, if it has one.
 * @section: to a committer, for its expedited section only. Returns whether the loan is new.
 */
static bool note_loan(struct unfair_rwsem *sem, struct task_struct *task, u8 level, bool section,
		      struct lend_work *work)
{
	struct donor *d;
	bool is_new;

	lockdep_assert_held(&sem->wait_lock);
	raw_spin_lock(&lend_lock);
	d = find_loan(task, sem, section);
	is_new = !d;
	if (!d && is_off_cpu(task) && would_help(task, level))
		d = new_loan(sem, task, section);
	if (d) {
		/* lowered at the end of the pass: the next look may lend more */
		d->noted = d->pass == pass && d->level ? max(d->noted, level) : level;
		d->pass = pass;
		if (level > d->level) {
			d->level = level;
			apply_later(d, work);
		}
	}
	raw_spin_unlock(&lend_lock);
	return d && is_new;
}

/*
 * Has the caller, a writer, a loan for @sem? With @keep, it has acquired @sem, and keeps the loan
 * until it releases @sem. Called under wait_lock.
 */
bool lend_keep(const struct unfair_rwsem *sem, bool keep)
{
	struct donor *d;

	if (hlist_empty(lent_bucket(current)))
		return false;
	raw_spin_lock(&lend_lock);
	d = find_loan(current, sem, false);
	if (d)
		d->kept |= keep;
	raw_spin_unlock(&lend_lock);
	return d;
}

/**
 * lend_end() - end the caller's loan for a semaphore
 * @sem: the semaphore
 * @section: false: the caller releases @sem, or stops waiting for it; true: it ends its section
 *
 * Context: under wait_lock.
 * Return: a donor for lend_unlock() after the release; NULL if there is no loan.
 */
struct donor *lend_end(const struct unfair_rwsem *sem, bool section)
{
	struct donor *d;

	/* loans for @sem are made under this wait_lock: an empty list has none */
	if (hlist_empty(lent_bucket(current)))
		return NULL;
	raw_spin_lock(&lend_lock);
	d = find_loan(current, sem, section);
	if (d)
		set_state(d, DONOR_UNLOCKED);
	raw_spin_unlock(&lend_lock);
	return d;
}

/* After wait_lock is dropped; preemption may be off, but not bottom halves. @d: of lend_end(). */
void lend_unlock(struct donor *d)
	__fsc_unchecked
{
	/* the caller has never locked it: tell lockdep */
	mutex_acquire(&d->lock.dep_map, 0, 1, _RET_IP_);
	rt_mutex_unlock(&d->lock);
}

/* After this, a task that releases @sem acquires wait_lock and ends its loan. */
void lend_announce(struct unfair_rwsem *sem)
{
	atomic_long_or(UNFAIR_RWSEM_LENT, &sem->word);
	/* E: word before slots; pairs with the release by a reader, slot before word */
	smp_mb__after_atomic();
}

/*
 * Is @task in the cgroup of all sections, with a nice value of its own as good as theirs? Then it
 * competes for the CPU as the committer does, and a loan would help it against tasks that the
 * committer would have to wait for, too.
 */
static bool is_equal(const struct task_struct *task, const struct look *look)
{
	return look->group && compat_task_group(task) == look->group &&
	       READ_ONCE(task->policy) != SCHED_IDLE &&
	       READ_ONCE(task->static_prio) <= look->static_prio;
}

/*
 * Lends to the tasks that @task waits for. The walk ends at a task that runs or is runnable, and
 * after lend_links links: so it ends in a cycle, too. Holders that are blocked on the same owner
 * are usually neighbours: the owner is followed once.
 */
static void lend_along_chain(struct unfair_rwsem *sem, struct task_struct *task, u8 level,
			     struct look *look, struct lend_work *work)
{
	unsigned int links = READ_ONCE(lend_links.value), i;

	rcu_read_lock();
	for (i = 0; i < links && work->nr < LEND_WORK_MAX && !task_is_running(task); i++) {
		struct task_struct *owner = chain_owner(task);

		if (!owner || (!i && owner == look->last_owner))
			break;
		look->links++;
		if (!i)
			look->last_owner = owner;
		if (trace_unfair_chain_enabled())
			trace_unfair_chain(sem, task, owner, trace_state_of(owner),
					   lend_level_now(owner));
		if (note_loan(sem, owner, level, false, work))
			count_event(sem, EV_CHAIN);
		task = owner;
	}
	rcu_read_unlock();
}

/* Lends to a holder that is not on a CPU, and to the tasks that it waits for. */
static void lend_to_holder(struct unfair_rwsem *sem, struct task_struct *task, struct look *look,
			   struct lend_work *work)
{
	if (!is_equal(task, look))
		note_loan(sem, task, look->level, false, work);
	lend_along_chain(sem, task, look->level, look, work);
}

/**
 * lend_to_readers() - lend to readers that are not on a CPU, for one step of a look
 * @sem: the semaphore, after lend_announce(), with its bias revoked
 * @look: the progress of the look
 * @work: for the caller to apply
 *
 * Context: under wait_lock.
 * Return: false if @work is full, or after LEND_STEP_LINKS links: apply @work, then repeat the
 * step. It goes on with the same reader.
 */
bool lend_to_readers(struct unfair_rwsem *sem, struct look *look, struct lend_work *work)
{
	struct task_struct *task;
	bool full = false;
	unsigned int i;

	look->last_owner = NULL;
	rcu_read_lock();
	for_each_visible_reader(sem, look->step, i, task) {
		if (i < look->slot)
			continue;
		look->slot = i;
		full = work->nr == LEND_WORK_MAX || look->links >= LEND_STEP_LINKS;
		if (full)
			break;
		lend_to_holder(sem, task, look, work);
		look->seen++;
		look->slot = i + 1;
	}
	rcu_read_unlock();
	look->links = full ? 0 : look->links;
	look->slot = full ? look->slot : 0;
	return !full;
}

/* Lends to the owner of @sem, which a task waits for, as lend_to_readers() does. */
void lend_to_owner(struct unfair_rwsem *sem, struct task_struct *owner, struct look *look,
		   struct lend_work *work)
{
	look->group = NULL;
	look->last_owner = NULL;
	lend_announce(sem);
	lend_to_holder(sem, owner, look, work);
}

/*
 * Lends to a queued writer, so that it runs ahead of all fair tasks once it is woken, until it
 * releases @sem. While it sleeps, the loan costs it nothing.
 */
void lend_to_writer(struct unfair_rwsem *sem, struct task_struct *task, u8 level,
		    struct lend_work *work)
{
	note_loan(sem, task, level, false, work);
}

/*
 * Lends a committer what it lends to readers, if any other task is lent to: it could not run beside
 * that. The loans of committers do not count, or they would keep each other alive.
 */
void lend_to_expediter(struct unfair_rwsem *sem, struct task_struct *task, u8 level,
		       struct look *look, struct lend_work *work)
{
	if (!level)
		return;
	if (lend_to_others())
		note_loan(sem, task, level, true, work);
	lend_along_chain(sem, task, level, look, work);
}

/* --- the watcher --------------------------------------------------------- */

/**
 * lend_pause() - let tasks run that the watcher keeps off their CPU
 *
 * A pass may look at many locks, and change the priorities of many donors, which takes some
 * microseconds each. Returns at once if the watcher's burst is short so far, or if no timer is as
 * short.
 *
 * Context: the watcher, without locks; and at exit.
 */
void lend_pause(void)
{
	u64 now = ktime_get_ns();
	ktime_t end = ns_to_ktime(now + LEND_BURST);

	if (hrtimer_resolution > LEND_BURST || now - burst_start < LEND_BURST)
		return;
	/* users choose how often a waiter wakes this thread: it acts on that after the pause */
	do {
		set_current_state(TASK_IDLE);
	} while (schedule_hrtimeout(&end, HRTIMER_MODE_ABS));
	burst_start = ktime_get_ns();
	paused += burst_start - now;
}

/* The watcher has slept: its burst begins anew. */
void lend_end_burst(void)
{
	burst_start = ktime_get_ns();
}

/* The time in ns that lend_pause() has slept so far. */
u64 lend_paused_ns(void)
{
	return paused;
}

static void set_priority(struct task_struct *thread, u8 level)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = level ? SCHED_FIFO : SCHED_NORMAL,
		.sched_priority = level,
		.sched_nice = level ? 0 : MAX_NICE,
	};

	WARN_ON_ONCE(sched_setattr_nocheck(thread, &attr));
}

/* The priority that the donor must have. */
static u8 donor_level(const struct donor *d)
{
	/* without the loan, the donor must get a CPU to become idle again */
	return READ_ONCE(d->state) == DONOR_UNLOCKED || !d->suspended ? d->level : 0;
}

/**
 * lend_apply() - give donors their priority, wake or signal them
 * @work: the donors; empty afterwards
 *
 * Context: the watcher, without locks.
 */
void lend_apply(struct lend_work *work)
{
	unsigned int i;

	for (i = 0; i < work->nr; i++) {
		struct donor *d = work->donor[i];
		u8 level = donor_level(d);

		if (d->set != level) {
			d->set = level;
			set_priority(d->thread, level);
		}
		if (d->must_move || (d->must_wake && d->moved)) {
			d->moved = d->must_move;
			/* the watcher runs where threads of the kernel may */
			set_cpus_allowed_ptr(d->thread, d->moved ? cpumask_of(d->cpu) :
								   current->cpus_ptr);
		}
		/* one that waits for its rt_mutex would spin if it was woken */
		if (d->must_wake)
			wake_up_process(d->thread);
		if (d->must_signal)
			send_sig(SIGUSR1, d->thread, 1);
		d->must_wake = false;
		d->must_signal = false;
		d->must_move = false;
		raw_spin_lock_irq(&lend_lock);
		d->in_work = false;
		raw_spin_unlock_irq(&lend_lock);
		lend_pause();
	}
	work->nr = 0;
}

static void cancel(struct donor *d)
{
	set_state(d, DONOR_CANCELLED);
	/* a pass may be about to end */
	d->pass = pass + 1;
	d->must_signal = true;
}

/* Calls @fn for each donor, under lend_lock, and applies what it has changed if it returns true. */
static void visit_donors(bool (*fn)(struct donor *d, u64 now))
{
	struct lend_work work = { };
	unsigned int i;

	for (i = 0; i < MAX_DONORS && lend_any(); i++) {
		if (READ_ONCE(donors[i].state) <= DONOR_IDLE)
			continue;
		raw_spin_lock_irq(&lend_lock);
		if (donors[i].state > DONOR_IDLE && fn(&donors[i], ktime_get_ns()))
			apply_later(&donors[i], &work);
		raw_spin_unlock_irq(&lend_lock);
		if (work.nr == LEND_WORK_MAX)
			lend_apply(&work);
		lend_pause();
	}
	lend_apply(&work);
}

static bool account(struct donor *d, u64 now)
{
	/* both run, so the donor spins */
	d->must_move = owner_on_cpu(d->thread) && owner_on_cpu(d->task);
	d->cpu = task_cpu(d->task);
	switch (d->state) {
	case DONOR_OUT:
		if (READ_ONCE(lend.value))
			return review_loan(d, now) || d->must_move;
		cancel(d);
		return true;
	case DONOR_CANCELLED:
		/* the donor gets no CPU: end the loan without it */
		if ((int)(pass - d->pass) > 0 && !d->suspended) {
			charge(d, now);
			d->suspended = true;
			return true;
		}
		return d->must_move;
	default:
		return d->set != donor_level(d) || d->must_move;
	}
}

/* Charges the loans, suspends and resumes them, and ends them if lending is off. */
void lend_account(void)
{
	visit_donors(account);
}

static bool end_lease(struct donor *d, u64 now)
{
	bool lower = d->pass == pass && d->noted < d->level;

	if (d->state != DONOR_OUT)
		return false;
	if (!d->kept && pass - d->pass >= LEASE_PASSES) {
		cancel(d);
		return true;
	}
	if (lower)
		d->level = d->noted;
	return lower;
}

/*
 * Renews the loans for a semaphore that a pass has skipped, or not seen to the end. @sem is only
 * compared.
 */
void lend_renew(const struct unfair_rwsem *sem)
{
	struct donor *d;

	for (d = donors; d < donors + MAX_DONORS && lend_any(); d++) {
		if (READ_ONCE(d->state) != DONOR_OUT)
			continue;
		raw_spin_lock_irq(&lend_lock);
		if (d->state == DONOR_OUT && d->sem == sem && d->pass != pass) {
			d->noted = d->level;
			d->pass = pass;
		}
		raw_spin_unlock_irq(&lend_lock);
	}
}

/* After a look at each lock: ends the leases that no look has renewed, and lowers others. */
void lend_end_pass(void)
{
	visit_donors(end_lease);
	if (needs_donors())
		schedule_work(&create_work);
	raw_spin_lock_irq(&lend_lock);
	pass++;
	raw_spin_unlock_irq(&lend_lock);
}

/* CPU time in ns that tasks have used while lent to, with that of their donors. Not in NMI. */
u64 lend_used_cpu_ns(void)
{
	unsigned long irqflags;
	u64 ns;

	raw_spin_lock_irqsave(&lend_lock, irqflags);
	ns = lent_ns;
	raw_spin_unlock_irqrestore(&lend_lock, irqflags);
	return ns;
}

/* CPU time of all donors in ns. Context: process context. */
u64 lend_donors_cpu_ns(void)
{
	struct donor *d;
	u64 ns;

	mutex_lock(&pool_mutex);
	ns = reaped_ns;
	for (d = donors; d < donors + MAX_DONORS; d++)
		if (READ_ONCE(d->state) != DONOR_NONE)
			ns += lend_cpu_time(d->thread);
	mutex_unlock(&pool_mutex);
	return ns;
}

/* --- setup --------------------------------------------------------------- */

/*
 * Creates the first donors here, not when they are needed: the kernel's thread that creates threads
 * has nice 0, and would then wait for a CPU itself.
 */
int __init lend_init(void)
{
	create_donors(NULL);
	if (READ_ONCE(nr_donors))
		return 0;
	pr_err("fscommit: no memory for the threads that lend\n");
	return -ENOMEM;
}

/* No lock is in use, and the watcher has ended. Leases may be left. */
void lend_exit(void)
{
	struct donor *d;

	cancel_work_sync(&create_work);
	cancel_delayed_work_sync(&reap_work);
	for (d = donors; d < donors + MAX_DONORS; d++) {
		struct lend_work work = { };

		if (d->state == DONOR_NONE)
			continue;
		raw_spin_lock_irq(&lend_lock);
		if (d->state == DONOR_OUT) {
			cancel(d);
			apply_later(d, &work);
		}
		raw_spin_unlock_irq(&lend_lock);
		lend_apply(&work);
		kthread_stop(d->thread);
		/* it may have been stopped before it ran for the first time */
		if (d->task)
			put_task_struct(d->task);
		put_task_struct(d->thread);
	}
}
