// SPDX-License-Identifier: GPL-2.0
/*
 * The workload of reusebench. One task repeatedly allocates a batch of objects, links them for
 * readers, does some work with each, then unlinks and frees them.
 */
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "rcu_reuse_test_internal.h"

#define MAX_BATCH	4096U
#define BUCKETS		1024
#define PAYLOAD		448	/* makes the object about as large as an inode */

struct node {
	struct hlist_node	link;
	struct rcu_reuse_head	reuse;
	struct rcu_head		rcu;
	struct node		*next;
	struct bench		*bench;
	u8			payload[PAYLOAD];
};

struct bench {
	struct reuse_test_bench	*args;
	struct rcu_reuse_queue	queue;
	struct kmem_cache	*cache;
	struct hlist_head	bucket[BUCKETS];
	spinlock_t		lock;		/* of the buckets */
	struct node		*node[MAX_BATCH];
	struct node		*free;		/* variants that keep free objects */
	unsigned long		cookie;
	bool			has_cookie;
	atomic_long_t		nodes;		/* existing objects */
	u32			sum;
};

/* Read the object again and again until the time is over. */
static void work(struct bench *b, const struct node *n)
{
	u64 start = ktime_get_ns();
	int i;

	while (ktime_get_ns() - start < b->args->work_ns) {
		for (i = 0; i < PAYLOAD; i++)
			b->sum += READ_ONCE(n->payload[i]);
	}
}

static void node_free(struct bench *b, struct node *n)
{
	atomic_long_dec(&b->nodes);
	kmem_cache_free(b->cache, n);
}

static void free_by_rcu(struct rcu_head *head)
{
	struct node *n = container_of(head, struct node, rcu);

	node_free(n->bench, n);
}

static void release(void *private, struct rcu_reuse_head *head)
{
	node_free(private, container_of(head, struct node, reuse));
}

static const struct rcu_reuse_ops ops = { .release = release };

static bool is_ours(const struct reuse_test_bench *args)
{
	return args->variant == REUSE_TEST_OURS || args->variant == REUSE_TEST_OURS_EXPEDITED;
}

static struct node *reuse_one(struct bench *b)
{
	struct rcu_reuse_head *head;
	struct node *n = b->free;

	if (is_ours(b->args)) {
		head = rcu_reuse_dequeue(&b->queue);
		return head ? container_of(head, struct node, reuse) : NULL;
	}
	if (n)
		b->free = n->next;
	return n;
}

static struct node *node_alloc(struct bench *b)
{
	struct node *n = reuse_one(b);
	unsigned long nodes;

	if (n) {
		b->args->reused++;
	} else {
		n = kmem_cache_alloc(b->cache, GFP_KERNEL);
		if (!n)
			return NULL;
		n->bench = b;
		rcu_reuse_head_init(&n->reuse);
		nodes = atomic_long_inc_return(&b->nodes);
		b->args->peak = max_t(u64, b->args->peak, nodes);
	}
	b->args->allocated++;
	memset(n->payload, 0, sizeof(n->payload));
	return n;
}

/* @n is unlinked: free it in the way of the variant. */
static void node_retire(struct bench *b, struct node *n)
{
	switch (b->args->variant) {
	case REUSE_TEST_CALL_RCU:
		call_rcu(&n->rcu, free_by_rcu);
		break;
	case REUSE_TEST_OURS:
	case REUSE_TEST_OURS_EXPEDITED:
		if (rcu_reuse_enqueue(&b->queue, &n->reuse))
			call_rcu(&n->rcu, free_by_rcu);
		break;
	default:
		n->next = b->free;
		b->free = n;
	}
}

static void before_reuse(struct bench *b)
{
	if (b->has_cookie)
		cond_synchronize_rcu(b->cookie);
	b->has_cookie = false;
}

static void after_free(struct bench *b)
{
	if (b->args->variant == REUSE_TEST_SYNCHRONIZE)
		synchronize_rcu();
	if (b->args->variant == REUSE_TEST_COND_SYNCHRONIZE) {
		b->cookie = start_poll_synchronize_rcu();
		b->has_cookie = true;
	}
}

static int one_batch(struct bench *b)
{
	unsigned int i, nr = b->args->batch;
	int ret = 0;

	before_reuse(b);
	for (i = 0; i < nr; i++) {
		struct node *n = node_alloc(b);

		if (!n) {
			ret = -ENOMEM;
			break;
		}
		b->node[i] = n;
		spin_lock(&b->lock);
		hlist_add_head_rcu(&n->link, &b->bucket[hash_ptr(n, 10)]);
		spin_unlock(&b->lock);
		work(b, n);
	}
	while (i--) {
		spin_lock(&b->lock);
		hlist_del_rcu(&b->node[i]->link);
		spin_unlock(&b->lock);
		node_retire(b, b->node[i]);
	}
	after_free(b);
	cond_resched();
	return ret;
}

static int loop(struct bench *b)
{
	struct reuse_test_bench *args = b->args;
	u64 start = ktime_get_ns(), last = start, now;
	int ret;

	do {
		ret = one_batch(b);
		now = ktime_get_ns();
		args->longest_ns = max(args->longest_ns, now - last);
		last = now;
		if (signal_pending(current))
			ret = -EINTR;
	} while (!ret && now - start < args->ms * 1000000ULL);
	args->ns = now - start;
	return ret;
}

static void free_all(struct bench *b)
{
	struct node *n;

	while ((n = b->free)) {
		b->free = n->next;
		node_free(b, n);
	}
	if (is_ours(b->args))
		rcu_reuse_destroy(&b->queue);
	rcu_barrier();
	WARN_ONCE(atomic_long_read(&b->nodes), "reusebench: %ld objects are left\n",
		  atomic_long_read(&b->nodes));
}

int reuse_test_bench(struct reuse_test_bench *args)
{
	const struct rcu_reuse_params params = {
		.batch = clamp(args->batch, 1U, 64U), .keep = args->keep, .max = args->max,
		.max_age_ms = 10000, .expedited = args->variant == REUSE_TEST_OURS_EXPEDITED,
	};
	struct bench *b;
	int ret;

	if (args->variant >= REUSE_TEST_NR_VARIANTS || !args->batch || args->batch > MAX_BATCH ||
	    args->ms > 600000 || args->work_ns > 1000000)
		return -EINVAL;
	args->ns = 0;
	args->allocated = 0;
	args->reused = 0;
	args->peak = 0;
	args->longest_ns = 0;
	b = kvzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	b->args = args;
	spin_lock_init(&b->lock);
	b->cache = kmem_cache_create("reusebench", sizeof(struct node), 0, 0, NULL);
	ret = b->cache ? 0 : -ENOMEM;
	if (!ret && is_ours(args))
		ret = rcu_reuse_init(&b->queue, "reusebench", &ops, b, &params);
	if (!ret) {
		ret = loop(b);
		free_all(b);
	}
	kmem_cache_destroy(b->cache);
	kvfree(b);
	return ret;
}
