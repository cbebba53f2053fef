// SPDX-License-Identifier: GPL-2.0
/*
 * COW diff: which pairs it reports, what it reads, what it refuses.
 *
 * The trees are those of /dev/cow_diff_test. In each diff the module compares every pair
 * with a brute-force search.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "device_test.h"
#include "modules.h"
#include "slowdown.h"
#include "cow_diff_test.h"

NEEDS_MODULES("cow_tree_test", "cow_diff_test");

#define MAX_PAIRS	256
#define STEP		DIFF_TEST_STEP

#define NEW_TREE	1
#define OLD_TREE	2

static int open_tree(struct diff_test_setup setup)
{
	if (!setup.seed)
		setup.seed = 1;
	return open_device("/dev/cow_diff_test", DIFF_TEST_SETUP, &setup);
}

static int change(int fd, __u32 op, __u64 first, __u64 nr, __u64 step)
{
	struct diff_test_change c = { .op = op, .first = first, .nr = nr, .step = step };

	return run_ioctl(fd, DIFF_TEST_CHANGE, &c);
}

static int mark(int fd, bool snapshot)
{
	struct diff_test_mark m = { .snapshot = snapshot };

	return run_ioctl(fd, DIFF_TEST_MARK, &m);
}

/* error 1: the ioctl itself failed */
static struct diff_test_diff run_diff(int fd, struct diff_test_diff d)
{
	if (ioctl(fd, DIFF_TEST_DIFF, &d))
		d.error = 1;
	return d;
}

#define DIFF(fd, ...)	run_diff(fd, (struct diff_test_diff){ __VA_ARGS__ })

/* Invariants of every diff that succeeds. */
#define EXPECT_GOOD(diff)						\
do {									\
	struct diff_test_diff _d = (diff);				\
	EXPECT_EQ(0, _d.error) TH_LOG("%s", _d.problem);		\
	EXPECT_EQ(0, _d.differs);					\
	EXPECT_EQ(0, _d.open);						\
	EXPECT_EQ(0, _d.read_twice);					\
} while (0)

FIXTURE(cow_diff) {
	int fd;
	struct diff_test_pair pair[MAX_PAIRS];
};

/* 60 keys inserted in order, four items to a block: leaves of two, the last of three or four. */
FIXTURE_SETUP(cow_diff)
{
	self->fd = open_tree((struct diff_test_setup){
		.keys = 60, .in_order = 1, .leaf_items = 4, .node_items = 4,
	});
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, mark(self->fd, false));
}

FIXTURE_TEARDOWN(cow_diff)
{
	EXPECT_EQ(0, ioctl(self->fd, DIFF_TEST_CHECK));
	close(self->fd);
}

#define PAIRS	.pairs_at = (__u64)(uintptr_t)self->pair, .max_pairs = MAX_PAIRS

/* --- what it reports ----------------------------------------------------- */

TEST_F(cow_diff, equal_trees_are_not_read)
{
	struct diff_test_diff d = DIFF(self->fd, .flags = DIFF_TEST_SAME);

	EXPECT_GOOD(d);
	EXPECT_EQ(0, d.pairs);
	EXPECT_EQ(0, d.reads);
	/* and after another commit */
	ASSERT_EQ(0, mark(self->fd, true));
	d = DIFF(self->fd, 0);
	EXPECT_GOOD(d);
	EXPECT_EQ(0, d.reads);
}

TEST_F(cow_diff, one_path_of_pairs_for_one_change)
{
	struct diff_test_diff d;
	unsigned int i;

	ASSERT_EQ(0, change(self->fd, DIFF_TEST_INSERT, 20, 1, 1));
	d = DIFF(self->fd, PAIRS);
	EXPECT_GOOD(d);
	ASSERT_EQ(d.levels[0], d.pairs);
	EXPECT_EQ(d.levels[1], d.pairs);
	EXPECT_EQ(2 * d.pairs, d.reads);
	for (i = 0; i < d.pairs; i++) {
		EXPECT_EQ(d.pairs - 1 - i, self->pair[i].level);
		EXPECT_NE(0, self->pair[i].old);
		EXPECT_NE(0, self->pair[i].new);
		EXPECT_FALSE(self->pair[i].old_again || self->pair[i].new_again);
	}
}

