// SPDX-License-Identifier: GPL-2.0
/*
 * Reports of the tasks that hold up a writer: in the log and as a trace event when a writer
 * has waited for long, and at any time in debugfs.
 *
 * The watcher finds a writer that has waited for long. It copies what there is to say while it
 * holds wait_lock; a work item prints it, since a console may be slow.
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

#include "compat.h"
#include "ranged_param.h"
#include "report.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"
#include "watcher.h"

/* How many holders a report names. */
#define MAX_NAMED	8
/* How many lines debugfs shows, how many locks of a list, and waiters of a lock. */
#define MAX_LISTED	256
#define MAX_LOCKS	64
#define MAX_WAITERS	64

static struct ranged_param holdup_ms = { 1000, 0, 3600000 };
module_param_cb(holdup_ms, &ranged_param_ops, &holdup_ms, 0644);
MODULE_PARM_DESC(holdup_ms,
		 "the holders are reported when a writer has waited longer; milliseconds, 0 (never) to 3600000, default 1000");

/* --- looking ------------------------------------------------------------- */

/* A task that holds or waits, with a reference. */
struct party {
	const struct unfair_rwsem	*sem;
	struct task_struct		*task;
	bool				write, waits;
	u64				since;	/* ns; 0: not known */
	u16				class;
};

struct parties {
	unsigned int			nr, max;
	struct party			*who;
	const struct unfair_rwsem	*sem;	/* for add_waiter() */
	bool				cut;	/* some waiters were left out */
};

/* R: on a CPU, r: wants one, S: asleep */
static char state_of(struct task_struct *task)
{
	if (compat_on_cpu(task))
		return 'R';
	return task_is_running(task) ? 'r' : 'S';
}

static bool add_party(struct parties *p, struct party party)
{
	if (p->nr == p->max)
		return false;
	get_task_struct(party.task);
	p->who[p->nr++] = party;
	return p->nr < p->max;
}

/* The holders of a lock, under its wait_lock: so a writer that owns it stays, too. */
static void add_holders(struct parties *p, struct unfair_rwsem *sem, unsigned int step)
{
	long word = atomic_long_read(&sem->word);
	struct task_struct *task;
	unsigned int i;

	if (word & UNFAIR_RWSEM_WRITER) {
		if (!step)
			add_party(p, (struct party) {
				.sem = sem,
				.task = (struct task_struct *)(word & ~UNFAIR_RWSEM_FLAGS),
				.write = true,
				.class = sem->class,
			});
		return;
	}
	rcu_read_lock();
	for_each_visible_reader(sem, step, i, task)
		if (!add_party(p, (struct party) {
			.sem = sem, .task = task, .class = sem->class }))
			break;
	rcu_read_unlock();
}

static void put_parties(struct parties *p)
{
	while (p->nr)
		put_task_struct(p->who[--p->nr].task);
}

/* --- a writer's wait ----------------------------------------------------- */

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

static u64 waited_ns(const struct party *p)
{
	u64 now = ktime_get_ns();

	return p->since && p->since < now ? now - p->since : 0;
}

static void name_holder(const struct party *p)
{
	char cgroup[64], state = state_of(p->task);

	cgroup_of(p->task, cgroup, sizeof(cgroup));
	pr_warn("fscommit:   %s by %s[%d] policy %s nice %d, %s, cgroup %s\n",
		p->write ? "write" : "read", p->task->comm, task_pid_nr(p->task),
		policy_name(p->task), task_nice(p->task),
		state == 'R' ? "on a CPU" : state == 'r' ? "wants a CPU" : "asleep", cgroup);
	if (state == 'S')
		compat_pr_stack(p->task);
}

/* The one report that waits to be printed. */
static struct {
	const struct unfair_rwsem	*sem;
	struct task_struct		*writer;
	u64				waited;
	u16				class;
	unsigned long			more;
	struct party			who[MAX_NAMED];
	struct parties			parties;
} holdup;

static void print_holdup(struct work_struct *work)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 3);
	struct parties *p = &holdup.parties;
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		trace_unfair_holdup(holdup.sem, holdup.waited, p->who[i].task, p->who[i].write,
				    state_of(p->who[i].task));
	if (__ratelimit(&limit)) {
		pr_warn("fscommit: %s[%d] has waited %llu ms to write %s, which is held\n",
			holdup.writer->comm, task_pid_nr(holdup.writer),
			div_u64(holdup.waited, NSEC_PER_MSEC), lock_class_name(holdup.class));
		for (i = 0; i < p->nr; i++)
			name_holder(&p->who[i]);
		if (holdup.more)
			pr_warn("fscommit:   and %lu more\n", holdup.more);
	}
	put_parties(p);
	put_task_struct(holdup.writer);
	/* pairs with report_holdup(): the report is free for the next one */
	smp_store_release(&holdup.writer, NULL);
}

