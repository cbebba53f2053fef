/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RCU reuse queue and stamps: reuse freed objects after a grace period, without waiting for it.
 */
#ifndef _LINUX_RCU_REUSE_H
#define _LINUX_RCU_REUSE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/fscommit_abi.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * DOC: Overview
 *
 * An object that readers find under rcu_read_lock() may be reused only after a grace period.
 * Waiting for one at each allocation costs milliseconds. Passing each object to call_rcu() frees
 * objects that could be reused. A reuse queue keeps freed objects with the cookie of the grace
 * period that each must wait for. A dequeue polls the cookies and returns NULL if none has passed::
 *
 *	struct node {
 *		...
 *		struct rcu_reuse_head reuse;	// rcu_reuse_head_init() once
 *	};
 *
 *	head = rcu_reuse_dequeue(&fs->nodes);	// allocate: never waits
 *	if (head)
 *		node = container_of(head, struct node, reuse);
 *	else
 *		node = make_node(fs);
 *
 *	hlist_del_rcu(&node->hash);		// free: new readers do not find it
 *	ret = rcu_reuse_enqueue(&fs->nodes, &node->reuse);
 *	if (ret && ret != -EBUSY)
 *		call_rcu(&node->rcu, free_node);	// not queued
 *
 * Three rules for the caller:
 *
 *  1. Unlink an object before enqueueing it: new readers must not find it.
 *  2. The flavour of the queue is that of the readers: RCU, or the same srcu_struct.
 *  3. While an object is queued, only readers that found it before may access it, for reading or
 *     writing; the caller may not. It belongs to the caller again after rcu_reuse_dequeue(), and in
 *     &rcu_reuse_ops.release.
 *
 * Memory ordering: all accesses of readers to an object, in RCU read-side critical sections, happen
 * before accesses after rcu_reuse_dequeue() and in &rcu_reuse_ops.release.
 *
 * Concurrency and context:
 *
 *  - rcu_reuse_enqueue(), rcu_reuse_dequeue() and rcu_reuse_count() never sleep. They may run on
 *    all CPUs at once, beside rcu_reuse_drain(), in any context but NMI; the first two not under
 *    locks of the scheduler.
 *  - rcu_reuse_init(), rcu_reuse_drain() and rcu_reuse_destroy() sleep.
 *  - &rcu_reuse_ops.release runs in process context, on several CPUs at once, also within
 *    reclaim: it must not wait for memory, nor take a lock whose holder may do so.
 *  - rcu_reuse_enqueue() and rcu_reuse_dequeue() may run beside rcu_reuse_destroy(), which
 *    refuses them. Drains and counts must have returned before it.
 *
 * What to do when rcu_reuse_enqueue() fails:
 *
 *  - -ENOSPC (the queue is full) and -ESHUTDOWN (a late call, with a warning): the object stays
 *    the caller's. Free it after a grace period of the readers, by call_rcu() or call_srcu().
 *  - -EBUSY (with a warning): the object is queued already and belongs to the queue. Do not free
 *    it: this is a double free.
 *
 * Objects leave the queue by rcu_reuse_dequeue(), the oldest of a CPU first, or by
 * &rcu_reuse_ops.release: when there are too many, when they are too old, when memory is short,
 * and on drain and destroy. Polled grace periods before the reuse of inodes were proposed for XFS
 * in 2021 (Dave Chinner, Brian Foster). The lists are segmented by grace period, like RCU's lists
 * of callbacks (Paul McKenney).
 */

/**
 * DOC: Stamps
 *
 * A queue hands out any free object. If the object to reuse is chosen by other code, and remains
 * findable while it is free, use a stamp. XFS is an example: its free inode btree chooses an inode
 * number, whose inode may still be in the cache::
 *
 *	struct item {
 *		...
 *		struct rcu_reuse_cookie stamp;	// rcu_reuse_stamp_init() once
 *	};
 *
 *	item->flags |= ITEM_FREE;		// free: under the lock of the item
 *	rcu_reuse_stamp(&fs->clock, &item->stamp);
 *
 *	if (!rcu_reuse_passed(&fs->clock, &item->stamp))
 *		goto choose_another;		// allocate: under the lock of the item
 *	item->flags &= ~ITEM_FREE;
 *
 * Rules for the caller:
 *
 *  1. Mark or unlink the object before stamping it. A reader that finds it later must ignore it.
 *  2. The flavour of the clock is that of the readers: RCU, or the same srcu_struct.
 *  3. Order the stamp before the question, usually by the lock of the object.
 *  4. Have an answer if no object may be reused yet: make a new one, or wait.
 *
 * Memory ordering: all accesses, in RCU read-side critical sections, of readers that found the
 * object before its stamp happen before accesses after rcu_reuse_passed() returned true.
 *
 * Concurrency and context: rcu_reuse_stamp() and rcu_reuse_passed() never sleep, take no lock
 * except for one request in each grace period, and may run on all CPUs at once, in any context but
 * NMI and not under locks of the scheduler. All of them must have returned before
 * rcu_reuse_clock_destroy().
 */

/**
 * struct rcu_reuse_cookie - embedded in each object
 *
 * All fields are private. 8 bytes on 64-bit machines.
 */
