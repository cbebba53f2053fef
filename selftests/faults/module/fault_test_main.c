// SPDX-License-Identifier: GPL-2.0
/*
 * The part of fscommit that allocates, for alloc_faults.c. Writing to the parameter run uses it in
 * the writing task, and undoes that.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/commit_root.h>
#include <linux/unfair_rwsem.h>

#include "import_fscommit.h"

#define NR_TREES	200

static struct commit_tree trees[NR_TREES];

static void no_root(void *private, void *root, u64 generation)
{
}

static const struct commit_root_ops root_ops = { no_root };

static int commit(struct commit_root_set *set, u64 generation)
{
	struct commit_roots *next = commit_root_prepare(set, generation, GFP_KERNEL);
	int ret;

	if (IS_ERR(next))
		return PTR_ERR(next);
	ret = commit_root_update(next, &trees[0], &trees[0]);
	if (ret) {
		commit_root_cancel(next);
		return ret;
	}
	commit_root_switch(next);
	return 0;
}

/*
 * Retry a failed commit: it must then work, so the first attempt must leave nothing behind. The
 * result is still the failure.
 */
static int use_roots(const char *value, const struct kernel_param *kp)
{
	struct commit_root_set *set = kzalloc(sizeof(*set), GFP_KERNEL | __GFP_NOFAIL);
	int ret, again, nr;
	u64 generation;

	ret = commit_root_set_init(set, "fault_test", &root_ops, NULL);
	if (ret) {
		kfree(set);
		return ret;
	}
	for (nr = 0; nr < NR_TREES; nr++)
		commit_tree_init(&trees[nr], set);
	for (generation = 1; generation < 4 && !ret; generation++) {
		ret = commit(set, generation);
		if (ret) {
			again = commit(set, generation);
			/* the retry also fails while all allocations fail */
			if (again && again != -ENOMEM)
				ret = -EPROTO;
		}
	}
	while (nr)
		commit_tree_destroy(&trees[--nr]);
	commit_root_set_destroy(set);
	kfree(set);
	return ret;
}

static const struct kernel_param_ops run_ops = { .set = use_roots };

module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "write to it: use commit roots once");

MODULE_DESCRIPTION("Allocations of fscommit that may fail");
MODULE_LICENSE("GPL");
