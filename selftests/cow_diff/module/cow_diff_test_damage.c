// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: corrupt trees, and calls that are not allowed.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "cow_diff_test_internal.h"

/* --- damage on purpose --------------------------------------------------- */

struct damage {
	struct cow_diff_params	p;
	struct cow_block	*root;		/* of the tree that is damaged */
	bool			of_new;
};

/* The first child that the diff enters: a child that the other tree does not have. */
static struct cow_entry *entered_child(struct diff_test *c, const struct damage *d)
{
	struct cow_block *other = cow_block(c->fs, d->of_new ? d->p.old.ptr.block :
							     d->p.new.ptr.block);
	unsigned int i, k;

	for (i = 0; i < d->root->nr; i++) {
		for (k = 0; k < other->nr; k++)
			if (other->entry[k].block == d->root->entry[i].block)
				break;
		if (k == other->nr)
			return &d->root->entry[i];
	}
	return NULL;
}

/* Damage the tree so that the diff must find it. */
static int do_damage(struct diff_test *c, struct damage *d, u32 damage)
{
	struct cow_entry *p = entered_child(c, d);
	struct cow_block *child;

	if (!p || !d->root->level || d->root->nr < 3)
		return -ENODATA;
	child = cow_block(c->fs, p->block);
	switch (damage) {
	case DIFF_TEST_SWAPPED:
		swap(d->p.old, d->p.new);
		return 0;
	case DIFF_TEST_TOO_DEEP:
		if (d->of_new)
			d->p.new.level = COW_DIFF_MAX_LEVELS;
		else
			d->p.old.level = COW_DIFF_MAX_LEVELS;
		return 0;
	case DIFF_TEST_BAD_LEVEL:
		child->level++;
		return 0;
	case DIFF_TEST_BAD_GENERATION:
		child->generation--;
		return 0;
	case DIFF_TEST_NEWER_CHILD:
		p->generation = d->root->generation + 1;
		return 0;
	case DIFF_TEST_BAD_KEY:
		swap(d->root->entry[1].key, d->root->entry[2].key);
		return 0;
	case DIFF_TEST_NO_CHILD:
		p->block = 0;
		return 0;
	case DIFF_TEST_MANY_CHILDREN:
		d->root->nr = 10000;
		return 0;
	case DIFF_TEST_LOOP:
		p->block = d->root->self;
		return 0;
	case DIFF_TEST_NOT_SHARED:
		/* claim that the block is old: the old tree has another block there */
		p->generation = d->p.newer_than;
		return 0;
	case DIFF_TEST_REUSED:
		if (!d->of_new)
			return -EINVAL;
		/* the new tree has a newer block at a place that the old tree still uses */
		p = &d->root->entry[0];
		if (p->generation > d->p.newer_than)
			return -ENODATA;
		p->generation = d->root->generation;
		return 0;
	}
	return -EINVAL;
}

static int run_diff(struct diff_test *c, const struct cow_diff_params *p)
{
	struct cow_diff_pair pair;
	int ret = cow_diff_begin(&c->diff, p);

	while (!ret) {
		ret = cow_diff_next(&c->diff, &pair);
		if (ret <= 0)
			break;
		ret = 0;
	}
	cow_diff_end(&c->diff);
	return ret;
}

int diff_test_corrupt(struct diff_test *c, struct diff_test_corrupt *args)
{
	struct cow_block *saved = kvcalloc(cow_nr_blocks(c->fs), sizeof(*saved), GFP_KERNEL);
	struct diff_test_reader reader = { .fs = c->fs };
	struct damage d = { .of_new = args->of_new };
	unsigned int i;
	int ret;

	if (!saved)
		return -ENOMEM;
	for (i = 0; i < cow_nr_blocks(c->fs); i++)
		saved[i] = *cow_block(c->fs, i + 1);
	d.p = diff_test_params(&reader, c->marked.root, c->tree.root, c->generation);
	d.root = cow_block(c->fs, d.of_new ? c->tree.root : c->marked.root);
	ret = do_damage(c, &d, args->damage);
	if (!ret) {
		args->error = run_diff(c, &d.p);
		args->found_in_new = c->diff.problem_in_new;
		args->open = reader.open;
		strscpy(args->problem, c->diff.problem ?: "", sizeof(args->problem));
	}
	for (i = 0; i < cow_nr_blocks(c->fs); i++)
		*cow_block(c->fs, i + 1) = saved[i];
	kvfree(saved);
	return ret;
}

