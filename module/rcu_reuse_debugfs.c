// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/fscommit/rcu_reuse
 */
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "rcu_reuse_lists.h"

static const char * const event_names[NR_REUSE_EVENTS] = {
	[REUSE_ENQUEUE] = "enqueued",
	[REUSE_REFUSED] = "refused",
	[REUSE_DEQUEUE] = "dequeued",
	[REUSE_NONE] = "none_ready",
	[REUSE_BATCH] = "batches",
	[REUSE_START] = "grace_periods",
	[REUSE_HAND_OVER] = "handed_over",
	[REUSE_OVER] = "released_over",
	[REUSE_AGE] = "released_age",
	[REUSE_SHRINK] = "released_shrink",
	[REUSE_DRAIN] = "released_drain",
};

static DEFINE_MUTEX(queues_mutex);
static LIST_HEAD(queues);

void list_queue(struct rcu_reuse_queue *q)
{
	mutex_lock(&queues_mutex);
	list_add_tail(&q->node, &queues);
	mutex_unlock(&queues_mutex);
}

void unlist_queue(struct rcu_reuse_queue *q)
{
	mutex_lock(&queues_mutex);
	list_del(&q->node);
	mutex_unlock(&queues_mutex);
}

static void show_queue(struct seq_file *m, struct rcu_reuse_queue *q)
{
	unsigned long counts[NR_REUSE_EVENTS] = { }, nr = 0, ready = 0, open = 0;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct rcu_reuse_list *l = per_cpu_ptr(q->lists, cpu);

		raw_spin_lock_irq(&l->lock);
		nr += l->nr;
		ready += l->ready.nr;
		open += l->open.nr;
		for (i = 0; i < NR_REUSE_EVENTS; i++)
			counts[i] += l->counts[i];
		raw_spin_unlock_irq(&l->lock);
	}
	seq_printf(m, "%s objects=%lu ready=%lu waiting=%lu open=%lu over=%d batch=%u keep=%u max=%u max_age_ms=%u%s\n",
		   q->name, nr, ready, nr - ready - open, open, atomic_read(&q->over),
		   q->params.batch, q->params.keep, q->params.max, q->params.max_age_ms,
		   q->params.srcu ? " srcu" : q->params.expedited ? " expedited" : "");
	for (i = 0; i < NR_REUSE_EVENTS; i++)
		seq_printf(m, "  %s %lu\n", event_names[i], counts[i]);
	seq_printf(m, "  misuses %d\n", atomic_read(&q->misuses));
}

static int rcu_reuse_show(struct seq_file *m, void *unused)
{
	struct rcu_reuse_queue *q;

	mutex_lock(&queues_mutex);
	list_for_each_entry(q, &queues, node)
		show_queue(m, q);
	mutex_unlock(&queues_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rcu_reuse);

void __init init_rcu_reuse_debugfs(struct dentry *dir)
{
	debugfs_create_file("rcu_reuse", 0400, dir, NULL, &rcu_reuse_fops);
}
