// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: handmade trees with shapes that the tree of the tests never takes. One is
 * appended to without a change of its last node; the keys of the pointers are the first keys
 * of the blocks.
 */
#include <linux/module.h>

#include "cow_diff_test_internal.h"

#define CHILDREN	4
/* keys in the form of btrfs */
#define K(n)		{ { 256, 1, n } }

struct hand_block {
	u64			block, generation;
	struct cow_diff_key	key;
	unsigned int		level;
	struct cow_diff_ptr	child[CHILDREN];	/* ends at block 0 */
};

static int read_hand(void *private, const struct cow_diff_ptr *ptr, struct cow_diff_node *node)
{
	const struct hand_block *b;

	for (b = private; b->block; b++) {
		if (b->block != ptr->block)
			continue;
		node->level = b->level;
		node->generation = b->generation;
		node->key = b->key;
		node->data = (void *)b;
		while (node->nr < CHILDREN && b->child[node->nr].block)
			node->nr++;
		if (!b->level)
			node->nr = 1;
		return 0;
	}
	return -ENXIO;
}

static void child_of_hand(void *private, const struct cow_diff_node *node, unsigned int i,
			  struct cow_diff_ptr *child)
{
	const struct hand_block *b = node->data;

	*child = b->child[i];
}

static void release_hand(void *private, struct cow_diff_node *node)
{
}

static const struct cow_diff_ops hand_ops = {
	.max_children = CHILDREN,
	.read = read_hand,
	.child = child_of_hand,
	.release = release_hand,
};

/*
 * Generation 1: root 1, nodes 11 and 12, leaves 111 and 121. In generation 2 leaf 211 replaced
 * leaf 111. Node 23 with leaf 231 was appended; node 12 did not change.
 */
static const struct hand_block appended[] = {
	{ 1, 1, K(10), 2, { { 11, 1, K(10) }, { 12, 1, K(100) } } },
	{ 11, 1, K(10), 1, { { 111, 1, K(10) } } },
	{ 12, 1, K(100), 1, { { 121, 1, K(100) } } },
	{ 111, 1, K(10), 0 },
	{ 121, 1, K(100), 0 },
	{ 2, 2, K(10), 2, { { 21, 2, K(10) }, { 12, 1, K(100) }, { 23, 2, K(200) } } },
	{ 21, 2, K(10), 1, { { 211, 2, K(10) } } },
	{ 23, 2, K(200), 1, { { 231, 2, K(200) } } },
	{ 211, 2, K(10), 0 },
	{ 231, 2, K(200), 0 },
	{ }
};

static const struct cow_diff_pair pairs_of_appended[] = {
	{ .old = { .block = 1 }, .new = { .block = 2 }, .level = 2 },
	{ .old = { .block = 11 }, .new = { .block = 21 }, .level = 1 },
	{ .old = { .block = 111 }, .new = { .block = 211 } },
	/* no counterparts: node 12 and leaf 121 are shared, and the keys before end there */
	{ .new = { .block = 23 }, .level = 1 },
	{ .new = { .block = 231 } },
};

/*
 * Generation 1: root 1 with leaves 11, 12 and 13. In generation 2 leaf 21 was inserted before
 * them and leaf 12 deleted; leaves 11 and 13 did not change.
 */
static const struct hand_block moved[] = {
	{ 1, 1, K(10), 1, { { 11, 1, K(10) }, { 12, 1, K(20) }, { 13, 1, K(30) } } },
	{ 11, 1, K(10), 0 },
	{ 12, 1, K(20), 0 },
	{ 13, 1, K(30), 0 },
	{ 2, 2, K(5), 1, { { 21, 2, K(5) }, { 11, 1, K(10) }, { 13, 1, K(30) } } },
	{ 21, 2, K(5), 0 },
	{ }
};

static const struct cow_diff_pair pairs_of_moved[] = {
	{ .new = { .block = 2 }, .level = 1 },
	{ .new = { .block = 21 } },
	{ .old = { .block = 1 }, .new = { .block = 2 }, .level = 1, .new_again = true },
	/* leaf 11, which now covers the keys of leaf 12, is shared */
	{ .old = { .block = 12 } },
};

static bool is_as_expected(const struct cow_diff_pair *p, const struct cow_diff_pair *e)
{
	return p->old.block == e->old.block && p->new.block == e->new.block &&
	       p->level == e->level && p->old_again == e->old_again &&
	       p->new_again == e->new_again;
}

static int walk(struct cow_diff *diff, const struct hand_block *blocks,
		const struct hand_block *new, const struct cow_diff_pair *expected,
		unsigned int nr)
{
	const struct cow_diff_params p = {
		.ops = &hand_ops, .private = (void *)blocks, .newer_than = 1,
		.old = { { blocks->block, blocks->generation, blocks->key }, blocks->level },
		.new = { { new->block, new->generation, new->key }, new->level },
	};
	struct cow_diff_pair pair;
	unsigned int i = 0;
	int ret = cow_diff_begin(diff, &p);

	if (ret)
		return ret;
	while ((ret = cow_diff_next(diff, &pair)) > 0) {
		if (i == nr || !is_as_expected(&pair, &expected[i++])) {
			pr_err("cow_diff_test: pair of %llu and %llu was not expected\n",
			       pair.old.block, pair.new.block);
			ret = -EPROTO;
			break;
		}
	}
	cow_diff_end(diff);
	return ret ? ret : i == nr ? 0 : -EPROTO;
}

int diff_test_by_hand(struct diff_test *c, u32 which)
{
	switch (which) {
	case DIFF_TEST_APPENDED:
		return walk(&c->diff, appended, &appended[5], pairs_of_appended,
			    ARRAY_SIZE(pairs_of_appended));
	case DIFF_TEST_MOVED:
		return walk(&c->diff, moved, &moved[4], pairs_of_moved,
			    ARRAY_SIZE(pairs_of_moved));
	}
	return -EINVAL;
}
