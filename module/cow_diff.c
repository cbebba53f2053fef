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
 *
 * An error leaves the walk where it was: find the next pointer, read and check its blocks, and
 * only then advance.
 */
#include <linux/bug.h>
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include <linux/cow_diff.h>

#include "internal.h"
#include "trace.h"

#define MAX_CHILDREN	65536U

enum cow_diff_event {
	COW_DIFF_BEGUN,
	COW_DIFF_PAIRS,
	COW_DIFF_SHARED,
	COW_DIFF_READ_OLD,
	COW_DIFF_READ_NEW,
	COW_DIFF_READ_FAILED,
	COW_DIFF_BAD_TREE,	/* errors in a tree */
	COW_DIFF_MISUSE,
	NR_COW_DIFF_EVENTS,
};

/* A diff counts its blocks itself and adds them here when it ends. */
static DEFINE_PER_CPU(unsigned long [NR_COW_DIFF_EVENTS], counts);

static void count(enum cow_diff_event event, unsigned long nr)
{
	this_cpu_add(counts[event], nr);
}

#define misused(fmt, ...)							\
do {										\
	count(COW_DIFF_MISUSE, 1);						\
	WARN_ONCE(1, "fscommit: COW diff: " fmt "\n", ##__VA_ARGS__);		\
} while (0)

/* --- errors -------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *found, *limit;
} problems[NR_COW_DIFF_PROBLEMS] = {
	[COW_DIFF_FINE] = { "nothing is wrong" },
	[COW_DIFF_SWAPPED] = { "newer than the new tree: the trees are swapped",
			       "generation", "other" },
	[COW_DIFF_TOO_DEEP] = { "the tree is too deep", "level", "highest" },
	[COW_DIFF_BAD_LEVEL] = { "wrong level", "found", "expected" },
	[COW_DIFF_BAD_GENERATION] = { "generation differs from its pointer", "found", "expected" },
	[COW_DIFF_NEWER_CHILD] = { "newer than its parent", "generation", "parent" },
	[COW_DIFF_BAD_KEY] = { "keys are out of order", "key", "limit" },
	[COW_DIFF_NO_CHILD] = { "empty, or a null child pointer", "child", "children" },
	[COW_DIFF_MANY_CHILDREN] = { "too many children", "found", "most" },
	[COW_DIFF_LOOP] = { "its own ancestor", "level", "above" },
	[COW_DIFF_NOT_SHARED] = { "not newer than the bound, and not in the old tree",
				  "generation", "bound" },
	[COW_DIFF_REUSED] = { "in both trees, with two generations", "new", "old" },
};

/* Returns the error for the caller of the diff. */
static int report_bad_tree(struct cow_diff *d, const struct cow_diff_trouble *t)
{
	d->trouble = *t;
	count(COW_DIFF_BAD_TREE, 1);
	trace_cow_diff_trouble(t->problem, t->of_new, t->level, t->block, t->found, t->limit);
	return t->problem == COW_DIFF_SWAPPED ? -EINVAL : -EUCLEAN;
}

#define bad_tree(d, s, _problem, _level, _block, _found, _limit)		\
	report_bad_tree(d, &(struct cow_diff_trouble){				\
		.problem = _problem, .of_new = (s) == &(d)->new, .level = _level, \
		.block = _block, .found = _found, .limit = _limit })

/* @p: a block, with the key that is out of order */
static int bad_key(struct cow_diff *d, const struct cow_diff_side *s, unsigned int level,
		   const struct cow_diff_ptr *p, const struct cow_diff_key *limit)
{
	unsigned int i;

	for (i = 0; i < 2 && p->key.word[i] == limit->word[i]; i++)
		;
	return bad_tree(d, s, COW_DIFF_BAD_KEY, level, p->block, p->key.word[i], limit->word[i]);
}

/**
 * cow_diff_describe() - describe an error in a tree
 * @diff: the diff that returned the error; also after cow_diff_end()
 * @text: filled in
 * @size: size of @text in bytes
 *
 * For the caller's own message, after the name of the filesystem.
 *
 * Context: any.
 * Return: length of the text, truncated to fit, without the final 0.
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

/* Is @key below the end of a block's range? */
static bool is_within(const struct cow_diff_key *key, const struct cow_diff_key *end,
		      bool unbounded)
{
	return unbounded || is_below(key, end);
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
	const struct cow_diff_ptr *p = &s->next;
	struct cow_diff_ptr own = { .block = p->block, .key = node->key };
	unsigned int level = s->next_level;

	if (node->level != level)
		return bad_tree(d, s, COW_DIFF_BAD_LEVEL, level, p->block, node->level, level);
	if (node->generation != p->generation)
		return bad_tree(d, s, COW_DIFF_BAD_GENERATION, level, p->block, node->generation,
				p->generation);
	/* an empty leaf has no key, so nothing shows that this is its place */
	if (!node->nr && s->root.level)
		return bad_tree(d, s, COW_DIFF_NO_CHILD, level, p->block, 0, 0);
	if (level && node->nr > d->ops->max_children)
		return bad_tree(d, s, COW_DIFF_MANY_CHILDREN, level, p->block, node->nr,
				d->ops->max_children);
	if (node->nr && is_below(&node->key, &p->key))
		return bad_key(d, s, level, &own, &p->key);
	if (node->nr && !is_within(&node->key, &s->next_end, s->next_unbounded))
		return bad_key(d, s, level, &own, &s->next_end);
	return 0;
}

/* Read the next block, unless COW_DIFF_UNREAD skips it. Pass @node to enter() or drop_node(). */
static int read_next(struct cow_diff *d, struct cow_diff_side *s, struct cow_diff_node *node)
{
	int ret;

	*node = (struct cow_diff_node){ };
	if (s->next_level == d->lowest_level && d->flags & COW_DIFF_UNREAD)
		return 0;
	ret = d->ops->read(d->private, &s->next, node);
	if (unlikely(ret)) {
		count(COW_DIFF_READ_FAILED, 1);
		return ret < 0 ? ret : -EIO;
	}
	s->reads++;
	ret = check_node(d, s, node);
	if (unlikely(ret))
		d->ops->release(d->private, node);
	return ret;
}

static void drop_node(struct cow_diff *d, const struct cow_diff_side *s,
		      struct cow_diff_node *node)
{
	if (s->next_level != d->lowest_level || !(d->flags & COW_DIFF_UNREAD))
		d->ops->release(d->private, node);
}

/* --- one tree ------------------------------------------------------------ */

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

/* Step to a block that only this tree has; its children are next. */
static void enter(struct cow_diff *d, struct cow_diff_side *s, struct cow_diff_node *node)
{
	struct cow_diff_level *l = advance(s, true);

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
	const struct cow_diff_ptr *p = &s->next;
	unsigned int i;

	for (i = level + 1; i <= s->root.level; i++)
		if (s->level[i].ptr.block == p->block)
			return bad_tree(d, s, COW_DIFF_LOOP, level, p->block, level, i);
	return 0;
}

/* Make the next child of the open block of @level the next pointer. */
static int peek_child(struct cow_diff *d, struct cow_diff_side *s, unsigned int level)
{
	const struct cow_diff_level *parent = &s->level[level];
	const struct cow_diff_key *before = &s->level[level - 1].ptr.key;
	struct cow_diff_ptr *p = &s->next, after;
	unsigned int i = parent->next;

	d->ops->child(d->private, &parent->node, i, p);
	if (!p->block)
		return bad_tree(d, s, COW_DIFF_NO_CHILD, level, parent->ptr.block, i,
				parent->node.nr);
	if (fs_generation_after(p->generation, parent->node.generation))
		return bad_tree(d, s, COW_DIFF_NEWER_CHILD, level - 1, p->block, p->generation,
				parent->node.generation);
	if (is_below(&p->key, &parent->ptr.key))
		return bad_key(d, s, level - 1, p, &parent->ptr.key);
	if (!is_within(&p->key, &parent->end, parent->unbounded))
		return bad_key(d, s, level - 1, p, &parent->end);
	if (i && !is_below(before, &p->key))
		return bad_key(d, s, level - 1, p, before);
	s->next_end = parent->end;
	s->next_unbounded = parent->unbounded;
	if (i + 1 < parent->node.nr) {
		d->ops->child(d->private, &parent->node, i + 1, &after);
		if (!is_below(&p->key, &after.key))
			return bad_key(d, s, level - 1, &after, &p->key);
		if (!is_within(&after.key, &parent->end, parent->unbounded))
			return bad_key(d, s, level - 1, &after, &parent->end);
		s->next_end = after.key;
		s->next_unbounded = false;
	}
	s->next_level = level - 1;
	return check_loop(d, s, level - 1);
}

/* Find the next pointer, or set @done. */
static int peek_next(struct cow_diff *d, struct cow_diff_side *s)
{
	unsigned int i;
	int ret;

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

		if (l->open && l->next < l->node.nr) {
			ret = peek_child(d, s, i);
			s->has_next = !ret;
			return ret;
		}
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

/* The block of this tree at @key and @level, if only this tree has it. */
static const struct cow_diff_ptr *counterpart(const struct cow_diff_side *s,
					      const struct cow_diff_key *key,
					      unsigned int level)
{
	const struct cow_diff_level *l = &s->level[level];

	if (!l->ptr.block || !l->changed || !is_within(key, &l->end, l->unbounded))
		return NULL;
	return &l->ptr;
}

static int check_is_new(struct cow_diff *d)
{
	const struct cow_diff_ptr *p = &d->new.next;

	if (!d->newer_than || fs_generation_after(p->generation, d->newer_than))
		return 0;
	return bad_tree(d, &d->new, COW_DIFF_NOT_SHARED, d->new.next_level, p->block,
			p->generation, d->newer_than);
}

static int check_not_reused(struct cow_diff *d, unsigned int level,
			    const struct cow_diff_ptr *old, const struct cow_diff_ptr *new)
{
	if (!old || old->block != new->block)
		return 0;
	return bad_tree(d, &d->new, COW_DIFF_REUSED, level, new->block, new->generation,
			old->generation);
}

/* take_*(): 1 with a pair, 0 without */
static int take_both(struct cow_diff *d, struct cow_diff_pair *pair)
{
	struct cow_diff_side *old = &d->old, *new = &d->new;
	struct cow_diff_node old_node, new_node;
	int ret;

	if (old->next.block == new->next.block &&
	    old->next.generation == new->next.generation) {
		advance(old, false);
		advance(new, false);
		d->shared++;
		return 0;
	}
	ret = check_not_reused(d, new->next_level, &old->next, &new->next);
	if (!ret)
		ret = check_is_new(d);
	if (!ret)
		ret = read_next(d, old, &old_node);
	if (ret)
		return ret;
	ret = read_next(d, new, &new_node);
	if (ret) {
		drop_node(d, old, &old_node);
		return ret;
	}
	pair->old = old->next;
	pair->new = new->next;
	pair->level = new->next_level;
	enter(d, old, &old_node);
	enter(d, new, &new_node);
	return 1;
}

static int take_new(struct cow_diff *d, struct cow_diff_pair *pair)
{
	struct cow_diff_side *new = &d->new;
	const struct cow_diff_ptr *old = counterpart(&d->old, &new->next.key, new->next_level);
	struct cow_diff_node node;
	int ret = check_is_new(d);

	if (!ret)
		ret = check_not_reused(d, new->next_level, old, &new->next);
	if (!ret)
		ret = read_next(d, new, &node);
	if (ret)
		return ret;
	pair->new = new->next;
	if (old)
		pair->old = *old;
	pair->old_again = old;
	pair->level = new->next_level;
	enter(d, new, &node);
	return 1;
}

static int take_old(struct cow_diff *d, struct cow_diff_pair *pair)
{
	struct cow_diff_side *old = &d->old;
	const struct cow_diff_ptr *new = counterpart(&d->new, &old->next.key, old->next_level);
	struct cow_diff_node node;
	int ret = 0;

	if (new)
		ret = check_not_reused(d, old->next_level, &old->next, new);
	if (!ret)
		ret = read_next(d, old, &node);
	if (ret)
		return ret;
	pair->old = old->next;
	if (new)
		pair->new = *new;
	pair->new_again = new;
	pair->level = old->next_level;
	enter(d, old, &node);
	return 1;
}

static const struct cow_diff_key *key_of(const struct cow_diff_pair *p)
{
	return p->new.block && !p->new_again ? &p->new.key : &p->old.key;
}

/**
 * cow_diff_next() - find the next pair
 * @diff: a diff that has begun
 * @pair: filled in
 *
 * After an error the next call retries the same step, so no pair is lost.
 *
 * Context: as &cow_diff_ops.read; locks of the trees may be held. Between two pairs it passes
 * at most as many shared pointers as the open blocks have.
 * Return: 1 with a pair; 0 at the end; the error of &cow_diff_ops.read, or -EIO if that is above
 * 0; -EUCLEAN for a corrupt tree, see cow_diff_describe(); -EINVAL, with a warning, for a diff
 * that has not begun or has ended.
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
		ret = peek_next(diff, &diff->old);
		if (!ret)
			ret = peek_next(diff, &diff->new);
		if (ret || (diff->old.done && diff->new.done))
			return ret;
		ret = compare_next(&diff->old, &diff->new);
		if (ret < 0)
			ret = take_old(diff, pair);
		else if (ret)
			ret = take_new(diff, pair);
		else
			ret = take_both(diff, pair);
	} while (!ret);
	if (ret < 0)
		return ret;
	diff->pairs++;
	trace_cow_diff_pair(pair, key_of(pair));
	return 1;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_next);

/* --- begin and end ------------------------------------------------------- */

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

	/* a tree that ends above the lowest level has nothing to report */
	s->done = !r->ptr.block || r->level < d->lowest_level;
	if (!r->ptr.block)
		return 0;
	if (r->level >= COW_DIFF_MAX_LEVELS)
		return bad_tree(d, s, COW_DIFF_TOO_DEEP, r->level, r->ptr.block, r->level,
				COW_DIFF_MAX_LEVELS - 1);
	return 0;
}

/*
 * Without a bound either tree may be the older one. An empty tree has no generation. A tree that
 * lost levels may have an older block for its root: the walk decides.
 */
static int check_not_swapped(struct cow_diff *d)
{
	const struct cow_diff_root *old = &d->old.root, *new = &d->new.root;

	if (!d->newer_than || !old->ptr.block || !new->ptr.block || new->level < old->level ||
	    !fs_generation_after(old->ptr.generation, d->newer_than) ||
	    !fs_generation_after(old->ptr.generation, new->ptr.generation))
		return 0;
	return bad_tree(d, &d->old, COW_DIFF_SWAPPED, old->level, old->ptr.block,
			old->ptr.generation, new->ptr.generation);
}

/**
 * cow_diff_begin() - begin a diff
 * @diff: the diff; its memory may be uninitialised
 * @params: not used after the call, but &cow_diff_params.ops is
 *
 * Context: any; does not sleep.
 * Return: 0; -EINVAL if the old tree is newer than the bound and the new tree, and not higher, or
 * -EUCLEAN if a tree is too deep, for both see cow_diff_describe(); -EINVAL, with a warning, for
 * parameters out of range. After an error nothing has begun, and cow_diff_end() has no effect.
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
	ret = check_root(diff, &diff->old);
	if (!ret)
		ret = check_root(diff, &diff->new);
	if (!ret)
		ret = check_not_swapped(diff);
	if (ret)
		return ret;
	diff->ops = params->ops;
	count(COW_DIFF_BEGUN, 1);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_begin);

/**
 * cow_diff_end() - end a diff, at any pair
 * @diff: the diff; no effect if it has ended or could not begin
 *
 * Releases the open blocks. The counters and &cow_diff.trouble stay valid.
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
	count(COW_DIFF_PAIRS, diff->pairs);
	count(COW_DIFF_SHARED, diff->shared);
	count(COW_DIFF_READ_OLD, diff->old.reads);
	count(COW_DIFF_READ_NEW, diff->new.reads);
	trace_cow_diff_end(diff->pairs, diff->shared, diff->old.reads, diff->new.reads);
}
EXPORT_SYMBOL_FSCOMMIT(cow_diff_end);

/* --- debugfs: all diffs that have ended ---------------------------------- */

static const char * const event_names[NR_COW_DIFF_EVENTS] = {
	[COW_DIFF_BEGUN] = "diffs",
	[COW_DIFF_PAIRS] = "pairs",
	[COW_DIFF_SHARED] = "shared",
	[COW_DIFF_READ_OLD] = "reads_old",
	[COW_DIFF_READ_NEW] = "reads_new",
	[COW_DIFF_READ_FAILED] = "reads_failed",
	[COW_DIFF_BAD_TREE] = "bad_trees",
	[COW_DIFF_MISUSE] = "misuses",
};

static int cow_diff_show(struct seq_file *m, void *unused)
{
	unsigned long sum;
	unsigned int i;
	int cpu;

	for (i = 0; i < NR_COW_DIFF_EVENTS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(counts, cpu)[i]);
		seq_printf(m, "%s %lu\n", event_names[i], sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cow_diff);

void __init cow_diff_setup(struct dentry *debugfs)
{
	debugfs_create_file("cow_diff", 0400, debugfs, NULL, &cow_diff_fops);
}
