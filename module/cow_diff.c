// SPDX-License-Identifier: GPL-2.0
/*
 * COW diff: which blocks are in one of two trees only.
 *
 * Each tree is walked in preorder, which is by key, and for one key from the root down:
 * one sequence of pointers each. The two are merged like sorted lists. What comes next is
 *
 *  in both	with the same key and level. The same block: it is shared, and so is all that
 *		is below it; neither is entered. Two blocks: one has replaced the other, and
 *		both are entered.
 *  in new	only: it is new, or something is wrong. Its counterpart is what came last of
 *		its level in the old tree, if that is gone and its range reaches here.
 *  in old	only: it is gone. Its counterpart likewise.
 *
 * That none is missed: the parent of a block that is in one tree only is itself in that one
 * only, so it was entered. That none is told that is shared: the parents of a shared block
 * are either the same block, then nobody comes there, or are both entered, and then it
 * comes in both, with the same key.
 *
 * An error leaves the walk where it was: what comes next is looked at first, then blocks are
 * read and checked, and only then it moves on.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "compat.h"
#include "cow_diffs.h"
#include "trace.h"

#define MAX_CHILDREN	65536U

#define misused(fmt, ...)							\
do {										\
	count_cow_diff(COW_DIFF_MISUSE, 1);					\
	WARN_ONCE(1, "fscommit: COW diff: " fmt "\n", ##__VA_ARGS__);		\
} while (0)

/* --- what may be wrong --------------------------------------------------- */

static const struct {
	const char *text;
	const char *found, *limit;
} problems[NR_COW_DIFF_PROBLEMS] = {
	[COW_DIFF_FINE] = { "nothing is wrong" },
	[COW_DIFF_SWAPPED] = { "it is newer than the other one: the trees are swapped",
			       "generation", "other" },
	[COW_DIFF_TOO_DEEP] = { "the tree is too deep", "level", "highest" },
	[COW_DIFF_BAD_LEVEL] = { "the level is wrong", "found", "expected" },
	[COW_DIFF_BAD_GENERATION] = { "its parent knows another generation", "found", "expected" },
	[COW_DIFF_NEWER_CHILD] = { "it is newer than its parent", "generation", "parent" },
	[COW_DIFF_BAD_KEY] = { "keys are out of order", "key", "limit" },
	[COW_DIFF_NO_CHILD] = { "it has a child that is none", "child", "children" },
	[COW_DIFF_MANY_CHILDREN] = { "it has too many children", "found", "most" },
	[COW_DIFF_LOOP] = { "it is below itself", "level", "above" },
	[COW_DIFF_NOT_SHARED] = { "it is not newer than the bound, and not in the old tree",
				  "generation", "bound" },
	[COW_DIFF_REUSED] = { "both trees have it, with two generations", "new", "old" },
};

static int wrong(struct cow_diff *d, const struct cow_diff_side *s, enum cow_diff_problem problem,
		 unsigned int level, u64 block, u64 found, u64 limit)
{
	d->trouble = (struct cow_diff_trouble) {
		.problem = problem,
		.of_new = s == &d->new,
		.level = level,
		.block = block,
		.found = found,
		.limit = limit,
	};
	count_cow_diff(COW_DIFF_TROUBLE, 1);
	trace_cow_diff_trouble(problem, s == &d->new, level, block, found, limit);
	return problem == COW_DIFF_SWAPPED ? -EINVAL : -EUCLEAN;
}

static int wrong_key(struct cow_diff *d, const struct cow_diff_side *s, unsigned int level,
		     u64 block, const struct cow_diff_key *found, const struct cow_diff_key *limit)
{
	unsigned int i;

	for (i = 0; i < 2 && found->word[i] == limit->word[i]; i++)
		;
	return wrong(d, s, COW_DIFF_BAD_KEY, level, block, found->word[i], limit->word[i]);
}

/**
 * cow_diff_describe() - say what was wrong
 * @diff: where an error came from; also after cow_diff_end()
 * @text: goes here
 * @size: of @text in bytes
 *
 * For the caller's own message, with the name of the filesystem before it.
 *
 * Context: any.
 * Return: length of the text, cut to fit, without the final 0.
 */
