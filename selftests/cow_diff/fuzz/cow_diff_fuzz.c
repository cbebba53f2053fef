// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz module/cow_diff.c, unmodified, in userspace. Compare the pairs of random trees with a
 * brute-force search, with failed reads and levels left out. Then corrupt the trees: a
 * diff must refuse them or end. selftests/mutants/run.sh builds this program with
 * -fsanitize=address,undefined.
 *
 *	cow_diff_fuzz [CORRUPTED [SEED]]
 *
 * CORRUPTED: number of trees to corrupt, default 100000; a few hundred of each pair.
 */
#include <stdarg.h>
#include <stdio.h>

#include "../../../module/cow_diff.c"
#include "cow_balance.h"
#include "cow_diff_corrupt.h"
#include "cow_diff_tree.h"

#define MAX_PAIRS	20000
#define PER_TREE	400

static struct {
	struct cow_fs *fs;
	unsigned long counts[NR_COW_DIFF_EVENTS];
	unsigned long trees, pairs, failed_reads, corrupted, refused, harmless;
	unsigned long problems[NR_COW_DIFF_PROBLEMS];
	unsigned long balances, dirty[2];
	struct cow_random random;
	unsigned int seed;
} t;

static struct cow_diff_pair expected[MAX_PAIRS];
static struct cow_diff diff;

__attribute__((format(printf, 1, 2), noreturn))
static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (seed %u)\n", t.seed);
	exit(1);
}

void *cow_alloc(size_t size)
{
	return calloc(1, size);
}

void cow_free(void *p)
{
	free(p);
}

/* Never reuse blocks, so that all committed roots stay valid. */
static u64 reusable(void *private)
{
	return 0;
}

static void publish(void *private, u64 generation)
{
}

static const struct cow_ops ops = { reusable, publish };

/* --- trees --------------------------------------------------------------- */

static void change_some(struct cow_tree *tree, unsigned int nr, unsigned int keys)
{
	unsigned int i, from = random() % keys, run;

	for (i = 0; i < nr; i++) {
		switch (random() % 8) {
		case 0:		/* delete a run of keys */
			from = random() % keys;
			for (run = random() % 64; run && from < keys; run--)
				cow_delete(tree, from++);
			break;
		case 1:
		case 2:
			cow_delete(tree, random() % keys);
			break;
		case 3:		/* append beyond the last key */
			cow_insert(tree, keys + random() % 64, i);
			break;
		default:
			cow_insert(tree, random() % keys, i);
		}
	}
}

struct two_trees {
	u32 old, new;
	u64 newer_than;
	bool diverged;
};

static struct two_trees make_trees(void)
{
	static const unsigned int sizes[][2] = {
		{ 4, 4 }, { 5, 4 }, { 8, 6 }, { 32, 16 }, { 0, 0 },
	};
	unsigned int size = random() % 5, commits = random() % 4, keys, i;
	struct cow_params params = {
		.max_blocks = 200000, .leaf_items = sizes[size][0], .node_items = sizes[size][1],
	};
	struct cow_tree tree, other;
	struct two_trees two = { };
	bool snapshots = random() % 2;

	keys = 1 + random() % (size < 2 ? 150 : size < 3 ? 600 : 3000);
	if (cow_fs_create(&t.fs, &params, &ops, NULL) || cow_tree_create(&tree, t.fs))
		fail("create");
	for (i = 0; i < keys; i++)
		if (random() % 4)
			cow_insert(&tree, random() % 2 ? i : random() % keys, i);
	cow_commit(t.fs, 0);
	two.old = tree.root;
	two.newer_than = t.fs->generation - 1;
	if (snapshots)
		cow_snapshot(&other, &tree);
	for (i = 0; i <= commits; i++) {
		/* sometimes delete all keys; then many changes, few, or none */
		if (!(random() % 20))
			for (unsigned int k = 0; k < keys + 64; k++)
				cow_delete(&tree, k);
		change_some(&tree, random() % 3 ? random() % 5 : random() % (keys + 10), keys);
		/* the snapshot changes, too */
		if (snapshots && random() % 2)
			change_some(&other, random() % 5, keys);
		if (random() % 2)
			cow_commit(t.fs, random() % 3);
	}
	two.new = tree.root;
	/* any lower bound works; trees that have diverged need bound 0 */
	if (!(random() % 4))
		two.newer_than = random() % (two.newer_than + 1);
	if (snapshots && random() % 2) {
		two.old = other.root;
		two.newer_than = 0;
		two.diverged = true;
	}
	return two;
}

/* --- against brute force ------------------------------------------------- */

static struct cow_diff_params params_of(struct cow_diff_reader *r, const struct two_trees *two,
					unsigned int lowest, bool unread)
{
	struct cow_diff_params p = cow_diff_params_of(r, two->old, two->new, two->newer_than);

	p.lowest_level = lowest;
	p.flags = unread ? COW_DIFF_UNREAD : 0;
	return p;
}

