// SPDX-License-Identifier: GPL-2.0
/*
 * A balance with quota, modelled on btrfs. The blocks of a group and all blocks above them are
 * copied into a relocated tree for each tree; the relocated tree shares the rest. Then the
 * differing subtrees are swapped in, tree by tree.
 *
 * Quota must know which trees gained or lost which block. For each dirty block it finds the
 * owners before and after the swap: it looks up key and level from the root of every tree.
 * Dirty blocks are either all blocks of the swapped subtrees or those that the diff reports.
 * The cost per dirty block is the same.
 *
 * Or the swap only records the subtrees. When one is next copied on write, its blocks are marked
 * in one of these two ways. Owners are then those before and after all swaps, and a block is
 * dirty once for all trees. The changes that copy the subtrees are not made: they cost the same
 * in each case.
 */
#include "cow_balance.h"
#include "cow_blocks.h"
#include "cow_diff_tree.h"

#define OWNER_WORDS	(COW_BALANCE_TREES / 64)

struct owners {
	u64 bits[OWNER_WORDS];
};

struct dirty {
	u64		key;
	u32		block;
	u32		level;
	struct owners	before;
};

struct swap {
	u64		key;
	u32		old, new;
};

struct run {
	struct cow_balance *b;
	u32		*copy;		/* of each old block; 0: not visited */
	u32		nr_blocks;	/* old blocks */
	u64		generation;	/* the committed one: relocated blocks are newer */
	struct dirty	*dirty;
	unsigned long	nr_dirty, max_dirty;
	/* if delayed: */
	bool		*marked;		/* of each block: it is dirty already */
	u32		root[COW_BALANCE_TREES];		/* before all swaps */
	struct swap	swap[COW_BLOCK_SIZE / sizeof(struct cow_ptr)];	/* of one tree */
	unsigned int	nr_swaps;
	struct cow_diff	diff;
};

/* --- relocation ---------------------------------------------------------- */

static int copy_block(struct run *run, u32 block)
{
	struct cow_fs *fs = run->b->fs;
	const struct cow_block *old = data_of(fs, block);
	struct cow_reserve r;
	struct cow_block *new;
	unsigned int i;
	int ret = cow_reserve(fs, &r, 1);

	if (ret)
		return ret;
	/* hold this reference until all trees have been swapped */
	run->copy[block] = cow_new_block(fs, &r, old->level);
	new = data_of(fs, run->copy[block]);
	memcpy(new->item, old->item, sizeof(new->item));
	new->nr = old->nr;
	for (i = 0; new->level && i < new->nr; i++) {
		u32 child = run->copy[old->ptr[i].block];

		new->ptr[i].block = child;
		new->ptr[i].generation = data_of(fs, child)->generation;
		cow_get_block(fs, child);
	}
	unlock_block(fs, new->self, true);
	run->b->relocated++;
	return 0;
}

/* A shared block is relocated once. */
static int relocate(struct run *run, u32 block)
{
	const struct cow_block *b = data_of(run->b->fs, block);
	bool changes = block >= run->b->first && block <= run->b->last;
	unsigned int i;
	int ret;

	if (run->copy[block])
		return 0;
	for (i = 0; b->level && i < b->nr; i++) {
		u32 child = b->ptr[i].block;

		ret = relocate(run, child);
		if (ret)
			return ret;
		changes |= run->copy[child] != child;
	}
	if (changes)
		return copy_block(run, block);
	run->copy[block] = block;
	return 0;
}

static void put_copies(struct run *run)
{
	u32 i;

	for (i = 1; i <= run->nr_blocks; i++)
		if (run->copy[i] && run->copy[i] != i)
			cow_put_block(run->b->fs, run->copy[i]);
}

/* --- quota --------------------------------------------------------------- */

static bool owns(struct cow_fs *fs, u32 root, const struct dirty *d)
{
	u32 block = root;
	const struct cow_block *b = data_of(fs, block);

	while (b->level > d->level) {
		block = b->ptr[cow_child_for(b, d->key)].block;
		b = data_of(fs, block);
	}
	return block == d->block;
}

/* @root: of each tree; NULL: its present one */
static struct owners owners_of(struct run *run, const struct dirty *d, const u32 *root)
{
	struct owners o = { };
	unsigned int i;