int cow_diff_describe(const struct cow_diff *diff, char *text, size_t size)
{
	const struct cow_diff_trouble *t = &diff->trouble;
	unsigned int p = t->problem < NR_COW_DIFF_PROBLEMS ? t->problem : COW_DIFF_FINE;

	if (p == COW_DIFF_FINE)
		return scnprintf(text, size, "%s", problems[p].text);
	return scnprintf(text, size, "%s tree, block %llu at level %u: %s (%s %llu, %s %llu)",
			 t->of_new ? "new" : "old", t->block, t->level, problems[p].text,
			 problems[p].found, t->found, problems[p].limit, t->limit);
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_describe);

/* --- keys ---------------------------------------------------------------- */

static bool is_below(const struct cow_diff_key *a, const struct cow_diff_key *b)
{
	return cow_diff_compare_keys(a, b) < 0;
}

/* Is @key below the end of what comes, or has come? */
static bool is_within(const struct cow_diff_key *key, const struct cow_diff_key *end, bool endless)
{
	return endless || is_below(key, end);
}

/* --- blocks -------------------------------------------------------------- */

static void close_level(struct cow_diff *d, struct cow_diff_level *l)
{
	if (!l->open)
		return;
	l->open = false;
	d->ops->release(d->private, &l->node);
}

static int check_node(struct cow_diff *d, struct cow_diff_side *s,
		      const struct cow_diff_node *node)
{
	const struct cow_diff_ptr *p = &s->coming;
	unsigned int level = s->coming_level;

	if (node->level != level)
		return wrong(d, s, COW_DIFF_BAD_LEVEL, level, p->block, node->level, level);
	if (node->generation != p->generation)
		return wrong(d, s, COW_DIFF_BAD_GENERATION, level, p->block, node->generation,
			     p->generation);
	if (level && !node->nr)
		return wrong(d, s, COW_DIFF_NO_CHILD, level, p->block, 0, 0);
	if (level && node->nr > d->ops->max_children)
		return wrong(d, s, COW_DIFF_MANY_CHILDREN, level, p->block, node->nr,
			     d->ops->max_children);
	if (node->nr && is_below(&node->key, &p->key))
		return wrong_key(d, s, level, p->block, &node->key, &p->key);
	if (node->nr && !is_within(&node->key, &s->coming_end, s->coming_endless))
		return wrong_key(d, s, level, p->block, &node->key, &s->coming_end);
	return 0;
}

/* Reads what comes next, if that is wanted. @node stays, to be given to enter() or drop(). */
static int read_coming(struct cow_diff *d, struct cow_diff_side *s, struct cow_diff_node *node)
{
	int ret;

	*node = (struct cow_diff_node){ };
	if (s->coming_level == d->lowest_level && d->flags & COW_DIFF_UNREAD)
		return 0;
	ret = d->ops->read(d->private, &s->coming, node);
	if (unlikely(ret)) {
		count_cow_diff(COW_DIFF_READ_FAILED, 1);
		return ret < 0 ? ret : -EIO;
	}
	s->reads++;
	ret = check_node(d, s, node);
	if (unlikely(ret))
		d->ops->release(d->private, node);
	return ret;
}

static void drop(struct cow_diff *d, const struct cow_diff_side *s, struct cow_diff_node *node)
{
	if (s->coming_level != d->lowest_level || !(d->flags & COW_DIFF_UNREAD))
		d->ops->release(d->private, node);
}

/* --- one tree ------------------------------------------------------------ */

/* What comes next has come. */
static struct cow_diff_level *move_on(struct cow_diff_side *s, bool changed)
{
	struct cow_diff_level *l = &s->level[s->coming_level];

	l->ptr = s->coming;
	l->end = s->coming_end;
	l->endless = s->coming_endless;
	l->changed = changed;
	if (s->begun)
		s->level[s->coming_level + 1].next++;
	s->begun = true;
	s->at = s->coming_level;
	s->has_coming = false;
	return l;
}

