// SPDX-License-Identifier: GPL-2.0
/*
 * Lock classes, one for each place that initialises a lock, and their statistics in debugfs. While
 * the statistics are off, an event costs a branch that is patched out. While they are on, it
 * increments a counter of the current CPU.
 */
#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "stats.h"

/* Bucket n counts waits shorter than 2^n us, the last bucket all longer waits. */
#define NR_BUCKETS	26
#define NR_CLASSES	256

static const char *const stat_names[NR_LOCK_EVENTS] = {
	[EV_READ] = "reads",
	[EV_WRITE] = "writes",
	[EV_READ_SLOW] = "reads_slow",
	[EV_WRITE_SLOW] = "writes_slow",
	[EV_SPIN_WON] = "spins_won",
	[EV_SPIN_LOST] = "spins_lost",
	[EV_SLEPT] = "sleeps",
	[EV_WINDOW] = "windows",
	[EV_WINDOW_USED] = "windows_used",
	[EV_UNSEEN] = "unseen_readers",
	[EV_BIASED] = "bias_set",
	[EV_REVOKED] = "bias_revoked",
	[EV_LOAN] = "loans",
	[EV_LOAN_ENDED] = "loans_ended",
	[EV_CHAIN] = "chain_loans",
	[EV_BUDGET_SPENT] = "budget_spent",
	[EV_NO_CPU] = "no_cpu",
	[EV_NO_DONOR] = "no_donor",
	[EV_LATE] = "late",
	[EV_EXPEDITED] = "expedited",
	[EV_ACTIVATED] = "activated",
};

struct class_stats {
	u64	nr[NR_LOCK_EVENTS];
	u64	waits[2][NR_BUCKETS];	/* of readers, of writers */
};

/* True while events are counted. Exported for the fast paths in the header only. */
DEFINE_STATIC_KEY_FALSE(unfair_rwsem_stats);
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_stats);

/* By CPU and class; allocated when the statistics are first switched on. */
static struct class_stats **stats;
static DEFINE_MUTEX(stats_mutex);

/* --- classes ------------------------------------------------------------- */

static struct {
	struct lock_class_key	*key;
	const char		*given;		/* the caller's pointer: compared, never read */
	char			name[48];
} classes[NR_CLASSES] = { { .name = "(static, or table full)" } };

/* Class numbers by key, with linear probing. Never full, and no entry is removed. */
#define CLASS_HASH_BITS	9
static u8 class_hash[1 << CLASS_HASH_BITS];
static unsigned int nr_classes = 1;
static DEFINE_RAW_SPINLOCK(class_lock);

/* Returns the entry of @key and @name in class_hash, or the free entry for them. */
static u8 *find_class(const char *name, const struct lock_class_key *key)
{
	unsigned int h = hash_ptr(key, CLASS_HASH_BITS), c;

	/* address dependency: pairs with the release in add_class() */
	while ((c = READ_ONCE(class_hash[h])) &&
	       (classes[c].key != key ||
		(classes[c].given != name &&
		 strncmp(classes[c].name, name, sizeof(classes[c].name) - 1))))
		h = (h + 1) % ARRAY_SIZE(class_hash);
	return &class_hash[h];
}

static noinline u8 add_class(const char *name, struct lock_class_key *key)
{
	unsigned long irqflags;
	u8 *entry, c;

	raw_spin_lock_irqsave(&class_lock, irqflags);
	entry = find_class(name, key);
	c = *entry;
	if (!c && nr_classes < NR_CLASSES) {
		c = nr_classes;
		WRITE_ONCE(nr_classes, c + 1);
		strscpy(classes[c].name, name, sizeof(classes[c].name));
		classes[c].given = name;
		classes[c].key = key;
		/* pairs with the dependency in find_class() */
		smp_store_release(entry, c);
	}
	raw_spin_unlock_irqrestore(&class_lock, irqflags);
	return c;
}

/**
 * unfair_stats_class_of() - find or add the class of a lock
 * @name: name of the lockdep class
 * @key: its key
 *
 * Lockdep warns once about a key that has two names, which it compares by address. As
 * unfair_stats_class_name() is a name of our own for each key, lockdep reports a class that is
 * used for an unfair_rwsem and for another lock, in either order. The function does not allocate
 * memory, as a lock may be initialised in any context. A class stays when its key is unregistered.
 *
 * Context: any but NMI.
 * Return: the number of the class, from 1 on; 0 if the table is full.
 */
u8 unfair_stats_class_of(const char *name, struct lock_class_key *key)
{
	u8 c = *find_class(name, key);

	if (!c && READ_ONCE(nr_classes) < NR_CLASSES)
		c = add_class(name, key);
	return c;
}

const char *unfair_stats_class_name(u8 class)
{
	return classes[class].name;
}

/* --- counting ------------------------------------------------------------ */

/*
 * Allocated before the static key is enabled, but without CONFIG_JUMP_LABEL nothing orders the two:
 * NULL if this CPU sees the key first. All that the pointer leads to was written before it.
 */
static struct class_stats *this_cpu_stats(const struct unfair_rwsem *sem)
{
	struct class_stats **all = READ_ONCE(stats);

	return all ? &all[raw_smp_processor_id()][sem ? sem->class : 0] : NULL;
}

