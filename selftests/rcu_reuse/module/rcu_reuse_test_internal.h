/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues, objects and readers of /dev/rcu_reuse_test: see rcu_reuse_test.h. For its files
 * alone.
 */
#ifndef FSCOMMIT_RRT_H
#define FSCOMMIT_RRT_H

#include <linux/mutex.h>
#include <linux/rcu_reuse.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

#include "rcu_reuse_test.h"

struct object {
	struct rcu_reuse_head	reuse;
	struct object		*next;		/* free, or in the busted queue */
	unsigned long		cookie;		/* when it was unlinked */
	u64			number;		/* in the order of enqueue */
	u64			life;		/* how often it was used */
	int			pipe;		/* see struct rrt_torture */
	bool			queued;
};

struct rrt {
	struct mutex		lock;		/* setup, and the reader */
	struct rw_semaphore	life;		/* of the queue; below @lock, written by its end */
	struct rrt_setup	setup;
	struct rcu_reuse_queue	queue;
	bool			has_queue;
	struct srcu_struct	srcu;
	struct object		*object;	/* NULL until set up */
	raw_spinlock_t		free_lock;	/* the next four */
	struct object		*free, *busted_first, *busted_last;
	unsigned long		nr_free, nr_busted;
	atomic64_t		released, early, foreign, numbers;
	struct task_struct	*reader;
	struct completion	reader_is_in;
};

static inline int rrt_read_lock(struct rrt *r)
{
	if (r->setup.flavour == RRT_SRCU)
		return srcu_read_lock(&r->srcu);
	rcu_read_lock();
	return 0;
}

static inline void rrt_read_unlock(struct rrt *r, int idx)
{
	if (r->setup.flavour == RRT_SRCU)
		srcu_read_unlock(&r->srcu, idx);
	else
		rcu_read_unlock();
}

/* In a read section, which may be of RCU: a point where it can be preempted. */
static inline void rrt_preempt_point(void)
{
	preempt_disable();
	cpu_relax();
	preempt_enable();
}

/* rcu_reuse_test_main.c */
struct object *rrt_fresh(struct rrt *r);
void rrt_free(struct rrt *r, struct object *o);
int rrt_enqueue(struct rrt *r, struct object *o);
struct object *rrt_dequeue(struct rrt *r);

/* rrt_torture.c, rrt_bench.c */
int rrt_torture(struct rrt *r, struct rrt_torture *t);
int rrt_bench(struct rrt_bench *b);

#endif /* FSCOMMIT_RRT_H */