/* The same for a block that only this tree has: its children come next. */
static void enter(struct cow_diff *d, struct cow_diff_side *s, struct cow_diff_node *node)
{
	struct cow_diff_level *l = move_on(s, true);

	if (s->at == d->lowest_level) {
		if (!(d->flags & COW_DIFF_UNREAD))
			d->ops->release(d->private, node);
		return;
	}
	l->node = *node;
	l->next = 0;
	l->open = true;
}

static int check_loop(struct cow_diff *d, struct cow_diff_side *s, unsigned int level)
{
	const struct cow_diff_ptr *p = &s->coming;
	unsigned int i;

	for (i = level + 1; i <= s->root.level; i++)
		if (s->level[i].ptr.block == p->block)
			return wrong(d, s, COW_DIFF_LOOP, level, p->block, level, i);
	return 0;
}

/* The next child of the open block of @level is what comes next. */
static int look_at_child(struct cow_diff *d, struct cow_diff_side *s, unsigned int level)
{
	const struct cow_diff_level *parent = &s->level[level];
	const struct cow_diff_key *before = &s->level[level - 1].ptr.key;
	struct cow_diff_ptr *p = &s->coming, after;
	unsigned int i = parent->next;

	d->ops->child(d->private, &parent->node, i, p);
	if (!p->block)
		return wrong(d, s, COW_DIFF_NO_CHILD, level, parent->ptr.block, i,
			     parent->node.nr);
	if (fs_generation_after(p->generation, parent->node.generation))
		return wrong(d, s, COW_DIFF_NEWER_CHILD, level - 1, p->block, p->generation,
			     parent->node.generation);
	if (is_below(&p->key, &parent->ptr.key))
		return wrong_key(d, s, level - 1, p->block, &p->key, &parent->ptr.key);
	if (!is_within(&p->key, &parent->end, parent->endless))
		return wrong_key(d, s, level - 1, p->block, &p->key, &parent->end);
	if (i && !is_below(before, &p->key))
		return wrong_key(d, s, level - 1, p->block, &p->key, before);
	s->coming_end = parent->end;
	s->coming_endless = parent->endless;
	if (i + 1 < parent->node.nr) {
		d->ops->child(d->private, &parent->node, i + 1, &after);
		if (!is_below(&p->key, &after.key))
			return wrong_key(d, s, level - 1, after.block, &after.key, &p->key);
		if (!is_within(&after.key, &parent->end, parent->endless))
			return wrong_key(d, s, level - 1, after.block, &after.key, &parent->end);
		s->coming_end = after.key;
		s->coming_endless = false;
	}
	s->coming_level = level - 1;
	return check_loop(d, s, level - 1);
}

/* Finds out what comes next, or that nothing does. */
static int look_ahead(struct cow_diff *d, struct cow_diff_side *s)
{
	unsigned int i;
	int ret;

	if (s->has_coming || s->done)
		return 0;
	if (!s->begun) {
		s->coming = s->root.ptr;
		s->coming_endless = true;
		s->coming_level = s->root.level;
		s->has_coming = true;
		return 0;
	}
	for (i = s->at; i <= s->root.level; i++) {
		struct cow_diff_level *l = &s->level[i];

		if (l->open && l->next < l->node.nr) {
			ret = look_at_child(d, s, i);
			s->has_coming = !ret;
			return ret;
		}
		close_level(d, l);
	}
	s->done = true;
	return 0;
}

/* --- both ---------------------------------------------------------------- */

/* < 0: @a is first; 0: both at once */
static int which_first(const struct cow_diff_side *a, const struct cow_diff_side *b)
{
	int order;

	if (!a->has_coming || !b->has_coming)
		return a->has_coming ? -1 : 1;
	order = cow_diff_compare_keys(&a->coming.key, &b->coming.key);
	return order ? order : (int)b->coming_level - (int)a->coming_level;
}

/* Of what comes next of the other tree: what this one has there, if only this one has it. */
static const struct cow_diff_ptr *counterpart(const struct cow_diff_side *s,
					      const struct cow_diff_key *key,
					      unsigned int level)
{
	const struct cow_diff_level *l = &s->level[level];

	if (!l->ptr.block || !l->changed || !is_within(key, &l->end, l->endless))
		return NULL;
	return &l->ptr;
}

