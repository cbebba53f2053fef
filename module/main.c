// SPDX-License-Identifier: GPL-2.0
/*
 * fscommit: commit-path primitives for filesystems.
 */
#include <linux/init.h>
#include <linux/module.h>

static int __init fscommit_init(void)
{
	return 0;
}

static void __exit fscommit_exit(void)
{
}

module_init(fscommit_init);
module_exit(fscommit_exit);

MODULE_DESCRIPTION("Commit-path primitives for filesystems: reader-unfair rwsem");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
