/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CHECK() for scenarios that return 0 on success, or log the failed line.
 */
#ifndef FSCOMMIT_CONTRACT_H
#define FSCOMMIT_CONTRACT_H

#include <linux/errno.h>
#include <linux/printk.h>

#define CHECK(cond)								\
do {										\
	if (!(cond)) {								\
		pr_err(KBUILD_MODNAME ": line %d: failed: %s\n", __LINE__, #cond);	\
		return -EPROTO;							\
	}									\
} while (0)

#endif /* FSCOMMIT_CONTRACT_H */