static int check_is_new(struct cow_diff *d)
{
	const struct cow_diff_ptr *p = &d->new.coming;

	if (!d->newer_than || fs_generation_after(p->generation, d->newer_than))
		return 0;
	return wrong(d, &d->new, COW_DIFF_NOT_SHARED, d->new.coming_level, p->block,
		     p->generation, d->newer_than);
}

static int check_is_other(struct cow_diff *d, unsigned int level, const struct cow_diff_ptr *old,
			  const struct cow_diff_ptr *new)
{
	if (!old || old->block != new->block)
		return 0;
	return wrong(d, &d->new, COW_DIFF_REUSED, level, new->block, new->generation,
		     old->generation);
}

static void note_position(struct cow_diff *d, const struct cow_diff_side *s)
{
	d->position.key = s->coming.key;
	d->position.level = s->coming_level;
}

static int both_come(struct cow_diff *d, struct cow_diff_pair *pair)
{
	struct cow_diff_side *old = &d->old, *new = &d->new;
	struct cow_diff_node old_node, new_node;
	int ret;

	if (old->coming.block == new->coming.block &&
	    old->coming.generation == new->coming.generation) {
		note_position(d, new);
		move_on(old, false);
		move_on(new, false);
		d->shared++;
		return 0;
	}
	ret = check_is_other(d, new->coming_level, &old->coming, &new->coming);
	if (!ret)
		ret = check_is_new(d);
	if (!ret)
		ret = read_coming(d, old, &old_node);
	if (ret)
		return ret;
	ret = read_coming(d, new, &new_node);
	if (ret) {
		drop(d, old, &old_node);
		return ret;
	}
	pair->old = old->coming;
	pair->new = new->coming;
	note_position(d, new);
	enter(d, old, &old_node);
	enter(d, new, &new_node);
	return 1;
}

static int new_comes(struct cow_diff *d, struct cow_diff_pair *pair)
{
	struct cow_diff_side *new = &d->new;
	const struct cow_diff_ptr *old = counterpart(&d->old, &new->coming.key, new->coming_level);
	struct cow_diff_node node;
	int ret = check_is_new(d);

	if (!ret)
		ret = check_is_other(d, new->coming_level, old, &new->coming);
	if (!ret)
		ret = read_coming(d, new, &node);
	if (ret)
		return ret;
	pair->new = new->coming;
	if (old)
		pair->old = *old;
	pair->old_again = old;
	note_position(d, new);
	enter(d, new, &node);
	return 1;
}

static int old_comes(struct cow_diff *d, struct cow_diff_pair *pair)
{
	struct cow_diff_side *old = &d->old;
	const struct cow_diff_ptr *new = counterpart(&d->new, &old->coming.key, old->coming_level);
	struct cow_diff_node node;
	int ret = 0;

	if (new)
		ret = check_is_other(d, old->coming_level, &old->coming, new);
	if (!ret)
		ret = read_coming(d, old, &node);
	if (ret)
		return ret;
	pair->old = old->coming;
	if (new)
		pair->new = *new;
	pair->new_again = new;
	note_position(d, old);
	enter(d, old, &node);
	return 1;
}

/**
 * cow_diff_next() - the next pair
 * @diff: begun
 * @pair: is filled in
 *
 * After an error the next call tries the same again, so an error of the caller's own, such as
 * a signal or no memory, loses nothing.
 *
 * Context: as &cow_diff_ops.read; may be called with a lock of the trees held. Between
 * pairs it goes past as many shared pointers as there are in the blocks that are open.
 * Return: 1 with a pair; 0 at the end; what &cow_diff_ops.read returned; -EUCLEAN if a
 * tree is not in order, see cow_diff_describe(); -EINVAL, with a warning, for a diff that
 * has not begun.
 */
