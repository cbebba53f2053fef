// SPDX-License-Identifier: GPL-2.0
/* fscommit: setup of the module, and parameters with a range. */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/fscommit_abi.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "stats.h"
#include "watcher.h"

/* --- parameters with a range ---------------------------------------------- */

static bool loaded;

/*
 * A driver of the root filesystem needs the module: no parameter may make its load fail. Until
 * it is loaded, a value out of range becomes the nearest valid one, and other text is ignored.
 */
static int param_set(const char *val, const struct kernel_param *kp)
{
	struct fscommit_param *p = kp->arg;
	int use = p->value;
	s64 v = S64_MIN;
	bool on;

	val = val ?: "";
	if (!p->min && p->max == 1 && isalpha(*val) && !kstrtobool(val, &on))
		val = on ? "1" : "0";
	if (!kstrtos64(val, 0, &v))
		use = clamp_t(s64, v, p->min, p->max);
	if (use != v) {
		/* built in, a parameter is named "fscommit.NAME" */
		const char *dot = strrchr(kp->name, '.');

		/* print one line, whatever the text is: echo appends \n */
		pr_err("fscommit: %s=%.*s: must be a number from %d to %d; using %d\n",
		       dot ? dot + 1 : kp->name, (int)min_t(size_t, strcspn(val, "\n"), 64),
		       val, p->min, p->max, loaded ? p->value : use);
		if (loaded)
			return -EINVAL;
	}
	WRITE_ONCE(p->value, use);
	return 0;
}

static int param_get(char *buffer, const struct kernel_param *kp)
{
	const struct fscommit_param *p = kp->arg;

	return sysfs_emit(buffer, "%d\n", READ_ONCE(p->value));
}

const struct kernel_param_ops fscommit_param_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = param_set,
	.get = param_get,
};

const char FSCOMMIT_ABI;
EXPORT_SYMBOL_FSCOMMIT(FSCOMMIT_ABI);

/* --- setup --------------------------------------------------------------- */

static struct dentry *debugfs_dir;

/* The files show what the watcher has used, and the watcher counts. */
static void exit_lock(void)
{
	unfair_stats_remove_files();
	unfair_rwsem_teardown();
	unfair_stats_teardown();
}

static const cpu_time_fn cpu_times[NR_CPU_TIMES] = {
	[WATCHER_CPU_NS] = watcher_cpu_ns,
	[DONORS_CPU_NS] = lend_donors_cpu_ns,
	[LENT_CPU_NS] = lend_used_cpu_ns,
};

static int __init fscommit_init(void)
{
	int ret = unfair_rwsem_setup();

	if (ret)
		return ret;
	/* debugfs is optional */
	debugfs_dir = debugfs_create_dir("fscommit", NULL);
	ret = unfair_stats_setup(debugfs_dir, cpu_times);
	if (ret) {
		debugfs_remove_recursive(debugfs_dir);
		exit_lock();
		return ret;
	}
	commit_root_setup(debugfs_dir);
	loaded = true;
	return 0;
}

static void __exit fscommit_exit(void)
{
	debugfs_remove_recursive(debugfs_dir);
	commit_root_teardown();
	exit_lock();
}

/* built in, before the initcalls of filesystems */
subsys_initcall(fscommit_init);
module_exit(fscommit_exit);

MODULE_DESCRIPTION("Commit-path primitives for filesystems: reader-unfair rwsem, commit-root search, share gate, COW diff, RCU reuse stamps");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.1");
