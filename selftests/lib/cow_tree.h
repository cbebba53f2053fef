/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy-on-write B+tree in memory, modelled on those of filesystems. Commit-root search, the share
 * gate and the COW diff are tested and measured on it. Keys and values have 64 bits.
 */
#ifndef FSCOMMIT_COW_TREE_H
#define FSCOMMIT_COW_TREE_H

#include <linux/types.h>

#define COW_NO_BLOCK	0U

struct cow_fs;

struct cow_ops {
	/* freed blocks up to the returned generation may be reused */
	u64 (*reusable)(void *private);
	/* called by a commit, with changes excluded: publish the roots of @generation */
	void (*publish)(void *private, u64 generation);
};

struct cow_params {
	unsigned int	max_blocks;	/* above 2000 */
	unsigned int	lock_type;	/* LOCK_TEST_RWSEM, _F2FS or _UNFAIR */
	/* entries of a leaf and of a node; at least 4; 0: as many as fit */
	unsigned int	leaf_items, node_items;
};

struct cow_tree {
	struct cow_fs	*fs;
	u32		root;		/* of the live tree; protected by its block's lock */
};

/* A search for consecutive keys, and its result. */
struct cow_range {
	u64		first;
	unsigned int	nr;
	u64		*value;
	unsigned long	*found;		/* one bit per key; keys already set are not searched */
};

int cow_fs_create(struct cow_fs **fs, const struct cow_params *params,
		  const struct cow_ops *ops, void *private);
void cow_fs_destroy(struct cow_fs *fs);
u64 cow_running(const struct cow_fs *fs);
/* Searches that hit a reused block: must stay 0. */
unsigned long cow_stale(const struct cow_fs *fs);

int cow_tree_create(struct cow_tree *tree, struct cow_fs *fs);
/* The caller excludes live searches. */
void cow_tree_drop(struct cow_tree *tree);
/* The caller excludes changes of @tree: call within publish() or without transactions. */
void cow_snapshot(struct cow_tree *snapshot, const struct cow_tree *tree);

/* Transactions run concurrently, but not during a commit. */
void cow_begin(struct cow_fs *fs);
void cow_end(struct cow_fs *fs);
int cow_insert(struct cow_tree *tree, u64 key, u64 value);
int cow_delete(struct cow_tree *tree, u64 key);
/* Delete at the next commit, in the committing task. */
int cow_delete_later(struct cow_tree *tree, u64 key);

/*
 * Run the deferred deletions. After every @rewrite deletions blocks of this generation count as
 * written and must be copied again; 0: never.
 */
int cow_commit(struct cow_fs *fs, unsigned int rewrite);

/* 0 if all keys are found, -ENOENT if not, -EUCLEAN if a block was reused */
int cow_search_live(struct cow_tree *tree, struct cow_range *range);
int cow_search_root(struct cow_fs *fs, u32 root, struct cow_range *range);

/* Check the structure of an unused tree. Return the number of its entries, or < 0. */
long cow_check_tree(struct cow_fs *fs, u32 root);

/* --- blocks, for the diff ------------------------------------------------ */

#define COW_ENTRIES	169

/* An item of a leaf, or a pointer of a node. */
struct cow_entry {
	u64	key;			/* lowest key below; not valid for the first pointer */
	union {
		u64	value;
		u64	generation;
	};
	u32	block, unused;
};

struct cow_block {
	u64	magic, generation;
	u32	self;
	u16	level, nr;
	u64	unused;
	struct cow_entry entry[COW_ENTRIES];
};

/* Blocks have the numbers from 1 to cow_nr_blocks(). */
u32 cow_nr_blocks(const struct cow_fs *fs);
struct cow_block *cow_block(const struct cow_fs *fs, u32 block);

#endif /* FSCOMMIT_COW_TREE_H */
