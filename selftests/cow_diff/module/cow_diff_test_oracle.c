// SPDX-License-Identifier: GPL-2.0
/*
 * The pairs that a diff must report, by brute force from all blocks of both trees.
 */
#include <linux/slab.h>

#include "cow_diff_test_internal.h"

struct seen {
	struct cow_diff_ptr	ptr;
	u64			key, last;
	unsigned int		level;
};

/* All blocks of a tree, in preorder. */
struct all {
	struct seen	*seen;
	unsigned long	nr;
	unsigned long	*has;		/* a bit for each block */
};

static void see_all(struct cow_fs *fs, struct all *all, u32 block, u64 key, u64 last)
{
	const struct cow_block *b = cow_block(fs, block);
	unsigned int i;

	__set_bit(block, all->has);
	all->seen[all->nr++] = (struct seen) {
		.ptr = {
			.block = block, .generation = b->generation, .key = diff_test_key(key),
		},
		.key = key,
		.last = last,
		.level = b->level,
	};
	for (i = 0; b->level && i < b->nr; i++)
		see_all(fs, all, b->entry[i].block, i ? b->entry[i].key : key,
			i + 1 < b->nr ? b->entry[i + 1].key - 1 : last);
}

static int see_tree(struct cow_fs *fs, struct all *all, u32 root)
{
	all->nr = 0;
	all->seen = kvcalloc(cow_nr_blocks(fs) + 1, sizeof(*all->seen), GFP_KERNEL);
	all->has = kvcalloc(BITS_TO_LONGS(cow_nr_blocks(fs) + 1), sizeof(long), GFP_KERNEL);
	if (!all->seen || !all->has)
		return -ENOMEM;
	if (root)
		see_all(fs, all, root, 0, ~0ULL);
	return 0;
}

/* Set a bit for each block of a tree in @has, which the caller frees. */
int diff_test_all_blocks(struct cow_fs *fs, u32 root, unsigned long **has)
{
	struct all all = { };
	int ret = see_tree(fs, &all, root);

	kvfree(all.seen);
	*has = all.has;
	return ret;
}

/* Keep only blocks that @other does not have. */
static void keep_changed(struct all *all, const struct all *other)
{
	unsigned long i, n = 0;

	for (i = 0; i < all->nr; i++)
		if (!test_bit(all->seen[i].ptr.block, other->has))
			all->seen[n++] = all->seen[i];
	all->nr = n;
}

/* The counterpart of @s among the first @end blocks of @all, all of which come before @s. */
static const struct seen *at_place(const struct all *all, unsigned long end, const struct seen *s)
{
	unsigned long i;

	for (i = end; i-- > 0;)
		if (all->seen[i].level == s->level)
			return all->seen[i].last >= s->key ? &all->seen[i] : NULL;
	return NULL;
}

static int order(const struct seen *a, const struct seen *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (int)b->level - (int)a->level;
}

static long expected_pairs(const struct all *old, const struct all *new,
			   struct cow_diff_pair *pairs, unsigned long max)
{
	unsigned long o = 0, n = 0, nr = 0;

	while (o < old->nr || n < new->nr) {
		const struct seen *so = o < old->nr ? &old->seen[o] : NULL;
		const struct seen *sn = n < new->nr ? &new->seen[n] : NULL;
		int first = !so ? 1 : !sn ? -1 : order(so, sn);
		struct cow_diff_pair p = { };
		const struct seen *other;

		if (first <= 0) {
			p.old = so->ptr;
			p.level = so->level;
			o++;
		}
		if (first >= 0) {
			p.new = sn->ptr;
			p.level = sn->level;
			n++;
		}
		if (first) {
			other = first < 0 ? at_place(new, n, so) : at_place(old, o, sn);
			if (other && first < 0)
				p.new = other->ptr;
			else if (other)
				p.old = other->ptr;
			p.new_again = other && first < 0;
			p.old_again = other && first > 0;
		}
		if (nr < max)
			pairs[nr] = p;
		nr++;
	}
	return nr;
}

/* Fill in at most @max pairs. Return the number of pairs, or < 0. */
long diff_test_expect(struct cow_fs *fs, const struct cow_diff_params *p,
		      struct cow_diff_pair *pairs, unsigned long max)
{
	struct all all_old = { }, all_new = { };
	long ret = see_tree(fs, &all_old, p->old.ptr.block) ?:
		   see_tree(fs, &all_new, p->new.ptr.block);

	if (!ret) {
		keep_changed(&all_old, &all_new);
		keep_changed(&all_new, &all_old);
		ret = expected_pairs(&all_old, &all_new, pairs, max);
	}
	kvfree(all_old.seen);
	kvfree(all_old.has);
	kvfree(all_new.seen);
	kvfree(all_new.has);
	return ret;
}