TEST_F(cow_diff, split_reports_the_old_block_once)
{
	unsigned int i, first = 0, again = 0;
	struct diff_test_diff d;
	__u64 old = 0;

	/* insert four keys into a leaf of two */
	ASSERT_EQ(0, change(self->fd, DIFF_TEST_INSERT, 201, 4, 1));
	d = DIFF(self->fd, PAIRS);
	EXPECT_GOOD(d);
	for (i = 0; i < d.pairs; i++) {
		struct diff_test_pair *p = &self->pair[i];

		if (p->level)
			continue;
		first += p->old && !p->old_again;
		again += p->old_again;
		if (old)
			EXPECT_EQ(old, p->old);
		old = p->old;
		EXPECT_NE(0, p->new);
	}
	EXPECT_EQ(1, first);
	EXPECT_GE(again, 1);
}

TEST_F(cow_diff, merged_block_is_reported)
{
	unsigned int i, away = 0;
	struct diff_test_diff d;

	ASSERT_EQ(0, change(self->fd, DIFF_TEST_DELETE, 200, 5, STEP));
	d = DIFF(self->fd, PAIRS);
	EXPECT_GOOD(d);
	EXPECT_GT(d.old_blocks, d.new_blocks);
	for (i = 0; i < d.pairs; i++) {
		struct diff_test_pair *p = &self->pair[i];

		if (!p->new_again)
			continue;
		EXPECT_NE(0, p->old);
		EXPECT_FALSE(p->old_again);
		away++;
	}
	EXPECT_GE(away, d.old_blocks - d.new_blocks);
}

TEST_F(cow_diff, without_an_old_tree_all_is_reported)
{
	struct diff_test_diff d = DIFF(self->fd, .flags = DIFF_TEST_NO_OLD);

	EXPECT_GOOD(d);
	EXPECT_EQ(d.new_blocks, d.pairs);
	EXPECT_EQ(0, d.old_blocks);
	EXPECT_GT(d.pairs, 20);
}

static int by_hand(int fd, __u32 which)
{
	return ioctl(fd, DIFF_TEST_BY_HAND, &which);
}

/* A block still in the other tree, or one that ends before the key, is no counterpart. */
TEST_F(cow_diff, counterparts_are_gone_and_reach_there)
{
	EXPECT_EQ(0, by_hand(self->fd, DIFF_TEST_APPENDED));
	EXPECT_EQ(0, by_hand(self->fd, DIFF_TEST_MOVED));
}

/* The root of a tree that lost a level may be older than the whole old tree. */
TEST_F(cow_diff, a_lower_bound_finds_a_collapsed_tree)
{
	EXPECT_EQ(0, by_hand(self->fd, DIFF_TEST_COLLAPSED));
}

/* An empty old tree has no generation, wherever the generations are. */
TEST_F(cow_diff, an_empty_old_tree_is_not_swapped)
{
	EXPECT_EQ(0, by_hand(self->fd, DIFF_TEST_EMPTY_OLD));
}

/* A block of the generation of the mark itself is old. */
TEST_F(cow_diff, the_bound_is_exclusive)
{
	struct diff_test_diff d;

	ASSERT_EQ(0, change(self->fd, DIFF_TEST_INSERT, 20, 1, 1));
	ASSERT_EQ(0, mark(self->fd, false));
	ASSERT_EQ(0, change(self->fd, DIFF_TEST_INSERT, 20, 1, 1));
	d = DIFF(self->fd, .bound = 0);
	EXPECT_GOOD(d);
	d = DIFF(self->fd, .bound = 1);
	EXPECT_EQ(-EUCLEAN, d.error);
	EXPECT_STREQ("not newer than the bound, and not in the old tree", d.problem);
}

