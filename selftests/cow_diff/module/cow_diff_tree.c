// SPDX-License-Identifier: GPL-2.0
/*
 * Diffs of the copy-on-write tree: read operations, and the brute-force oracle.
 */
#include "cow_blocks.h"
#include "cow_diff_tree.h"

/* --- operations ---------------------------------------------------------- */

static int read_block(void *private, const struct cow_diff_ptr *ptr, struct cow_diff_node *node)
{
	struct cow_diff_reader *r = private;
	struct cow_block *b;

	if (r->fail_in && !--r->fail_in)
		return -EIO;
	if (!ptr->block || ptr->block > r->fs->nr_blocks)
		return -ENXIO;
	b = data_of(r->fs, ptr->block);
	node->level = b->level;
	node->nr = b->nr;
	node->generation = b->generation;
	/* a node has no key for its first child: use the key from the parent */
	node->key = b->level ? ptr->key : cow_diff_key(b->item[0].key);
	node->data = b;
	r->open++;
	if (r->was_read) {
		r->read_twice += test_bit(ptr->block, r->was_read);
		__set_bit(ptr->block, r->was_read);
	}
	return 0;
}

static void get_child(void *private, const struct cow_diff_node *node, unsigned int i,
		      struct cow_diff_ptr *child)
{
	const struct cow_block *b = node->data;

	child->block = b->ptr[i].block;
	child->generation = b->ptr[i].generation;
	child->key = i ? cow_diff_key(b->ptr[i].key) : node->key;
}

static void release_block(void *private, struct cow_diff_node *node)
{
	struct cow_diff_reader *r = private;

	r->open--;
	node->data = NULL;
}

const struct cow_diff_ops cow_diff_tree_ops = {
	.max_children = (COW_BLOCK_SIZE - 32) / sizeof(struct cow_ptr),
	.read = read_block,
	.child = get_child,
	.release = release_block,
};

static struct cow_diff_root root_of(struct cow_fs *fs, u32 block)
{
	const struct cow_block *b = block ? data_of(fs, block) : NULL;

	return (struct cow_diff_root) {
		.ptr = { .block = block, .generation = b ? b->generation : 0 },
		.level = b ? b->level : 0,
	};
}

struct cow_diff_params cow_diff_params_of(struct cow_diff_reader *reader, u32 old, u32 new,
					  u64 newer_than)
{
	return (struct cow_diff_params) {
		.ops = &cow_diff_tree_ops,
		.private = reader,
		.old = root_of(reader->fs, old),
		.new = root_of(reader->fs, new),
		.newer_than = newer_than,
	};
}

/* --- the oracle ---------------------------------------------------------- */

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
	const struct cow_block *b = data_of(fs, block);
	unsigned int i;

	__set_bit(block, all->has);
	all->seen[all->nr++] = (struct seen) {
		.ptr = {
			.block = block, .generation = b->generation, .key = cow_diff_key(key),
		},
		.key = key,
		.last = last,
		.level = b->level,
	};
	for (i = 0; b->level && i < b->nr; i++)
		see_all(fs, all, b->ptr[i].block, i ? b->ptr[i].key : key,
			i + 1 < b->nr ? b->ptr[i + 1].key - 1 : last);
}

static int see_tree(struct cow_fs *fs, struct all *all, u32 root)
{
	all->nr = 0;
	all->seen = cow_alloc((fs->nr_blocks + 1ULL) * sizeof(*all->seen));
	all->has = cow_alloc((fs->nr_blocks / BITS_PER_LONG + 1) * sizeof(long));
	if (!all->seen || !all->has)
		return -ENOMEM;
	if (root)
		see_all(fs, all, root, 0, ~0ULL);
	return 0;
}

/* Keep only blocks that @other does not have. */
static void keep_changed(struct all *all, const struct all *other, unsigned int lowest)
{
	unsigned long i, n = 0;

	for (i = 0; i < all->nr; i++)
		if (!test_bit(all->seen[i].ptr.block, other->has) && all->seen[i].level >= lowest)
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

long cow_diff_expect(struct cow_fs *fs, const struct cow_diff_params *p,
		     struct cow_diff_pair *pairs, unsigned long max,
		     unsigned long *all_blocks)
{
	struct all all_old = { }, all_new = { };
	long ret = see_tree(fs, &all_old, p->old.ptr.block);

	if (!ret)
		ret = see_tree(fs, &all_new, p->new.ptr.block);
	if (!ret) {
		*all_blocks = all_old.nr + all_new.nr;
		keep_changed(&all_old, &all_new, p->lowest_level);
		keep_changed(&all_new, &all_old, p->lowest_level);
		ret = expected_pairs(&all_old, &all_new, pairs, max);
	}
	cow_free(all_old.seen);
	cow_free(all_old.has);
	cow_free(all_new.seen);
	cow_free(all_new.has);
	return ret;
}

unsigned long cow_diff_changed(const struct cow_diff_pair *pairs, unsigned long nr,
			       unsigned long *new_blocks)
{
	unsigned long i, old = 0, new = 0;

	for (i = 0; i < nr; i++) {
		old += pairs[i].old.block && !pairs[i].old_again;
		new += pairs[i].new.block && !pairs[i].new_again;
	}
	if (new_blocks)
		*new_blocks = new;
	return old + new;
}

static bool same_ptr(const struct cow_diff_ptr *a, const struct cow_diff_ptr *b)
{
	return a->block == b->block && a->generation == b->generation &&
	       !memcmp(&a->key, &b->key, sizeof(a->key));
}

bool cow_diff_same_pair(const struct cow_diff_pair *a, const struct cow_diff_pair *b)
{
	return same_ptr(&a->old, &b->old) && same_ptr(&a->new, &b->new) &&
	       a->level == b->level && a->old_again == b->old_again &&
	       a->new_again == b->new_again;
}
