// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/fscommit/commit_roots
 */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "commit_roots.h"

static const char * const event_names[NR_COMMIT_ROOT_EVENTS] = {
	[COMMIT_ROOT_PIN] = "pins",
	[COMMIT_ROOT_UNPIN] = "unpins",
	[COMMIT_ROOT_REFUSED] = "pins_refused",
	[COMMIT_ROOT_SWITCH] = "switches",
	[COMMIT_ROOT_SLEPT] = "switches_slept",
	[COMMIT_ROOT_RELEASE] = "roots_released",
	[COMMIT_ROOT_COMMITTED] = "searches_committed",
	[COMMIT_ROOT_MISS] = "misses",
	[COMMIT_ROOT_LIVE] = "searches_live",
	[COMMIT_ROOT_DIFFERENCE] = "differences",
	[COMMIT_ROOT_MISUSE] = "misuses",
};

static DEFINE_MUTEX(sets_mutex);
static LIST_HEAD(sets);

void list_set(struct commit_root_set *set)
{
	mutex_lock(&sets_mutex);
	list_add_tail(&set->node, &sets);
	mutex_unlock(&sets_mutex);
}

void unlist_set(struct commit_root_set *set)
{
	mutex_lock(&sets_mutex);
	list_del(&set->node);
	mutex_unlock(&sets_mutex);
}

static void show_set(struct seq_file *m, struct commit_root_set *set)
{
	struct commit_roots *roots;
	unsigned int i, nr = 0;
	u64 oldest = 0;

	raw_spin_lock_irq(&set->lock);
	list_for_each_entry(roots, &set->all, node)
		nr++;
	roots = oldest_roots(set);
	if (roots)
		oldest = roots->generation;
	raw_spin_unlock_irq(&set->lock);
	seq_printf(m, "%s running=%lld reusable=%lld oldest=%llu kept=%u\n", set->name,
		   atomic64_read(&set->running), atomic64_read(&set->reusable), oldest, nr);
	for (i = 0; i < NR_COMMIT_ROOT_EVENTS; i++)
		seq_printf(m, "  %s %lu\n", event_names[i], sum_of(set, i));
}

static void show_pins(struct seq_file *m, struct commit_root_set *set)
{
	struct commit_pin *pin;

	spin_lock_irq(&set->track_lock);
	list_for_each_entry(pin, &set->tracks, node)
		seq_printf(m, "  pin generation=%llu comm=%s pid=%d age_ms=%u\n",
			   pin->roots->generation, pin->comm, pin->pid,
			   jiffies_to_msecs(jiffies - pin->since));
	spin_unlock_irq(&set->track_lock);
}

static int commit_roots_show(struct seq_file *m, void *unused)
{
	struct commit_root_set *set;

	mutex_lock(&sets_mutex);
	list_for_each_entry(set, &sets, node) {
		show_set(m, set);
		if (set->tracked)
			show_pins(m, set);
	}
	mutex_unlock(&sets_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(commit_roots);

void __init init_commit_roots_debugfs(struct dentry *dir)
{
	debugfs_create_file("commit_roots", 0400, dir, NULL, &commit_roots_fops);
}
