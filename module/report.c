// SPDX-License-Identifier: GPL-2.0
/*
 * Reports of blockers, in the log and as a trace event, when a writer has waited longer than
 * blocker_ms. debugfs shows holders and waiters at any time.
 *
 * The watcher finds the writer, and fills in the report under wait_lock. A work item prints it, as
 * a console may be slow.
 */
#include <linux/cgroup.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/sched/clock.h>
#include <linux/sched/debug.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "chain.h"
#include "internal.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"
#include "watcher.h"

/* Blockers in a report. */
#define MAX_BLOCKERS	8
/* Lines in debugfs, locks of one list of the watcher, and waiters of one lock. */
#define MAX_LINES	256
#define MAX_LOCKS	64
#define MAX_WAITERS	64

static struct fscommit_param blocker_ms = { 1000, 0, 3600000 };
module_param_cb(blocker_ms, &fscommit_param_ops, &blocker_ms, 0644);
MODULE_PARM_DESC(blocker_ms,
		 "Wait of a writer after which the holders are reported; milliseconds, 0 (never) to 3600000, default 1000");

/* --- holders and waiters ------------------------------------------------- */

/* A holder or a waiter, with a reference to the task. */
struct lock_task {
	const struct unfair_rwsem	*sem;
	struct task_struct		*task;
	bool				write, waits;
	u64				since;	/* ns; 0: not known */
	u16				class;
};

struct lock_tasks {
	unsigned int			nr, max;
	struct lock_task		*entry;
	const struct unfair_rwsem	*sem;	/* for add_waiter() */
	bool				truncated;	/* some waiters are missing */
};

/* R: on a CPU, r: runnable, S: asleep */
char unfair_report_state_of(struct task_struct *task)
{
	if (compat_on_cpu(task))
		return 'R';
	return task_is_running(task) ? 'r' : 'S';
}

/* Returns false if there is no space for more. */
static bool add_task(struct lock_tasks *l, struct lock_task t)
{
	if (l->nr == l->max)
		return false;
	get_task_struct(t.task);
	l->entry[l->nr++] = t;
	return l->nr < l->max;
}

/* Called under wait_lock, so the owner cannot release the lock and exit. */
static void add_holders(struct lock_tasks *l, struct unfair_rwsem *sem, unsigned int step)
{
	long word = atomic_long_read(&sem->word);
	struct task_struct *task;
	unsigned int i;

	if (word & UNFAIR_RWSEM_WRITER) {
		if (!step)
			add_task(l, (struct lock_task) {
				.sem = sem,
				.task = (struct task_struct *)(word & ~UNFAIR_RWSEM_FLAGS),
				.write = true,
				.class = sem->class,
			});
		return;
	}
	rcu_read_lock();
	for_each_visible_reader(sem, step, i, task)
		if (!add_task(l, (struct lock_task) {
			.sem = sem, .task = task, .class = sem->class }))
			break;
	rcu_read_unlock();
}

static void put_tasks(struct lock_tasks *l)
{
	while (l->nr)
		put_task_struct(l->entry[--l->nr].task);
}

/* --- reports ------------------------------------------------------------- */

static const char *policy_name(const struct task_struct *task)
{
	static const char *const names[] = {
		[SCHED_NORMAL] = "normal", [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr",
		[SCHED_BATCH] = "batch", [SCHED_IDLE] = "idle", [SCHED_DEADLINE] = "deadline",
	};
	unsigned int policy = READ_ONCE(task->policy);

	return policy < ARRAY_SIZE(names) && names[policy] ? names[policy] : "other";
}

static void cgroup_of(struct task_struct *task, char *path, size_t size)
{
	strscpy(path, "-", size);
#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	cgroup_path(task_dfl_cgroup(task), path, size);
	rcu_read_unlock();
#endif
}

static void print_task(const char *what, struct task_struct *task)
{
	char cgroup[64], state = unfair_report_state_of(task);

	cgroup_of(task, cgroup, sizeof(cgroup));
	pr_warn("fscommit:   %s %s[%d] policy %s nice %d, %s, cgroup %s\n", what, task->comm,
		task_pid_nr(task), policy_name(task), task_nice(task),
		state == 'R' ? "on a CPU" : state == 'r' ? "runnable" : "asleep", cgroup);
}

static void print_blocker(const struct lock_task *t)
{
	struct task_struct *task = t->task;
	unsigned int i;

	print_task(t->write ? "write by" : "read by", task);
	if (unfair_report_state_of(task) == 'S')
		compat_pr_stack(task);
	rcu_read_lock();
	for (i = 0; i < CHAIN_MAX_LINKS; i++) {
		task = chain_owner(task);
		if (!task)
			break;
		print_task("  blocked on a lock of", task);
	}
	rcu_read_unlock();
}

/* One report at a time; in use while writer is not NULL. */
static struct {
	const struct unfair_rwsem	*sem;
	struct task_struct		*writer;
	u64				waited;
	u16				class;
	unsigned long			more;
	struct lock_task		entry[MAX_BLOCKERS];
	struct lock_tasks		blockers;
} report;

static void print_report(struct work_struct *work)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 3);
	struct lock_tasks *l = &report.blockers;
	const struct lock_task *t;

	for (t = l->entry; t < l->entry + l->nr; t++)
		trace_unfair_blocker(report.sem, report.waited, t->task, t->write,
				     unfair_report_state_of(t->task));
	if (__ratelimit(&limit)) {
		pr_warn("fscommit: %s[%d] has waited %llu ms to acquire %s for writing; holders:\n",
			report.writer->comm, task_pid_nr(report.writer),
			div_u64(report.waited, NSEC_PER_MSEC),
			unfair_stats_class_name(report.class));
		for (t = l->entry; t < l->entry + l->nr; t++)
			print_blocker(t);
		if (report.more)
			pr_warn("fscommit:   and %lu more\n", report.more);
	}
	put_tasks(l);
	put_task_struct(report.writer);
	/* pairs with the acquire in unfair_report_blockers(): the report may be filled in again */
	smp_store_release(&report.writer, NULL);
}

