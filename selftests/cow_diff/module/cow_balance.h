/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A balance with quota on the copy-on-write tree of the tests: the use case of the diff.
 */
#ifndef FSCOMMIT_COW_BALANCE_H
#define FSCOMMIT_COW_BALANCE_H

#include "cow_tree.h"

#define COW_BALANCE_TREES	128

/* Blocks that a tree reaches, and blocks that only this tree reaches. */
struct cow_quota {
	long	referenced, exclusive;
};

struct cow_balance {
	struct cow_fs		*fs;
	struct cow_tree		*const *tree;
	unsigned int		nr_trees;	/* 1 to COW_BALANCE_TREES */
	u32			first, last;	/* blocks to relocate */
	bool			whole;		/* mark whole subtrees dirty, without a diff */
	bool			delayed;	/* mark subtrees that change before the commit: */
	unsigned int		percent;	/* so many of the swapped ones */
	struct cow_quota	*quota;		/* of each tree, kept up to date */
	/* out, added to: */
	unsigned long		relocated;	/* blocks that were copied */
	unsigned long		swapped;	/* subtrees */
	unsigned long		dirty;		/* blocks whose owners were looked up */
	unsigned long		visited;	/* blocks read to find the dirty ones */
};

/*
 * The caller has committed all trees and excludes their users. After an error some trees are
 * relocated, and the quota is wrong.
 */
int cow_balance(struct cow_balance *b);

/* Recount the quota from all blocks of all trees. */
int cow_count_quota(struct cow_fs *fs, struct cow_tree *const *tree, unsigned int nr,
		    struct cow_quota *quota);

#endif /* FSCOMMIT_COW_BALANCE_H */
