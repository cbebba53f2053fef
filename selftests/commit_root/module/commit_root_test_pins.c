// SPDX-License-Identifier: GPL-2.0
/*
 * Pins by id, and misuse that must be refused with a warning.
 */
#include <linux/ktime.h>

#include "commit_root_test_internal.h"

int root_test_take_pin(struct root_test *c, struct root_test_pin *p)
{
	u64 generation = 0;
	int ret;

	if (p->id >= ROOT_TEST_MAX_PINS || c->pinned[p->id])
		return -EINVAL;
	ret = commit_root_pin(&c->roots, &c->pin[p->id]);
	if (ret)
		return ret;
	/* any task may drop it */
	commit_root_disown(&c->pin[p->id]);
	commit_root_of(&c->pin[p->id], &c->tree, &generation);
	WRITE_ONCE(c->pinned[p->id], generation);
	p->generation = commit_root_generation(&c->pin[p->id]);
	return 0;
}

int root_test_drop_pin(struct root_test *c, u32 id)
{
	if (id >= ROOT_TEST_MAX_PINS || !c->pinned[id])
		return -EINVAL;
	WRITE_ONCE(c->pinned[id], 0);
	commit_root_unpin(&c->pin[id]);
	return 0;
}

int root_test_look_up_pinned(struct root_test *c, struct root_test_lookup *l)
{
	u64 value[ROOT_TEST_EXTENT_BLOCKS];
	unsigned long found = 0;
	struct cow_range range = { l->place, ROOT_TEST_EXTENT_BLOCKS, value, &found };
	unsigned int k;
	void *root;
	int ret;

	if (l->id >= ROOT_TEST_MAX_PINS || !c->pinned[l->id])
		return -EINVAL;
	root = commit_root_of(&c->pin[l->id], &c->tree, NULL);
	if (IS_ERR(root))
		return PTR_ERR(root);
	ret = cow_search_root(c->fs, (unsigned long)root, &range);
	if (ret && ret != -ENOENT)
		return ret;
	l->wrong = 0;
	l->lost = 0;
	for (k = 0; k < ROOT_TEST_EXTENT_BLOCKS; k++)
		if (!test_bit(k, &found))
			l->lost++;
		else if (value[k] != root_test_csum(l->place + k, l->version))
			l->wrong++;
	return 0;
}

int root_test_pin_loop(struct root_test *c, struct root_test_loop *loop)
{
	struct commit_pin pin;
	u64 i, start;
	int ret = 0;

	if (loop->count > 100000000)
		return -EINVAL;
	start = ktime_get_ns();
	for (i = 0; i < loop->count && !ret; i++) {
		ret = commit_root_pin(&c->roots, &pin);
		if (!ret)
			commit_root_unpin(&pin);
	}
	loop->ns = ktime_get_ns() - start;
	return ret;
}

/* Use a tree of another set. */
static int use_foreign_tree(struct root_test *c, u32 which, const struct commit_tree *foreign)
{
	static const struct commit_search_ops no_ops = { };
	struct commit_search s = {
		.set = &c->roots, .tree = foreign, .mode = COMMIT_SEARCH_FORCED, .ops = &no_ops,
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

	ret = commit_root_set_init(other, "other", &root_test_root_ops, c);
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
		WRITE_ONCE(c->pinned[0], commit_root_generation(&c->pin[0]));
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
