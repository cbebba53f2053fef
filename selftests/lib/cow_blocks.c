// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks of the copy-on-write tree: the free list, sharing, and copying. cow_tree.c describes
 * the design.
 */
#include "cow_blocks.h"

static void make_free(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];

	memset(buf->data, COW_POISON, COW_BLOCK_SIZE);
	buf->next = fs->free;
	fs->free = block;
	fs->nr_free++;
}

/* Free pending blocks that are reusable now. Called with blocks_lock held. */
static void poll_pending(struct cow_fs *fs)
{
	u64 reusable = fs->ops->reusable(fs->private);

	while (fs->pending && fs->buf[fs->pending]->freed <= reusable) {
		u32 block = fs->pending;

		fs->pending = fs->buf[block]->next;
		fs->nr_pending--;
		make_free(fs, block);
	}
}

static u32 take_free(struct cow_fs *fs)
{
	u32 block;

	if (!fs->free)
		poll_pending(fs);
	block = fs->free;
	if (block) {
		fs->free = fs->buf[block]->next;
		fs->nr_free--;
	}
	return block;
}

static void free_buf(struct cow_fs *fs, struct cow_buf *buf)
{
	if (!buf)
		return;
	cow_lock_destroy(lock_of(buf), fs->params.lock_type);
	cow_free(buf->data);
	cow_free(buf);
}

static struct cow_buf *new_buf(struct cow_fs *fs)
{
	struct cow_buf *buf = cow_alloc(sizeof(*buf) + cow_lock_size());

	if (!buf)
		return NULL;
	if (cow_lock_init(lock_of(buf), fs->params.lock_type, true)) {
		cow_free(buf);
		return NULL;
	}
	buf->data = cow_alloc(COW_BLOCK_SIZE);
	if (buf->data)
		return buf;
	free_buf(fs, buf);
	return NULL;
}

void cow_unreserve(struct cow_fs *fs, struct cow_reserve *r)
{
	spin_lock(&fs->blocks_lock);
	while (r->nr) {
		u32 block = r->block[--r->nr];

		fs->buf[block]->next = fs->free;
		fs->free = block;
		fs->nr_free++;
	}
	spin_unlock(&fs->blocks_lock);
}

static u32 add_block(struct cow_fs *fs)
{
	struct cow_buf *buf = new_buf(fs);
	u32 block = COW_NO_BLOCK;

	if (!buf)
		return COW_NO_BLOCK;
	spin_lock(&fs->blocks_lock);
	if (fs->nr_blocks < fs->params.max_blocks) {
		block = ++fs->nr_blocks;
		WRITE_ONCE(fs->buf[block], buf);
	}
	spin_unlock(&fs->blocks_lock);
	if (!block)
		free_buf(fs, buf);
	return block;
}

int cow_reserve(struct cow_fs *fs, struct cow_reserve *r, unsigned int nr)
{
	u32 block;

	r->nr = 0;
	spin_lock(&fs->blocks_lock);
	while (r->nr < nr && (block = take_free(fs)))
		r->block[r->nr++] = block;
	spin_unlock(&fs->blocks_lock);
	while (r->nr < nr) {
		block = add_block(fs);
		if (!block) {
			cow_unreserve(fs, r);
			return fs->nr_blocks < fs->params.max_blocks ? -ENOMEM : -ENOSPC;
		}
		r->block[r->nr++] = block;
	}
	return 0;
}

/* The new block is returned locked for writing. */
u32 cow_new_block(struct cow_fs *fs, struct cow_reserve *r, unsigned int level)
{
	u32 block = r->block[--r->nr];
	struct cow_buf *buf = fs->buf[block];
	struct cow_block *b = buf->data;

	cow_lock(lock_of(buf), fs->params.lock_type, true);
	b->magic = COW_MAGIC;
	b->generation = fs->generation;
	b->self = block;
	b->level = level;
	b->nr = 0;
	spin_lock(&fs->blocks_lock);
	buf->refs = 1;
	buf->freed = 0;
	buf->written = fs->rewrite;
	spin_unlock(&fs->blocks_lock);
	return block;
}

/* The last parent is gone. Called with blocks_lock held. */
static void free_block(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];

	if (buf->data->generation == fs->generation) {
		/* no committed root reaches it */
		make_free(fs, block);
		return;
	}
	buf->freed = fs->generation;
	buf->next = COW_NO_BLOCK;
	if (fs->pending)
		fs->buf[fs->last_pending]->next = block;
	else
		fs->pending = block;
	fs->last_pending = block;
	fs->nr_pending++;
}

void cow_get_block(struct cow_fs *fs, u32 block)
{
	spin_lock(&fs->blocks_lock);
	fs->buf[block]->refs++;
	spin_unlock(&fs->blocks_lock);
}

