// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds up the writer: in the log and as a trace event when one has waited for
 * long, and at any time in debugfs.
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

#include "compat.h"
#include "ranged_param.h"
#include "report.h"
#include "stats.h"
#include "trace.h"
#include "visible_readers.h"

/* How many holders a report names. */
#define MAX_NAMED	8
/* How many lines debugfs shows. */
#define MAX_LISTED	256

static struct ranged_param holdup_ms = { 1000, 0, 3600000 };
module_param_cb(holdup_ms, &ranged_param_ops, &holdup_ms, 0644);
MODULE_PARM_DESC(holdup_ms,
		 "a writer that has waited longer names the holders, where its lock does not say; milliseconds, 0 (never) to 3600000, default 1000");

/* Protects sleepers; within a wait_lock. */
static DEFINE_RAW_SPINLOCK(sleepers_lock);
static LIST_HEAD(sleepers);

void add_sleeper(struct sleeper *s)
{
	raw_spin_lock(&sleepers_lock);
	list_add_tail(&s->entry, &sleepers);
	raw_spin_unlock(&sleepers_lock);
}

void remove_sleeper(struct sleeper *s)
{
	raw_spin_lock(&sleepers_lock);
	list_del(&s->entry);
	raw_spin_unlock(&sleepers_lock);
}

/* --- looking ------------------------------------------------------------- */

/* A task that holds or waits, with a reference. */
struct party {
	const struct unfair_rwsem	*sem;
	struct task_struct		*task;
	bool				write, waits;
	u64				since;	/* ns; 0: not known */
	u8				class;
};