int cow_diff_next(struct cow_diff *diff, struct cow_diff_pair *pair)
{
	int ret;

	if (unlikely(!diff->ops)) {
		misused("%s() of a diff that has not begun, or has ended", __func__);
		return -EINVAL;
	}
	diff->trouble.problem = COW_DIFF_FINE;
	*pair = (struct cow_diff_pair){ };
	do {
		ret = look_ahead(diff, &diff->old);
		if (!ret)
			ret = look_ahead(diff, &diff->new);
		if (ret || (diff->old.done && diff->new.done))
			return ret;
		ret = which_first(&diff->old, &diff->new);
		if (ret < 0)
			ret = old_comes(diff, pair);
		else if (ret)
			ret = new_comes(diff, pair);
		else
			ret = both_come(diff, pair);
	} while (!ret);
	if (ret < 0)
		return ret;
	pair->level = diff->position.level;
	diff->pairs++;
	trace_cow_diff_pair(pair, &diff->position.key);
	return 1;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_next);

/* --- beginning and end --------------------------------------------------- */

static int check_params(const struct cow_diff_params *p)
{
	const struct cow_diff_ops *ops = p->ops;

	if (!ops || !ops->read || !ops->child || !ops->release) {
		misused("an operation is missing");
		return -EINVAL;
	}
	if (!ops->max_children || ops->max_children > MAX_CHILDREN) {
		misused("max_children of %u: must be 1 to %u", ops->max_children, MAX_CHILDREN);
		return -EINVAL;
	}
	if (p->lowest_level >= COW_DIFF_MAX_LEVELS) {
		misused("lowest_level of %u: must be 0 to %d", p->lowest_level,
			COW_DIFF_MAX_LEVELS - 1);
		return -EINVAL;
	}
	if (p->flags & ~COW_DIFF_UNREAD) {
		misused("flags %#x: must be 0 or %#x", p->flags, COW_DIFF_UNREAD);
		return -EINVAL;
	}
	return 0;
}

static int check_root(struct cow_diff *d, struct cow_diff_side *s)
{
	const struct cow_diff_root *r = &s->root;

	/* a tree that ends above the lowest level has nothing to tell */
	s->done = !r->ptr.block || r->level < d->lowest_level;
	if (!r->ptr.block)
		return 0;
	if (r->level >= COW_DIFF_MAX_LEVELS)
		return wrong(d, s, COW_DIFF_TOO_DEEP, r->level, r->ptr.block, r->level,
			     COW_DIFF_MAX_LEVELS - 1);
	return 0;
}

/* Without a bound nothing is known of which one is older. */
static int check_not_swapped(struct cow_diff *d)
{
	const struct cow_diff_root *old = &d->old.root, *new = &d->new.root;

	if (!d->newer_than || !new->ptr.block ||
	    !fs_generation_after(old->ptr.generation, d->newer_than) ||
	    !fs_generation_after(old->ptr.generation, new->ptr.generation))
		return 0;
	return wrong(d, &d->old, COW_DIFF_SWAPPED, old->level, old->ptr.block,
		     old->ptr.generation, new->ptr.generation);
}

/**
 * cow_diff_begin() - begin a diff
 * @diff: the walk; its memory may hold anything
 * @params: is not used after the call; &cow_diff_params.ops is
 *
 * Context: any; does not sleep.
 * Return: 0; -EINVAL if the old tree is newer than the bound and than the new tree;
 * -EUCLEAN if a tree is too deep; for both see cow_diff_describe(); -EINVAL, with a warning,
 * for parameters out of range. After an error nothing has begun, and cow_diff_end() has no
 * effect.
 */
int cow_diff_begin(struct cow_diff *diff, const struct cow_diff_params *params)
{
	int ret;

	memset(diff, 0, sizeof(*diff));
	ret = check_params(params);
	if (ret)
		return ret;
	diff->private = params->private;
	diff->newer_than = params->newer_than;
	diff->lowest_level = params->lowest_level;
	diff->flags = params->flags;
	diff->old.root = params->old;
	diff->new.root = params->new;
	diff->position.level = COW_DIFF_MAX_LEVELS;
	ret = check_root(diff, &diff->old);
	if (!ret)
		ret = check_root(diff, &diff->new);
	if (!ret)
		ret = check_not_swapped(diff);
	if (ret)
		return ret;
	diff->ops = params->ops;
	count_cow_diff(COW_DIFF_BEGUN, 1);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_begin);

static bool is_passed(const struct cow_diff_key *key, unsigned int level,
		      const struct cow_diff_position *pos)
{
	int order = cow_diff_compare_keys(key, &pos->key);

	return order < 0 || (!order && level >= pos->level);
}

