// SPDX-License-Identifier: GPL-2.0
/*
 * COW diff: the blocks that only one of two trees has.
 *
 * Each tree is walked in preorder: by key, and for one key from the root down. That gives one
 * sequence of pointers for each tree; both are merged like sorted lists. The next pointer is
 *
 *  in both	with the same key and level. If it is the same block, all below it is shared,
 *		too, and neither is entered. Otherwise the new block replaced the old one, and
 *		both are entered.
 *  in new	only: the block is new, or something is wrong. Its counterpart is the block last
 *		reached on its level in the old tree, if that is gone and its range extends here.
 *  in old	only: the block is gone. Its counterpart is found likewise.
 *
 * No block is missed: the parent of a block that only one tree has is itself only in that tree,
 * so it was entered. No shared block is reported: if its parents are the same block, they are not
 * entered; otherwise both are, and the shared block is next in both, with the same key.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/string.h>

#include <linux/cow_diff.h>

#include "internal.h"

#define MAX_CHILDREN	65536U

/* Returns the error for the caller of the diff. @s: the tree; @block: where in it */
static int bad_tree(struct cow_diff *d, const struct cow_diff_side *s, u64 block,
		    const char *problem)
{
	d->problem = problem;
	d->problem_block = block;
	d->problem_in_new = s == &d->new;
	return -EUCLEAN;
}

static bool is_below(const struct cow_diff_key *a, const struct cow_diff_key *b)
{
	return cow_diff_compare_keys(a, b) < 0;
}

/* Is @key below the end of a block's range? */
static bool is_within(const struct cow_diff_key *key, const struct cow_diff_key *end,
		      bool unbounded)
{
	return unbounded || is_below(key, end);
}

/* --- one tree ------------------------------------------------------------ */

static void close_level(struct cow_diff *d, struct cow_diff_level *l)
{
	if (!l->open)
		return;
	l->open = false;
	d->ops->release(d->private, &l->node);
}

/* Step to the next pointer. */
static struct cow_diff_level *advance(struct cow_diff_side *s, bool changed)
{
	struct cow_diff_level *l = &s->level[s->next_level];

	l->ptr = s->next;
	l->end = s->next_end;
	l->unbounded = s->next_unbounded;
	l->changed = changed;
	if (s->begun)
		s->level[s->next_level + 1].next++;
	s->begun = true;
	s->at = s->next_level;
	s->has_next = false;
	return l;
}

static int check_node(struct cow_diff *d, const struct cow_diff_side *s,
		      const struct cow_diff_level *l)
{
	const struct cow_diff_node *node = &l->node;
	u64 block = l->ptr.block;

	if (node->level != s->at)
		return bad_tree(d, s, block, "wrong level");
	if (node->generation != l->ptr.generation)
		return bad_tree(d, s, block, "the generation differs from its pointer's");
	/* an empty leaf has no key, so nothing shows that this is its place */
	if (!node->nr && s->root.level)
		return bad_tree(d, s, block, "empty");
	if (node->level && node->nr > d->ops->max_children)
		return bad_tree(d, s, block, "too many children");
	if (node->nr && (is_below(&node->key, &l->ptr.key) ||
			 !is_within(&node->key, &l->end, l->unbounded)))
		return bad_tree(d, s, block, "the first key is out of range");
	return 0;
}

/* Step to a block that only this tree has, and read it; its children are next. */
static int enter(struct cow_diff *d, struct cow_diff_side *s)
{
	struct cow_diff_level *l = advance(s, true);
	int ret;

	l->node = (struct cow_diff_node){ };
	ret = d->ops->read(d->private, &l->ptr, &l->node);
	if (ret)
		return ret < 0 ? ret : -EIO;
	l->open = true;
	l->next = 0;
	ret = check_node(d, s, l);
	if (!s->at)
		close_level(d, l);
	return ret;
}