/*
 * These data races are intended. If a task is preempted within an increment, an increment by
 * another task on the same CPU may be lost. That is not worth a lock or an atomic operation: the
 * statistics are approximate.
 */
void __unfair_count_event(const struct unfair_rwsem *sem, enum lock_event event)
{
	struct class_stats *s = this_cpu_stats(sem);

	if (s)
		data_race(s->nr[event]++);
}

void __unfair_count_wait(const struct unfair_rwsem *sem, bool write, u64 ns)
{
	u64 us = div_u64(ns, 1000);
	unsigned int bucket = us ? ilog2(us) + 1 : 0;
	struct class_stats *s = this_cpu_stats(sem);

	if (s)
		data_race(s->waits[write][min(bucket, NR_BUCKETS - 1U)]++);
}

/**
 * __unfair_count_acquired() - count an acquisition, while the statistics are on
 * @sem: the semaphore
 * @write: true if it was acquired for writing
 *
 * Context: process context.
 */
void __unfair_count_acquired(const struct unfair_rwsem *sem, bool write)
{
	__unfair_count_event(sem, write ? EV_WRITE : EV_READ);
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_count_acquired);

/* --- debugfs ------------------------------------------------------------- */

static void sum_class(struct class_stats *sum, unsigned int class)
{
	unsigned int i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu)
		for (i = 0; i < sizeof(*sum) / sizeof(u64); i++)
			((u64 *)sum)[i] += data_race(((u64 *)&stats[cpu][class])[i]);
}

static void show_waits(struct seq_file *m, const char *mode, const u64 *waits)
{
	unsigned int i;

	seq_printf(m, "  %s_wait_us", mode);
	for (i = 0; i < NR_BUCKETS; i++)
		if (waits[i])
			seq_printf(m, " %s%lu:%llu", i == NR_BUCKETS - 1 ? ">=" : "<",
				   1UL << min(i, NR_BUCKETS - 2U), waits[i]);
	seq_putc(m, '\n');
}

static int stats_show(struct seq_file *m, void *unused)
{
	struct class_stats *sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	unsigned int class, i;

	if (!sum)
		return -ENOMEM;
	mutex_lock(&stats_mutex);
	seq_printf(m, "%s\n", static_key_enabled(&unfair_rwsem_stats) ? "on" : "off");
	for (class = 0; stats && class < READ_ONCE(nr_classes); class++) {
		cond_resched();
		sum_class(sum, class);
		if (!memchr_inv(sum, 0, sizeof(*sum)))
			continue;
		seq_printf(m, "%s\n", unfair_stats_class_name(class));
		for (i = 0; i < NR_LOCK_EVENTS; i++)
			if (sum->nr[i])
				seq_printf(m, "  %s %llu\n", stat_names[i], sum->nr[i]);
		show_waits(m, "reader", sum->waits[false]);
		show_waits(m, "writer", sum->waits[true]);
	}
	mutex_unlock(&stats_mutex);
	kfree(sum);
	return 0;
}

static void free_stats(struct class_stats **all)
{
	int cpu;

	if (!all)
		return;
	for_each_possible_cpu(cpu)
		kvfree(all[cpu]);
	kfree(all);
}

static int alloc_stats(void)
{
	struct class_stats **all = kcalloc(nr_cpu_ids, sizeof(*all), GFP_KERNEL);
	int cpu;

	if (!all)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		all[cpu] = kvcalloc(NR_CLASSES, sizeof(**all), GFP_KERNEL);
		if (!all[cpu]) {
			free_stats(all);
			return -ENOMEM;
		}
	}
	/* Pairs with the address dependency in this_cpu_stats() */
	smp_store_release(&stats, all);
	return 0;
}

static int switch_stats(const char *to)
{
	int cpu, ret = 0;

	if (sysfs_streq(to, "on")) {
		if (!stats)
			ret = alloc_stats();
		if (!ret)
			static_branch_enable(&unfair_rwsem_stats);
	} else if (sysfs_streq(to, "off")) {
		static_branch_disable(&unfair_rwsem_stats);
	} else if (sysfs_streq(to, "reset")) {
		for_each_possible_cpu(cpu)
			if (stats)
				data_race(memset(stats[cpu], 0, NR_CLASSES * sizeof(**stats)));
	} else {
		pr_err("fscommit: stats: '%s': must be on, off or reset\n", to);
		ret = -EINVAL;
	}
	return ret;
}

static ssize_t stats_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char to[16] = "";
	int ret;

	if (copy_from_user(to, from, min(len, sizeof(to) - 1)))
		return -EFAULT;
	mutex_lock(&stats_mutex);
	ret = switch_stats(to);
	mutex_unlock(&stats_mutex);
	return ret ?: len;
}

static int stats_open(struct inode *inode, struct file *file)
{
	return single_open(file, stats_show, NULL);
}

static const struct file_operations stats_fops = {
	.owner = THIS_MODULE,
	.open = stats_open,
	.read = seq_read,
	.write = stats_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void __init unfair_stats_setup(struct dentry *dir)
{
	debugfs_create_file("stats", 0600, dir, NULL, &stats_fops);
}

void unfair_stats_teardown(void)
{
	static_branch_disable(&unfair_rwsem_stats);
	free_stats(stats);
}
