/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guarded data of the files in this folder. A `report:` comment gives the expected warning.
 */
#ifndef FSCOMMIT_GUARDED_H
#define FSCOMMIT_GUARDED_H

#include <linux/commit_root.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/share_gate.h>
#include <linux/unfair_rwsem.h>

struct fs {
	struct unfair_rwsem	cp_sem;
	long			generation __guarded_by(&cp_sem);
	struct mutex		trees_lock;
};

int may_fail(void);

MODULE_DESCRIPTION("Test of the compiler's context analysis, never loaded");
MODULE_LICENSE("GPL");

#endif /* FSCOMMIT_GUARDED_H */
