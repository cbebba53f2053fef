/* SPDX-License-Identifier: GPL-2.0 */
/*
 * COW diff: what changed between two trees since a generation, which is an exclusive bound.
 *
 * A block of the new tree is new if its generation is above the bound. One of the very
 * generation of the bound must be in the old tree, too.
 */
#ifndef _LINUX_COW_DIFF_H
#define _LINUX_COW_DIFF_H

#include <linux/fs_generation.h>
#include <linux/types.h>

/**
 * DOC: Overview
 *
 * A copy-on-write filesystem often has two trees that share most of their blocks: a
 * snapshot and its origin, or a tree and its relocated copy. Who accounts for blocks by
 * the trees that reach them must know which blocks are in one of the two only. It is
 * enough to look below blocks that are newer than the moment when the two were one::
 *
 *	struct cow_diff *diff;		// over 2 KiB: not for the stack
 *	struct cow_diff_pair pair;
 *	int ret = cow_diff_begin(diff, &params);
 *
 *	if (ret)
 *		return ret;
 *	while ((ret = cow_diff_next(diff, &pair)) > 0) {
 *		if (pair.new.block && !pair.new_again)
 *			mark_dirty(pair.new.block);
 *		if (pair.old.block && !pair.old_again)
 *			mark_dirty(pair.old.block);
 *	}
 *	cow_diff_end(diff);
 *
 * Each block that only one of the trees has is told once, in a pair with what the other
 * tree has in its place:
 *
 *  1. Both, neither seen before: the new block has taken the place of the old one.
 *  2. @old_again: a new block, and an old one that was told before: a split.
 *  3. @new_again: an old block, and a new one that was told before: a merge.
 *  4. No old block: nothing was replaced. The old tree is lower, or ends before, or what it
 *     has there is still in the new tree.
 *  5. No new block: the old one is gone, and what is in its place was there before, or
 *     nothing is.
 *
 * Pairs come in the order of their keys, those of one key from the root down. So there is
 * one pair for a key and a level, which is a position to go on from.
 *
 * What the trees must be like:
 *
 *  1. A block is not changed while a tree has it, and is not newer than its parent.
 *  2. What is not newer than the bound in the new tree is in the old one as well.
 *  3. A block that both have is at the same level in both, with the same key. So keys of
 *     pointers change with the block alone: they are its first key, or the lowest that a
 *     search would look for there.
 *
 * All of this is checked as far as the walk comes. A tree that is not like that is an error
 * that says what was found where: see cow_diff_describe(). It is never a crash, and the
 * walk always ends, since levels fall by one with each step down.
 *
 * What is shared is known by the pointers to it; the bound is there to find out if these are
 * the trees that were meant. A lower one finds the same. With 0 as the bound any two trees
 * can be compared, also such as have both been changed since they were one.
 *
 * No block is read that both trees have, and none twice. cow_diff_begin_after() reads those
 * on the way to its position, at most one of each level and tree.
 *
 * That only the blocks that are newer in a relocated tree, and their counterparts, need to
 * be traced for quota is from btrfs (Qu Wenruo, 2018). There, the two trees have the same
 * shape and keys; and the bound, the generation of the last snapshot, is inclusive, since
 * blocks of that one may be of either tree: to port it, take one less.
 */

/* Levels of a tree, leaves included. */
#define COW_DIFF_MAX_LEVELS	8

/**
 * struct cow_diff_key - a key
 * @word: the most significant one first; those that a tree does not need are 0
 *
 * Wide enough for btrfs: objectid, type, offset.
 */
struct cow_diff_key {
	u64	word[3];
};

/**
 * cow_diff_compare_keys() - which key is lower?
 * @a: one
 * @b: the other one
 *
 * Context: any.
 * Return: below 0 if it is @a, above 0 if it is @b, 0 if they are equal.
 */
static inline int cow_diff_compare_keys(const struct cow_diff_key *a,
					const struct cow_diff_key *b)
{
	unsigned int i;

	for (i = 0; i < 2 && a->word[i] == b->word[i]; i++)
		;
	if (a->word[i] == b->word[i])
		return 0;
	return a->word[i] < b->word[i] ? -1 : 1;
}

