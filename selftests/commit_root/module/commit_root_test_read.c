// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups of checksums in the toy filesystem: live, behind an rwsem as in btrfs, or under a pin.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "commit_root_test_internal.h"

struct lookup {
	struct root_test	*c;
	struct root_test_request *req;
	unsigned int		first, nr;	/* of the request's extents */
	struct cow_range	range[ROOT_TEST_GROUP];
	u64			generation[ROOT_TEST_GROUP];	/* of the searched tree */
	unsigned long		found[ROOT_TEST_GROUP];
	u64			value[ROOT_TEST_GROUP][ROOT_TEST_EXTENT_BLOCKS];
};

static void pause_for(const struct root_test_request *req)
{
	if (req->pause_us)
		usleep_range(req->pause_us, 2 * req->pause_us);
}

static int search_ranges(struct lookup *l, bool live, u32 root)
{
	struct root_test *c = l->c;
	unsigned int i;
	int ret = 0;

	for (i = l->first; i < l->first + l->nr; i++) {
		int err = live ? cow_search_live(&c->csums, &l->range[i]) :
				 cow_search_root(c->fs, root, &l->range[i]);

		if (err && err != -ENOENT)
			return err;
		ret = ret ?: err;
		if (!live)
			pause_for(l->req);
	}
	return ret;
}

static bool is_eligible(const struct root_test *c, const struct commit_gen *gen)
{
	return commit_root_eligible(&c->roots, gen);
}

/* As in btrfs. */
static int search_behind_rwsem(struct lookup *l, const struct commit_gen *gen)
{
	struct root_test *c = l->c;
	int ret = -ENOENT;

	if (!is_eligible(c, gen))
		return ret;
	down_read(&c->commit_sem);
	if (is_eligible(c, gen)) {
		l->req->committed++;
		ret = search_ranges(l, false, c->committed_root);
		l->req->missed += ret == -ENOENT;
	}
	up_read(&c->commit_sem);
	return ret;
}

/* The six lines in the head of commit_root.h. */
static int search_pinned(struct lookup *l, const struct commit_gen *gen)
{
	struct root_test *c = l->c;
	struct commit_pin pin;
	unsigned int i;
	void *root;
	int ret = -ENOENT;

	if (!is_eligible(c, gen) || !commit_root_pin(&c->roots, &pin))
		return ret;
	if (commit_root_covers(&pin, gen)) {
		for (i = l->first; i < l->first + l->nr; i++)
			l->generation[i] = commit_root_generation(&pin);
		root = commit_root_of(&pin, &c->tree, NULL);
		l->req->committed++;
		ret = search_ranges(l, false, (unsigned long)root);
		l->req->missed += ret == -ENOENT;
	}
	commit_root_unpin(&pin);
	return ret;
}

static int search_extents(struct lookup *l, const struct commit_gen *gen)
{
	int ret = -ENOENT;

	if (l->c->setup.search == ROOT_TEST_BEHIND_RWSEM)
		ret = search_behind_rwsem(l, gen);
	else if (l->c->setup.search == ROOT_TEST_COMMIT_ROOT)
		ret = search_pinned(l, gen);
	if (ret != -ENOENT)
		return ret;
	l->req->live++;
	return search_ranges(l, true, 0);
}

static void check_csums(struct lookup *l)
{
	struct root_test_request *req = l->req;
	unsigned int i, k;

	for (i = 0; i < req->nr; i++) {
		req->mixed += l->generation[i] != l->generation[0];
		for (k = 0; k < ROOT_TEST_EXTENT_BLOCKS; k++)
			req->bad += !test_bit(k, &l->found[i]) ||
				    l->value[i][k] != root_test_csum(l->range[i].first + k);
	}
}

static int look_up(struct root_test *c, struct lookup *l)
{
	unsigned int i, at_once = root_test_breaks(c, ROOT_TEST_BREAK_ONE_PIN) ? 1 : l->req->nr;
	struct commit_gen gen = { };
	int ret = 0;

	for (i = 0; i < l->req->nr; i++) {
		struct extent *e = &c->extent[l->req->first + i];

		l->range[i] = (struct cow_range) {
			.first = e->place, .nr = ROOT_TEST_EXTENT_BLOCKS, .value = l->value[i],
			.found = &l->found[i],
		};
		commit_gen_add(&gen, e->generation);
	}
	/* from here on the state of these extents must not change */
	pause_for(l->req);
	for (i = 0; i < l->req->nr && (!ret || ret == -ENOENT); i += at_once) {
		l->first = i;
		l->nr = at_once;
		ret = search_extents(l, &gen);
	}
	return ret == -ENOENT ? 0 : ret;
}

int root_test_read_extents(struct root_test *c, struct root_test_request *req)
{
	bool keep = !root_test_breaks(c, ROOT_TEST_BREAK_KEEP);
	struct lookup *l;
	int ret;

	if (!req->nr || req->nr > ROOT_TEST_GROUP - req->first % ROOT_TEST_GROUP ||
	    req->first >= c->setup.extents || req->nr > c->setup.extents - req->first)
		return -EINVAL;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return -ENOMEM;
	*req = (struct root_test_request) {
		.first = req->first, .nr = req->nr, .pause_us = req->pause_us,
	};
	l->c = c;
	l->req = req;
	if (keep)
		unfair_down_read(root_test_group_of(c, req->first));
	ret = look_up(c, l);
	if (keep)
		unfair_up_read(root_test_group_of(c, req->first));
	if (!ret)
		check_csums(l);
	kfree(l);
	return ret;
}
