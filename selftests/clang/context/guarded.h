/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of this folder guard. A line that must be reported says what.
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

MODULE_DESCRIPTION("For the compiler's eyes only");
MODULE_LICENSE("GPL");

#endif /* FSCOMMIT_GUARDED_H */