/**
 * struct cow_diff_ptr - what a parent knows of its child
 * @block: where it is, as the caller names it; 0: no block
 * @generation: in which it was written
 * @key: see rule 3 above; for a root as if it had a parent
 */
struct cow_diff_ptr {
	u64			block;
	u64			generation;
	struct cow_diff_key	key;
};

/**
 * struct cow_diff_node - a block that was read
 * @level: 0 is a leaf
 * @nr: children; of a leaf, 0 if it is empty
 * @generation: as it says itself
 * @key: its first one; not looked at if @nr is 0
 * @data: the caller's, for &cow_diff_ops.child and &cow_diff_ops.release
 */
struct cow_diff_node {
	unsigned int	level;
	unsigned int	nr;
	u64		generation;
	struct cow_diff_key key;
	void		*data;
};

/**
 * struct cow_diff_ops - how to read the trees
 * @max_children: that a block can have, 1 to 65536
 * @read: fill in @node for the block that @ptr is for. It may sleep, and fail: its error
 *	(below 0) is that of cow_diff_next(). Whatever it finds on disk is to be handed
 *	over as it is: the helper compares it with @ptr. @node stays until @release
 * @child: fill in @child for child @i, below &cow_diff_node.nr. What it says of the first
 *	key of a node is looked at as well: where that is not kept, the key of the
 *	node is right, which @read was given
 * @release: the other end of @read
 */
struct cow_diff_ops {
	unsigned int	max_children;
	int (*read)(void *private, const struct cow_diff_ptr *ptr, struct cow_diff_node *node);
	void (*child)(void *private, const struct cow_diff_node *node, unsigned int i,
		      struct cow_diff_ptr *child);
	void (*release)(void *private, struct cow_diff_node *node);
};

/**
 * struct cow_diff_root - a tree, or the upper end of a part of it
 * @ptr: what its parent knows, or would know; without a block the tree is empty
 * @level: of the root, 0 to COW_DIFF_MAX_LEVELS - 1
 */
struct cow_diff_root {
	struct cow_diff_ptr	ptr;
	unsigned int		level;
};

/* Blocks of the lowest level are told as their parents know them, and are not read. */
#define COW_DIFF_UNREAD		0x01U

/**
 * struct cow_diff_params - two trees and a bound
 * @ops: how to read them
 * @private: for @ops
 * @old: the tree as it was
 * @new: and as it is
 * @newer_than: the bound: blocks of @new with a higher generation are new; 0: unknown
 * @lowest_level: blocks below it are neither told nor read; 1 leaves out leaves
 * @flags: COW_DIFF_UNREAD or 0
 */
struct cow_diff_params {
	const struct cow_diff_ops	*ops;
	void				*private;
	struct cow_diff_root		old, new;
	u64				newer_than;
	unsigned int			lowest_level;
	unsigned int			flags;
};

/**
 * struct cow_diff_pair - a block that changed, or two
 * @old: of the old tree; without a block: see the cases above
 * @new: of the new tree; the same
 * @level: of both
 * @old_again: @old was in a pair before
 * @new_again: @new was in a pair before
 */
struct cow_diff_pair {
	struct cow_diff_ptr	old, new;
	unsigned int		level;
	bool			old_again, new_again;
};

/**
 * struct cow_diff_position - how far a diff has come
 * @key: all pairs below it have been told
 * @level: of that key, those of this level and above
 * @changed_old: for the helper: which of the old blocks there are gone, a bit for each level
 * @changed_new: the same for the new ones
 *
 * Good for other diffs of the same two trees.
 */
struct cow_diff_position {
	struct cow_diff_key	key;
	u8			level;
	u8			changed_old, changed_new;
};

