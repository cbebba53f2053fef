// SPDX-License-Identifier: GPL-2.0
/*
 * Misuse of commit_root.h that must be refused with a warning.
 */
#include <linux/slab.h>

#include "commit_root_test_internal.h"

static void no_release(void *private, void *root, u64 generation)
{
}

static const struct commit_root_ops no_ops = { no_release };

/* Use a tree of another set. */
static int use_foreign_tree(struct root_test *c, u32 which, struct commit_tree *foreign)
{
	struct commit_roots *next;
	struct commit_pin pin;
	int ret;

	if (which == ROOT_TEST_FOREIGN_TREE) {
		if (!commit_root_pin(&c->roots, &pin))
			return 0;
		ret = PTR_ERR_OR_ZERO(commit_root_of(&pin, foreign, NULL));
		commit_root_unpin(&pin);
		return ret;
	}
	next = commit_root_prepare(&c->roots, cow_running(c->fs), GFP_KERNEL);
	if (IS_ERR(next))
		return PTR_ERR(next);
	ret = commit_root_update(next, foreign, c);
	commit_root_cancel(next);
	return ret;
}

/* Frees @other, which must not be on the stack. */
static int misuse_two_sets(struct root_test *c, u32 which, struct commit_root_set *other)
{
	struct commit_tree tree;
	struct commit_roots *next;
	int ret;

	ret = commit_root_set_init(other, "other", &no_ops, c);
	if (ret)
		goto free;
	commit_tree_init(&tree, other);
	if (which == ROOT_TEST_DESTROY_PREPARED) {
		next = commit_root_prepare(other, 1, GFP_KERNEL | __GFP_NOFAIL);
		/* the set stays as it is, so that the switch works */
		commit_root_set_destroy(other);
		commit_root_switch(next);
		ret = commit_root_reusable(other) == 1 ? -EBUSY : 0;
	} else {
		ret = use_foreign_tree(c, which, &tree);
	}
	commit_tree_destroy(&tree);
	commit_root_set_destroy(other);
	/* the set has no counts any more */
	if (which == ROOT_TEST_DESTROY_PREPARED)
		commit_root_set_destroy(other);
free:
	kfree(other);
	return ret;
}

int root_test_misuse(struct root_test *c, u32 which)
{
	struct commit_root_set *other;
	struct commit_roots *next;
	struct commit_pin pin;
	int ret;

	switch (which) {
	case ROOT_TEST_UNPIN_TWICE:
		if (commit_root_pin(&c->roots, &pin)) {
			commit_root_unpin(&pin);
			commit_root_unpin(&pin);
		}
		return 0;
	case ROOT_TEST_COMMIT_BACK:
		next = commit_root_prepare(&c->roots, commit_root_reusable(&c->roots), GFP_KERNEL);
		return PTR_ERR_OR_ZERO(next);
	case ROOT_TEST_PREPARE_TWICE:
		next = commit_root_prepare(&c->roots, cow_running(c->fs), GFP_KERNEL);
		if (IS_ERR(next))
			return PTR_ERR(next);
		ret = PTR_ERR_OR_ZERO(commit_root_prepare(&c->roots, cow_running(c->fs),
							  GFP_KERNEL));
		commit_root_cancel(next);
		return ret;
	case ROOT_TEST_FOREIGN_TREE:
	case ROOT_TEST_COMMIT_FOREIGN_TREE:
	case ROOT_TEST_DESTROY_PREPARED:
		other = kzalloc(sizeof(*other), GFP_KERNEL);
		if (!other)
			return -ENOMEM;
		return misuse_two_sets(c, which, other);
	}
	return -EINVAL;
}
