// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the copy-on-write tree of the test modules with sorted arrays: random changes, commits,
 * snapshots, pinned committed roots, and allocation failures. selftests/mutants builds it with
 * -fsanitize=address,undefined.
 *
 *	cow_tree_fuzz [SEED [STEPS [LEAF_ITEMS NODE_ITEMS]]]
 *
 * Without arguments: seeds 1 to 40, with blocks of several small sizes and of full size.
 */
#include <stdarg.h>
#include <stdio.h>

#include "cow_tree.h"

#define KEYS		3000
#define TREES		4
#define PINS		5

struct model {
	bool has[KEYS];
	u64 value[KEYS];
	unsigned int nr;
};

static struct {
	struct cow_fs *fs;
	struct cow_tree tree[TREES];
	bool used[TREES];
	struct model model[TREES], later[TREES];
	/* pinned roots and their expected content */
	struct {
		u64 generation;		/* 0: none */
		u32 root;
		struct model model;
	} pin[PINS];
	u64 committed;
	u32 committed_root[TREES];
	struct model committed_model[TREES];
	unsigned int fail_in;		/* allocations until one fails; 0: never */
	unsigned long failed, ops, checked;
} t;

__attribute__((format(printf, 1, 2), noreturn))
static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (operation %lu)\n", t.ops);
	exit(1);
}

void *cow_alloc(size_t size)
{
	if (t.fail_in && !--t.fail_in) {
		t.failed++;
		return NULL;
	}
	return calloc(1, size);
}

void cow_free(void *p)
{
	free(p);
}

static u64 reusable(void *private)
{
	u64 oldest = t.committed;
	int i;

	for (i = 0; i < PINS; i++)
		if (t.pin[i].generation)
			oldest = min(oldest, t.pin[i].generation);
	return oldest;
}

static void publish(void *private, u64 generation)
{
	int i;

	t.committed = generation;
	for (i = 0; i < TREES; i++) {
		t.committed_root[i] = t.used[i] ? t.tree[i].root : COW_NO_BLOCK;
		t.committed_model[i] = t.model[i];
	}
}

static const struct cow_ops ops = { reusable, publish };

static int compare(const struct model *m, const struct cow_range *range)
{
	unsigned int i;

	for (i = 0; i < range->nr; i++) {
		u64 key = range->first + i;
		bool has = test_bit(i, range->found);

		if (has != m->has[key] || (has && range->value[i] != m->value[key]))
			fail("key %llu: %d %llx, not %d %llx", (unsigned long long)key, has,
			     (unsigned long long)range->value[i], m->has[key],
			     (unsigned long long)m->value[key]);
	}
	t.checked += range->nr;
	return 0;
}

/* Search the live @tree, or the committed @root if it is not 0. */
static void search(int tree, u32 root, const struct model *m)
{
	u64 value[64];
	unsigned long found[1] = { 0 };
	struct cow_range range = {
		.first = random() % (KEYS - 64), .nr = 1 + random() % 64, .value = value,
		.found = found,
	};
	int ret = root ? cow_search_root(t.fs, root, &range) :
			 cow_search_live(&t.tree[tree], &range);

	if (ret && ret != -ENOENT)
		fail("search of %s: %d", root ? "a committed root" : "the live tree", ret);
	compare(m, &range);
}

static void set(struct model *m, u64 key, u64 value)
{
	m->nr += !m->has[key];
	m->has[key] = true;
	m->value[key] = value;
}

static void unset(struct model *m, u64 key)
{
	m->nr -= m->has[key];
	m->has[key] = false;
}

static void commit(void)
{
	unsigned int fails = t.fail_in;
	int i, k;

	/* no failures here: a failed commit leaves deletions to the next one */
	t.fail_in = 0;
	for (i = 0; i < TREES; i++)
		for (k = 0; k < KEYS; k++)
			if (t.later[i].has[k]) {
				unset(&t.model[i], k);
				unset(&t.later[i], k);
			}
	if (cow_commit(t.fs, random() % 2 ? 0 : 1 + random() % 20))
		fail("commit");
	t.fail_in = fails;
}

static void snapshot(void)
{
	int from = random() % TREES, to = random() % TREES;

	if (!t.used[from] || t.used[to] || t.later[from].nr)
		return;
	cow_snapshot(&t.tree[to], &t.tree[from]);
	t.used[to] = true;
	t.model[to] = t.model[from];
}

static void drop(void)
{
	int i = 1 + random() % (TREES - 1);

	if (!t.used[i] || t.later[i].nr)
		return;
	cow_tree_drop(&t.tree[i]);
	t.used[i] = false;
	memset(&t.model[i], 0, sizeof(t.model[i]));
}

static void pin_or_unpin(void)
{
	int p = random() % PINS, tree = random() % TREES;

	if (t.pin[p].generation) {
		t.pin[p].generation = 0;
	} else if (t.committed && t.committed_root[tree]) {
		t.pin[p].generation = t.committed;
		t.pin[p].root = t.committed_root[tree];
		t.pin[p].model = t.committed_model[tree];
	}
}