/* --- damage at random ---------------------------------------------------- */

/* Often a value near @v, or @v with one bit flipped. */
static u64 bad_value(struct diff_test *c, u64 v)
{
	switch (diff_test_random_below(c, 6)) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v ^ 1ULL << diff_test_random_below(c, 64);
	case 3:
		return 0;
	case 4:
		return diff_test_random_below(c, 100);
	default:
		return diff_test_random(c);
	}
}

/* Damage a field of @b or a pointer in it. */
static void damage_block(struct diff_test *c, struct cow_block *b)
{
	const unsigned int room = COW_ENTRIES;
	struct cow_entry *p = &b->entry[diff_test_random_below(c, min(b->nr + 1U, room))];

	switch (diff_test_random_below(c, 8)) {
	case 0:
		b->generation = bad_value(c, b->generation);
		break;
	case 1:
		b->level = bad_value(c, b->level);
		break;
	case 2:
		b->nr = bad_value(c, b->nr);
		break;
	case 3:
		p->key = bad_value(c, p->key);
		break;
	case 4:
		p->generation = bad_value(c, p->generation);
		break;
	case 5:
		p->block = bad_value(c, p->block);
		break;
	case 6:
		/* any existing block: makes loops and duplicate subtrees */
		p->block = 1 + diff_test_random_below(c, cow_nr_blocks(c->fs));
		if (diff_test_random_below(c, 2))
			p->generation = cow_block(c->fs, p->block)->generation;
		break;
	default:
		*p = b->entry[diff_test_random_below(c, room)];
	}
}

/* A root, a block written after the mark, or any block. */
static u32 some_block(struct diff_test *c)
{
	switch (diff_test_random_below(c, 8)) {
	case 0:
		return 1 + diff_test_random_below(c, cow_nr_blocks(c->fs));
	case 1:
		return c->marked.root;
	case 2:
		return c->tree.root;
	default:
		return cow_nr_blocks(c->fs) -
		       diff_test_random_below(c, cow_nr_blocks(c->fs) / 4 + 1);
	}
}

static void fuzz_once(struct diff_test *c, struct diff_test_fuzz *f)
{
	struct diff_test_reader reader = { .fs = c->fs };
	struct cow_diff_params p = diff_test_params(&reader, c->marked.root, c->tree.root,
						      c->generation);

	if (!diff_test_random_below(c, 16))
		p.newer_than = bad_value(c, p.newer_than);
	f->refused += !!run_diff(c, &p);
	f->open += reader.open;
}

int diff_test_fuzz(struct diff_test *c, struct diff_test_fuzz *f)
{
	struct cow_block *saved = kvcalloc(3, sizeof(*saved), GFP_KERNEL);
	u32 block[3], i, k, n;
	int ret = 0;

	if (!saved)
		return -ENOMEM;
	f->refused = 0;
	f->open = 0;
	for (i = 0; !ret && i < f->rounds; i++) {
		n = 1 + diff_test_random_below(c, 3);
		for (k = 0; k < n; k++) {
			block[k] = some_block(c);
			saved[k] = *cow_block(c->fs, block[k]);
			damage_block(c, cow_block(c->fs, block[k]));
		}
		fuzz_once(c, f);
		while (k--)
			*cow_block(c->fs, block[k]) = saved[k];
		if (!(i % 64))
			cond_resched();
		if (fatal_signal_pending(current))
			ret = -EINTR;
	}
	kvfree(saved);
	return ret;
}

/* --- misuse -------------------------------------------------------------- */

int diff_test_misuse(struct diff_test *c, u32 which)
{
	struct diff_test_reader reader = { .fs = c->fs };
	struct cow_diff_params p = diff_test_params(&reader, c->marked.root, c->tree.root,
						      c->generation);
	struct cow_diff_ops ops = diff_test_ops;
	struct cow_diff_pair pair;

	p.ops = &ops;
	switch (which) {
	case DIFF_TEST_NO_CHILDREN:
		ops.max_children = 0;
		break;
	case DIFF_TEST_NEXT_AFTER_END:
		if (run_diff(c, &p))
			return 0;
		return cow_diff_next(&c->diff, &pair);
	}
	return run_diff(c, &p);
}