struct rcu_reuse_cookie {
/* private: of RCU or SRCU, whose cookies are even; or RCU_REUSE_NO_COOKIE */
	unsigned long		cookie;
};

#define RCU_REUSE_NO_COOKIE	1UL

/**
 * rcu_reuse_stamp_init() - initialise the stamp of a new object
 * @stamp: the stamp
 *
 * rcu_reuse_passed() returns true until the first rcu_reuse_stamp().
 *
 * Context: any.
 */
static inline void rcu_reuse_stamp_init(struct rcu_reuse_cookie *stamp)
{
	stamp->cookie = RCU_REUSE_NO_COOKIE;
}

/**
 * struct rcu_reuse_clock - requests the grace periods of stamps
 *
 * One for all objects of a kind, or for all objects whose readers use the same flavour. All fields
 * are private.
 */
struct rcu_reuse_clock {
/* private: */
	struct srcu_struct	*srcu;
	unsigned long		requested;	/* cookie of the last request */
	unsigned long		requested_at;	/* jiffies */
	unsigned long		requests;	/* for debuggers and tests */
	struct work_struct	work;
};

void rcu_reuse_clock_init(struct rcu_reuse_clock *clock, struct srcu_struct *srcu);
void rcu_reuse_clock_destroy(struct rcu_reuse_clock *clock);
void rcu_reuse_stamp(struct rcu_reuse_clock *clock, struct rcu_reuse_cookie *stamp);
bool rcu_reuse_passed(struct rcu_reuse_clock *clock, const struct rcu_reuse_cookie *stamp);

/**
 * struct rcu_reuse_head - embedded in each object
 *
 * All fields are private. 8 bytes on 64-bit machines. It must not share memory with fields that
 * readers access, nor with an rcu_head while the object is queued.
 */
struct rcu_reuse_head {
/* private: NULL: in no queue */
	struct rcu_reuse_head	*next;
};

/**
 * rcu_reuse_head_init() - initialise the head of a new object
 * @head: the head
 *
 * Once for each object. After rcu_reuse_dequeue() the head is ready to be enqueued again.
 *
 * Context: any.
 */
static inline void rcu_reuse_head_init(struct rcu_reuse_head *head)
{
	head->next = NULL;
}

/**
 * struct rcu_reuse_ops - operations of the owner of the objects
 * @release: free the object of @head, whose grace period has passed. Called in process context
 *	without a lock, on several CPUs at once, also within reclaim: it must not wait for
 *	memory, nor take a lock whose holder may do so
 */
struct rcu_reuse_ops {
	void (*release)(void *private, struct rcu_reuse_head *head);
};

#define RCU_REUSE_MAX_BATCH	4096U
#define RCU_REUSE_MAX_OBJECTS	(1U << 24)
#define RCU_REUSE_MIN_AGE_MS	10U
#define RCU_REUSE_MAX_AGE_MS	3600000U

/**
 * struct rcu_reuse_params - parameters of a queue
 * @batch: objects of one CPU that share a cookie, 1 to RCU_REUSE_MAX_BATCH. 32 is a good start
 * @keep: objects to keep, 1 to RCU_REUSE_MAX_OBJECTS. A worker releases objects in excess of it
 *	as soon as their grace period has passed, as call_rcu() would. CPUs reserve a part of
 *	it: values below 4 for each CPU are coarse
 * @max: most objects in the queue, ready or not, @keep to RCU_REUSE_MAX_OBJECTS; never exceeded:
 *	rcu_reuse_enqueue() refuses further objects. What other CPUs reserve of @keep, half of it
 *	at most, counts as used. Or 0: no limit
 * @max_age_ms: the longest time in milliseconds that an object stays in the queue, plus a grace
 *	period if that takes longer than a quarter of it, each quarter in whole jiffies;
 *	RCU_REUSE_MIN_AGE_MS to RCU_REUSE_MAX_AGE_MS
 * @srcu: the domain of the readers, which must outlive the queue; NULL: they use RCU
 * @expedited: request expedited grace periods of RCU, which interrupt all CPUs; not with @srcu
 */
struct rcu_reuse_params {
	unsigned int		batch;
	unsigned int		keep;
	unsigned int		max;
	unsigned int		max_age_ms;
	struct srcu_struct	*srcu;
	bool			expedited;
};

struct cpumask;
struct rcu_reuse_list;	/* of one CPU */
struct shrinker;

/**
 * struct rcu_reuse_queue - freed objects of one kind
 *
 * All fields are private.
 */
struct rcu_reuse_queue {
/* private: mostly read */
	struct rcu_reuse_list __percpu	*lists;
	struct rcu_reuse_params		params;
	unsigned int			chunk;	/* of quota that a CPU takes at a time */
	bool				ending;
	int				rate;	/* of the worker; see rcu_reuse.c */
	const struct rcu_reuse_ops	*ops;
	void				*private;
	const char			*name;
/* private: CPUs whose list has objects, or had some at the worker's last run */
	struct cpumask			*active;
/* private: written when a CPU has no quota left, or too much of it */
	atomic_t			quota ____cacheline_aligned_in_smp;
	atomic_t			excess;
	atomic_t			misuses;
	unsigned long			ticks;	/* runs of the worker */
	unsigned long			next_aging;	/* jiffies */
	int				shrunk;	/* CPU of the last list that was shrunk */
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
