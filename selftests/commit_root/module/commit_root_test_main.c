// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/commit_root_test: extents, their places on the disk, commits, and pins by id. See
 * commit_root_test.h.
 *
 * The filesystem obeys the rules of commit_root.h. One pin serves a whole request (1).
 * commit_root_reusable() decides when freed blocks are reused (2). A reader holds the lock of its
 * group of extents for reading, so that they are not overwritten (3).
 */
#include <linux/ktime.h>

#include "commit_root_test_internal.h"
#include "fscommit_test.h"
#include "test_device.h"

/* --- commits ------------------------------------------------------------- */

static u64 reusable(void *private)
{
	struct root_test *c = private;

	if (root_test_breaks(c, ROOT_TEST_BREAK_REUSE))
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
	c->committed_root = c->csums.root;
	WRITE_ONCE(c->committed, generation);
	if (c->setup.search == ROOT_TEST_BEHIND_RWSEM)
		up_write(&c->commit_sem);
	commit_root_update(c->next, &c->tree, (void *)(unsigned long)c->csums.root);
	commit_root_switch(c->next);
}

static const struct cow_ops cow_ops = { reusable, publish };

/* The tree polls reusable() instead. */
static void release(void *private, void *root, u64 generation)
{
}

static const struct commit_root_ops root_ops = { release };

static int commit(struct root_test *c, struct root_test_commit *result)
{
	u64 start = ktime_get_ns();
	int ret;

	result->generation = cow_running(c->fs);
	c->next = commit_root_prepare(&c->roots, result->generation, GFP_NOFS);
	if (IS_ERR(c->next))
		return PTR_ERR(c->next);
	ret = cow_commit(c->fs, c->setup.rewrite);
	result->ns = ktime_get_ns() - start;
	return ret;
}

/* --- extents ------------------------------------------------------------- */

/* Places are never reused. An odd factor spreads them over the whole tree. */
static u64 new_place(struct root_test *c)
{
	u64 n = atomic64_inc_return(&c->nr_places) * GOLDEN_RATIO_64;

	return (n & GENMASK_ULL(39, 0)) * ROOT_TEST_EXTENT_BLOCKS;
}

/* Within a transaction: write extent @e to a new place. */
static int write_extent(struct root_test *c, struct extent *e)
{
	unsigned int i;
	int ret = 0;

	e->place = new_place(c);
	for (i = 0; i < ROOT_TEST_EXTENT_BLOCKS && !ret; i++)
		ret = cow_insert(&c->csums, e->place + i, root_test_csum(e->place + i));
	return ret;
}

static int rewrite_extent(struct root_test *c, struct extent *e, bool move)
{
	struct extent new = { .generation = move ? e->generation : cow_running(c->fs) };
	int ret = write_extent(c, &new);
	unsigned int i;

	for (i = 0; i < ROOT_TEST_EXTENT_BLOCKS && !ret; i++)
		ret = cow_delete_later(&c->csums, e->place + i);
	if (!ret)
		*e = new;
	return ret;
}

static int change_extent(struct root_test *c, u32 n, bool move)
{
	bool keep = !root_test_breaks(c, ROOT_TEST_BREAK_KEEP);
	int ret;

	if (n >= c->setup.extents)
		return -EINVAL;
	/* Wait for readers before the transaction: within it the commit would wait, too. */
	if (keep)
		unfair_down_write(root_test_group_of(c, n));
	cow_begin(c->fs);
	ret = rewrite_extent(c, &c->extent[n], move);
	cow_end(c->fs);
	if (keep)
		unfair_up_write(root_test_group_of(c, n));
	return ret;
}

/* --- pins ---------------------------------------------------------------- */

static int take_pin(struct root_test *c, struct root_test_pin *p)
{
	struct commit_pin *pin;

	if (p->id >= ROOT_TEST_MAX_PINS)
		return -EINVAL;
	pin = &c->pin[p->id];
	if (commit_root_is_pinned(pin) || !commit_root_pin(&c->roots, pin))
		return -EINVAL;
	p->generation = commit_root_generation(pin);
	return 0;
}

static int drop_pin(struct root_test *c, u32 id)
{
	if (id >= ROOT_TEST_MAX_PINS || !commit_root_is_pinned(&c->pin[id]))
		return -EINVAL;
	commit_root_unpin(&c->pin[id]);
	return 0;
}

/* --- setup --------------------------------------------------------------- */

static void free_fs(struct root_test *c)
{
	if (c->fs)
		cow_fs_destroy(c->fs);
	c->fs = NULL;
	kvfree(c->extent);
}

/* Create all extents in one transaction, then commit. */
static int make_extents(struct root_test *c)
{
	struct root_test_commit result;
	u32 i;
	int ret = 0;

	cow_begin(c->fs);
	for (i = 0; i < c->setup.extents && !ret; i++) {
		c->extent[i].generation = cow_running(c->fs);
		ret = write_extent(c, &c->extent[i]);
		cond_resched();
	}
	cow_end(c->fs);
	return ret ?: commit(c, &result);
}

