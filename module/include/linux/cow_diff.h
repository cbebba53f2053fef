/* SPDX-License-Identifier: GPL-2.0 */
/*
 * COW diff: the blocks that only one of two trees has. The bound is a generation.
 *
 * A block of the new tree is new if its generation is above the bound. A block whose generation
 * equals the bound must be in the old tree, too.
 */
#ifndef _LINUX_COW_DIFF_H
#define _LINUX_COW_DIFF_H

#include <linux/fs_generation.h>
#include <linux/fscommit_abi.h>
#include <linux/types.h>

/**
 * DOC: Overview
 *
 * A copy-on-write filesystem often has two trees that share most of their blocks: a snapshot
 * and its origin, or a tree and its relocated copy. Quota accounting must know which blocks only
 * one of the two has. The walk that finds them reads no shared block::
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
 * The diff reports every block that only one of the trees has, once, in a pair with its
 * counterpart, the block in the same place of the other tree:
 *
 *  1. Both blocks, neither reported before: the new block has replaced the old one.
 *  2. @old_again: a new block, and an old one that was reported before: a split.
 *  3. @new_again: an old block, and a new one that was reported before: a merge.
 *  4. No old block: the new block replaced nothing. The old tree is lower, ends before, or its
 *     block in this place is still in the new tree.
 *  5. No new block: the old block is gone. The block in its place is shared, or there is none.
 *
 * Pairs are ordered by key, pairs of one key from the root down. So a key and a level have at
 * most one pair.
 *
 * Requirements on the trees:
 *
 *  1. A block does not change while a tree has it, and is not newer than its parent.
 *  2. A block of the new tree that is not newer than the bound is in the old tree as well.
 *  3. A shared block has the same level and key in both trees. So the key of a pointer changes
 *     only with its block: it is the first key of the block, or the lowest key for which a
 *     search would enter the block.
 *  4. Only a leaf that is a root may be empty.
 *
 * The walk checks these for the blocks that it reads, and the pointers in them. If a tree breaks
 * them, cow_diff_next() fails, and &cow_diff.problem says why. The walk always ends, since each
 * step down lowers the level.
 *
 * The pointers show which blocks are shared. The bound only verifies that these are the intended
 * trees: a lower bound finds the same pairs. The bound 0 allows any two trees.
 *
 * The diff reads no block twice.
 *
 * The range of a block ends where that of the next child of its parent begins. The last block of
 * a level has no end: all higher keys are in its range.
 *
 * Concurrency and context:
 *
 *  - There is no lock. One task at a time uses a &struct cow_diff; several diffs of the same
 *    trees may run at once.
 *  - The caller keeps the blocks of both trees unchanged from begin to end, for example by a
 *    reference or a pin.
 *  - cow_diff_next() and cow_diff_end() sleep where &cow_diff_ops.read or &cow_diff_ops.release
 *    does; end only releases. The other calls do not sleep and may be made in any context.
 *
 * btrfs traces for quota only the newer blocks of a relocated tree and their counterparts (Qu
 * Wenruo, 2018). There, both trees have the same shape and keys, and a simpler walk by position
 * is enough. The bound there, the generation of the last snapshot, is inclusive.
 */

/* Levels of a tree, including leaves. */
#define COW_DIFF_MAX_LEVELS	8

/**
 * struct cow_diff_key - a key
 * @word: the most significant word first; unused words are 0
 *
 * Wide enough for the key of btrfs: objectid, type, offset.
 */
struct cow_diff_key {
	u64	word[3];
};

/**
 * cow_diff_compare_keys() - which key is lower?
 * @a: a key
 * @b: another key
 *
 * Context: any.
 * Return: below 0 if @a is lower, above 0 if @b is lower, 0 if they are equal.
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
 * struct cow_diff_ptr - a parent's pointer to its child
 * @block: address of the block, in the caller's terms; 0: no block
 * @generation: the generation that wrote the block
 * @key: see requirement 3 above. A root has the key that a parent's pointer would have: its first
 *	key, or in the second format there the lowest possible key, even if the root is empty
 */
struct cow_diff_ptr {
	u64			block;
	u64			generation;
	struct cow_diff_key	key;
};

