// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: what three walkers mark for quota after a tree has changed.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "cow_diff_test_internal.h"

struct marks {
	struct diff_test	*c;
	unsigned long		*marked;
	u64			reads;
};

static const struct cow_block *read_and_mark(struct marks *m, u32 block)
{
	m->reads++;
	__set_bit(block, m->marked);
	return cow_block(m->c->fs, block);
}

static void whole(struct marks *m, u32 block)
{
	const struct cow_block *b = read_and_mark(m, block);
	unsigned int i;

	for (i = 0; b->level && i < b->nr; i++)
		whole(m, b->entry[i].block);
}

/*
 * Enter only children that are newer than the bound, and take the child in the same slot for the
 * one that it has replaced. Right if both trees have the same shape and keys, as a tree and its
 * relocated copy have. Else give up, since blocks would be missed.
 */
static int by_position(struct marks *m, u32 old, u32 new)
{
	const struct cow_block *o = read_and_mark(m, old), *n = read_and_mark(m, new);
	unsigned int i;
	int ret = 0;

	if (o->level != n->level)
		return -ENOENT;
	for (i = 0; n->level && i < n->nr && !ret; i++) {
		if (n->entry[i].generation <= m->c->generation)
			continue;
		/* a node has no key for its first child */
		if (i >= o->nr || (i && o->entry[i].key != n->entry[i].key))
			return -ENOENT;
		ret = by_position(m, o->entry[i].block, n->entry[i].block);
	}
	return ret;
}

static int by_diff(struct marks *m)
{
	struct diff_test_reader reader = { .fs = m->c->fs };
	struct cow_diff_params p = diff_test_params(&reader, m->c->marked.root, m->c->tree.root,
						      m->c->generation);
	struct cow_diff *diff = &m->c->diff;
	struct cow_diff_pair pair;
	int ret = cow_diff_begin(diff, &p);

	while (!ret) {
		ret = cow_diff_next(diff, &pair);
		if (ret <= 0)
			break;
		ret = 0;
		if (pair.old.block)
			__set_bit(pair.old.block, m->marked);
		if (pair.new.block)
			__set_bit(pair.new.block, m->marked);
	}
	cow_diff_end(diff);
	m->reads = reader.reads;
	return ret;
}

static int run_walker(struct marks *m, u32 walker)
{
	u32 old = m->c->marked.root, new = m->c->tree.root;

	switch (walker) {
	case DIFF_TEST_WHOLE:
		whole(m, old);
		whole(m, new);
		return 0;
	case DIFF_TEST_BY_POSITION:
		return by_position(m, old, new);
	default:
		return by_diff(m);
	}
}

int diff_test_walk(struct diff_test *c, struct diff_test_walk *w)
{
	struct marks m = { .c = c };
	unsigned long *old = NULL, *new = NULL, i;
	u64 start;
	int ret = -ENOMEM;

	if (w->walker >= DIFF_TEST_NR_WALKERS)
		return -EINVAL;
	m.marked = kvcalloc(BITS_TO_LONGS(cow_nr_blocks(c->fs) + 1), sizeof(long), GFP_KERNEL);
	if (m.marked)
		ret = diff_test_all_blocks(c->fs, c->marked.root, &old) ?:
		      diff_test_all_blocks(c->fs, c->tree.root, &new);
	if (!ret) {
		start = ktime_get_ns();
		w->error = run_walker(&m, w->walker);
		w->ns = ktime_get_ns() - start;
		w->reads = m.reads;
		w->marked = 0;
		w->missed = 0;
		w->needless = 0;
		for (i = 1; i <= cow_nr_blocks(c->fs); i++) {
			bool changed = test_bit(i, old) != test_bit(i, new);

			w->marked += test_bit(i, m.marked);
			w->missed += changed && !test_bit(i, m.marked);
			w->needless += !changed && test_bit(i, m.marked);
		}
	}
	kvfree(m.marked);
	kvfree(old);
	kvfree(new);
	return ret;
}