TEST_F(cow_diff, a_lower_bound_finds_the_same)
{
	int bound;

	/* changed in generation 2, marked in generation 3 */
	ASSERT_EQ(0, change(self->fd, DIFF_TEST_INSERT, 400, 1, 1));
	ASSERT_EQ(0, mark(self->fd, false));
	ASSERT_EQ(0, change(self->fd, DIFF_TEST_CHANGE_RANDOM, 600, 20, 1));
	for (bound = 0; bound >= -3; bound--)
		EXPECT_GOOD(DIFF(self->fd, .bound = bound));
}

/* Both trees have changed since the snapshot: no bound, and either order. */
TEST_F(cow_diff, both_trees_may_have_changed)
{
	struct diff_test_change c = {
		.op = DIFF_TEST_CHANGE_RANDOM, .of_snapshot = 1, .first = 600, .step = 1,
	};
	unsigned int i;

	ASSERT_EQ(0, mark(self->fd, true));
	for (i = 0; i < 10; i++) {
		c.nr = i;
		ASSERT_EQ(0, ioctl(self->fd, DIFF_TEST_CHANGE, &c));
		ASSERT_EQ(0, change(self->fd, DIFF_TEST_CHANGE_RANDOM, 600, 10 - i, 1));
		EXPECT_GOOD(DIFF(self->fd, .flags = DIFF_TEST_SNAPSHOT));
		EXPECT_GOOD(DIFF(self->fd, .flags = DIFF_TEST_SNAPSHOT | DIFF_TEST_SWAP));
	}
}

/* Random trees with small and full-size blocks, with and without snapshots. */
TEST_F_TIMEOUT(cow_diff, pairs_are_those_of_brute_force, 120)
{
	static const __u32 sizes[][2] = { { 4, 4 }, { 5, 4 }, { 8, 6 }, { 32, 16 }, { 0, 0 } };
	unsigned int seed, round;
	__u64 pairs = 0;

	for (seed = 1; seed <= repeats(60); seed++) {
		const __u32 *size = sizes[seed % 5];
		__u32 keys = size[0] && size[0] < 8 ? 100 : 1000;
		int fd = open_tree((struct diff_test_setup){ .keys = keys, .in_order = seed & 1,
						       .leaf_items = size[0],
						       .node_items = size[1], .seed = seed });

		ASSERT_GE(fd, 0);
		for (round = 0; round < 4; round++) {
			struct diff_test_diff d;

			ASSERT_EQ(0, mark(fd, seed & 2));
			ASSERT_EQ(0, change(fd, DIFF_TEST_CHANGE_RANDOM, keys * STEP,
					    seed * 7 % 40 << round, 1));
			if (seed % 3 == 0)
				ASSERT_EQ(0, change(fd, DIFF_TEST_DELETE, keys, keys / 4, STEP));
			d = DIFF(fd, 0);
			EXPECT_GOOD(d);
			pairs += d.pairs;
		}
		ASSERT_EQ(0, ioctl(fd, DIFF_TEST_CHECK));
		close(fd);
	}
	EXPECT_GT(pairs, repeats(1000));
}

/* --- what it reads ------------------------------------------------------- */