/* Make the next child of the open block of @level the next pointer. */
static int peek_child(struct cow_diff *d, struct cow_diff_side *s, unsigned int level)
{
	const struct cow_diff_level *parent = &s->level[level];
	struct cow_diff_ptr *p = &s->next, after;
	u64 block = parent->ptr.block;
	unsigned int i = parent->next, k;

	d->ops->child(d->private, &parent->node, i, p);
	if (!p->block)
		return bad_tree(d, s, block, "a pointer to no block");
	if (fs_generation_after(p->generation, parent->node.generation))
		return bad_tree(d, s, block, "a child is newer");
	if (is_below(&p->key, &parent->ptr.key) ||
	    !is_within(&p->key, &parent->end, parent->unbounded) ||
	    (i && !is_below(&s->level[level - 1].ptr.key, &p->key)))
		return bad_tree(d, s, block, "keys are out of order");
	for (k = level; k <= s->root.level; k++)
		if (s->level[k].ptr.block == p->block)
			return bad_tree(d, s, block, "a child is its own ancestor");
	s->next_end = parent->end;
	s->next_unbounded = parent->unbounded;
	if (i + 1 < parent->node.nr) {
		d->ops->child(d->private, &parent->node, i + 1, &after);
		if (!is_below(&p->key, &after.key) ||
		    !is_within(&after.key, &parent->end, parent->unbounded))
			return bad_tree(d, s, block, "keys are out of order");
		s->next_end = after.key;
		s->next_unbounded = false;
	}
	s->next_level = level - 1;
	s->has_next = true;
	return 0;
}

/* Find the next pointer, or set @done. */
static int peek_next(struct cow_diff *d, struct cow_diff_side *s)
{
	unsigned int i;

	if (s->has_next || s->done)
		return 0;
	if (!s->begun) {
		s->next = s->root.ptr;
		s->next_unbounded = true;
		s->next_level = s->root.level;
		s->has_next = true;
		return 0;
	}
	for (i = s->at; i <= s->root.level; i++) {
		struct cow_diff_level *l = &s->level[i];

		if (l->open && l->next < l->node.nr)
			return peek_child(d, s, i);
		close_level(d, l);
	}
	s->done = true;
	return 0;
}

/* --- both trees ---------------------------------------------------------- */

/* < 0: the next pointer of @a is first; 0: both have the same key and level */
static int compare_next(const struct cow_diff_side *a, const struct cow_diff_side *b)
{
	int order;

	if (!a->has_next || !b->has_next)
		return a->has_next ? -1 : 1;
	order = cow_diff_compare_keys(&a->next.key, &b->next.key);
	return order ? order : (int)b->next_level - (int)a->next_level;
}

/* The block of @s at the next place of @other, if only @s has it. */
static const struct cow_diff_ptr *counterpart(const struct cow_diff_side *s,
					      const struct cow_diff_side *other)
{
	const struct cow_diff_level *l = &s->level[other->next_level];

	if (!l->ptr.block || !l->changed || !is_within(&other->next.key, &l->end, l->unbounded))
		return NULL;
	return &l->ptr;
}

static int check_pair(struct cow_diff *d, const struct cow_diff_pair *p)
{
	if (!p->new.block)
		return 0;
	if (p->old.block == p->new.block)
		return bad_tree(d, &d->new, p->new.block, "in both trees, with two generations");
	if (d->newer_than && !fs_generation_after(p->new.generation, d->newer_than))
		return bad_tree(d, &d->new, p->new.block,
				"not newer than the bound, and not in the old tree");
	return 0;
}

/* take_*(): 1 with a pair, 0 without */
static int take_both(struct cow_diff *d, struct cow_diff_pair *pair)
{
	pair->old = d->old.next;
	pair->new = d->new.next;
	pair->level = d->new.next_level;
	if (pair->old.block == pair->new.block && pair->old.generation == pair->new.generation) {
		advance(&d->old, false);
		advance(&d->new, false);
		*pair = (struct cow_diff_pair){ };
		return 0;
	}
	return check_pair(d, pair) ?: enter(d, &d->old) ?: enter(d, &d->new) ?: 1;
}

static int take_new(struct cow_diff *d, struct cow_diff_pair *pair)
{
	const struct cow_diff_ptr *old = counterpart(&d->old, &d->new);

	pair->new = d->new.next;
	if (old)
		pair->old = *old;
	pair->old_again = old;
	pair->level = d->new.next_level;
	return check_pair(d, pair) ?: enter(d, &d->new) ?: 1;
}

static int take_old(struct cow_diff *d, struct cow_diff_pair *pair)
{
	const struct cow_diff_ptr *new = counterpart(&d->new, &d->old);

	pair->old = d->old.next;
	if (new)
		pair->new = *new;
	pair->new_again = new;
	pair->level = d->old.next_level;
	return check_pair(d, pair) ?: enter(d, &d->old) ?: 1;
}