/**
 * enum cow_diff_problem - what may be wrong with the trees
 * @COW_DIFF_FINE: nothing
 * @COW_DIFF_SWAPPED: the old tree is newer than the bound, and than the new one
 * @COW_DIFF_TOO_DEEP: a root has a level that no tree has
 * @COW_DIFF_BAD_LEVEL: a block is of another level than its place
 * @COW_DIFF_BAD_GENERATION: or another generation than its parent knows
 * @COW_DIFF_NEWER_CHILD: a child is newer than its parent
 * @COW_DIFF_BAD_KEY: keys are out of order, or out of the parent's range
 * @COW_DIFF_NO_CHILD: a node without children, or a pointer to nothing
 * @COW_DIFF_MANY_CHILDREN: a node says that it has more than there can be
 * @COW_DIFF_LOOP: a block is below itself
 * @COW_DIFF_NOT_SHARED: a block is not newer than the bound, and not in the old tree
 * @COW_DIFF_REUSED: a block is in both trees, with two generations
 * @NR_COW_DIFF_PROBLEMS: how many there are
 */
enum cow_diff_problem {
	COW_DIFF_FINE,
	COW_DIFF_SWAPPED,
	COW_DIFF_TOO_DEEP,
	COW_DIFF_BAD_LEVEL,
	COW_DIFF_BAD_GENERATION,
	COW_DIFF_NEWER_CHILD,
	COW_DIFF_BAD_KEY,
	COW_DIFF_NO_CHILD,
	COW_DIFF_MANY_CHILDREN,
	COW_DIFF_LOOP,
	COW_DIFF_NOT_SHARED,
	COW_DIFF_REUSED,
	NR_COW_DIFF_PROBLEMS,
};

/**
 * struct cow_diff_trouble - what was wrong with a tree
 * @problem: which kind; COW_DIFF_FINE if nothing was
 * @of_new: in the new tree, else in the old one
 * @level: where
 * @block: which one
 * @found: a level, generation or number, as @problem says; of a key the word that differs
 * @limit: what it should have been, or the end of its range; the same
 */
struct cow_diff_trouble {
	enum cow_diff_problem	problem;
	bool			of_new;
	unsigned int		level;
	u64			block;
	u64			found, limit;
};

/* One level of one tree: what the walk has come to there. */
struct cow_diff_level {
	struct cow_diff_ptr	ptr;		/* no block: nothing yet */
	struct cow_diff_key	end;		/* of its keys, exclusive; see @endless */
	struct cow_diff_node	node;
	unsigned int		next;		/* child */
	bool			open;		/* @node is there */
	bool			changed;	/* only this tree has it */
	bool			endless;
};

struct cow_diff_side {
	struct cow_diff_level	level[COW_DIFF_MAX_LEVELS];
	struct cow_diff_root	root;
	struct cow_diff_ptr	coming;
	struct cow_diff_key	coming_end;
	unsigned int		coming_level;
	unsigned int		at;		/* level of what came last */
	bool			coming_endless, has_coming, begun, done;
	unsigned long		reads;
};

/**
 * struct cow_diff - a walk of two trees
 * @trouble: after an error: what was wrong, if it was a tree
 * @pairs: that were told
 * @shared: pointers that both trees have, at which it turned back
 *
 * The rest is for the helper. For one task at a time. As much memory as levels, however large
 * the trees; nothing is allocated.
 */
struct cow_diff {
	struct cow_diff_trouble	trouble;
	unsigned long		pairs, shared;
/* private: */
	const struct cow_diff_ops *ops;		/* NULL: has ended */
	void			*private;
	u64			newer_than;
	unsigned int		lowest_level, flags;
	struct cow_diff_position position;
	struct cow_diff_side	old, new;
};

int __must_check cow_diff_begin(struct cow_diff *diff, const struct cow_diff_params *params);
int __must_check cow_diff_begin_after(struct cow_diff *diff,
				      const struct cow_diff_params *params,
				      const struct cow_diff_position *position);
int __must_check cow_diff_next(struct cow_diff *diff, struct cow_diff_pair *pair);
void cow_diff_get_position(const struct cow_diff *diff, struct cow_diff_position *position);
void cow_diff_end(struct cow_diff *diff);
int cow_diff_describe(const struct cow_diff *diff, char *text, size_t size);

/**
 * cow_diff_reads() - how many blocks a diff has read
 * @diff: begun; also after cow_diff_end()
 *
 * Context: any.
 * Return: of both trees together, failed reads left out.
 */
static inline unsigned long cow_diff_reads(const struct cow_diff *diff)
{
	return diff->old.reads + diff->new.reads;
}

#endif /* _LINUX_COW_DIFF_H */