/* The reads depend on the changes, not on the number of keys. */
TEST_F_TIMEOUT(cow_diff, reads_follow_what_changed, 120)
{
	static const __u32 keys[] = { 1000, 10000, 50000 };
	unsigned int i, changes;

	for (i = 0; i < 3; i++) {
		int fd = open_tree((struct diff_test_setup){ .keys = keys[i] });

		ASSERT_GE(fd, 0);
		for (changes = 1; changes <= 1000; changes *= 10) {
			struct diff_test_diff d;

			ASSERT_EQ(0, mark(fd, false));
			ASSERT_EQ(0, change(fd, DIFF_TEST_INSERT_RANDOM, (keys[i] - 1) * STEP,
					    changes, changes == 10 ? 1 : STEP));
			d = DIFF(fd, 0);
			EXPECT_GOOD(d);
			EXPECT_EQ(d.old_blocks + d.new_blocks, d.reads);
			EXPECT_LE(d.reads, 2 * d.new_blocks + d.levels[0] + d.levels[1]);
			if (changes == 1)
				EXPECT_LE(d.reads, d.levels[0] + d.levels[1]);
		}
		close(fd);
	}
}

/*
 * After changes that keep the shape, a walk by position marks the same blocks; after others, it
 * gives up. A walk of both trees marks the same and needless ones.
 */
TEST_F(cow_diff, marks_what_simpler_walks_mark)
{
	struct diff_test_walk w[DIFF_TEST_NR_WALKERS];
	unsigned int i, grow;

	for (grow = 0; grow < 2; grow++) {
		/* overwrite a key, or insert some */
		ASSERT_EQ(0, change(self->fd, DIFF_TEST_INSERT, 200, grow ? 4 : 1, 1));
		for (i = 0; i < DIFF_TEST_NR_WALKERS; i++) {
			w[i] = (struct diff_test_walk){ .walker = i };
			ASSERT_EQ(0, ioctl(self->fd, DIFF_TEST_WALK, &w[i]));
		}
		EXPECT_EQ(0, w[DIFF_TEST_DIFF_WALK].error);
		EXPECT_EQ(0, w[DIFF_TEST_DIFF_WALK].missed + w[DIFF_TEST_DIFF_WALK].needless);
		EXPECT_EQ(0, w[DIFF_TEST_WHOLE].missed);
		EXPECT_GT(w[DIFF_TEST_WHOLE].needless, 20);
		EXPECT_EQ(grow ? -ENOENT : 0, w[DIFF_TEST_BY_POSITION].error);
		if (grow)
			EXPECT_GT(w[DIFF_TEST_BY_POSITION].missed, 0);
		if (!grow)
			EXPECT_EQ(w[DIFF_TEST_DIFF_WALK].marked, w[DIFF_TEST_BY_POSITION].marked);
	}
}

/* --- ends and errors ----------------------------------------------------- */

/* EXPECT_GOOD(): the pairs up to there are right, and no block stays open. */
TEST_F(cow_diff, diff_may_end_at_any_pair)
{
	unsigned int n;

	ASSERT_EQ(0, change(self->fd, DIFF_TEST_CHANGE_RANDOM, 600, 60, 1));
	for (n = 1; n < 12; n++) {
		struct diff_test_diff d = DIFF(self->fd, .stop_after = n);

		EXPECT_GOOD(d);
		EXPECT_EQ(n, d.pairs);
	}
}

/* In any read; no block stays open, and the diff does not go on. */
TEST_F(cow_diff, a_failed_read_ends_the_diff)
{
	struct diff_test_diff all, d;
	unsigned int n;

	ASSERT_EQ(0, change(self->fd, DIFF_TEST_CHANGE_RANDOM, 600, 60, 1));
	all = DIFF(self->fd, 0);
	EXPECT_GOOD(all);
	for (n = 1; n <= all.reads; n++) {
		d = DIFF(self->fd, .fail_at = n);
		EXPECT_EQ(-EIO, d.error);
		EXPECT_EQ(n, d.reads);
		EXPECT_EQ(0, d.open + d.differs);
	}
}

/* --- what it refuses ----------------------------------------------------- */

