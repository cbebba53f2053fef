// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of docs/porting.rst: see snippets.py. */
#include <linux/unfair_rwsem.h>

struct sb_info {
	struct unfair_rwsem cp_rwsem;
};

static void __used write_checkpoint(struct sb_info *sbi)
{
//: 1
}

//: 2 is not compiled: a semantic patch
//: 3 is not compiled: a script for sed