static void check_all(void)
{
	struct cow_tree *trees[TREES];
	unsigned int i, nr = 0, fails = t.fail_in;

	t.fail_in = 0;
	for (i = 0; i < TREES; i++) {
		long n;

		if (!t.used[i])
			continue;
		trees[nr++] = &t.tree[i];
		n = cow_check_tree(t.fs, t.tree[i].root);
		if (n != (long)t.model[i].nr)
			fail("tree %u has %ld entries, not %u", i, n, t.model[i].nr);
	}
	for (i = 0; i < PINS; i++)
		if (t.pin[i].generation &&
		    cow_check_tree(t.fs, t.pin[i].root) != (long)t.pin[i].model.nr)
			fail("pinned root of generation %llu",
			     (unsigned long long)t.pin[i].generation);
	if (cow_check_blocks(t.fs, trees, nr))
		fail("blocks do not add up");
	t.fail_in = fails;
}

static void step(unsigned int bias)
{
	int i = random() % TREES;
	u64 key = random() % KEYS, value = random();
	unsigned int what = random() % 1000;
	int ret;

	t.ops++;
	if (!t.fail_in && !(random() % 50))
		t.fail_in = 1 + random() % 30;
	if (what < 3)
		return snapshot();
	if (what < 6)
		return drop();
	if (what < 14)
		return commit();
	if (what < 40)
		return pin_or_unpin();
	if (what < 60) {
		i = random() % PINS;
		if (t.pin[i].generation)
			search(0, t.pin[i].root, &t.pin[i].model);
		return;
	}
	if (!t.used[i])
		return;
	if (what < 100)
		return search(i, 0, &t.model[i]);
	if (what < 100 + bias) {
		ret = cow_insert(&t.tree[i], key, value);
		if (!ret) {
			set(&t.model[i], key, value);
			unset(&t.later[i], key);
			/* the deferred deletion still happens */
			return;
		}
	} else if (what < 960) {
		ret = cow_delete(&t.tree[i], key);
		if (!ret != t.model[i].has[key] && ret != -ENOMEM)
			fail("delete %llu: %d", (unsigned long long)key, ret);
		if (!ret)
			unset(&t.model[i], key);
		if (ret == -ENOENT)
			ret = 0;
	} else {
		/* only existing keys, and commit at once: no insert comes in between */
		if (!t.model[i].has[key])
			return;
		ret = cow_delete_later(&t.tree[i], key);
		if (!ret)
			set(&t.later[i], key, 0);
		if (!ret)
			return commit();
	}
	if (ret && ret != -ENOMEM)
		fail("change: %d", ret);
}

static void run(unsigned int seed, unsigned long steps, unsigned int leaf, unsigned int node)
{
	const struct cow_params params = {
		.max_blocks = 200000, .leaf_items = leaf, .node_items = node,
	};
	struct cow_usage usage;
	unsigned long n;
	int i;

	memset(&t, 0, sizeof(t));
	srandom(seed);
	if (cow_fs_create(&t.fs, &params, &ops, NULL) || cow_tree_create(&t.tree[0], t.fs))
		fail("create");
	t.used[0] = true;
	for (n = 0; n < steps; n++) {
		/* grow and shrink in turn */
		step(n / (steps / 6 + 1) % 2 ? 200 : 700);
		if (!(n % 997))
			check_all();
	}
	check_all();
	t.fail_in = 0;
	for (i = 0; i < TREES; i++)
		if (t.used[i])
			cow_tree_drop(&t.tree[i]);
	memset(t.used, 0, sizeof(t.used));
	memset(t.pin, 0, sizeof(t.pin));
	commit();
	if (cow_tree_create(&t.tree[0], t.fs))
		fail("create");
	t.used[0] = true;
	commit();
	cow_usage(t.fs, &usage);
	if (usage.free + usage.pending + 1 != usage.blocks || usage.stale)
		fail("%u blocks, %u free, %u pending, %lu stale", usage.blocks, usage.free,
		     usage.pending, usage.stale);
	cow_fs_destroy(t.fs);
	printf("seed %u, blocks of %u and %u: %lu operations, ", seed, leaf, node, t.ops);
	printf("%lu without memory, %lu keys compared, %lu blocks copied\n", t.failed, t.checked,
	       usage.cowed);
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[][2] = {
		{ 4, 4 }, { 5, 4 }, { 8, 6 }, { 32, 16 }, { 0, 0 },
	};
	unsigned int seed;

	if (argc > 1) {
		run(atoi(argv[1]), argc > 2 ? atol(argv[2]) : 100000, argc > 3 ? atoi(argv[3]) : 4,
		    argc > 4 ? atoi(argv[4]) : 4);
		return 0;
	}
	for (seed = 1; seed <= 40; seed++)
		run(seed, 20000, sizes[seed % 5][0], sizes[seed % 5][1]);
	return 0;
}
