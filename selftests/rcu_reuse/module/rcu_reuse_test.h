/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/rcu_reuse_test: RCU reuse queues and stamps, readers that block them, and a workload. Tests
 * only. Needs CAP_SYS_ADMIN.
 *
 * Each open file is one queue; REUSE_TEST_SETUP creates it with a fixed number of objects, each
 * queued or free. An object takes a cookie of its own when it is unlinked. When it leaves the
 * queue, or is reused by its stamp, the grace period of this cookie must have ended.
 */
#ifndef RCU_REUSE_TEST_H
#define RCU_REUSE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum reuse_test_flavour {
	REUSE_TEST_RCU,
	REUSE_TEST_EXPEDITED,
	REUSE_TEST_SRCU,
	REUSE_TEST_NR_FLAVOURS,
};

#define REUSE_TEST_MAX_OBJECTS	4000000U

struct reuse_test_setup {
	__u32 flavour;
	__u32 objects;		/* 1 to REUSE_TEST_MAX_OBJECTS */
	__u32 batch, keep, max, max_age_ms;	/* see struct rcu_reuse_params */
	__u32 srcu_expedited;	/* set both; must be refused */
	__u32 no_release;	/* omit rcu_reuse_ops.release; must be refused */
};

/* The context of the calls. */
enum reuse_test_context {
	REUSE_TEST_PLAIN,
	REUSE_TEST_PREEMPT_OFF,
	REUSE_TEST_IRQS_OFF,
	REUSE_TEST_RAW_LOCK,	/* raw spinlock held, interrupts off */
	REUSE_TEST_IPI,		/* hard interrupt on another CPU */
	REUSE_TEST_NR_CONTEXTS,
};

struct reuse_test_io {
	__u32 nr;		/* objects to enqueue, or dequeue calls */
	__u32 context;
	__u32 cpu;		/* for REUSE_TEST_IPI */
	/*
	 * dequeue: stop at the first call that finds nothing. REUSE_TEST_PASSED: poll the object's
	 * own cookie instead of its stamp, which requests nothing.
	 */
	__u32 until_none;
	/* out: */
	__u32 done;		/* objects enqueued or dequeued */
	__u32 error;		/* of a failed enqueue, which ends the call */
	__u32 disorder;		/* objects dequeued before an older one */
	__u32 requests;		/* of grace periods for stamps, since the setup */
};

struct reuse_test_state {
	__u64 free, queued, released;
	__u64 early;		/* dequeued before their grace period had ended */
	__u64 foreign;		/* dequeued without having been queued */
};

struct reuse_test_torture {
	__u32 ms, readers, writers;	/* 1 to 64 of each */
	__u32 stamps;			/* objects stay in a table and are stamped */
	/* out: */
	__u64 reads;
	__u64 unlinked;		/* reads that ended after their object was unlinked or freed */
	__u64 damaged;		/* reads that ended after it was reused, which must not happen */
	__u64 reused;		/* objects */
};

#define REUSE_TEST_SETUP	_IOW('Q', 1, struct reuse_test_setup)
#define REUSE_TEST_ENQUEUE	_IOWR('Q', 2, struct reuse_test_io)
#define REUSE_TEST_DEQUEUE	_IOWR('Q', 3, struct reuse_test_io)
#define REUSE_TEST_STATE	_IOR('Q', 4, struct reuse_test_state)
#define REUSE_TEST_READER_IN	_IO('Q', 5)	/* a reader stays in its section ... */
#define REUSE_TEST_READER_OUT	_IO('Q', 6)	/* ... until here, where its task ends, ... */
#define REUSE_TEST_READER_RESTS	_IO('Q', 12)	/* ... or here, where its task is kept */
#define REUSE_TEST_DRAIN	_IO('Q', 7)
#define REUSE_TEST_DESTROY	_IO('Q', 8)
#define REUSE_TEST_TORTURE	_IOWR('Q', 9, struct reuse_test_torture)
#define REUSE_TEST_MISUSE	_IOW('Q', 10, __u32)	/* enum reuse_test_misuse */
#define REUSE_TEST_STAMP	_IOWR('Q', 13, struct reuse_test_io)	/* the first nr objects */
#define REUSE_TEST_PASSED	_IOWR('Q', 14, struct reuse_test_io)	/* how many may be reused */
/* done: the shrinker's count. error: EPROTO if it enabled interrupts, as dropping a lock does */
#define REUSE_TEST_COUNT	_IOWR('Q', 15, struct reuse_test_io)

enum reuse_test_misuse {
	REUSE_TEST_ENQUEUE_TWICE, REUSE_TEST_ENQUEUE_AFTER_END,
};

/* --- the workload of reusebench ------------------------------------------ */

enum reuse_test_variant {
	REUSE_TEST_NO_WAIT,		/* reuse at once: unsafe */
	REUSE_TEST_SYNCHRONIZE,		/* synchronize_rcu() for each batch */
	REUSE_TEST_COND_SYNCHRONIZE,	/* cond_synchronize_rcu() before the next batch */
	REUSE_TEST_CALL_RCU,		/* call_rcu() frees each object */
	REUSE_TEST_OURS,
	REUSE_TEST_OURS_EXPEDITED,
	REUSE_TEST_NR_VARIANTS,
};

struct reuse_test_bench {
	__u32 variant;
	__u32 batch;		/* objects allocated, then freed; 1 to 4096 */
	__u32 ms;
	__u32 work_ns;		/* work with an object before it is freed */
	__u32 keep, max;	/* of the reuse queue */
	/* out: */
	__u64 ns, allocated, reused;
	__u64 peak;		/* maximum number of objects, waiting ones included */
	__u64 longest_ns;	/* of a batch */
};

#define REUSE_TEST_BENCH	_IOWR('Q', 11, struct reuse_test_bench)

#endif /* RCU_REUSE_TEST_H */
