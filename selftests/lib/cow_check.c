// SPDX-License-Identifier: GPL-2.0
/*
 * Check the consistency of a copy-on-write tree.
 */
#include "cow_blocks.h"

static long check_block(struct cow_fs *fs, const struct cow_ptr *p, int level, u64 low, u64 high)
{
	const struct cow_block *b;
	unsigned int i;
	long sum = 0;

	if (!p->block || p->block > fs->nr_blocks)
		return -EUCLEAN;
	b = data_of(fs, p->block);
	if (b->magic != COW_MAGIC || b->self != p->block || b->generation != p->generation ||
	    b->level != level || b->nr > capacity(fs, b) || (b->level && !b->nr))
		return -EUCLEAN;
	for (i = 0; i < b->nr; i++) {
		u64 key = b->level ? b->ptr[i].key : b->item[i].key, end = high;
		long n;

		/* the first key of a node may be stale */
		if (!b->level || i) {
			if (key < low || key > high)
				return -EUCLEAN;
			if (i > (b->level ? 1U : 0U) &&
			    key <= (b->level ? b->ptr[i - 1].key : b->item[i - 1].key))
				return -EUCLEAN;
		}
		if (!b->level) {
			sum++;
			continue;
		}
		if (i + 1 < b->nr)
			end = b->ptr[i + 1].key - 1;
		n = check_block(fs, &b->ptr[i], level - 1, i ? key : low, end);
		if (n < 0)
			return n;
		sum += n;
	}
	return sum;
}

long cow_check_tree(struct cow_fs *fs, u32 root)
{
	const struct cow_block *b = data_of(fs, root);
	const struct cow_ptr p = { .block = root, .generation = b->generation };

	return check_block(fs, &p, b->level, 0, ~0ULL);
}

static void count_parents(struct cow_fs *fs, u32 block, u32 *parents)
{
	const struct cow_block *b = data_of(fs, block);
	unsigned int i;

	/* count the children of a shared block only once */
	if (parents[block]++)
		return;
	for (i = 0; b->level && i < b->nr; i++)
		count_parents(fs, b->ptr[i].block, parents);
}

int cow_check_blocks(struct cow_fs *fs, struct cow_tree *const *trees, unsigned int nr)
{
	u32 *parents = cow_alloc((fs->nr_blocks + 1ULL) * sizeof(*parents));
	unsigned int i, unused = 0;
	u32 block;
	int ret = 0;

	if (!parents)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		count_parents(fs, trees[i]->root, parents);
	for (block = fs->free; block; block = fs->buf[block]->next)
		unused++, ret |= parents[block];
	for (block = fs->pending; block; block = fs->buf[block]->next)
		unused++, ret |= parents[block];
	for (block = 1; block <= fs->nr_blocks; block++) {
		ret |= parents[block] != fs->buf[block]->refs;
		unused += !!parents[block];
	}
	ret |= unused != fs->nr_blocks;
	cow_free(parents);
	return ret ? -EUCLEAN : 0;
}