static int next_pair(struct cow_diff *d, struct cow_diff_pair *pair)
{
	int ret;

	do {
		ret = peek_next(d, &d->old) ?: peek_next(d, &d->new);
		if (ret || (d->old.done && d->new.done))
			return ret;
		ret = compare_next(&d->old, &d->new);
		if (ret < 0)
			ret = take_old(d, pair);
		else if (ret)
			ret = take_new(d, pair);
		else
			ret = take_both(d, pair);
	} while (!ret);
	return ret;
}

/**
 * cow_diff_next() - find the next pair
 * @diff: a diff that has begun
 * @pair: filled in if the return value is 1
 *
 * The walk reads the blocks of the pair. Shared pointers in between cost a comparison each.
 *
 * Context: as &cow_diff_ops.read.
 * Return: 1 with a pair; 0 if there is none left; an error of &cow_diff_ops.read, a positive one
 * as -EIO; -EUCLEAN if a tree is inconsistent, which &cow_diff.problem explains. An error is final:
 * further calls return it again. -EINVAL, with a warning, if the diff has not begun or has ended.
 */
int cow_diff_next(struct cow_diff *diff, struct cow_diff_pair *pair)
{
	int ret;

	if (WARN_ONCE(!diff->ops, "fscommit: %s() of a diff that has not begun, or has ended\n",
		      __func__))
		return -EINVAL;
	if (diff->error)
		return diff->error;
	*pair = (struct cow_diff_pair){ };
	ret = next_pair(diff, pair);
	if (ret < 0)
		diff->error = ret;
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_next);

/* --- begin and end ------------------------------------------------------- */

/*
 * Without a bound either tree may be the older one. An empty tree has no generation. A tree that
 * lost levels may have an older block for its root: the walk decides.
 */
static int check_roots(struct cow_diff *d)
{
	const struct cow_diff_root *old = &d->old.root, *new = &d->new.root;

	if (old->ptr.block && old->level >= COW_DIFF_MAX_LEVELS)
		return bad_tree(d, &d->old, old->ptr.block, "the tree is too deep");
	if (new->ptr.block && new->level >= COW_DIFF_MAX_LEVELS)
		return bad_tree(d, &d->new, new->ptr.block, "the tree is too deep");
	if (!d->newer_than || !old->ptr.block || !new->ptr.block || new->level < old->level ||
	    !fs_generation_after(old->ptr.generation, d->newer_than) ||
	    !fs_generation_after(old->ptr.generation, new->ptr.generation))
		return 0;
	bad_tree(d, &d->old, old->ptr.block, "newer than the new tree: the trees are swapped");
	return -EINVAL;
}

/**
 * cow_diff_begin() - begin a diff
 * @diff: the diff; its memory may be uninitialised
 * @params: not used after the call, but &cow_diff_params.ops is
 *
 * Context: any; does not sleep.
 * Return: 0; -EINVAL if the old tree is newer than the bound and the new tree, and not higher, or
 * -EUCLEAN if a tree is too deep, for both see &cow_diff.problem; -EINVAL, with a warning, if
 * &cow_diff_ops.max_children is out of range. After an error nothing has begun, and
 * cow_diff_end() has no effect.
 */
int cow_diff_begin(struct cow_diff *diff, const struct cow_diff_params *params)
{
	unsigned int max = params->ops->max_children;
	int ret;

	memset(diff, 0, sizeof(*diff));
	if (WARN_ONCE(!max || max > MAX_CHILDREN,
		      "fscommit: COW diff: max_children of %u: must be 1 to %u\n", max,
		      MAX_CHILDREN))
		return -EINVAL;
	diff->private = params->private;
	diff->newer_than = params->newer_than;
	diff->old.root = params->old;
	diff->new.root = params->new;
	diff->old.done = !params->old.ptr.block;
	diff->new.done = !params->new.ptr.block;
	ret = check_roots(diff);
	if (!ret)
		diff->ops = params->ops;
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_begin);

/**
 * cow_diff_end() - end a diff, at any pair
 * @diff: the diff; no effect if it has ended or could not begin
 *
 * Releases the open blocks. &cow_diff.problem stays valid.
 *
 * Context: as &cow_diff_ops.release.
 */
void cow_diff_end(struct cow_diff *diff)
{
	unsigned int i;

	if (!diff->ops)
		return;
	for (i = 0; i < COW_DIFF_MAX_LEVELS; i++) {
		close_level(diff, &diff->old.level[i]);
		close_level(diff, &diff->new.level[i]);
	}
	diff->ops = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_end);