struct parties {
	unsigned int	nr, max;
	struct party	*who;
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

struct adding {
	struct parties			*parties;
	const struct unfair_rwsem	*sem;
};

static bool add_reader(struct task_struct *task, u32 since, void *arg)
{
	struct adding *a = arg;

	return add_party(a->parties, (struct party) {
		.sem = a->sem,
		.task = task,
		/* not jiffies_to_nsecs(), which has microseconds in 32 bits within */
		.since = ktime_get_ns() - (u64)((u32)jiffies - since) * TICK_NSEC,
		.class = a->sem->class,
	});
}

/* Of a lock that stays; preemption is disabled, so that a writer that owns it does, too. */
static void add_holders(struct parties *p, struct unfair_rwsem *sem)
{
	struct adding a = { p, sem };
	long word = atomic_long_read(&sem->word);

	if (!(word & UNFAIR_RWSEM_WRITER))
		for_each_reader(sem, add_reader, &a);
	else
		add_party(p, (struct party) {
			.sem = sem,
			.task = (struct task_struct *)(word & ~UNFAIR_RWSEM_FLAGS),
			.write = true,
			.class = sem->class,
		});
}

static void put_parties(struct parties *p)
{
	while (p->nr)
		put_task_struct(p->who[--p->nr].task);
}

/* --- a writer's wait ----------------------------------------------------- */

u64 holdup_after_ns(const struct unfair_rwsem *sem)
{
	/* may be set meanwhile */
	unsigned int ms = READ_ONCE(sem->holdup);

	if (ms == U16_MAX)
		return 0;
	return (u64)(ms ?: READ_ONCE(holdup_ms.value)) * NSEC_PER_MSEC;
}

/**
 * unfair_rwsem_set_holdup() - say after which wait of a writer the holders are named
 * @sem: the semaphore; may be in use
 * @ms: milliseconds, 1 to UNFAIR_HOLDUP_MAX_MS; 0: as the module parameter holdup_ms
 *	says; UNFAIR_HOLDUP_NEVER
 *
 * Context: any.
 * Return: 0; -EINVAL if @ms is out of range, and nothing has changed.
 */
int unfair_rwsem_set_holdup(struct unfair_rwsem *sem, unsigned int ms)
{
	if (ms > UNFAIR_HOLDUP_MAX_MS && ms != UNFAIR_HOLDUP_NEVER) {
		pr_err("fscommit: holdup threshold of %u ms: must be 0 to %u\n", ms,
		       UNFAIR_HOLDUP_MAX_MS);
		return -EINVAL;
	}
	WRITE_ONCE(sem->holdup, min(ms, (unsigned int)U16_MAX));
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_set_holdup);

static bool worst_state(struct task_struct *task, u32 since, void *arg)
{
	char *worst = arg, state = state_of(task);

	if (state == 'S' || *worst == 'R')
		*worst = state;
	return *worst != 'S';
}

/* The time since the last look goes to what is seen now. */
void split_wait(const struct unfair_rwsem *sem, struct wait_split *split, u64 now)
{
	long word = atomic_long_read(&sem->word);
	char worst = 'R';

	if (word & UNFAIR_RWSEM_WRITER)
		worst = state_of((struct task_struct *)(word & ~UNFAIR_RWSEM_FLAGS));
	else
		for_each_reader(sem, worst_state, &worst);
	*(worst == 'S' ? &split->sleeping : worst == 'r' ? &split->runnable :
	  &split->running) += now - split->looked;
	split->looked = now;
}

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

static u64 held_ns(const struct party *p)
{
	u64 now = ktime_get_ns();

	return p->since && p->since < now ? now - p->since : 0;
}

static void name_holder(const struct party *p)
{
	char cgroup[64], state = state_of(p->task);

	cgroup_of(p->task, cgroup, sizeof(cgroup));
	pr_warn("fscommit:   %s by %s[%d] policy %s nice %d, %s, cgroup %s, for %llu ms\n",
		p->write ? "write" : "read", p->task->comm, task_pid_nr(p->task),
		policy_name(p->task), task_nice(p->task),
		state == 'R' ? "on a CPU" : state == 'r' ? "wants a CPU" : "asleep", cgroup,
		div_u64(held_ns(p), NSEC_PER_MSEC));
	if (state == 'S')
		compat_pr_stack(p->task);
}

/**
 * report_holdup() - say who holds up the caller
 * @sem: the semaphore, which the caller waits for
 * @split: what its wait was made of
 * @waited: for so long; nanoseconds
 *
 * Context: process context.
 */
void report_holdup(struct unfair_rwsem *sem, const struct wait_split *split, u64 waited)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 3);
	struct party who[MAX_NAMED];
	struct parties p = { .max = MAX_NAMED, .who = who };
	unsigned long irqflags;
	unsigned int i;
	long word;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	word = atomic_long_read(&sem->word);
	add_holders(&p, sem);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);

	for (i = 0; i < p.nr; i++)
		trace_unfair_holdup(sem, waited, who[i].task, who[i].write,
				    state_of(who[i].task), held_ns(&who[i]));
	if (__ratelimit(&limit)) {
		pr_warn("fscommit: %s[%d] has waited %llu ms to write %s; its holders ran for %llu, wanted a CPU for %llu, slept for %llu ms\n",
			current->comm, task_pid_nr(current), div_u64(waited, NSEC_PER_MSEC),
			lock_class_name(sem->class), div_u64(split->running, NSEC_PER_MSEC),
			div_u64(split->runnable, NSEC_PER_MSEC),
			div_u64(split->sleeping, NSEC_PER_MSEC));
		for (i = 0; i < p.nr; i++)
			name_holder(&who[i]);
		if (!(word & UNFAIR_RWSEM_WRITER) && counted_readers(word) > p.nr)
			pr_warn("fscommit:   and %lu more\n", counted_readers(word) - p.nr);
	}
	put_parties(&p);
}

/* --- debugfs ------------------------------------------------------------- */

/* A lock whose waiter is in the list stays, as the waiter has to take itself off. */
static void list_parties(struct parties *p)
{
	const struct unfair_rwsem *last = NULL;
	struct sleeper *s;

	raw_spin_lock_irq(&sleepers_lock);
	list_for_each_entry(s, &sleepers, entry) {
		if (s->sem != last)
			add_holders(p, s->sem);
		last = s->sem;
		add_party(p, (struct party) {
			.sem = s->sem,
			.task = s->task,
			.write = s->write,
			.waits = true,
			.since = s->since,
			.class = s->sem->class,
		});
	}
	raw_spin_unlock_irq(&sleepers_lock);
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
	seq_puts(m, "lock class what mode pid comm state policy nice us cgroup\n");
	for (i = 0; i < p.nr; i++) {
		struct party *who = &p.who[i];

		cgroup_of(who->task, cgroup, sizeof(cgroup));
		seq_printf(m, "%p %s %s %s %d %s %c %s %d %llu %s\n", who->sem,
			   lock_class_name(who->class), who->waits ? "waits" : "holds",
			   who->write ? "write" : "read", task_pid_nr(who->task),
			   who->task->comm, state_of(who->task), policy_name(who->task),
			   task_nice(who->task), div_u64(held_ns(who), NSEC_PER_USEC), cgroup);
	}
	if (p.nr == p.max)
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