static void must_begin(const struct cow_diff_params *p)
{
	int ret = cow_diff_begin(&diff, p);
	char text[200];

	if (!ret)
		return;
	cow_diff_describe(&diff, text, sizeof(text));
	fail("begin: %d, %s", ret, text);
}

static void compare(const struct two_trees *two, unsigned int lowest, bool unread)
{
	struct cow_diff_reader r = { .fs = t.fs };
	struct cow_diff_params p = params_of(&r, two, lowest, unread);
	unsigned long all;
	long nr = cow_diff_expect(t.fs, &p, expected, MAX_PAIRS, &all), i = 0;
	bool fails = !(random() % 3);
	size_t bits = (t.fs->nr_blocks / BITS_PER_LONG + 1) * sizeof(long);
	struct cow_diff_pair pair;
	unsigned long reads;
	char text[200];
	int ret;

	if (nr < 0 || nr > MAX_PAIRS)
		fail("%ld pairs", nr);
	r.was_read = calloc(1, bits);
	must_begin(&p);
	for (;;) {
		if (fails && !r.fail_in)
			r.fail_in = 1 + random() % 4;
		ret = cow_diff_next(&diff, &pair);
		if (ret == -EIO) {
			t.failed_reads++;
			continue;
		}
		if (ret <= 0)
			break;
		if (i >= nr || !cow_diff_same_pair(&pair, &expected[i]))
			fail("pair %ld of %ld differs", i, nr);
		i++;
	}
	cow_diff_describe(&diff, text, sizeof(text));
	if (ret || i != nr)
		fail("%ld pairs of %ld, %d, %s", i, nr, ret, text);
	reads = cow_diff_reads(&diff);
	if (!unread && !fails && reads != cow_diff_changed(expected, nr, NULL))
		fail("%lu reads, %lu changed", reads, cow_diff_changed(expected, nr, NULL));
	cow_diff_end(&diff);
	if (r.open || (!fails && r.read_twice))
		fail("%u blocks not released, %u read twice", r.open, r.read_twice);
	free(r.was_read);
	t.pairs += nr;
}

/* --- corrupted trees ----------------------------------------------------- */

static u32 some_block(const struct two_trees *two, long nr)
{
	const struct cow_diff_pair *p;

	switch (nr ? random() % 8 : 0) {
	case 0: return 1 + random() % t.fs->nr_blocks;
	case 1: return two->old;
	case 2: return two->new;
	default:
		p = &expected[random() % nr];
		return p->old.block && (!p->new.block || random() % 2) ? p->old.block :
			p->new.block;
	}
}

static void walk_corrupted(const struct two_trees *two, long nr)
{
	struct cow_diff_reader r = { .fs = t.fs };
	struct cow_diff_params p = params_of(&r, two, random() % 4 ? 0 : random() % 3,
					     !(random() % 4));
	struct cow_diff_pair pair;
	unsigned long n = 0;
	char text[200];
	int ret;

	/* corrupt the caller's parameters, too */
	if (!(random() % 16))
		p.old.level = cow_bad_value(&t.random, p.old.level);
	if (!(random() % 16))
		p.new.ptr.generation = cow_bad_value(&t.random, p.new.ptr.generation);
	if (!(random() % 16))
		p.newer_than = cow_bad_value(&t.random, p.newer_than);
	ret = cow_diff_begin(&diff, &p);
	if (!ret) {
		while ((ret = cow_diff_next(&diff, &pair)) > 0)
			if (++n > MAX_PAIRS)
				fail("endless walk");
		cow_diff_end(&diff);
	}
	if (r.open)
		fail("%u blocks not released", r.open);
	t.problems[diff.trouble.problem]++;
	cow_diff_describe(&diff, text, sizeof(text));
	if (ret && ret != -ENXIO && !diff.trouble.problem)
		fail("error %d without a problem", ret);
	t.refused += !!ret;
	t.harmless += !ret;
}

static void corrupt_and_walk(const struct two_trees *two, unsigned int times)
{
	struct cow_diff_reader r = { .fs = t.fs };
	struct cow_diff_params p = params_of(&r, two, 0, false);
	unsigned long all;
	long nr = cow_diff_expect(t.fs, &p, expected, MAX_PAIRS, &all);
	unsigned int i, k, n;

	for (i = 0; i < times; i++) {
		struct cow_block saved[3];
		u32 block[3];

		n = 1 + random() % 3;
		for (k = 0; k < n; k++) {
			block[k] = some_block(two, nr);
			saved[k] = *data_of(t.fs, block[k]);
			cow_corrupt(&t.random, t.fs, data_of(t.fs, block[k]));
		}
		walk_corrupted(two, nr);
		while (k--)
			*data_of(t.fs, block[k]) = saved[k];
	}
	t.corrupted += times;
}

/* --- bad arguments ------------------------------------------------------- */