/* Drop one parent; with the last one free the block and drop one parent of each child. */
void cow_put_block(struct cow_fs *fs, u32 block)
{
	struct cow_block *b = data_of(fs, block);
	bool last;
	unsigned int i;

	spin_lock(&fs->blocks_lock);
	last = !--fs->buf[block]->refs;
	spin_unlock(&fs->blocks_lock);
	if (!last)
		return;
	for (i = 0; b->level && i < b->nr; i++)
		cow_put_block(fs, b->ptr[i].block);
	spin_lock(&fs->blocks_lock);
	free_block(fs, block);
	spin_unlock(&fs->blocks_lock);
}

/* --- copy on write ------------------------------------------------------- */

static bool is_ours(struct cow_fs *fs, const struct cow_buf *buf)
{
	return buf->refs == 1 && buf->data->generation == fs->generation &&
	       buf->written == fs->rewrite;
}

/*
 * The caller has locked @block for writing. Return @block if it can be changed in place, else a
 * copy that is also locked for writing.
 */
u32 cow_copy_block(struct cow_fs *fs, struct cow_reserve *r, u32 block)
{
	struct cow_buf *buf = fs->buf[block];
	struct cow_block *old = buf->data, *b;
	bool in_place;
	u32 copy;

	spin_lock(&fs->blocks_lock);
	in_place = is_ours(fs, buf);
	if (!in_place)
		fs->cowed++;
	spin_unlock(&fs->blocks_lock);
	if (in_place)
		return block;
	copy = cow_new_block(fs, r, old->level);
	b = data_of(fs, copy);
	memcpy(b->item, old->item, sizeof(b->item));
	b->nr = old->nr;
	return copy;
}

/* The copy has replaced @block: drop a parent of @block; its children may gain a parent. */
void cow_leave_original(struct cow_fs *fs, u32 block, u32 copy)
{
	struct cow_buf *buf = fs->buf[block];
	const struct cow_block *b = data_of(fs, copy);
	unsigned int i;
	bool shared;

	if (block == copy)
		return;
	spin_lock(&fs->blocks_lock);
	shared = buf->refs > 1;
	if (!shared)
		buf->refs = 0;
	spin_unlock(&fs->blocks_lock);
	if (shared)
		for (i = 0; b->level && i < b->nr; i++)
			cow_get_block(fs, b->ptr[i].block);
	unlock_block(fs, block, true);
	if (shared) {
		cow_put_block(fs, block);
		return;
	}
	/* a task that waits for its lock re-reads the root */
	spin_lock(&fs->blocks_lock);
	free_block(fs, block);
	spin_unlock(&fs->blocks_lock);
}

/* Copy a child of a write-locked parent; no other task waits for the child's lock. */
u32 cow_copy_child(struct cow_fs *fs, struct cow_reserve *r, u32 block)
{
	u32 copy = cow_copy_block(fs, r, block);

	cow_leave_original(fs, block, copy);
	return copy;
}

/* --- filesystems --------------------------------------------------------- */

unsigned long cow_stale(struct cow_fs *fs)
{
	return READ_ONCE(fs->stale);
}

int cow_fs_create(struct cow_fs **fsp, const struct cow_params *params,
		  const struct cow_ops *ops, void *private)
{
	struct cow_block *b = NULL;
	struct cow_fs *fs = cow_alloc(sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	fs->params = *params;
	if (!fs->params.leaf_items)
		fs->params.leaf_items = sizeof(b->item) / sizeof(b->item[0]);
	if (!fs->params.node_items)
		fs->params.node_items = sizeof(b->ptr) / sizeof(b->ptr[0]);
	fs->ops = ops;
	fs->private = private;
	fs->generation = 1;
	spin_lock_init(&fs->blocks_lock);
	fs->buf = cow_alloc((params->max_blocks + 1ULL) * sizeof(*fs->buf));
	fs->gate = cow_alloc(cow_lock_size());
	if (!fs->buf || !fs->gate || cow_lock_init(fs->gate, params->lock_type, false)) {
		cow_free(fs->gate);
		cow_free(fs->buf);
		cow_free(fs);
		return -ENOMEM;
	}
	*fsp = fs;
	return 0;
}

void cow_fs_destroy(struct cow_fs *fs)
{
	struct cow_later *l;
	u32 i;

	while ((l = fs->later)) {
		fs->later = l->next;
		cow_free(l);
	}
	for (i = 1; i <= fs->nr_blocks; i++)
		free_buf(fs, fs->buf[i]);
	cow_lock_destroy(fs->gate, fs->params.lock_type);
	cow_free(fs->gate);
	cow_free(fs->buf);
	cow_free(fs);
}