static DECLARE_WORK(report_work, print_report);

/* The wait of a writer after which a report is due, in ns; 0: never. */
u64 unfair_report_after_ns(void)
{
	return (u64)READ_ONCE(blocker_ms.value) * NSEC_PER_MSEC;
}

/**
 * unfair_report_blockers() - report the holders of a semaphore that a writer waits for
 * @sem: the semaphore
 * @writer: the first writer in the queue
 * @waited: how long it has waited, in nanoseconds
 *
 * Context: under wait_lock, the watcher.
 * Return: true; false if the previous report was not printed yet.
 */
bool unfair_report_blockers(struct unfair_rwsem *sem, struct task_struct *writer, u64 waited)
{
	long word = atomic_long_read(&sem->word);

	/* pairs with the release in print_report() */
	if (smp_load_acquire(&report.writer))
		return false;
	report.sem = sem;
	report.writer = get_task_struct(writer);
	report.waited = waited;
	report.class = sem->class;
	report.blockers = (struct lock_tasks){ .max = MAX_BLOCKERS, .entry = report.entry };
	add_holders(&report.blockers, sem, 0);
	report.more = 0;
	if (!(word & UNFAIR_RWSEM_WRITER) && counted_readers(word) > report.blockers.nr)
		report.more = counted_readers(word) - report.blockers.nr;
	schedule_work(&report_work);
	return true;
}

/* --- trace events -------------------------------------------------------- */

static bool first_waiter(struct task_struct *task, bool write, u64 since, void *arg)
{
	struct unfair_hold *hold = arg;

	hold->waiter = task;
	hold->wants_write = write;
	hold->waited_ns = ktime_get_ns() - since;
	return true;
}

static void trace_holder(struct unfair_hold *hold, struct task_struct *holder)
{
	hold->holder = holder;
	hold->state = holder ? unfair_report_state_of(holder) : '-';
	hold->lent = holder ? lend_level_now(holder) : 0;
	trace_unfair_holder(hold);
}

/**
 * unfair_report_holders() - trace the holders of a semaphore for which a task sleeps
 * @sem: the semaphore
 *
 * Traces at most MAX_BLOCKERS readers, which are in the lock's own region or in converted biased
 * slots.
 *
 * Context: under wait_lock, the watcher.
 */
void unfair_report_holders(struct unfair_rwsem *sem)
{
	struct unfair_hold hold = { .sem = sem };
	long word = atomic_long_read(&sem->word);
	unsigned int step, i, nr = 0;
	struct task_struct *task;

	__unfair_rwsem_sleepers(sem, 1, first_waiter, &hold);
	if (!hold.waiter)
		return;
	hold.write = word & UNFAIR_RWSEM_WRITER;
	if (hold.write) {
		trace_holder(&hold, (struct task_struct *)(word & ~UNFAIR_RWSEM_FLAGS));
		return;
	}
	rcu_read_lock();
	for (step = 0; step < 2; step++)
		for_each_visible_reader(sem, step, i, task)
			if (nr++ < MAX_BLOCKERS)
				trace_holder(&hold, task);
	rcu_read_unlock();
	if (!nr)
		trace_holder(&hold, NULL);
}

/* The current task has waited for @sem. Counts and traces the wait. */
void unfair_report_wait(const struct unfair_rwsem *sem, bool write, u64 waited_ns, int ret)
{
	count_wait(sem, write, waited_ns);
	trace_unfair_wait_end(sem, write, waited_ns, ret);
}


/* After the watcher has ended, so there are no new reports. */
void unfair_report_teardown(void)
{
	flush_work(&report_work);
}
