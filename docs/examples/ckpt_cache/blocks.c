// SPDX-License-Identifier: GPL-2.0
/*
 * Versions of blocks. A replaced version is kept, in memory and in the file, while a reader may
 * use a committed table that has it. commit_root_reusable() returns the generation up to which
 * versions may be freed. It is polled when space is needed; nothing waits for a reader.
 */
#include <linux/slab.h>

#include "ckpt_cache.h"

static int place_get(struct cache *c)
{
	unsigned long place;

	spin_lock(&c->place_lock);
	/* 0 and 1 are the superblocks */
	place = find_next_zero_bit(c->places, NR_PLACES, 2);
	if (place < NR_PLACES)
		__set_bit(place, c->places);
	spin_unlock(&c->place_lock);
	return place < NR_PLACES ? place : -ENOSPC;
}

static struct block *block_at(u64 generation, u32 place)
{
	struct block *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	b->data = (void *)get_zeroed_page(GFP_KERNEL);
	if (!b->data) {
		kfree(b);
		return NULL;
	}
	b->generation = generation;
	b->place = place;
	return b;
}

/* Makes a version for the running generation at a place of its own, with the data of @old. */
struct block *block_new(struct cache *c, u64 generation, const struct block *old)
{
	int place = place_get(c);
	struct block *b;

	if (place < 0) {
		blocks_reclaim(c);
		place = place_get(c);
	}
	if (place < 0) {
		/* old pins keep the space: ask their owners to pin anew */
		commit_root_want_space(&c->roots);
		return ERR_PTR(place);
	}
	b = block_at(generation, place);
	if (!b) {
		spin_lock(&c->place_lock);
		__clear_bit(place, c->places);
		spin_unlock(&c->place_lock);
		return ERR_PTR(-ENOMEM);
	}
	if (old)
		memcpy(b->data, old->data, CACHE_BLOCK);
	return b;
}

/* Makes a version for a block in the file. */
struct block *block_load(struct cache *c, u64 generation, u32 place)
{
	struct block *b;

	if (place < 2 || place >= NR_PLACES || __test_and_set_bit(place, c->places))
		return ERR_PTR(-EUCLEAN);
	b = block_at(generation, place);
	if (!b)
		__clear_bit(place, c->places);
	return b ?: ERR_PTR(-ENOMEM);
}

/* The table of @generation no longer has @b; earlier tables may have it. */
void block_drop(struct cache *c, struct block *b, u64 generation)
{
	b->gone = generation;
	spin_lock(&c->place_lock);
	/* the list is in order: cp_sem is held, so @generation is the running one */
	list_add_tail(&b->node, &c->gone);
	spin_unlock(&c->place_lock);
}

void block_free(struct cache *c, struct block *b)
{
	spin_lock(&c->place_lock);
	__clear_bit(b->place, c->places);
	spin_unlock(&c->place_lock);
	free_page((unsigned long)b->data);
	kfree(b);
}

/* Frees the versions that no reader of a committed table can reach. */
void blocks_reclaim(struct cache *c)
{
	u64 reusable = commit_root_reusable(&c->roots);
	struct block *b, *next;
	LIST_HEAD(free);

	spin_lock(&c->place_lock);
	list_for_each_entry_safe(b, next, &c->gone, node) {
		if (fs_generation_after(b->gone, reusable))
			break;
		list_move_tail(&b->node, &free);
	}
	spin_unlock(&c->place_lock);
	list_for_each_entry_safe(b, next, &free, node)
		block_free(c, b);
}
