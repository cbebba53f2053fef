/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Example of a driver on fscommit: a block cache that is checkpointed into a file. See
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

#define CACHE_BLOCK	4096U		/* bytes of a block, in memory and in the file */
#define NR_BLOCKS	1000U		/* size of the device */
#define NR_PLACES	(3U * NR_BLOCKS)	/* of the file, spare ones included */
#define NR_BLOCK_LOCKS	16U

/*
 * One version of a block. It only changes in the generation that made it; later writes copy it.
 * So the blocks that a checkpoint writes, and those of a pinned table, never change.
 */
struct block {
	u64			generation;	/* that made it */
	u64			gone;		/* first generation without it */
	u32			place;		/* in the file */
	struct list_head	node;		/* in cache.gone */
	void			*data;
};

/*
 * The root, and the whole tree: the version of each block. The live table belongs to the running
 * generation; a committed table never changes.
 */
struct table {
	u64		generation;
	struct block	*block[NR_BLOCKS];	/* NULL: zeros */
};

struct cache {
	/* operations read-lock it; replacing the live table write-locks it */
	struct unfair_rwsem	cp_sem;
	struct table		*live;		/* cannot change while cp_sem is held */
	struct mutex		block_lock[NR_BLOCK_LOCKS];	/* live->block[]; inside cp_sem */

	struct mutex		checkpoint_lock;	/* outside cp_sem */
	u64			committed;	/* generation in the file */
	struct commit_root_set	roots;		/* its table, for readers */
	struct commit_tree	tree;

	spinlock_t		place_lock;	/* protects places and gone */
	DECLARE_BITMAP(places, NR_PLACES);	/* in use */
	struct list_head	gone;		/* blocks, by the generation that dropped them */

	struct file		*file;
	unsigned int		super;		/* the newer of the two superblocks */
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
