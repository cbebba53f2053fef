// SPDX-License-Identifier: GPL-2.0
/*
 * Searches of the copy-on-write tree, live and from a committed root.
 */
#include "cow_blocks.h"

/* The last entry with a key <= @key, or the first entry. */
unsigned int cow_child_for(const struct cow_block *b, u64 key)
{
	unsigned int from = 0, to = b->nr;

	while (to - from > 1) {
		unsigned int mid = (from + to) / 2;

		if (b->ptr[mid].key <= key)
			from = mid;
		else
			to = mid;
	}
	return from;
}

/* The first item with a key >= @key, or nr. */
unsigned int cow_item_for(const struct cow_block *b, u64 key)
{
	unsigned int from = 0, to = b->nr;

	while (from < to) {
		unsigned int mid = (from + to) / 2;

		if (b->item[mid].key < key)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Lock the live root, which may be replaced during the wait. */
u32 cow_lock_root(struct cow_tree *tree, bool write)
{
	for (;;) {
		u32 root = READ_ONCE(tree->root);

		lock_block(tree->fs, root, write);
		if (READ_ONCE(tree->root) == root)
			return root;
		unlock_block(tree->fs, root, write);
	}
}

/* Copy the items of @leaf with keys from @from to @end - 1. */
static void take_items(const struct cow_block *leaf, struct cow_range *range, u64 from, u64 end)
{
	unsigned int i;

	for (i = cow_item_for(leaf, from); i < leaf->nr && leaf->item[i].key < end; i++) {
		unsigned int at = leaf->item[i].key - range->first;

		if (test_bit(at, range->found))
			continue;
		range->value[at] = leaf->item[i].value;
		__set_bit(at, range->found);
	}
}

/* The first key >= @from that has not been found; the end of the range if none. */
static u64 first_missing(const struct cow_range *range, u64 from)
{
	while (from < range->first + range->nr && test_bit(from - range->first, range->found))
		from++;
	return from;
}

static int all_found(const struct cow_range *range)
{
	return first_missing(range, range->first) == range->first + range->nr ? 0 : -ENOENT;
}

/* Child @at holds all keys below the returned bound. */
static u64 end_of_child(const struct cow_block *b, unsigned int at, u64 end)
{
	return at + 1 < b->nr ? min(end, b->ptr[at + 1].key) : end;
}

int cow_search_live(struct cow_tree *tree, struct cow_range *range)
{
	struct cow_fs *fs = tree->fs;
	u64 key = first_missing(range, range->first);

	while (key < range->first + range->nr) {
		u64 end = range->first + range->nr;
		u32 block = cow_lock_root(tree, false);
		struct cow_block *b = data_of(fs, block);

		while (b->level) {
			unsigned int at = cow_child_for(b, key);
			u32 child = b->ptr[at].block;

			end = end_of_child(b, at, end);
			lock_block(fs, child, false);
			unlock_block(fs, block, false);
			block = child;
			b = data_of(fs, block);
		}
		take_items(b, range, key, end);
		unlock_block(fs, block, false);
		key = first_missing(range, end);
	}
	return all_found(range);
}

static bool is_expected(struct cow_fs *fs, const struct cow_block *b, u32 block, u64 generation,
			unsigned int level)
{
	if (b->magic == COW_MAGIC && b->self == block && b->generation == generation &&
	    b->level == level)
		return true;
	spin_lock(&fs->blocks_lock);
	fs->stale++;
	spin_unlock(&fs->blocks_lock);
	return false;
}

int cow_search_root(struct cow_fs *fs, u32 root, struct cow_range *range)
{
	u64 key = first_missing(range, range->first);

	while (key < range->first + range->nr) {
		u64 end = range->first + range->nr;
		const struct cow_block *b = data_of(fs, root);
		u64 generation = b->generation;
		unsigned int level = b->level;
		u32 block = root;

		for (;;) {
			unsigned int at;

			b = data_of(fs, block);
			if (!is_expected(fs, b, block, generation, level))
				return -EUCLEAN;
			if (!b->level)
				break;
			at = cow_child_for(b, key);
			end = end_of_child(b, at, end);
			block = b->ptr[at].block;
			generation = b->ptr[at].generation;
			level--;
			/* check before using it as an index */
			if (!block || block > READ_ONCE(fs->nr_blocks))
				return -EUCLEAN;
		}
		take_items(b, range, key, end);
		/* re-check after the copy: the block was not reused meanwhile */
		if (!is_expected(fs, b, block, generation, level))
			return -EUCLEAN;
		key = first_missing(range, end);
	}
	return all_found(range);
}
