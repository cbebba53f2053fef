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
	bool			empty;			/* a leaf without items */
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
			node->nr = !b->empty;
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

/*
 * Generation 9: root 1 with leaves 11, of generation 2, and 12. In generation 10 leaf 12 was
 * deleted, and leaf 11 became the root.
 */
static const struct hand_block collapsed[] = {
	{ 1, 9, K(10), 1, { { 11, 2, K(10) }, { 12, 9, K(20) } } },
	{ 11, 2, K(10), 0 },
	{ 12, 9, K(20), 0 },
	{ }
};

static const struct cow_diff_pair pairs_of_collapsed[] = {
	{ .old = { .block = 1 }, .level = 1 },
	{ .old = { .block = 12 } },
};

/* The first leaf of a tree whose generations have come this far. */
#define FAR	(1ULL << 63)

static const struct hand_block first_leaf[] = {
	{ 1, FAR + 6, K(10), 0 },
	{ }
};

static const struct cow_diff_pair pairs_of_first_leaf[] = {
	{ .new = { .block = 1 } },
};

/* Corrupt: the new root 2 has the empty leaf 21 twice. */
static const struct hand_block empty_leaf[] = {
	{ 1, 1, K(10), 1, { { 11, 1, K(10) }, { 12, 1, K(20) } } },
	{ 11, 1, K(10), 0 },
	{ 12, 1, K(20), 0 },
	{ 2, 2, K(10), 1, { { 21, 2, K(10) }, { 21, 2, K(20) } } },
	{ 21, 2, K(10), 0, .empty = true },
	{ }
};

static bool is_as_expected(const struct cow_diff_pair *p, const struct cow_diff_pair *e)
{
	return p->old.block == e->old.block && p->new.block == e->new.block &&
	       p->level == e->level && p->old_again == e->old_again &&
	       p->new_again == e->new_again;
}

#define ROOT(b)	{ { (b)->block, (b)->generation, (b)->key }, (b)->level }

/* @blocks: begins with the root of the old tree */
static struct cow_diff_params params_of(const struct hand_block *blocks,
					const struct hand_block *new, u64 newer_than)
{
	return (struct cow_diff_params) {
		.ops = &hand_ops, .private = (void *)blocks, .newer_than = newer_than,
		.old = ROOT(blocks), .new = ROOT(new),
	};
}

static int walk(struct cow_diff *diff, const struct cow_diff_params *p,
		const struct cow_diff_pair *expected, unsigned int nr)
{
	struct cow_diff_pair pair;
	unsigned int i = 0;
	int ret = cow_diff_begin(diff, p);

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
	struct cow_diff_params p;
	int ret = 0;
	u64 bound;

	switch (which) {
	case DIFF_TEST_APPENDED:
		p = params_of(appended, &appended[5], 1);
		return walk(&c->diff, &p, pairs_of_appended, ARRAY_SIZE(pairs_of_appended));
	case DIFF_TEST_MOVED:
		p = params_of(moved, &moved[4], 1);
		return walk(&c->diff, &p, pairs_of_moved, ARRAY_SIZE(pairs_of_moved));
	case DIFF_TEST_COLLAPSED:
		for (bound = 9; !ret && bound; bound--) {
			p = params_of(collapsed, &collapsed[1], bound);
			ret = walk(&c->diff, &p, pairs_of_collapsed,
				   ARRAY_SIZE(pairs_of_collapsed));
		}
		return ret;
	case DIFF_TEST_EMPTY_OLD:
		p = params_of(first_leaf, first_leaf, FAR + 5);
		p.old = (struct cow_diff_root){ };
		return walk(&c->diff, &p, pairs_of_first_leaf, ARRAY_SIZE(pairs_of_first_leaf));
	case DIFF_TEST_EMPTY_LEAF:
		p = params_of(empty_leaf, &empty_leaf[3], 1);
		/* the pair of the roots, and no other */
		ret = walk(&c->diff, &p, (struct cow_diff_pair[]) {
			{ .old = { .block = 1 }, .new = { .block = 2 }, .level = 1 },
		}, 1);
		return ret == -EUCLEAN && c->diff.problem && !strcmp(c->diff.problem, "empty") ?
		       0 : -EPROTO;
	}
	return -EINVAL;
}
