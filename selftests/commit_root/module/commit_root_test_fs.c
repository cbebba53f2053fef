// SPDX-License-Identifier: GPL-2.0
/*
 * The toy filesystem: extents, their places on the disk, and commits.
 *
 * It obeys the rules of commit_root.h. One pin serves a whole request (1).
 * commit_root_reusable() decides when freed blocks and places are reused (2). A reader holds
 * the lock of its group of extents for reading, so that they are not overwritten (3).
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "commit_root_test_internal.h"
#include "fscommit_test.h"

static u64 reusable(void *private)
{
	struct root_test *c = private;

	if (c->setup.broken & ROOT_TEST_BREAK_REUSE)
		return ~0ULL;
	if (c->setup.search == ROOT_TEST_BEHIND_RWSEM)
		return READ_ONCE(c->committed);
	return commit_root_reusable(&c->roots);
}

static void publish(void *private, u64 generation)
{
	struct root_test *c = private;

	if (c->setup.search == ROOT_TEST_BEHIND_RWSEM)
		down_write(&c->commit_sem);
	/* the commit excludes all changes of the tree here */
	if (c->want_snapshot) {
		if (c->has_snapshot)
			cow_tree_drop(&c->snapshot);
		cow_snapshot(&c->snapshot, &c->csums);
		c->has_snapshot = true;
		c->want_snapshot = false;
	}
	c->committed_root = c->csums.root;
	WRITE_ONCE(c->committed, generation);
	if (c->setup.search == ROOT_TEST_BEHIND_RWSEM)
		up_write(&c->commit_sem);
	commit_root_update(c->next, &c->tree, (void *)(unsigned long)c->csums.root);
	commit_root_switch(c->next, generation);
}

static const struct cow_ops cow_ops = { reusable, publish };

static void release(void *private, void *root, u64 generation)
{
	struct root_test *c = private;
	unsigned int i;

	for (i = 0; i < ROOT_TEST_MAX_PINS; i++)
		if (READ_ONCE(c->pinned[i]) == generation)
			atomic64_inc(&c->released_in_use);
	atomic64_inc(&c->released);
}

const struct commit_root_ops root_test_root_ops = { release };

int root_test_do_commit(struct root_test *c, struct root_test_commit *result)
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

static bool alloc_place(struct root_test *c, u64 *start)
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

static void free_place(struct root_test *c, u64 start, u64 freed)
{
	spin_lock(&c->places_lock);
	c->places[c->last_place] = (struct place){ start, freed };
	c->last_place = (c->last_place + 1) % c->nr_places;
	spin_unlock(&c->places_lock);
}

static int write_csums(struct root_test *c, u64 place, u64 version)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ROOT_TEST_EXTENT_BLOCKS && !ret; i++)
		ret = cow_insert(&c->csums, place + i, root_test_csum(place + i, version));
	return ret;
}

/* Within a transaction: write extent @n to a new place, with new data unless @move. */
static int rewrite_extent(struct root_test *c, u32 n, bool move)
{
	struct extent *e = &c->extent[n];
	u64 place, version;
	unsigned int i;
	int ret;

	if (!alloc_place(c, &place))
		return -ENOSPC;
	version = e->version;
	if (!move) {
		spin_lock(&c->places_lock);
		version = ++c->last_version;
		spin_unlock(&c->places_lock);
	}
	ret = write_csums(c, place, version);
	for (i = 0; i < ROOT_TEST_EXTENT_BLOCKS && !ret; i++)
		ret = cow_delete_later(&c->csums, e->place + i);
	if (!ret) {
		/* deleted in this generation: later ones do not find it */
		free_place(c, e->place, cow_running(c->fs));
		e->place = place;
		e->version = version;
		if (!move)
			e->generation = cow_running(c->fs);
	} else {
		free_place(c, place, cow_running(c->fs));
	}
	return ret;
}