	for (i = 0; i < run->b->nr_trees; i++)
		if (owns(run->b->fs, root ? root[i] : run->b->tree[i]->root, d))
			o.bits[i / 64] |= 1ULL << i % 64;
	return o;
}

static int mark_dirty(struct run *run, u32 block, unsigned int level, u64 key)
{
	struct dirty *d;

	if (run->marked && run->marked[block])
		return 0;
	if (run->nr_dirty == run->max_dirty)
		return -EOVERFLOW;
	if (run->marked)
		run->marked[block] = true;
	d = &run->dirty[run->nr_dirty++];
	*d = (struct dirty){ .key = key, .block = block, .level = level };
	d->before = owners_of(run, d, run->marked ? run->root : NULL);
	return 0;
}

static void account(struct run *run, const struct owners *o, int sign)
{
	struct cow_quota *quota = run->b->quota;
	unsigned int i, nr = 0, last = 0;

	for (i = 0; i < run->b->nr_trees; i++) {
		if (!(o->bits[i / 64] >> i % 64 & 1))
			continue;
		quota[i].referenced += sign;
		last = i;
		nr++;
	}
	if (nr == 1)
		quota[last].exclusive += sign;
}

static void account_dirty(struct run *run)
{
	unsigned long i;

	for (i = 0; i < run->nr_dirty; i++) {
		struct owners after = owners_of(run, &run->dirty[i], NULL);

		account(run, &run->dirty[i].before, -1);
		account(run, &after, 1);
	}
	run->b->dirty += run->nr_dirty;
	run->nr_dirty = 0;
}

/* --- which blocks are dirty? --------------------------------------------- */

static int mark_whole(struct run *run, u32 block, u64 key)
{
	const struct cow_block *b = data_of(run->b->fs, block);
	unsigned int i;
	int ret = mark_dirty(run, block, b->level, key);

	run->b->visited++;
	for (i = 0; !ret && b->level && i < b->nr; i++)
		ret = mark_whole(run, b->ptr[i].block, i ? b->ptr[i].key : key);
	return ret;
}

static int mark_changed(struct run *run, u32 old, u32 new, u64 key)
{
	struct cow_diff_reader reader = { .fs = run->b->fs };
	struct cow_diff_params p = cow_diff_params_of(&reader, old, new, run->generation);
	struct cow_diff_pair pair;
	int ret;

	p.old.ptr.key = cow_diff_key(key);
	p.new.ptr.key = p.old.ptr.key;
	ret = cow_diff_begin(&run->diff, &p);
	if (ret)
		return ret;
	while ((ret = cow_diff_next(&run->diff, &pair)) > 0) {
		ret = 0;
		if (pair.old.block && !pair.old_again)
			ret = mark_dirty(run, pair.old.block, pair.level,
					 cow_diff_key_of(&pair.old.key));
		if (!ret && pair.new.block && !pair.new_again)
			ret = mark_dirty(run, pair.new.block, pair.level,
					 cow_diff_key_of(&pair.new.key));
		if (ret)
			break;
	}
	cow_diff_end(&run->diff);
	run->b->visited += cow_diff_reads(&run->diff);
	return ret;
}

static int mark_subtrees(struct run *run, u32 old, u32 new, u64 key)
{
	int ret;

	if (!run->b->whole)
		return mark_changed(run, old, new, key);
	ret = mark_whole(run, old, key);
	return ret ? ret : mark_whole(run, new, key);
}

static int mark_swapped(struct run *run, u32 old, u32 new, u64 key)
{
	if (old == new)
		return 0;
	run->b->swapped++;
	if (run->marked) {
		run->swap[run->nr_swaps++] = (struct swap){ key, old, new };
		return 0;
	}
	return mark_subtrees(run, old, new, key);
}

/* --- the swap ------------------------------------------------------------ */

/* Some of the recorded subtrees, spread over all of them, are copied on write. */
static int trace_swapped(struct run *run)
{
	int ret = 0;

	for (; !ret && run->nr_swaps; run->nr_swaps--) {
		const struct swap *s = &run->swap[run->nr_swaps - 1];

		if ((run->b->swapped - run->nr_swaps) * 37 % 100 < run->b->percent)
			ret = mark_subtrees(run, s->old, s->new, s->key);
	}
	return ret;
}

