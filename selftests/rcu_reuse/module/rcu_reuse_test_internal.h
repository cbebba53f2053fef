/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues, objects and readers of /dev/rcu_reuse_test: see rcu_reuse_test.h.
 */
#ifndef RCU_REUSE_TEST_INTERNAL_H
#define RCU_REUSE_TEST_INTERNAL_H

#include <linux/mutex.h>
#include <linux/rcu_reuse.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

#include "rcu_reuse_test.h"

struct object {
	struct rcu_reuse_head	reuse;
	struct rcu_reuse_cookie	stamp;
	struct object		*next;		/* free */
	unsigned long		cookie;		/* taken when it was unlinked */
	u64			number;		/* in order of enqueue */
	u64			life;		/* number of uses */
	int			pipe;		/* see read_once() */
	bool			queued;
	/* of stamps */
	unsigned long		stamp_cookie;	/* taken before the stamp */
	bool			stamped;
	/* and of their torture */
	bool			free;
	unsigned long		busy;		/* bit 0: a writer uses it */
};

struct reuse_test {
	struct mutex		lock;		/* setup and reader */
	struct rw_semaphore	life;		/* of the queue; nests in @lock; destroy writes */
	struct reuse_test_setup	setup;
	struct rcu_reuse_queue	queue;
	struct rcu_reuse_clock	clock;
	bool			has_queue;
	struct srcu_struct	srcu;
	struct object		*object;	/* NULL until set up */
	raw_spinlock_t		free_lock;	/* protects the next two lines */
	struct object		*free;
	unsigned long		nr_free;
	atomic64_t		released, early, foreign, numbers;
	struct task_struct	*reader;
	struct completion	reader_is_in;
};

static inline int reuse_test_read_lock(struct reuse_test *r)
{
	if (r->setup.flavour == REUSE_TEST_SRCU)
		return srcu_read_lock(&r->srcu);
	rcu_read_lock();
	return 0;
}

static inline void reuse_test_read_unlock(struct reuse_test *r, int idx)
{
	if (r->setup.flavour == REUSE_TEST_SRCU)
		srcu_read_unlock(&r->srcu, idx);
	else
		rcu_read_unlock();
}

/* In a reader's section: allow preemption there if the kernel can preempt RCU readers. */
static inline void reuse_test_preempt_point(void)
{
	preempt_disable();
	cpu_relax();
	preempt_enable();
}

/* rcu_reuse_test_main.c */
struct object *reuse_test_fresh(struct reuse_test *r);
void reuse_test_free(struct reuse_test *r, struct object *o);
int reuse_test_enqueue(struct reuse_test *r, struct object *o);
struct object *reuse_test_dequeue(struct reuse_test *r);
void reuse_test_stamp(struct reuse_test *r, struct object *o);
bool reuse_test_passed(struct reuse_test *r, struct object *o);

/* rcu_reuse_test_torture.c, rcu_reuse_test_bench.c */
int reuse_test_torture(struct reuse_test *r, struct reuse_test_torture *t);
int reuse_test_bench(struct reuse_test_bench *b);

#endif /* RCU_REUSE_TEST_INTERNAL_H */