int root_test_change_extent(struct root_test *c, u32 n, bool move)
{
	bool keep = !(c->setup.broken & ROOT_TEST_BREAK_KEEP);
	int ret;

	if (n >= c->setup.extents)
		return -EINVAL;
	/* Wait for readers before the transaction: within it the commit would wait, too. */
	if (keep)
		unfair_down_write(root_test_group_of(c, n));
	cow_begin(c->fs);
	ret = rewrite_extent(c, n, move);
	cow_end(c->fs);
	if (keep)
		unfair_up_write(root_test_group_of(c, n));
	return ret;
}

/* --- setup --------------------------------------------------------------- */

static void free_fs(struct root_test *c)
{
	if (c->fs)
		cow_fs_destroy(c->fs);
	c->fs = NULL;
	kvfree(c->extent);
	kvfree(c->places);
	kvfree(c->group);
}

/* Create all extents in one transaction, then commit. */
static int make_extents(struct root_test *c)
{
	struct root_test_commit result;
	u32 i;
	int ret = 0;

	for (i = 0; i < GROUP_LOCKS; i++)
		init_unfair_rwsem(&c->group[i]);
	for (i = 0; i < c->nr_places - 1; i++)
		free_place(c, 1 + (u64)i * ROOT_TEST_EXTENT_BLOCKS, 0);
	cow_begin(c->fs);
	for (i = 0; i < c->setup.extents && !ret; i++) {
		struct extent *e = &c->extent[i];

		e->version = ++c->last_version;
		e->generation = cow_running(c->fs);
		ret = alloc_place(c, &e->place) ? write_csums(c, e->place, e->version) : -ENOSPC;
		cond_resched();
	}
	cow_end(c->fs);
	return ret ?: root_test_do_commit(c, &result);
}

int root_test_set_up(struct root_test *c, const struct root_test_setup *s)
{
	static atomic_t nr;
	struct cow_params params = {
		/* half full; doubled for pinned blocks */
		.max_blocks = s->extents / 3 + 20000, .lock_type = s->lock_type,
	};
	int ret = -ENOMEM;

	if (s->search >= ROOT_TEST_NR_SEARCHES || s->extents < ROOT_TEST_GROUP ||
	    s->extents > ROOT_TEST_MAX_EXTENTS || s->broken & ~ROOT_TEST_BREAKS || s->unused ||
	    (s->lock_type != LOCK_TEST_RWSEM && s->lock_type != LOCK_TEST_F2FS &&
	     s->lock_type != LOCK_TEST_UNFAIR))
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
	snprintf(c->name, sizeof(c->name), "root_test%u", atomic_inc_return(&nr));
	ret = commit_root_set_init(&c->roots, c->name, &root_test_root_ops, c);
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
	free_fs(c);
	return ret;
}

/* With @unpin_all all pins taken by id are dropped first. */
int root_test_tear_down(struct root_test *c, bool unpin_all)
{
	u32 id;
	int ret;

	for (id = 0; unpin_all && id < ROOT_TEST_MAX_PINS; id++)
		root_test_drop_pin(c, id);
	ret = commit_root_set_destroy(&c->roots);
	if (!ret)
		free_fs(c);
	return ret;
}

void root_test_get_state(struct root_test *c, struct root_test_state *state)
{
	struct commit_pin_info info;
	struct cow_usage usage;

	bool has_pin = commit_root_oldest_pin(&c->roots, &info);

	cow_usage(c->fs, &usage);
	*state = (struct root_test_state) {
		.running = cow_running(c->fs),
		.reusable = commit_root_reusable(&c->roots),
		.released = atomic64_read(&c->released),
		.released_in_use = atomic64_read(&c->released_in_use),
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

int root_test_check(struct root_test *c)
{
	struct cow_tree *trees[] = { &c->csums, &c->snapshot };
	long n = cow_check_tree(c->fs, c->csums.root);

	if (n < 0)
		return n;
	return cow_check_blocks(c->fs, trees, c->has_snapshot ? 2 : 1);
}
