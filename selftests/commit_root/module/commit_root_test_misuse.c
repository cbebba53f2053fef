// SPDX-License-Identifier: GPL-2.0
/*
 * Misuse of commit_root.h that must be refused with a warning, or that lockdep reports.
 */
#include <linux/slab.h>

#include "commit_root_test_internal.h"

static void no_release(void *private, void *root, u64 generation)
{
}

static const struct commit_root_ops no_ops = { no_release };

/* Use a tree of another set. */
static int use_foreign_tree(struct root_test *c, u32 which, const struct commit_tree *foreign)
{
	static const struct commit_search_ops no_search = { };
	struct commit_search s = {
		.set = &c->roots, .tree = foreign, .mode = COMMIT_SEARCH_FORCED, .ops = &no_search,
	};
	struct commit_roots *next;
	struct commit_pin pin;
	int ret;

	switch (which) {
	case ROOT_TEST_FOREIGN_TREE:
		ret = commit_root_pin(&c->roots, &pin);
		if (ret)
			return ret;
		ret = PTR_ERR_OR_ZERO(commit_root_of(&pin, foreign, NULL));
		commit_root_unpin(&pin);
		return ret;
	case ROOT_TEST_COMMIT_FOREIGN_TREE:
		next = commit_root_prepare(&c->roots, GFP_KERNEL);
		if (IS_ERR(next))
			return PTR_ERR(next);
		ret = commit_root_update(next, foreign, c);
		commit_root_cancel(next);
		return ret;
	default:
		return commit_root_search(&s);
	}
}

/* Frees @other, which must not be on the stack. */
static int misuse_two_sets(struct root_test *c, u32 which, struct commit_root_set *other)
{
	struct commit_tree foreign;
	struct commit_roots *next;
	int ret;

	ret = commit_root_set_init(other, "other", &no_ops, c);
	if (ret)
		goto free;
	if (which == ROOT_TEST_DESTROY_PREPARED) {
		next = commit_root_prepare(other, GFP_KERNEL);
		ret = IS_ERR(next) ? PTR_ERR(next) : commit_root_set_destroy(other);
		/* destroy must have failed: cancel the commit and destroy it now */
		commit_root_cancel(next);
	} else {
		ret = commit_tree_init(&foreign, other);
		if (!ret) {
			ret = use_foreign_tree(c, which, &foreign);
			commit_tree_destroy(&foreign);
		}
	}
	/* a set that is not destroyed is still in use */
	if (WARN_ON(commit_root_set_destroy(other)))
		return -EPROTO;
free:
	kfree(other);
	return ret;
}

int root_test_misuse(struct root_test *c, u32 which)
{
	static DEFINE_MUTEX(order);
	struct commit_root_set *other;
	struct commit_roots *next;
	struct commit_pin pin;
	int ret;

	switch (which) {
	case ROOT_TEST_UNPIN_TWICE:
		ret = commit_root_pin(&c->roots, &pin);
		if (ret)
			return ret;
		commit_root_unpin(&pin);
		commit_root_unpin(&pin);
		return 0;
	case ROOT_TEST_WAIT_IN_PIN:
		ret = commit_root_pin(&c->roots, &pin);
		if (ret)
			return ret;
		commit_root_might_wait(&c->roots);
		commit_root_unpin(&pin);
		return -EDEADLK;
	case ROOT_TEST_WAIT_IN_LOCK:
		ret = commit_root_pin(&c->roots, &pin);
		if (ret)
			return ret;
		mutex_lock(&order);
		mutex_unlock(&order);
		commit_root_unpin(&pin);
		mutex_lock(&order);
		commit_root_might_wait(&c->roots);
		mutex_unlock(&order);
		return -EDEADLK;
	case ROOT_TEST_PIN_AT_EXIT:
		/* the unpin is that of the filesystem */
		ret = commit_root_pin(&c->roots, &c->pin[0]);
		if (ret)
			return ret;
		c->pinned[0] = true;
		return -EDEADLK;
	case ROOT_TEST_SWITCH_BACK:
		next = commit_root_prepare(&c->roots, GFP_KERNEL);
		if (IS_ERR(next))
			return PTR_ERR(next);
		ret = commit_root_switch(next, commit_root_reusable(&c->roots));
		if (ret)
			commit_root_cancel(next);
		return ret;
	case ROOT_TEST_PREPARE_TWICE:
		next = commit_root_prepare(&c->roots, GFP_KERNEL);
		if (IS_ERR(next))
			return PTR_ERR(next);
		ret = PTR_ERR_OR_ZERO(commit_root_prepare(&c->roots, GFP_KERNEL));
		commit_root_cancel(next);
		return ret;
	case ROOT_TEST_FOREIGN_TREE:
	case ROOT_TEST_COMMIT_FOREIGN_TREE:
	case ROOT_TEST_SEARCH_FOREIGN_TREE:
	case ROOT_TEST_DESTROY_PREPARED:
		other = kzalloc(sizeof(*other), GFP_KERNEL);
		if (!other)
			return -ENOMEM;
		return misuse_two_sets(c, which, other);
	}
	return -EINVAL;
}
