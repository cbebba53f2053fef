// SPDX-License-Identifier: GPL-2.0
/*
 * fscommit: commit-path primitives for filesystems.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/module.h>

#include "commit_roots.h"
#include "cow_diffs.h"
#include "rcu_reuse_lists.h"
#include "report.h"
#include "share_gates.h"
#include "stats.h"
#include "watcher.h"

static struct dentry *debugfs_dir;

static int __init fscommit_init(void)
{
	int ret = watcher_init();

	if (ret)
		return ret;
	/* without debugfs it works as well */
	debugfs_dir = debugfs_create_dir("fscommit", NULL);
	ret = init_commit_roots(debugfs_dir);
	if (ret)
		goto fail;
	ret = init_rcu_reuse(debugfs_dir);
	if (ret) {
		exit_commit_roots();
		goto fail;
	}
	init_share_gates(debugfs_dir);
	init_cow_diffs(debugfs_dir);
	init_stats(debugfs_dir);
	init_reports(debugfs_dir);
	return 0;
fail:
	debugfs_remove_recursive(debugfs_dir);
	watcher_exit();
	return ret;
}

static void __exit fscommit_exit(void)
{
	debugfs_remove_recursive(debugfs_dir);
	exit_rcu_reuse();
	exit_commit_roots();
	/* the watcher may still count, and report */
	watcher_exit();
	exit_reports();
	exit_stats();
}

/* in a kernel that has it built in, before the filesystems */
subsys_initcall(fscommit_init);
module_exit(fscommit_exit);

MODULE_DESCRIPTION("Commit-path primitives for filesystems: reader-unfair rwsem, commit-root search, share gate, COW diff, RCU reuse queue");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
