/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A balance of the copy-on-write tree of the tests, with quota: what the diff is made for.
 */
#ifndef FSCOMMIT_COW_BALANCE_H
#define FSCOMMIT_COW_BALANCE_H

#include "cow_tree.h"

#define COW_BALANCE_TREES	128

/* Of a tree: blocks that it reaches, and those that no other tree does. */
struct cow_quota {
	long	referenced, exclusive;
};

struct cow_balance {
	struct cow_fs		*fs;
	struct cow_tree		*const *tree;
	unsigned int		nr_trees;	/* 1 to COW_BALANCE_TREES */
	u32			first, last;	/* blocks to be relocated */
	bool			whole;		/* mark whole subtrees dirty, no diff */
	struct cow_quota	*quota;		/* of each tree; is kept up to date */
	/* out: are added to */
	unsigned long		relocated;	/* blocks that were copied */
	unsigned long		swapped;	/* subtrees */
	unsigned long		dirty;		/* blocks whose owners were looked up */
	unsigned long		visited;	/* blocks read to know which are dirty */
};

/*
 * All trees are committed, and nobody uses them. After an error some trees are relocated,
 * and the quota is wrong.
 */
int cow_balance(struct cow_balance *b);

/* From nothing, by all blocks of all trees. */
int cow_count_quota(struct cow_fs *fs, struct cow_tree *const *tree, unsigned int nr,
		    struct cow_quota *quota);

#endif /* FSCOMMIT_COW_BALANCE_H */
