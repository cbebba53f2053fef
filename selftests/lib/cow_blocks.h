/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals shared by the files of the copy-on-write tree. The interface is cow_tree.h.
 */
#ifndef FSCOMMIT_COW_BLOCKS_H
#define FSCOMMIT_COW_BLOCKS_H

#include "cow_tree.h"

#define COW_MAGIC	0xc0373ee5f5c03317ULL
#define COW_POISON	0x6b
/* Maximum number of blocks for one change: about three per level, with a new root. */
#define MAX_RESERVE	(3 * COW_MAX_LEVELS + 3)

struct cow_item {
	u64	key, value;
};

struct cow_ptr {
	u64	key;			/* lowest key below; not valid for the first pointer */
	u64	generation;
	u32	block, unused;
};

struct cow_block {
	u64	magic, generation;
	u32	self;
	u16	level, nr;
	u64	unused;
	union {
		struct cow_item	item[(COW_BLOCK_SIZE - 32) / sizeof(struct cow_item)];
		struct cow_ptr	ptr[(COW_BLOCK_SIZE - 32) / sizeof(struct cow_ptr)];
	};
};

struct cow_buf {
	struct cow_block	*data;
	/* protected by blocks_lock: */
	u32			refs;		/* parents and roots; 0: free or pending */
	u32			next;		/* in the free or pending list */
	u64			freed;		/* generation that freed it */
	u64			written;	/* fs->rewrite at its creation */
	/* followed by its lock */
};

struct cow_later {
	struct cow_later	*next;
	struct cow_tree		*tree;
	u64			key;
};

struct cow_fs {
	struct cow_params	params;
	const struct cow_ops	*ops;
	void			*private;
	u64			generation;	/* running; the gate protects it */
	u64			rewrite;	/* likewise */
	union test_lock		*gate;		/* read: transaction; write: commit */
	spinlock_t		blocks_lock;
	struct cow_buf		**buf;		/* index 0 is unused */
	u32			nr_blocks;
	u32			free;		/* list head */
	u32			pending, last_pending;	/* list in order of freeing generation */
	unsigned int		nr_free, nr_pending;
	unsigned long		stale, cowed;
	struct cow_later	*later;		/* under blocks_lock */
};

static inline struct cow_buf *buf_of(const struct cow_fs *fs, u32 block)
{
	return READ_ONCE(fs->buf[block]);
}

static inline struct cow_block *data_of(const struct cow_fs *fs, u32 block)
{
	return buf_of(fs, block)->data;
}

static inline union test_lock *lock_of(struct cow_buf *buf)
{
	return (union test_lock *)(buf + 1);
}

static inline void lock_block(struct cow_fs *fs, u32 block, bool write)
{
	cow_lock(lock_of(buf_of(fs, block)), fs->params.lock_type, write);
}

static inline void unlock_block(struct cow_fs *fs, u32 block, bool write)
{
	cow_unlock(lock_of(buf_of(fs, block)), fs->params.lock_type, write);
}

static inline unsigned int capacity(const struct cow_fs *fs, const struct cow_block *b)
{
	return b->level ? fs->params.node_items : fs->params.leaf_items;
}

/* Blocks reserved before a change begins. */
struct cow_reserve {
	u32		block[MAX_RESERVE];
	unsigned int	nr;
};

int cow_reserve(struct cow_fs *fs, struct cow_reserve *r, unsigned int nr);
void cow_unreserve(struct cow_fs *fs, struct cow_reserve *r);
u32 cow_new_block(struct cow_fs *fs, struct cow_reserve *r, unsigned int level);
void cow_get_block(struct cow_fs *fs, u32 block);
void cow_put_block(struct cow_fs *fs, u32 block);
u32 cow_copy_block(struct cow_fs *fs, struct cow_reserve *r, u32 block);
void cow_leave_original(struct cow_fs *fs, u32 block, u32 copy);
u32 cow_copy_child(struct cow_fs *fs, struct cow_reserve *r, u32 block);

/* cow_search.c */
unsigned int cow_child_for(const struct cow_block *b, u64 key);
unsigned int cow_item_for(const struct cow_block *b, u64 key);
u32 cow_lock_root(struct cow_tree *tree, bool write);

#endif /* FSCOMMIT_COW_BLOCKS_H */
