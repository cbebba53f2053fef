// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: its trees, changes, and balance with quota.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "cow_diff_test_internal.h"
#include "cow_balance.h"
#include "fscommit_test.h"

#define KEY_STEP	10
#define MAX_BLOCKS	(1U << 20)

/* Never reuse blocks, so that the old tree stays valid. */
static u64 reusable(void *private)
{
	return 0;
}

static void publish(void *private, u64 generation)
{
}

static const struct cow_ops ops = { reusable, publish };

static int enough(unsigned int i)
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

	key = cow_alloc((s->keys + 1ULL) * sizeof(*key));
	if (!key)
		return -ENOMEM;
	for (i = 0; i < s->keys; i++) {
		u32 other = s->in_order ? i : cow_random_below(&c->random, i + 1);

		key[i] = key[other];
		key[other] = i;
	}
	for (i = 0; !ret && i < s->keys; i++) {
		ret = cow_insert(&c->tree, (u64)key[i] * KEY_STEP, i);
		if (!ret)
			ret = enough(i);
	}
	cow_free(key);
	return ret;
}

static bool is_size(u32 items)
{
	return !items || (items >= 4 && items <= DIFF_TEST_MAX_ITEMS);
}

int diff_test_set_up(struct diff_test *c, const struct diff_test_setup *s)
{
	const struct cow_params params = {
		.max_blocks = MAX_BLOCKS, .lock_type = LOCK_TEST_RWSEM,
		.leaf_items = s->leaf_items, .node_items = s->node_items,
	};
	int ret;

	if (s->keys > DIFF_TEST_MAX_KEYS || !is_size(s->leaf_items) || !is_size(s->node_items) ||
	    !s->seed)
		return -EINVAL;
	c->random.state = s->seed;
	ret = cow_fs_create(&c->fs, &params, &ops, c);
	if (ret)
		return ret;
	ret = cow_tree_create(&c->tree, c->fs);
	if (!ret)
		ret = fill(c, s);
	if (!ret)
		ret = cow_commit(c->fs, 0);
	if (ret)
		diff_test_tear_down(c);
	return ret;
}

void diff_test_tear_down(struct diff_test *c)
{
	if (c->fs)
		cow_fs_destroy(c->fs);
	c->fs = NULL;
}

static int change_one(struct diff_test *c, struct cow_tree *tree,
		      const struct diff_test_change *ch, u64 i)
{
	u64 any = (cow_random(&c->random) >> 32) * (ch->first + 1) >> 32;

	switch (ch->op) {
	case DIFF_TEST_INSERT:
		return cow_insert(tree, ch->first + i * ch->step, i);
	case DIFF_TEST_DELETE:
		return cow_delete(tree, ch->first + i * ch->step);
	case DIFF_TEST_INSERT_RANDOM:
		/* overwrites an existing key if @step is KEY_STEP */
		return cow_insert(tree, any - (u32)any % (u32)ch->step, i);
	case DIFF_TEST_CHANGE_RANDOM:
		return cow_random_below(&c->random, 2) ? cow_insert(tree, any, i) :
			cow_delete(tree, any - (u32)any % KEY_STEP);
	}
	return -EINVAL;
}

int diff_test_change(struct diff_test *c, const struct diff_test_change *ch)
{
	struct cow_tree *tree = &c->tree;
	int ret = 0;
	u64 i;

	if (ch->tree > c->nr_snapshots || ch->first > ~0U || !ch->step || ch->step > ~0U)
		return -EINVAL;
	if (ch->tree)
		tree = &c->snapshot[ch->tree - 1];
	for (i = 0; !ret && i < ch->nr; i++) {
		ret = change_one(c, tree, ch, i);
		if (ret == -ENOENT)
			ret = 0;
		if (!ret)
			ret = enough(i);
	}
	return ret;
}

int diff_test_mark(struct diff_test *c, struct diff_test_mark *m)
{
	int ret;

	if (m->snapshot && c->nr_snapshots == DIFF_TEST_MAX_SNAPSHOTS)
		return -ENOSPC;
	m->generation = cow_running(c->fs);
	ret = cow_commit(c->fs, 0);
	if (ret)
		return ret;
	/* the extra reference keeps blocks of the marked trees from changing in place */
	cow_snapshot(&c->marked, &c->tree);
	c->generation = m->generation;
	if (m->snapshot)
		cow_snapshot(&c->snapshot[c->nr_snapshots++], &c->tree);
	return 0;
}

int diff_test_check(struct diff_test *c)
{
	unsigned int i;
	long n = cow_check_tree(c->fs, c->tree.root);

	for (i = 0; n >= 0 && i < c->nr_snapshots; i++)
		n = cow_check_tree(c->fs, c->snapshot[i].root);
	return n < 0 ? n : 0;
}

/* --- balance ------------------------------------------------------------- */

static int balance_groups(struct diff_test *c, struct cow_balance *b, unsigned int groups)
{
	u32 blocks = c->fs->nr_blocks, i;
	int ret = 0;

	for (i = 0; !ret && i < groups; i++) {
		b->first = 1 + div_u64((u64)blocks * i, groups);
		b->last = div_u64((u64)blocks * (i + 1), groups);
		ret = cow_balance(b);
		if (!ret)
			ret = cow_commit(c->fs, 0);
		if (!ret)
			ret = enough(0);
	}
	return ret;
}

int diff_test_balance(struct diff_test *c, struct diff_test_balance *args)
{
	unsigned int nr = c->nr_snapshots + 1, i;
	struct cow_tree **tree = cow_alloc(nr * sizeof(*tree));
	struct cow_quota *quota = cow_alloc(2 * nr * sizeof(*quota));
	struct cow_balance b = {
		.fs = c->fs, .tree = tree, .nr_trees = nr, .whole = args->whole, .quota = quota,
		.delayed = args->delayed, .percent = args->percent,
	};
	u64 start;
	int ret = -ENOMEM;

	if (!tree || !quota)
		goto out;
	ret = -EINVAL;
	if (!args->groups || args->groups > 64 || args->percent > 100)
		goto out;
	for (i = 0; i < nr; i++)
		tree[i] = i ? &c->snapshot[i - 1] : &c->tree;
	ret = cow_commit(c->fs, 0);
	if (!ret)
		ret = cow_count_quota(c->fs, tree, nr, quota);
	if (ret)
		goto out;
	start = ktime_get_ns();
	ret = balance_groups(c, &b, args->groups);
	args->ns = ktime_get_ns() - start;
	if (!ret)
		ret = cow_count_quota(c->fs, tree, nr, quota + nr);
	args->quota_wrong = 0;
	for (i = 0; i < nr; i++)
		args->quota_wrong += !!memcmp(&quota[i], &quota[nr + i], sizeof(*quota));
	args->trees = nr;
	args->relocated = b.relocated;
	args->swapped = b.swapped;
	args->dirty = b.dirty;
	args->visited = b.visited;
out:
	cow_free(quota);
	cow_free(tree);
	return ret;
}