static DECLARE_WORK(holdup_work, print_holdup);

/* The wait after which a report is due; 0: never. */
u64 report_holdup_after_ns(void)
{
	return (u64)READ_ONCE(holdup_ms.value) * NSEC_PER_MSEC;
}

/**
 * report_holdup() - report the tasks that hold up a writer
 * @sem: the semaphore
 * @writer: the first writer in its queue
 * @waited: how long it has waited; nanoseconds
 *
 * Context: under wait_lock, the watcher.
 * Return: false if another report is still to be printed.
 */
bool report_holdup(struct unfair_rwsem *sem, struct task_struct *writer, u64 waited)
{
	long word = atomic_long_read(&sem->word);

	/* pairs with print_holdup() */
	if (smp_load_acquire(&holdup.writer))
		return false;
	holdup.sem = sem;
	holdup.writer = get_task_struct(writer);
	holdup.waited = waited;
	holdup.class = sem->class;
	holdup.parties = (struct parties){ .max = MAX_NAMED, .who = holdup.who };
	add_holders(&holdup.parties, sem, 0);
	holdup.more = 0;
	if (!(word & UNFAIR_RWSEM_WRITER) && counted_readers(word) > holdup.parties.nr)
		holdup.more = counted_readers(word) - holdup.parties.nr;
	schedule_work(&holdup_work);
	return true;
}

/* --- debugfs ------------------------------------------------------------- */

static bool add_waiter(struct task_struct *task, bool write, u64 since, void *arg)
{
	struct parties *p = arg;

	/* the semaphore is that of the holder or waiter before */
	return add_party(p, (struct party) {
		.sem = p->sem, .task = task, .write = write, .waits = true, .since = since,
		.class = p->sem->class });
}

/*
 * One lock after the other, each by itself, so that interrupts are off for a bounded number
 * of holders and waiters.
 */
static void list_parties(struct parties *p)
	__fsc_unchecked
{
	unsigned int list, n, step;
	struct unfair_rwsem *sem;
	unsigned long irqflags;

	for (list = 0; list < WATCH_LISTS; list++) {
		for (n = 0; n < MAX_LOCKS && p->nr < p->max; n++) {
			for (step = 0; step < 3; step++) {
				sem = watch_nth(list, n, &irqflags);
				if (!sem)
					break;
				p->sem = sem;
				if (step < 2)
					add_holders(p, sem, step);
				else
					p->cut |= !__unfair_rwsem_sleepers(sem, MAX_WAITERS,
									   add_waiter, p);
				raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
			}
			if (!sem)
				break;
		}
	}
}

static int locks_show(struct seq_file *m, void *unused)
{
	struct parties p = { .max = MAX_LISTED };
	char cgroup[64];
	unsigned int i;

	p.who = kcalloc(p.max, sizeof(*p.who), GFP_KERNEL);
	if (!p.who)
		return -ENOMEM;
	list_parties(&p);
	seq_puts(m, "lock class what mode pid comm state policy nice waited_us cgroup\n");
	for (i = 0; i < p.nr; i++) {
		struct party *who = &p.who[i];

		cgroup_of(who->task, cgroup, sizeof(cgroup));
		seq_printf(m, "%p %s %s %s %d %s %c %s %d %llu %s\n", who->sem,
			   lock_class_name(who->class), who->waits ? "waits" : "holds",
			   who->write ? "write" : "read", task_pid_nr(who->task),
			   who->task->comm, state_of(who->task), policy_name(who->task),
			   task_nice(who->task), div_u64(waited_ns(who), NSEC_PER_USEC), cgroup);
	}
	if (p.cut || p.nr == p.max)
		seq_puts(m, "...\n");
	put_parties(&p);
	kfree(p.who);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(locks);

void __init init_reports(struct dentry *dir)
{
	debugfs_create_file("locks", 0400, dir, NULL, &locks_fops);
}

/* The watcher has ended: nothing is reported any more. */
void exit_reports(void)
{
	flush_work(&holdup_work);
}
