/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/rcu_reuse_test: RCU reuse queues, readers that hold them up, and a workload. Tests
 * only.
 *
 * Each open file is a queue, made by RRT_SETUP, with so many objects, which are in the
 * queue or free. Each object takes a cookie of its own when it is unlinked: when it comes
 * out of the queue, that must have passed. Needs CAP_SYS_ADMIN.
 */
#ifndef RCU_REUSE_TEST_H
#define RCU_REUSE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum rrt_flavour {
	RRT_RCU,
	RRT_EXPEDITED,
	RRT_SRCU,
	RRT_BUSTED,	/* first in, first out, at once: who looks for that must find it */
	RRT_NR_FLAVOURS,
};

#define RRT_MAX_OBJECTS	4000000U

struct rrt_setup {
	__u32 flavour;
	__u32 objects;		/* 1 to RRT_MAX_OBJECTS */
	__u32 batch, keep, max, max_age_ms;	/* see struct rcu_reuse_params */
	__u32 srcu_expedited;	/* both, which is refused */
	__u32 no_release;	/* no rcu_reuse_ops.release, which is refused */
};

/* From where the queue is called. */
enum rrt_context {
	RRT_PLAIN,
	RRT_PREEMPT_OFF,
	RRT_IRQS_OFF,
	RRT_RAW_LOCK,		/* under a raw spinlock, interrupts off */
	RRT_IPI,		/* on another CPU, in a hard interrupt */
	RRT_NR_CONTEXTS,
};

struct rrt_io {
	__u32 nr;		/* objects to enqueue, or calls of dequeue */
	__u32 context;
	__u32 cpu;		/* for RRT_IPI */
	__u32 until_none;	/* dequeue: stop at the first one that finds nothing */
	/* out: */
	__u32 done;		/* objects that went in, or came out */
	__u32 error;		/* of the enqueue that failed, which ends it */
	__u32 disorder;		/* objects that came out before an older one */
	__u32 unused;
};

struct rrt_state {
	__u64 free, queued, released;
	__u64 early;		/* came out before their grace period */
	__u64 foreign;		/* came out, and were not in */
};

struct rrt_torture {
	__u32 ms, readers, writers, unused;	/* 1 to 64 of each */
	/* out: */
	__u64 reads, reused, fresh, early;
	/*
	 * What a reader saw become of its object before its section ended: nothing; it was
	 * unlinked; it was in use again, which must not be.
	 */
	__u64 pipe[3];
};

#define RRT_SETUP	_IOW('Q', 1, struct rrt_setup)
#define RRT_ENQUEUE	_IOWR('Q', 2, struct rrt_io)
#define RRT_DEQUEUE	_IOWR('Q', 3, struct rrt_io)
#define RRT_STATE	_IOR('Q', 4, struct rrt_state)
#define RRT_READER_IN	_IO('Q', 5)	/* a reader is in its section until RRT_READER_OUT */
#define RRT_READER_OUT	_IO('Q', 6)
#define RRT_READER_RESTS _IO('Q', 12)	/* ... or so, and its task stays until then */
#define RRT_DRAIN	_IO('Q', 7)
#define RRT_DESTROY	_IO('Q', 8)
#define RRT_TORTURE	_IOWR('Q', 9, struct rrt_torture)
#define RRT_MISUSE	_IOW('Q', 10, __u32)	/* enum rrt_misuse */

enum rrt_misuse {
	RRT_ENQUEUE_TWICE, RRT_ENQUEUE_AFTER_END,
};

/* --- the workload of reusebench ------------------------------------------ */

enum rrt_variant {
	RRT_NO_WAIT,		/* at once: what must not be */
	RRT_SYNCHRONIZE,	/* synchronize_rcu() for each batch */
	RRT_COND_SYNCHRONIZE,	/* cond_synchronize_rcu() before the next one */
	RRT_CALL_RCU,		/* each object is freed, by call_rcu() */
	RRT_OURS,
	RRT_OURS_EXPEDITED,
	RRT_NR_VARIANTS,
};

struct rrt_bench {
	__u32 variant;
	__u32 batch;		/* objects that are allocated, then freed; 1 to 4096 */
	__u32 ms;
	__u32 work_ns;		/* what is done with an object between */
	__u32 keep, max;	/* of ours */
	/* out: */
	__u64 ns, allocated, reused;
	__u64 peak;		/* objects at once, those that wait included */
	__u64 longest_ns;	/* of a batch */
};

#define RRT_BENCH	_IOWR('Q', 11, struct rrt_bench)

#endif /* RCU_REUSE_TEST_H */
