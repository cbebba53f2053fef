// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: its trees and their changes. See cow_diff_test.h.
 */
#include <linux/sched/signal.h>

#include "cow_diff_test_internal.h"
#include "fscommit_test.h"
#include "test_device.h"

#define MAX_BLOCKS	(1U << 20)

/* Marsaglia's xorshift64*. */
u64 diff_test_random(struct diff_test *c)
{
	c->random ^= c->random >> 12;
	c->random ^= c->random << 25;
	c->random ^= c->random >> 27;
	return c->random * 0x2545f4914f6cdd1dULL;
}

/* The upper half has the better bits; 32-bit kernels lack a 64-bit division. */
u64 diff_test_random_below(struct diff_test *c, u64 n)
{
	return (u32)(diff_test_random(c) >> 32) % (u32)n;
}

/* Never reuse blocks, so that the old tree stays valid. */
static u64 reusable(void *private)
{
	return 0;
}

static void publish(void *private, u64 generation)
{
}

static const struct cow_ops ops = { reusable, publish };

static int may_continue(unsigned int i)
{
	if (i % 1024)
		return 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static int fill(struct diff_test *c, const struct diff_test_setup *s)
{
	u32 *key, i;
	int ret = 0;

	key = kvcalloc(s->keys + 1, sizeof(*key), GFP_KERNEL);
	if (!key)
		return -ENOMEM;
	for (i = 0; i < s->keys; i++) {
		u32 other = s->in_order ? i : diff_test_random_below(c, i + 1);

		key[i] = key[other];
		key[other] = i;
	}
	for (i = 0; !ret && i < s->keys; i++)
		ret = cow_insert(&c->tree, (u64)key[i] * DIFF_TEST_STEP, i) ?: may_continue(i);
	kvfree(key);
	return ret;
}

static void tear_down(struct diff_test *c)
{
	if (c->fs)
		cow_fs_destroy(c->fs);
	c->fs = NULL;
}

static bool is_size(u32 items)
{
	return !items || (items >= 4 && items <= DIFF_TEST_MAX_ITEMS);
}

static int set_up(struct diff_test *c, const struct diff_test_setup *s)
{
	const struct cow_params params = {
		.max_blocks = MAX_BLOCKS, .lock_type = LOCK_TEST_RWSEM,
		.leaf_items = s->leaf_items, .node_items = s->node_items,
	};
	int ret;

	if (s->keys > DIFF_TEST_MAX_KEYS || !is_size(s->leaf_items) || !is_size(s->node_items) ||
	    !s->seed)
		return -EINVAL;
	c->random = s->seed;
	ret = cow_fs_create(&c->fs, &params, &ops, c);
	if (ret)
		return ret;
	ret = cow_tree_create(&c->tree, c->fs) ?: fill(c, s) ?: cow_commit(c->fs, 0);
	if (ret)
		tear_down(c);
	return ret;
}

static int change_one(struct diff_test *c, struct cow_tree *tree,
		      const struct diff_test_change *ch, u64 i)
{
	u64 any = (diff_test_random(c) >> 32) * (ch->first + 1) >> 32;

	switch (ch->op) {
	case DIFF_TEST_INSERT:
		return cow_insert(tree, ch->first + i * ch->step, i);
	case DIFF_TEST_DELETE:
		return cow_delete(tree, ch->first + i * ch->step);
	case DIFF_TEST_INSERT_RANDOM:
		/* overwrites an existing key if @step is DIFF_TEST_STEP */
		return cow_insert(tree, any - (u32)any % (u32)ch->step, i);
	case DIFF_TEST_CHANGE_RANDOM:
		return diff_test_random_below(c, 2) ? cow_insert(tree, any, i) :
			cow_delete(tree, any - (u32)any % DIFF_TEST_STEP);
	}
	return -EINVAL;
}

static int change(struct diff_test *c, const struct diff_test_change *ch)
{
	struct cow_tree *tree = ch->of_snapshot ? &c->snapshot : &c->tree;
	int ret = 0;
	u64 i;

	if (!tree->root || ch->first > ~0U || !ch->step || ch->step > ~0U)
		return -EINVAL;
	for (i = 0; !ret && i < ch->nr; i++) {
		ret = change_one(c, tree, ch, i);
		if (!ret || ret == -ENOENT)
			ret = may_continue(i);
	}
	return ret;
}

static int mark(struct diff_test *c, bool snapshot)
{
	u64 generation = cow_running(c->fs);
	int ret = cow_commit(c->fs, 0);

	if (ret)
		return ret;
	/* the extra reference keeps blocks of the marked trees from changing in place */
	cow_snapshot(&c->marked, &c->tree);
	c->generation = generation;
	if (snapshot)
		cow_snapshot(&c->snapshot, &c->tree);
	return 0;
}

static int check(struct diff_test *c)
{
	long n = cow_check_tree(c->fs, c->tree.root);

	if (n >= 0 && c->snapshot.root)
		n = cow_check_tree(c->fs, c->snapshot.root);
	return n < 0 ? n : 0;
}

/* --- the device ---------------------------------------------------------- */

union diff_test_args {
	struct diff_test_setup setup;
	struct diff_test_change change;
	struct diff_test_mark mark;
	struct diff_test_diff diff;
	struct diff_test_corrupt corrupt;
	struct diff_test_fuzz fuzz;
	struct diff_test_walk walk;
	u32 number;
};

static int diff_test_do(struct diff_test *c, unsigned int cmd, union diff_test_args *a)
{
	if (cmd == DIFF_TEST_SETUP)
		return c->fs ? -EBUSY : set_up(c, &a->setup);
	if (!c->fs)
		return -ENXIO;
	switch (cmd) {
	case DIFF_TEST_CHANGE:
		return change(c, &a->change);
	case DIFF_TEST_MARK:
		return mark(c, a->mark.snapshot);
	case DIFF_TEST_CHECK:
		return check(c);
	case DIFF_TEST_BY_HAND:
		return diff_test_by_hand(c, a->number);
	}
	if (!c->generation)
		return -ENODATA;
	switch (cmd) {
	case DIFF_TEST_DIFF:
		return diff_test_diff(c, &a->diff);
	case DIFF_TEST_CORRUPT:
		return diff_test_corrupt(c, &a->corrupt);
	case DIFF_TEST_FUZZ:
		return diff_test_fuzz(c, &a->fuzz);
	case DIFF_TEST_WALK:
		return diff_test_walk(c, &a->walk);
	case DIFF_TEST_MISUSE:
		return diff_test_misuse(c, a->number);
	}
	return -ENOTTY;
}

static int diff_test_run(void *object, unsigned int cmd, void *args)
{
	struct diff_test *c = object;
	int ret = mutex_lock_killable(&c->lock);

	if (ret)
		return ret;
	ret = diff_test_do(c, cmd, args);
	mutex_unlock(&c->lock);
	return ret;
}

static int diff_test_open(void **object)
{
	struct diff_test *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	*object = c;
	return 0;
}

static void diff_test_release(void *object)
{
	tear_down(object);
	kvfree(object);
}

TEST_DEVICE(cow_diff_test, diff_test_open, diff_test_release, diff_test_run, union diff_test_args);

MODULE_DESCRIPTION("Tests of the COW diff on copy-on-write trees");
MODULE_LICENSE("GPL");
