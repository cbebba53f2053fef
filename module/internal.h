/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that several files of the module share. */
#ifndef _FSCOMMIT_INTERNAL_H
#define _FSCOMMIT_INTERNAL_H

#include <linux/moduleparam.h>

#include "compat.h"

/*
 * A module parameter with a range. A write of a value outside of the range fails with -EINVAL, and
 * a message names the range; at load, the nearest valid value replaces it. A parameter that is 0
 * or 1 takes y, n, on and off, too. Read it by READ_ONCE(NAME.value).
 */
struct fscommit_param {
	int	value, min, max;
};

extern const struct kernel_param_ops fscommit_param_ops;

#define FSCOMMIT_PARAM(name, ...)					\
	static struct fscommit_param name = { __VA_ARGS__ };		\
	module_param_cb(name, &fscommit_param_ops, &name, 0644)

/* Called by main.c. @debugfs is the module's directory there. */
struct dentry;

void commit_root_setup(struct dentry *debugfs);
void commit_root_teardown(void);
int unfair_rwsem_setup(void);
void unfair_rwsem_teardown(void);

#endif /* _FSCOMMIT_INTERNAL_H */
