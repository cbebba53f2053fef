// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/fscommit/cow_diff: all diffs that have ended, since the module was loaded.
 */
#include <linux/debugfs.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "cow_diffs.h"

static const char * const event_names[NR_COW_DIFF_EVENTS] = {
	[COW_DIFF_BEGUN] = "diffs",
	[COW_DIFF_RESUMED] = "resumed",
	[COW_DIFF_PAIRS] = "pairs",
	[COW_DIFF_SHARED] = "shared",
	[COW_DIFF_READ_OLD] = "reads_old",
	[COW_DIFF_READ_NEW] = "reads_new",
	[COW_DIFF_READ_FAILED] = "reads_failed",
	[COW_DIFF_TROUBLE] = "bad_trees",
	[COW_DIFF_MISUSE] = "misuses",
};

static DEFINE_PER_CPU(unsigned long [NR_COW_DIFF_EVENTS], counts);

void count_cow_diff(enum cow_diff_event event, unsigned long nr)
{
	this_cpu_add(counts[event], nr);
}

static int cow_diff_show(struct seq_file *m, void *unused)
{
	unsigned long sum;
	unsigned int i;
	int cpu;

	for (i = 0; i < NR_COW_DIFF_EVENTS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(counts, cpu)[i]);
		seq_printf(m, "%s %lu\n", event_names[i], sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cow_diff);

void __init init_cow_diffs(struct dentry *debugfs)
{
	debugfs_create_file("cow_diff", 0400, debugfs, NULL, &cow_diff_fops);
}