/* Was what comes next told as changed? Only the position knows. */
static bool was_changed(const struct cow_diff *d, const struct cow_diff_side *s,
			const struct cow_diff_position *pos)
{
	u8 changed = s == &d->new ? pos->changed_new : pos->changed_old;

	return changed >> s->coming_level & 1;
}

/* Is the sibling after what comes next passed, too? */
static bool is_next_passed(const struct cow_diff_side *s, const struct cow_diff_position *pos)
{
	const struct cow_diff_level *parent;

	if (!s->begun)
		return false;
	parent = &s->level[s->coming_level + 1];
	return parent->next + 1 < parent->node.nr &&
	       is_passed(&s->coming_end, s->coming_level, pos);
}

/* Down to the last pointer of each level that was passed. */
static int seek(struct cow_diff *d, struct cow_diff_side *s, const struct cow_diff_position *pos)
{
	struct cow_diff_node node;
	int ret;

	for (;;) {
		ret = look_ahead(d, s);
		if (ret || s->done || !is_passed(&s->coming.key, s->coming_level, pos))
			return ret;
		if (is_next_passed(s, pos)) {
			move_on(s, false);
			continue;
		}
		if (!was_changed(d, s, pos)) {
			move_on(s, false);
			return 0;
		}
		ret = read_coming(d, s, &node);
		if (ret)
			return ret;
		enter(d, s, &node);
		if (s->at == d->lowest_level)
			return 0;
	}
}

/**
 * cow_diff_begin_after() - go on where another diff was left
 * @diff: as for cow_diff_begin()
 * @params: the same as then
 * @position: from cow_diff_get_position()
 *
 * The pairs that this one tells are those that the other one had not told yet.
 *
 * Context: as &cow_diff_ops.read, which it calls for the blocks on the way.
 * Return: as cow_diff_begin() and cow_diff_next(); -EINVAL, with a warning, for a level
 * above COW_DIFF_MAX_LEVELS.
 */
int cow_diff_begin_after(struct cow_diff *diff, const struct cow_diff_params *params,
			 const struct cow_diff_position *position)
{
	int ret = cow_diff_begin(diff, params);

	if (ret)
		return ret;
	if (position->level > COW_DIFF_MAX_LEVELS) {
		misused("position of level %u: must be 0 to %d", position->level,
			COW_DIFF_MAX_LEVELS);
		ret = -EINVAL;
	}
	if (!ret)
		ret = seek(diff, &diff->old, position);
	if (!ret)
		ret = seek(diff, &diff->new, position);
	if (ret) {
		cow_diff_end(diff);
		return ret;
	}
	diff->position = *position;
	count_cow_diff(COW_DIFF_RESUMED, 1);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_begin_after);

/**
 * cow_diff_get_position() - where is a diff?
 * @diff: begun
 * @position: is filled in; right after the last pair, or after what it went past since
 *
 * Context: any.
 */
void cow_diff_get_position(const struct cow_diff *diff, struct cow_diff_position *position)
{
	unsigned int i;

	*position = diff->position;
	position->changed_old = 0;
	position->changed_new = 0;
	for (i = 0; i < COW_DIFF_MAX_LEVELS; i++) {
		if (counterpart(&diff->old, &position->key, i))
			position->changed_old |= 1U << i;
		if (counterpart(&diff->new, &position->key, i))
			position->changed_new |= 1U << i;
	}
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_get_position);

/**
 * cow_diff_end() - finish a diff, or stop in the middle
 * @diff: begun; ended ones, and such as could not begin, are left alone
 *
 * Releases the blocks that are open. The counts and what was wrong can still be read.
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
	count_cow_diff(COW_DIFF_PAIRS, diff->pairs);
	count_cow_diff(COW_DIFF_SHARED, diff->shared);
	count_cow_diff(COW_DIFF_READ_OLD, diff->old.reads);
	count_cow_diff(COW_DIFF_READ_NEW, diff->new.reads);
	trace_cow_diff_end(diff->pairs, diff->shared, diff->old.reads, diff->new.reads);
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_end);
