/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RCU reuse queue: freed objects are used again when no reader can have them, and nobody
 * waits for that.
 *
 * The task that commits never waits for a task that is not running.
 */
#ifndef _LINUX_RCU_REUSE_H
#define _LINUX_RCU_REUSE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * DOC: Overview
 *
 * An object that readers find under rcu_read_lock() may be used again after a grace period
 * only. To wait for one where objects are allocated costs milliseconds each time; to give
 * each object to call_rcu() frees what could have been used again. A reuse queue keeps
 * freed objects together with the number of the grace period that each has to see, asks
 * whether it has passed, and else says "none" at once::
 *
 *	struct node {
 *		...
 *		struct rcu_reuse_head reuse;	// rcu_reuse_head_init() when it is made
 *	};
 *
 *	head = rcu_reuse_dequeue(&fs->nodes);	// allocate: never waits
 *	if (head)
 *		node = container_of(head, struct node, reuse);
 *	else
 *		node = make_node(fs);
 *
 *	hlist_del_rcu(&node->hash);		// free: no reader finds it from now on
 *	if (rcu_reuse_enqueue(&fs->nodes, &node->reuse))
 *		call_rcu(&node->rcu, free_node);	// the queue is full
 *
 * Three rules:
 *
 *  1. What is enqueued can't be found by new readers any more: unlink first.
 *  2. The queue's flavour is that of the readers: RCU, or the one srcu_struct.
 *  3. While it is queued, an object may be read by readers that found it before, and is
 *     written by nobody but them. &rcu_reuse_ops.release has it for good; so has who
 *     dequeued it.
 *
 * Memory ordering: all that readers did with an object in their read sections comes before
 * what is done with it after rcu_reuse_dequeue(), and in &rcu_reuse_ops.release.
 *
 * Objects leave the queue by rcu_reuse_dequeue(), the oldest of a CPU first; or by
 * &rcu_reuse_ops.release: when there are too many, when they are too old, when memory is
 * short, and at the end. To poll grace periods before inodes are used again was proposed for
 * XFS in 2021 (Dave Chinner, Brian Foster). The lists are segmented by grace period, as
 * RCU's own lists of callbacks are (Paul McKenney).
 */

/**
 * struct rcu_reuse_head - in each object
 *
 * Nothing in it is for others than the queue. 8 bytes on 64-bit machines. It must not share
 * memory with what readers look at, nor with an rcu_head while the object is queued.
 */
struct rcu_reuse_head {
/* private: NULL: in no queue */
	struct rcu_reuse_head	*next;
};

/**
 * rcu_reuse_head_init() - for a new object
 * @head: of the object, which is in no queue
 *
 * Once, when the object is made. It is ready for the queue again after
 * rcu_reuse_dequeue().
 *
 * Context: any.
 */
static inline void rcu_reuse_head_init(struct rcu_reuse_head *head)
{
	head->next = NULL;
}

/**
 * struct rcu_reuse_ops - what the owner of the objects does
 * @release: @head leaves the queue for good, after its grace period: free it. Called in
 *	process context without a lock; may be in the reclaim of memory, so it must neither
 *	wait for memory nor take a lock under which somebody does. Several at once
 */
struct rcu_reuse_ops {
	void (*release)(void *private, struct rcu_reuse_head *head);
};

#define RCU_REUSE_MAX_BATCH	4096U
#define RCU_REUSE_MAX_OBJECTS	(1U << 24)
#define RCU_REUSE_MIN_AGE_MS	10U
#define RCU_REUSE_MAX_AGE_MS	3600000U

/**
 * struct rcu_reuse_params - how a queue behaves
 * @batch: objects of one CPU that share a look at the number of grace periods; 1 to
 *	RCU_REUSE_MAX_BATCH. 32 is a good start
 * @keep: objects that are kept; 1 to RCU_REUSE_MAX_OBJECTS. What comes on top leaves as
 *	soon as its grace period has passed, by a worker, as if by call_rcu(). CPUs keep some
 *	of it in reserve: below 4 for each CPU it is coarse
 * @max: objects in the queue, whatever they wait for; @keep to RCU_REUSE_MAX_OBJECTS, never
 *	exceeded, rcu_reuse_enqueue() refuses what comes on top; or 0: never refuse
 * @max_age_ms: milliseconds that an object is in the queue at most, and a grace period on
 *	top if one takes longer than a quarter of it; RCU_REUSE_MIN_AGE_MS to
 *	RCU_REUSE_MAX_AGE_MS
 * @srcu: the domain of the readers; NULL: they use RCU. Must outlive the queue
 * @expedited: ask for expedited grace periods of RCU. They interrupt all CPUs; not with @srcu
 */
struct rcu_reuse_params {
	unsigned int		batch;
	unsigned int		keep;
	unsigned int		max;
	unsigned int		max_age_ms;
	struct srcu_struct	*srcu;
	bool			expedited;
};

struct rcu_reuse_list;	/* of a CPU */
struct shrinker;

/**
 * struct rcu_reuse_queue - freed objects of one kind
 *
 * Nothing in it is for others than the queue.
 */
struct rcu_reuse_queue {
/* private: read by all */
	struct rcu_reuse_list __percpu	*lists;
	struct rcu_reuse_params		params;
	unsigned int			chunk;	/* of room that goes to and from a CPU */
	bool				ending;
	int				pace;	/* of the worker; see rcu_reuse.c */
	const struct rcu_reuse_ops	*ops;
	void				*private;
	const char			*name;
/* private: written when a CPU is out of room, or has too much of it */
	atomic_t			room ____cacheline_aligned_in_smp;
	atomic_t			over;
	atomic_t			misuses;
	struct delayed_work		tick;
	struct work_struct		start;
	struct shrinker			*shrinker;
	struct list_head		node;
};

int __must_check rcu_reuse_init(struct rcu_reuse_queue *q, const char *name,
				const struct rcu_reuse_ops *ops, void *private,
				const struct rcu_reuse_params *params);
void rcu_reuse_destroy(struct rcu_reuse_queue *q);
int __must_check rcu_reuse_enqueue(struct rcu_reuse_queue *q, struct rcu_reuse_head *head);
struct rcu_reuse_head *rcu_reuse_dequeue(struct rcu_reuse_queue *q);
void rcu_reuse_drain(struct rcu_reuse_queue *q);
unsigned long rcu_reuse_count(const struct rcu_reuse_queue *q);

#endif /* _LINUX_RCU_REUSE_H */