/**
 * struct cow_diff_node - a block that was read
 * @level: 0 is a leaf
 * @nr: number of children, at most &cow_diff_ops.max_children; of a leaf any number above 0; 0 if
 *	the block is empty
 * @generation: the generation in the block itself
 * @key: the first key; ignored if @nr is 0
 * @data: for &cow_diff_ops.child and &cow_diff_ops.release
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
 * @max_children: the most children that a block above the leaves can have, 1 to 65536
 * @read: fill in @node from the block of @ptr. May sleep, and may fail with a negative error,
 *	which cow_diff_next() returns. Report what is on disk unchanged: the diff compares it
 *	with @ptr. @node stays until @release
 * @child: fill in @child for child @i, which is below &cow_diff_node.nr. The diff also checks the
 *	first child's key. A format that does not store it passes the key that @read had for
 *	this node
 * @release: undo @read
 */
struct cow_diff_ops {
	unsigned int	max_children;
	int (*read)(void *private, const struct cow_diff_ptr *ptr, struct cow_diff_node *node);
	void (*child)(void *private, const struct cow_diff_node *node, unsigned int i,
		      struct cow_diff_ptr *child);
	void (*release)(void *private, struct cow_diff_node *node);
};

/**
 * struct cow_diff_root - the root of a tree or subtree
 * @ptr: the pointer that its parent has, or would have; without a block the tree is empty
 * @level: level of the root, 0 to COW_DIFF_MAX_LEVELS - 1
 */
struct cow_diff_root {
	struct cow_diff_ptr	ptr;
	unsigned int		level;
};

/**
 * struct cow_diff_params - two trees and a bound
 * @ops: how to read the trees
 * @private: for @ops
 * @old: the old tree
 * @new: the new tree
 * @newer_than: the bound: blocks of @new with a higher generation are new; 0: no bound
 */
struct cow_diff_params {
	const struct cow_diff_ops	*ops;
	void				*private;
	struct cow_diff_root		old, new;
	u64				newer_than;
};

/**
 * struct cow_diff_pair - a block that only one tree has, and its counterpart
 * @old: in the old tree; without a block: see the cases above
 * @new: in the new tree; without a block: see the cases above
 * @level: level of both
 * @old_again: @old was in an earlier pair
 * @new_again: @new was in an earlier pair
 */
struct cow_diff_pair {
	struct cow_diff_ptr	old, new;
	unsigned int		level;
	bool			old_again, new_again;
};

/* One level of one tree: the block that the walk reached last. */
struct cow_diff_level {
	struct cow_diff_ptr	ptr;		/* no block: none yet */
	struct cow_diff_key	end;		/* of its range, exclusive; see @unbounded */
	struct cow_diff_node	node;
	unsigned int		next;		/* next child */
	bool			open;		/* @node was read and not released */
	bool			changed;	/* only this tree has @ptr.block */
	bool			unbounded;	/* the range has no end */
};

/* The walk of one tree. @next, if @has_next: the next pointer, with its range and level. */
struct cow_diff_side {
	struct cow_diff_level	level[COW_DIFF_MAX_LEVELS];
	struct cow_diff_root	root;
	struct cow_diff_ptr	next;
	struct cow_diff_key	next_end;
	unsigned int		next_level;
	unsigned int		at;		/* level of the block reached last */
	bool			next_unbounded, has_next, begun, done;
};

/**
 * struct cow_diff - a walk of two trees
 * @problem: after an error: what is wrong with a tree, for the caller's message; else NULL
 * @problem_block: the block where it was found
 * @problem_in_new: it was found in the new tree, else in the old tree
 *
 * Its size does not depend on the trees. No call allocates memory.
 */
struct cow_diff {
	const char		*problem;
	u64			problem_block;
	bool			problem_in_new;
/* private: */
	const struct cow_diff_ops *ops;		/* NULL: ended */
	void			*private;
	u64			newer_than;
	int			error;
	struct cow_diff_side	old, new;
};

int __must_check cow_diff_begin(struct cow_diff *diff, const struct cow_diff_params *params);
int __must_check cow_diff_next(struct cow_diff *diff, struct cow_diff_pair *pair);
void cow_diff_end(struct cow_diff *diff);

#endif /* _LINUX_COW_DIFF_H */
