// SPDX-License-Identifier: GPL-2.0
/*
 * Lock classes, one for each place that initialises a lock, and counters of their events: the sums
 * in /sys/module/fscommit/stats, one value in each file, and each class in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "stats.h"

#define NR_CLASSES	256

/* Allocated, as the static per-CPU variables of all modules share 8 KiB. */
struct unfair_counts __percpu *unfair_counts;

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

/* --- counters ------------------------------------------------------------ */

/* The files in sysfs: an event each, and CPU times in ns. */
#define NR_STAT_FILES	(NR_LOCK_EVENTS + NR_CPU_TIMES)

static const char *const stat_names[NR_STAT_FILES] = {
	[EV_READ_SLOW] = "reads_slow",
	[EV_WRITE_SLOW] = "writes_slow",
	[EV_SLEPT] = "sleeps",
	[EV_WINDOW] = "windows",
	[EV_UNSEEN] = "unseen_readers",
	[EV_BIASED] = "bias_set",
	[EV_REVOKED] = "bias_revoked",
	[EV_LOAN] = "loans",
	[EV_LOAN_ENDED] = "loans_ended",
	[EV_CHAIN] = "chain_loans",
	[EV_BUDGET_SPENT] = "budget_spent",
	[EV_NO_DONOR] = "no_donor",
	[EV_LATE] = "late",
	[EV_NO_CPU] = "no_cpu",
	[EV_EXPEDITED] = "expedited",
	[EV_ACTIVATED] = "activated",
	[NR_LOCK_EVENTS + WATCHER_CPU_NS] = "watcher_cpu_ns",
	[NR_LOCK_EVENTS + DONORS_CPU_NS] = "donors_cpu_ns",
	[NR_LOCK_EVENTS + LENT_CPU_NS] = "lent_cpu_ns",
};

static struct kobj_attribute stat_files[NR_STAT_FILES];
static struct kobject *stats_dir;
static const cpu_time_fn *cpu_times;

/* Other CPUs may count meanwhile. */
static u64 sum_of(unsigned int class, enum lock_event event)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += data_race(per_cpu_ptr(unfair_counts, cpu)->nr[class][event]);
	return sum;
}

static ssize_t show_stat(struct kobject *dir, struct kobj_attribute *file, char *buf)
{
	unsigned int class, i = file - stat_files;
	u64 value = 0;

	if (i >= NR_LOCK_EVENTS)
		value = cpu_times[i - NR_LOCK_EVENTS]();
	else
		for (class = 0; class < UNFAIR_COUNTED_CLASSES; class++)
			value += sum_of(class, i);
	return sysfs_emit(buf, "%llu\n", value);
}

/* Of each class, the events that have occurred. Read only, so that lockdown permits it. */
static int stats_show(struct seq_file *m, void *unused)
{
	unsigned int class, i;
	u64 sum;

	for (class = 0; class < min(READ_ONCE(nr_classes), UNFAIR_COUNTED_CLASSES); class++) {
		seq_printf(m, "%s\n", unfair_stats_class_name(class));
		for (i = 0; i < NR_LOCK_EVENTS; i++) {
			sum = sum_of(class, i);
			if (sum)
				seq_printf(m, "  %s %llu\n", stat_names[i], sum);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int __init create_files(struct kobject *parent)
{
	unsigned int i;
	int ret = 0;

	stats_dir = kobject_create_and_add("stats", parent);
	kobject_put(parent);
	if (!stats_dir)
		return -ENOMEM;
	for (i = 0; i < NR_STAT_FILES && !ret; i++) {
		stat_files[i] = (struct kobj_attribute){
			.attr = { .name = stat_names[i], .mode = 0444 },
			.show = show_stat,
		};
		ret = sysfs_create_file(stats_dir, &stat_files[i].attr);
	}
	return ret;
}

/* Called before the first lock is used. After a failure, the caller tears down as at exit. */
int __init unfair_stats_setup(struct dentry *dir, const cpu_time_fn *times)
{
	cpu_times = times;
	unfair_counts = alloc_percpu(struct unfair_counts);
	if (!unfair_counts)
		return -ENOMEM;
	debugfs_create_file("stats", 0400, dir, NULL, &stats_fops);
#ifdef MODULE
	return create_files(kobject_get(&THIS_MODULE->mkobj.kobj));
#else
	return 0;
#endif
}

#ifndef MODULE
/* built in, the module has a folder in sysfs from late_initcall on */
static int __init create_files_late(void)
{
	return create_files(kset_find_obj(module_kset, KBUILD_MODNAME));
}
late_initcall_sync(create_files_late);
#endif

/* Before the threads end, as a file shows their CPU time. */
void unfair_stats_remove_files(void)
{
	/* the last put may remove the files later: CONFIG_DEBUG_KOBJECT_RELEASE */
	kobject_del(stats_dir);
	kobject_put(stats_dir);
}

/* After the watcher has ended, which counts until then. */
void unfair_stats_teardown(void)
{
	free_percpu(unfair_counts);
}