static int set_up(struct root_test *c, const struct root_test_setup *s)
{
	static atomic_t nr;
	struct cow_params params = {
		/* half full; doubled for pinned blocks */
		.max_blocks = s->extents / 3 + 20000, .lock_type = s->lock_type,
	};
	u32 i;
	int ret;

	if (s->search >= ROOT_TEST_NR_SEARCHES || s->extents < ROOT_TEST_GROUP ||
	    s->extents > ROOT_TEST_MAX_EXTENTS || s->broken & ~ROOT_TEST_BREAKS ||
	    (s->lock_type != LOCK_TEST_RWSEM && s->lock_type != LOCK_TEST_F2FS &&
	     s->lock_type != LOCK_TEST_UNFAIR))
		return -EINVAL;
	if (c->fs)
		return -EBUSY;
	c->setup = *s;
	for (i = 0; i < GROUP_LOCKS; i++)
		init_unfair_rwsem(&c->group[i]);
	c->extent = kvcalloc(s->extents, sizeof(*c->extent), GFP_KERNEL);
	if (!c->extent)
		return -ENOMEM;
	snprintf(c->name, sizeof(c->name), "root_test%u", atomic_inc_return(&nr));
	ret = commit_root_set_init(&c->roots, c->name, &root_ops, c);
	if (ret)
		goto fail;
	commit_tree_init(&c->tree, &c->roots);
	ret = cow_fs_create(&c->fs, &params, &cow_ops, c) ?:
	      cow_tree_create(&c->csums, c->fs) ?:
	      make_extents(c);
	if (!ret)
		return 0;
	commit_root_set_destroy(&c->roots);
fail:
	free_fs(c);
	return ret;
}

/* --- the device ---------------------------------------------------------- */

union root_test_args {
	struct root_test_setup setup;
	struct root_test_request request;
	struct root_test_commit commit;
	struct root_test_pin pin;
	u64 stale;
	u32 number;
};

static int with_lock(struct root_test *c, unsigned int cmd, union root_test_args *a)
{
	switch (cmd) {
	case ROOT_TEST_COMMIT:
		return commit(c, &a->commit);
	case ROOT_TEST_PIN:
		return take_pin(c, &a->pin);
	case ROOT_TEST_UNPIN:
		return drop_pin(c, a->pin.id);
	case ROOT_TEST_CHECK:
		return min(cow_check_tree(c->fs, c->csums.root), 0L);
	case ROOT_TEST_CONTRACT:
		return root_test_contract(a->number);
	case ROOT_TEST_MISUSE:
		return root_test_misuse(c, a->number);
	}
	return -ENOTTY;
}

static int root_test_do(struct root_test *c, unsigned int cmd, union root_test_args *a)
{
	int ret;

	switch (cmd) {
	case ROOT_TEST_READ:
		return root_test_read_extents(c, &a->request);
	case ROOT_TEST_WRITE:
		return change_extent(c, a->number, false);
	case ROOT_TEST_MOVE:
		return change_extent(c, a->number, true);
	case ROOT_TEST_STALE:
		a->stale = cow_stale(c->fs);
		return 0;
	}
	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	ret = with_lock(c, cmd, a);
	mutex_unlock(&c->lock);
	return ret;
}

/* The filesystem must not use a set before it is set up. */
static int root_test_run(void *object, unsigned int cmd, void *args)
{
	union root_test_args *a = args;
	struct root_test *c = object;
	int ret;

	if (cmd == ROOT_TEST_SETUP) {
		if (down_write_killable(&c->life))
			return -EINTR;
		ret = set_up(c, &a->setup);
		up_write(&c->life);
		return ret;
	}
	if (down_read_killable(&c->life))
		return -EINTR;
	ret = c->fs ? root_test_do(c, cmd, a) : -ENXIO;
	up_read(&c->life);
	return ret;
}

static int root_test_open(void **object)
{
	struct root_test *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	init_rwsem(&c->life);
	init_rwsem(&c->commit_sem);
	*object = c;
	return 0;
}

static void root_test_release(void *object)
{
	struct root_test *c = object;
	u32 id;

	if (c->fs) {
		for (id = 0; id < ROOT_TEST_MAX_PINS; id++)
			drop_pin(c, id);
		commit_root_set_destroy(&c->roots);
		free_fs(c);
	}
	kvfree(c);
}

TEST_DEVICE(commit_root_test, root_test_open, root_test_release, root_test_run,
	    union root_test_args);

MODULE_DESCRIPTION("Tests of commit-root search on a copy-on-write tree");
MODULE_LICENSE("GPL");