/* Account for the swapped subtrees below the root, then replace the root. */
static int swap_tree(struct run *run, struct cow_tree *tree)
{
	struct cow_fs *fs = run->b->fs;
	const struct cow_block *old = data_of(fs, tree->root);
	const struct cow_block *new = data_of(fs, run->copy[tree->root]);
	unsigned int i;
	int ret;

	if (old == new)
		return 0;
	ret = mark_dirty(run, old->self, old->level, 0);
	if (!ret)
		ret = mark_dirty(run, new->self, new->level, 0);
	for (i = 0; !ret && old->level && i < old->nr; i++)
		ret = mark_swapped(run, old->ptr[i].block, new->ptr[i].block,
				   i ? old->ptr[i].key : 0);
	if (ret)
		return ret;
	cow_get_block(fs, new->self);
	WRITE_ONCE(tree->root, new->self);
	/* the accounting of all trees needs the old blocks */
	if (run->marked)
		return trace_swapped(run);
	account_dirty(run);
	cow_put_block(fs, old->self);
	return 0;
}

static void account_all(struct run *run)
{
	unsigned int i;

	account_dirty(run);
	for (i = 0; i < run->b->nr_trees; i++)
		if (run->b->tree[i]->root != run->root[i])
			cow_put_block(run->b->fs, run->root[i]);
}

static int relocate_and_swap(struct run *run)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < run->b->nr_trees; i++)
		ret = relocate(run, run->b->tree[i]->root);
	for (i = 0; i < run->b->nr_trees; i++)
		run->root[i] = run->b->tree[i]->root;
	for (i = 0; !ret && i < run->b->nr_trees; i++)
		ret = swap_tree(run, run->b->tree[i]);
	if (run->marked)
		account_all(run);
	put_copies(run);
	return ret;
}

int cow_balance(struct cow_balance *b)
{
	struct run *run = cow_alloc(sizeof(*run));
	int ret = -ENOMEM;

	if (!run)
		return -ENOMEM;
	run->b = b;
	run->nr_blocks = b->fs->nr_blocks;
	run->generation = b->fs->generation - 1;
	run->copy = cow_alloc((run->nr_blocks + 1ULL) * sizeof(*run->copy));
	/* all blocks of a tree and of its copy */
	run->max_dirty = 2ULL * run->nr_blocks + 2;
	run->dirty = cow_alloc(run->max_dirty * sizeof(*run->dirty));
	/* a block has at most one copy */
	if (b->delayed)
		run->marked = cow_alloc(run->max_dirty * sizeof(*run->marked));
	if (run->copy && run->dirty && (run->marked || !b->delayed))
		ret = relocate_and_swap(run);
	cow_free(run->marked);
	cow_free(run->dirty);
	cow_free(run->copy);
	cow_free(run);
	return ret;
}

/* --- the recount --------------------------------------------------------- */

struct recount {
	u32	trees;		/* number of trees that reach the block */
	u32	last;		/* the last of them, counted from 1 */
};

static void count_blocks(struct cow_fs *fs, struct recount *count, u32 block, u32 tree,
			 struct cow_quota *quota)
{
	const struct cow_block *b = data_of(fs, block);
	unsigned int i;

	count[block].trees++;
	count[block].last = tree;
	quota->referenced++;
	for (i = 0; b->level && i < b->nr; i++)
		count_blocks(fs, count, b->ptr[i].block, tree, quota);
}

int cow_count_quota(struct cow_fs *fs, struct cow_tree *const *tree, unsigned int nr,
		    struct cow_quota *quota)
{
	struct recount *count = cow_alloc((fs->nr_blocks + 1ULL) * sizeof(*count));
	unsigned int i;
	u32 block;

	if (!count)
		return -ENOMEM;
	memset(quota, 0, nr * sizeof(*quota));
	for (i = 0; i < nr; i++)
		count_blocks(fs, count, tree[i]->root, i + 1, &quota[i]);
	for (block = 1; block <= fs->nr_blocks; block++)
		if (count[block].trees == 1)
			quota[count[block].last - 1].exclusive++;
	cow_free(count);
	return 0;
}