/* If the trees differ, swapped arguments and a wrong bound are errors. */
static void bad_arguments(const struct two_trees *two)
{
	struct two_trees bad = { two->new, two->old, two->newer_than, false };
	struct cow_diff_reader r = { .fs = t.fs };
	struct cow_diff_params p = params_of(&r, &bad, 0, false);
	struct cow_diff_pair pair;
	int ret;

	if (two->diverged || !two->newer_than ||
	    data_of(t.fs, two->new)->generation <= data_of(t.fs, two->old)->generation)
		return;
	ret = cow_diff_begin(&diff, &p);
	cow_diff_end(&diff);
	/* the root of a tree that lost levels may be the older one */
	if (data_of(t.fs, two->new)->level <= data_of(t.fs, two->old)->level &&
	    (ret != -EINVAL || diff.trouble.problem != COW_DIFF_SWAPPED))
		fail("swapped trees were accepted");
	/* with this bound no block is new */
	bad = *two;
	bad.newer_than = data_of(t.fs, two->new)->generation;
	p = params_of(&r, &bad, 0, false);
	ret = cow_diff_begin(&diff, &p);
	while (!ret && (ret = cow_diff_next(&diff, &pair)) > 0)
		ret = 0;
	if (ret != -EUCLEAN || diff.trouble.problem != COW_DIFF_NOT_SHARED)
		fail("bound too high: %d, problem %d", ret, diff.trouble.problem);
	cow_diff_end(&diff);
}

/* --- balance ------------------------------------------------------------- */

#define TREES	6

/* The quota must equal a recount, with whole subtrees marked and with changed blocks marked. */
static void balance(bool whole)
{
	struct cow_params params = { .max_blocks = 200000, .leaf_items = 8, .node_items = 6 };
	struct cow_tree trees[TREES], *tree[TREES];
	struct cow_quota quota[TREES], recount[TREES];
	unsigned int nr = 1 + random() % TREES, i, round;
	struct cow_balance b = { .tree = tree, .nr_trees = nr, .whole = whole, .quota = quota };

	b.delayed = random() % 2;
	b.percent = random() % 101;

	if (cow_fs_create(&t.fs, &params, &ops, NULL) || cow_tree_create(&trees[0], t.fs))
		fail("create");
	for (i = 0; i < nr; i++) {
		tree[i] = &trees[i];
		if (i)
			cow_snapshot(tree[i], tree[random() % i]);
		change_some(tree[i], i ? random() % 10 : 600, 400);
	}
	cow_commit(t.fs, 0);
	b.fs = t.fs;
	cow_count_quota(t.fs, tree, nr, quota);
	for (round = 0; round < 3; round++) {
		b.first = 1 + random() % t.fs->nr_blocks;
		b.last = b.first + random() % t.fs->nr_blocks;
		if (cow_balance(&b))
			fail("balance");
		cow_commit(t.fs, 0);
		cow_count_quota(t.fs, tree, nr, recount);
		if (memcmp(quota, recount, nr * sizeof(quota[0])))
			fail("quota, %s%s", whole ? "whole subtrees" : "by diff",
			     b.delayed ? ", delayed" : "");
		for (i = 0; i < nr; i++)
			if (cow_check_tree(t.fs, tree[i]->root) < 0)
				fail("tree %u", i);
		if (cow_check_blocks(t.fs, tree, nr))
			fail("blocks do not add up");
	}
	cow_fs_destroy(t.fs);
	t.balances++;
	t.dirty[whole] += b.dirty;
}

static void run(unsigned int seed, unsigned long corrupted)
{
	struct two_trees two;
	unsigned int i;

	t.seed = seed;
	srandom(seed);
	t.random.state = seed + 1;
	two = make_trees();
	for (i = 0; i < 6; i++)
		compare(&two, i < 3 ? 0 : random() % 3, !(random() % 4));
	bad_arguments(&two);
	corrupt_and_walk(&two, corrupted);
	/* the damage has been undone */
	compare(&two, 0, false);
	cow_fs_destroy(t.fs);
	t.trees++;
	if (!(seed % 8))
		balance(seed % 16);
}

int main(int argc, char **argv)
{
	unsigned long want = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	unsigned int seed = argc > 2 ? atoi(argv[2]) : 1, i;

	while (t.corrupted < want)
		run(seed++, want - t.corrupted < PER_TREE ? want - t.corrupted : PER_TREE);
	printf("%lu pairs of trees: %lu pairs of blocks as by brute force, ", t.trees, t.pairs);
	printf("%lu failed reads\n", t.failed_reads);
	printf("%lu corrupted trees: %lu refused, %lu without a visible problem\n", t.corrupted,
	       t.refused, t.harmless);
	printf("%lu balances: %lu dirty blocks by diff, %lu by whole subtrees\n", t.balances,
	       t.dirty[0], t.dirty[1]);
	for (i = 1; i < NR_COW_DIFF_PROBLEMS; i++) {
		printf("  problem %u: %lu times\n", i, t.problems[i]);
		if (want >= 100000 && !t.problems[i])
			fail("problem %u was never found", i);
	}
	return 0;
}
