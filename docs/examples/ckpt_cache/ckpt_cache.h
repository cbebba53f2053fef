/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block cache that is checkpointed into a file: the example of a driver on fscommit. See
 * README.rst.
 */
#ifndef CKPT_CACHE_H
#define CKPT_CACHE_H

#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/commit_root.h>
#include <linux/unfair_rwsem.h>

#define CACHE_BLOCK	4096U		/* of a block, in memory and in the file */
#define NR_BLOCKS	1000U		/* the size of the device */
#define NR_PLACES	(3U * NR_BLOCKS)	/* of the file; copies on write need spare ones */
#define NR_BLOCK_LOCKS	16U

/*
 * One version of a block. It is changed in the generation that made it only; after that it is
 * copied. So what a checkpoint writes out, and what a pinned table leads to, stands still.
 */
struct block {
	u64			generation;	/* that made it */
	u64			gone;		/* that has it no more */
	u32			place;		/* in the file */
	struct list_head	node;		/* in cache.gone */
	void			*data;
};

/*
 * The root, and all there is of the tree: which version each block has. The live one belongs
 * to the running generation; a committed one is never changed.
 */
struct table {
	u64		generation;
	struct block	*block[NR_BLOCKS];	/* NULL: zeros */
};

struct cache {
	/* operations take it for reading; for writing, who puts a new live table in place */
	struct unfair_rwsem	cp_sem;
	struct table		*live;		/* stays while cp_sem is held */
	struct mutex		block_lock[NR_BLOCK_LOCKS];	/* inside cp_sem: live->block[] */
	bool			changed;	/* since the last checkpoint began */

	struct mutex		checkpoint_lock;	/* one at a time; outside cp_sem */
	u64			committed;	/* the generation that the file has */
	struct commit_root_set	roots;		/* the same, for readers */
	struct commit_tree	tree;

	spinlock_t		place_lock;	/* the rest */
	DECLARE_BITMAP(places, NR_PLACES);	/* in use */
	struct list_head	gone;		/* blocks, by the generation that dropped them */

	struct file		*file;
	unsigned int		super;		/* which of two superblocks is the newer one */
};

/* blocks.c: versions of blocks, in memory, and places in the file */
struct block *block_new(struct cache *c, u64 generation, const struct block *old);
struct block *block_load(struct cache *c, u64 generation, u32 place);
void block_drop(struct cache *c, struct block *b, u64 generation);
void block_free(struct cache *c, struct block *b);
void blocks_reclaim(struct cache *c);

/* store.c: the file */
int store_load(struct cache *c, const char *path, struct table *table);
int store_write(struct cache *c, const struct table *table);

#endif /* CKPT_CACHE_H */
