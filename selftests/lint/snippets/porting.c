// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of docs/porting.rst: see snippets.py. */
#include <linux/module.h>
#include <linux/unfair_rwsem.h>
#include <linux/version.h>

struct sb_info {
	struct unfair_rwsem cp_rwsem;
};

static void __used write_checkpoint(struct sb_info *sbi)
{
//: 1
}

static void __used commit(struct sb_info *sbi)
{
//: 2
}

//: 3
//: 4 is not compiled: a semantic patch
//: 5 is not compiled: a script for sed