static void expect_refused(struct __test_metadata *_metadata, int fd, __u32 damage,
			   const char *problem, unsigned int trees)
{
	int of_new;

	for (of_new = 0; of_new < 2; of_new++) {
		struct diff_test_corrupt c = { .damage = damage, .of_new = of_new };

		if (!(trees & (of_new ? NEW_TREE : OLD_TREE)))
			continue;
		ASSERT_EQ(0, change(fd, DIFF_TEST_INSERT, 201, 1, 1));
		ASSERT_EQ(0, ioctl(fd, DIFF_TEST_CORRUPT, &c));
		EXPECT_STREQ(problem, c.problem);
		EXPECT_EQ(of_new, c.found_in_new);
		EXPECT_EQ(damage == DIFF_TEST_SWAPPED ? -EINVAL : -EUCLEAN, c.error);
		EXPECT_EQ(0, c.open);
	}
}

#define REFUSES(name, damage, problem, trees)					\
TEST_F(cow_diff, name)								\
{										\
	expect_refused(_metadata, self->fd, damage, problem, trees);		\
}

#define BOTH	(OLD_TREE | NEW_TREE)

REFUSES(swapped_trees_are_refused, DIFF_TEST_SWAPPED,
	"newer than the new tree: the trees are swapped", OLD_TREE)
REFUSES(too_deep_a_tree_is_refused, DIFF_TEST_TOO_DEEP, "the tree is too deep", BOTH)
REFUSES(a_wrong_level_is_refused, DIFF_TEST_BAD_LEVEL, "wrong level", BOTH)
REFUSES(a_wrong_generation_is_refused, DIFF_TEST_BAD_GENERATION,
	"the generation differs from its pointer's", BOTH)
REFUSES(a_child_newer_than_its_parent_is_refused, DIFF_TEST_NEWER_CHILD, "a child is newer", BOTH)
REFUSES(keys_out_of_order_are_refused, DIFF_TEST_BAD_KEY, "keys are out of order", BOTH)
REFUSES(a_pointer_to_nothing_is_refused, DIFF_TEST_NO_CHILD, "a pointer to no block", BOTH)
REFUSES(too_many_children_are_refused, DIFF_TEST_MANY_CHILDREN, "too many children", BOTH)
REFUSES(a_loop_is_refused, DIFF_TEST_LOOP, "a child is its own ancestor", BOTH)
REFUSES(what_is_not_in_the_old_tree_is_refused, DIFF_TEST_NOT_SHARED,
	"not newer than the bound, and not in the old tree", NEW_TREE)
REFUSES(a_reused_block_is_refused, DIFF_TEST_REUSED, "in both trees, with two generations",
	NEW_TREE)

/* Its place cannot be checked: it could be in two places of a tree. */
TEST_F(cow_diff, an_empty_leaf_below_a_root_is_refused)
{
	EXPECT_EQ(0, by_hand(self->fd, DIFF_TEST_EMPTY_LEAF));
}

TEST_F_TIMEOUT(cow_diff, corrupted_trees_do_not_crash, 120)
{
	unsigned int seed, refused = 0, rounds = 0;

	for (seed = 1; seed <= repeats(20); seed++) {
		struct diff_test_fuzz f = { .rounds = 1000 };
		__u32 items = seed % 4 ? 4 + seed % 8 : 0;
		int fd = open_tree((struct diff_test_setup){
			.keys = items ? 200 : 2000, .seed = seed, .leaf_items = items,
			.node_items = items,
		});

		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, mark(fd, false));
		ASSERT_EQ(0, change(fd, DIFF_TEST_CHANGE_RANDOM, 2000, 20, 1));
		ASSERT_EQ(0, ioctl(fd, DIFF_TEST_FUZZ, &f));
		EXPECT_EQ(0, f.open);
		refused += f.refused;
		rounds += f.rounds;
		/* the damage has been undone */
		EXPECT_EQ(0, ioctl(fd, DIFF_TEST_CHECK));
		EXPECT_GOOD(DIFF(fd, 0));
		close(fd);
	}
	EXPECT_GT(refused, rounds / 10);
	EXPECT_LT(refused, rounds);
}

TEST_HARNESS_MAIN
