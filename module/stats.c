// SPDX-License-Identifier: GPL-2.0
/*
 * Lock classes, one for each place that initialises a lock, and what is counted for
 * them in debugfs. Off, it costs a lock a branch that is patched out; on, a counter of
 * this CPU.
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

#include "compat.h"
#include "stats.h"

/* Waits of up to 2^n us; the last one takes what is longer. */
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
	[EV_LENT] = "lent",
	[EV_RETURNED] = "returned",
	[EV_FIFO_ENDED] = "fifo_ended",
	[EV_LEFT_ALONE] = "left_alone",
	[EV_LEND_FAILED] = "lend_failed",
	[EV_EXPEDITED] = "expedited",
};

struct class_stats {
	u64	nr[NR_LOCK_EVENTS];
	u64	waits[2][NR_BUCKETS];	/* readers', writers' */
};

/* Are events counted? The fast paths in the header ask it, and nobody else may. */
DEFINE_STATIC_KEY_FALSE(unfair_rwsem_stats);
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_stats);

/* By CPU and class; allocated when the statistics are switched on first. */
static struct class_stats **stats;
static DEFINE_MUTEX(stats_mutex);

/* --- classes ------------------------------------------------------------- */

static struct {
	struct lock_class_key	*key;
	const char		*given;		/* the name as it was given: only to be compared */
	char			name[48];
} classes[NR_CLASSES] = { { .name = "(static, or one too many)" } };

/* Numbers of classes by key, with linear probing; never full, and nothing is removed. */
#define CLASS_HASH_BITS	9
static u8 class_hash[1 << CLASS_HASH_BITS];
static unsigned int nr_classes = 1;
static DEFINE_RAW_SPINLOCK(class_lock);

/* Where @key and @name are in class_hash, or the free place for them. */
static u8 *find_class(const char *name, const struct lock_class_key *key)
{
	unsigned int h = hash_ptr(key, CLASS_HASH_BITS), c;

	/* an address dependency: pairs with the release in add_class() */
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
	u8 *place, c;

	raw_spin_lock_irqsave(&class_lock, irqflags);
	place = find_class(name, key);
	c = *place;
	if (!c && nr_classes < NR_CLASSES) {
		c = nr_classes;
		WRITE_ONCE(nr_classes, c + 1);
		strscpy(classes[c].name, name, sizeof(classes[c].name));
		classes[c].given = name;
		classes[c].key = key;
		/* pairs with the dependency in find_class() */
		smp_store_release(place, c);
	}
	raw_spin_unlock_irqrestore(&class_lock, irqflags);
	return c;
}

/**
 * lock_class_of() - the class of a lock that is initialised
 * @name: its name
 * @key: its key
 *
 * Lockdep warns, once, where a key comes with two names, by their addresses. So a name
 * of our own for each key, lock_class_name(), is enough for it to report a class that is used
 * for a lock of ours and for another, whichever came first. No allocation: a lock may be
 * initialised anywhere. A class stays after its key is unregistered.
 *
 * Context: any.
 * Return: a number from 1 on; 0 if there are too many classes.
 */
u8 lock_class_of(const char *name, struct lock_class_key *key)
{
	u8 c = *find_class(name, key);

	if (!c && READ_ONCE(nr_classes) < NR_CLASSES)
		c = add_class(name, key);
	return c;
}

const char *lock_class_name(u8 class)
{
	return classes[class].name;
}

/* --- counting ------------------------------------------------------------ */

static struct class_stats *here(const struct unfair_rwsem *sem)
{
	/* set before the key is, and never taken away while it is */
	return &stats[raw_smp_processor_id()][sem ? sem->class : 0];
}

/*
 * A counter that is changed by two tasks at once, one preempted by the other, loses
 * one: not worth a lock, nor an atomic operation. So these data races are meant; each is a
 * word, and whoever reads them all reads an approximation.
 */
void __count_event(const struct unfair_rwsem *sem, enum lock_event event)
{
	data_race(here(sem)->nr[event]++);
}

void __count_wait(const struct unfair_rwsem *sem, bool write, u64 ns)
{
	u64 us = div_u64(ns, 1000);
	unsigned int bucket = us ? ilog2(us) + 1 : 0;

	data_race(here(sem)->waits[write][min(bucket, NR_BUCKETS - 1U)]++);
}

/**
 * __unfair_count_acquired() - count an acquisition, with the statistics on
 * @sem: the semaphore
 * @write: for writing
 *
 * Context: process context.
 */
void __unfair_count_acquired(const struct unfair_rwsem *sem, bool write)
{
	__count_event(sem, write ? EV_WRITE : EV_READ);
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

static void show_waits(struct seq_file *m, const char *who, const u64 *waits)
{
	unsigned int i;

	seq_printf(m, "  %s_wait_us", who);
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
	for (class = 0; stats && class < NR_CLASSES; class++) {
		sum_class(sum, class);
		if (!memchr_inv(sum, 0, sizeof(*sum)))
			continue;
		seq_printf(m, "%s\n", lock_class_name(class));
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

static void free_stats(void)
{
	int cpu;

	if (!stats)
		return;
	for_each_possible_cpu(cpu)
		kvfree(stats[cpu]);
	kfree(stats);
	stats = NULL;
}

static int alloc_stats(void)
{
	int cpu;

	stats = kcalloc(nr_cpu_ids, sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		stats[cpu] = kvcalloc(NR_CLASSES, sizeof(**stats), GFP_KERNEL);
		if (!stats[cpu]) {
			free_stats();
			return -ENOMEM;
		}
	}
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

void __init init_stats(struct dentry *dir)
{
	debugfs_create_file("stats", 0600, dir, NULL, &stats_fops);
}

void exit_stats(void)
{
	static_branch_disable(&unfair_rwsem_stats);
	free_stats();
}
