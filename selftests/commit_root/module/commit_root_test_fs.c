// SPDX-License-Identifier: GPL-2.0
/*
 * The toy filesystem: extents, their places on the disk, and its commits.
 *
 * What the rules of commit_root.h are here: a reader holds the lock of its group of
 * extents for reading, so that none of them is overwritten meanwhile (3); blocks of the
 * tree and places of the disk that were freed are reused by commit_root_reusable() (2);
 * and one pin serves a whole request (1).
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "commit_root_test_internal.h"
#include "fscommit_test.h"

static u64 reusable(void *private)
{
	struct crt *c = private;

	if (c->setup.broken & CRT_BREAK_REUSE)
		return ~0ULL;
	if (c->setup.search == CRT_BEHIND_RWSEM)
		return READ_ONCE(c->committed);
	return commit_root_reusable(&c->roots);
}

static void publish(void *private, u64 generation)
{
	struct crt *c = private;

	if (c->setup.search == CRT_BEHIND_RWSEM)
		down_write(&c->commit_sem);
	/* nobody changes the tree now */
	if (c->want_snapshot) {
		if (c->has_snapshot)
			cow_tree_drop(&c->snapshot);
		cow_snapshot(&c->snapshot, &c->csums);
		c->has_snapshot = true;
		c->want_snapshot = false;
	}
	c->committed_root = c->csums.root;
	WRITE_ONCE(c->committed, generation);
	if (c->setup.search == CRT_BEHIND_RWSEM)
		up_write(&c->commit_sem);
	commit_root_update(c->next, &c->tree, (void *)(unsigned long)c->csums.root);
	commit_root_switch(c->next, generation);
}

static const struct cow_ops cow_ops = { reusable, publish };

static void release(void *private, void *root, u64 generation)
{
	struct crt *c = private;

	if (atomic64_xchg(&c->last_released, generation) > generation)
		atomic64_inc(&c->out_of_order);
	atomic64_inc(&c->released);
}

const struct commit_root_ops crt_root_ops = { release };

int crt_do_commit(struct crt *c, struct crt_commit *result)
{
	u64 start = ktime_get_ns();
	int ret;

	c->next = commit_root_prepare(&c->roots, GFP_NOFS);
	if (IS_ERR(c->next))
		return PTR_ERR(c->next);
	result->generation = cow_running(c->fs);
	ret = cow_commit(c->fs, c->setup.rewrite);
	result->ns = ktime_get_ns() - start;
	return ret;
}

static bool take_place(struct crt *c, u64 *start)
{
	u64 up_to = reusable(c);
	struct place *p;
	bool found;

	spin_lock(&c->places_lock);
	p = &c->places[c->first_place];
	found = c->first_place != c->last_place && p->freed <= up_to;
	if (found) {
		*start = p->start;
		c->first_place = (c->first_place + 1) % c->nr_places;
	}
	spin_unlock(&c->places_lock);
	return found;
}

static void give_place(struct crt *c, u64 start, u64 freed)
{
	spin_lock(&c->places_lock);
	c->places[c->last_place] = (struct place){ start, freed };
	c->last_place = (c->last_place + 1) % c->nr_places;
	spin_unlock(&c->places_lock);
}

static int write_csums(struct crt *c, u64 place, u64 version)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < CRT_EXTENT_BLOCKS && !ret; i++)
		ret = cow_insert(&c->csums, place + i, crt_csum(place + i, version));
	return ret;
}

/* In a transaction. To another place, and perhaps with other data. */
static int rewrite_extent(struct crt *c, u32 n, bool move)
{
	struct extent *e = &c->extent[n];
	u64 place, version;
	unsigned int i;
	int ret;

	if (!take_place(c, &place))
		return -ENOSPC;
	version = e->version;
	if (!move) {
		spin_lock(&c->places_lock);
		version = ++c->last_version;
		spin_unlock(&c->places_lock);
	}
	ret = write_csums(c, place, version);
	for (i = 0; i < CRT_EXTENT_BLOCKS && !ret; i++)
		ret = cow_delete_later(&c->csums, e->place + i);
	if (!ret) {
		/* deleted in this generation, and found by none of the next ones */
		give_place(c, e->place, cow_running(c->fs));
		e->place = place;
		e->version = version;
		if (!move)
			e->generation = cow_running(c->fs);
	} else {
		give_place(c, place, cow_running(c->fs));
	}
	return ret;
}

int crt_change_extent(struct crt *c, u32 n, bool move)
{
	bool keep = !(c->setup.broken & CRT_BREAK_KEEP);
	int ret;

	if (n >= c->setup.extents)
		return -EINVAL;
	/* readers are waited for out of the transaction, or the commit would wait, too */
	if (keep)
		unfair_down_write(crt_group_of(c, n));
	cow_begin(c->fs);
	ret = rewrite_extent(c, n, move);
	cow_end(c->fs);
	if (keep)
		unfair_up_write(crt_group_of(c, n));
	return ret;
}

