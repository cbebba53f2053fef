/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy-on-write B+tree in memory, as a filesystem has them on disk: what commit-root
 * search is tested and measured on. Keys and values are 64 bits each.
 *
 * The same source is a part of a test module, with real locks, and of a userspace program,
 * with none, for fuzzing under sanitizers: cow_port.h makes the difference.
 */
#ifndef FSCOMMIT_COW_TREE_H
#define FSCOMMIT_COW_TREE_H

#include "cow_port.h"

#define COW_BLOCK_SIZE	4096
#define COW_MAX_LEVELS	12
#define COW_NO_BLOCK	0U

struct cow_fs;

struct cow_ops {
	/* up to which generation freed blocks may be reused */
	u64 (*reusable)(void *private);
	/* at a commit, nobody writes: @generation is as it shall be found from now on */
	void (*publish)(void *private, u64 generation);
};

struct cow_params {
	unsigned int	max_blocks;	/* 1 to 2^31 */
	unsigned int	lock_type;	/* FCT_*, see fscommit_test.h */
	/* entries of a leaf and of a node; 0: as many as a block holds; 4 at least */
	unsigned int	leaf_items, node_items;
};

struct cow_tree {
	struct cow_fs	*fs;
	u32		root;		/* of the live tree; under its lock */
};

/* What a search found: values of consecutive keys. */
struct cow_range {
	u64		first;
	unsigned int	nr;
	u64		*value;
	unsigned long	*found;		/* a bit a key; those that are set are not looked for */
};

struct cow_usage {
	unsigned int	blocks;		/* that exist */
	unsigned int	free;		/* can be had at once */
	unsigned int	pending;	/* freed, and may be in a committed root */
	unsigned long	stale;		/* blocks that a search found reused: never */
	unsigned long	cowed;
};

int cow_fs_create(struct cow_fs **fs, const struct cow_params *params,
		  const struct cow_ops *ops, void *private);
void cow_fs_destroy(struct cow_fs *fs);
u64 cow_running(const struct cow_fs *fs);
void cow_usage(struct cow_fs *fs, struct cow_usage *usage);

int cow_tree_create(struct cow_tree *tree, struct cow_fs *fs);
void cow_tree_drop(struct cow_tree *tree);
void cow_snapshot(struct cow_tree *snapshot, const struct cow_tree *tree);

/* A transaction: many at once, none while one commits. */
void cow_begin(struct cow_fs *fs);
void cow_end(struct cow_fs *fs);
int cow_insert(struct cow_tree *tree, u64 key, u64 value);
int cow_delete(struct cow_tree *tree, u64 key);
/*
 * The last of the keys from @first to @last, with a look at one leaf: -ENOENT if there is
 * none, -EAGAIN if it may be in another leaf.
 */
int cow_delete_last(struct cow_tree *tree, u64 first, u64 last, u64 *key, u64 *value);
/* At the next commit, in the committing task. */
int cow_delete_later(struct cow_tree *tree, u64 key);

/* 0 if all are found, -ENOENT if not, -EUCLEAN for a block that was reused */
int cow_search_live(struct cow_tree *tree, struct cow_range *range);
int cow_search_root(struct cow_fs *fs, u32 root, struct cow_range *range);

/*
 * Runs what was to be deleted later; after each @rewrite of that, blocks of this
 * generation count as written out, and are copied once more. 0: never.
 */
int cow_commit(struct cow_fs *fs, unsigned int rewrite);

/* Looks at the structure of a tree, nobody else using it; returns its entries, or < 0. */
long cow_check_tree(struct cow_fs *fs, u32 root);
/* And whether each block is free, pending, or in one of these trees as often as counted. */
int cow_check_blocks(struct cow_fs *fs, struct cow_tree *const *trees, unsigned int nr);

#endif /* FSCOMMIT_COW_TREE_H */