/* --- setup --------------------------------------------------------------- */

static void free_crt(struct crt *c)
{
	if (c->fs)
		cow_fs_destroy(c->fs);
	c->fs = NULL;
	kvfree(c->extent);
	kvfree(c->places);
	kvfree(c->group);
}

/* All extents in one transaction, and a commit. */
static int make_extents(struct crt *c)
{
	struct crt_commit result;
	u32 i;
	int ret = 0;

	for (i = 0; i < GROUP_LOCKS; i++)
		init_unfair_rwsem(&c->group[i]);
	for (i = 0; i < c->nr_places - 1; i++)
		give_place(c, 1 + (u64)i * CRT_EXTENT_BLOCKS, 0);
	cow_begin(c->fs);
	for (i = 0; i < c->setup.extents && !ret; i++) {
		struct extent *e = &c->extent[i];

		e->version = ++c->last_version;
		e->generation = cow_running(c->fs);
		ret = take_place(c, &e->place) ? write_csums(c, e->place, e->version) : -ENOSPC;
		cond_resched();
	}
	cow_end(c->fs);
	return ret ?: crt_do_commit(c, &result);
}

int crt_set_up(struct crt *c, const struct crt_setup *s)
{
	static atomic_t nr;
	struct cow_params params = {
		/* half full, twice for what is pinned */
		.max_blocks = s->extents / 3 + 20000, .lock_type = s->lock_type,
	};
	int ret = -ENOMEM;

	if (s->search >= CRT_NR_SEARCHES || s->extents < CRT_GROUP ||
	    s->extents > CRT_MAX_EXTENTS || s->broken & ~CRT_BREAKS || s->unused ||
	    (s->lock_type != FCT_RWSEM && s->lock_type != FCT_F2FS &&
	     s->lock_type != FCT_UNFAIR))
		return -EINVAL;
	if (c->fs)
		return -EBUSY;
	c->setup = *s;
	c->nr_places = s->extents * 2 + 4096;
	c->extent = kvcalloc(s->extents, sizeof(*c->extent), GFP_KERNEL);
	c->places = kvcalloc(c->nr_places, sizeof(*c->places), GFP_KERNEL);
	c->group = kvcalloc(GROUP_LOCKS, sizeof(*c->group), GFP_KERNEL);
	if (!c->extent || !c->places || !c->group)
		goto fail;
	snprintf(c->name, sizeof(c->name), "crt%u", atomic_inc_return(&nr));
	ret = commit_root_set_init(&c->roots, c->name, &crt_root_ops, c);
	if (ret)
		goto fail;
	ret = commit_tree_init(&c->tree, &c->roots);
	if (ret)
		goto fail_set;
	ret = cow_fs_create(&c->fs, &params, &cow_ops, c);
	if (!ret)
		ret = cow_tree_create(&c->csums, c->fs);
	if (!ret)
		ret = make_extents(c);
	if (!ret)
		return 0;
fail_set:
	WARN_ON(commit_root_set_destroy(&c->roots));
fail:
	free_crt(c);
	return ret;
}

/* Whatever is pinned by id is given up. */
int crt_tear_down(struct crt *c, bool unpin_all)
{
	u32 id;
	int ret;

	for (id = 0; unpin_all && id < CRT_MAX_PINS; id++)
		crt_give_pin(c, id);
	ret = commit_root_set_destroy(&c->roots);
	if (!ret)
		free_crt(c);
	return ret;
}

void crt_get_state(struct crt *c, struct crt_state *state)
{
	struct commit_pin_info info;
	struct cow_usage usage;

	bool has_pin = commit_root_oldest_pin(&c->roots, &info);

	cow_usage(c->fs, &usage);
	*state = (struct crt_state) {
		.running = cow_running(c->fs),
		.reusable = commit_root_reusable(&c->roots),
		.released = atomic64_read(&c->released),
		.out_of_order = atomic64_read(&c->out_of_order),
		.has_pin = has_pin,
		.oldest_generation = info.generation,
		.oldest_age_ms = info.age_ms,
		.oldest_pid = info.pid,
		.blocks = usage.blocks,
		.free = usage.free,
		.pending = usage.pending,
		.stale = usage.stale,
		.cowed = usage.cowed,
	};
}

int crt_check(struct crt *c)
{
	struct cow_tree *trees[] = { &c->csums, &c->snapshot };
	long n = cow_check_tree(c->fs, c->csums.root);

	if (n < 0)
		return n;
	return cow_check_blocks(c->fs, trees, c->has_snapshot ? 2 : 1);
}
