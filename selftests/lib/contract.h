/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For scenarios that return 0 if all was as it must be: else the line is in the log.
 */
#ifndef FSCOMMIT_CONTRACT_H
#define FSCOMMIT_CONTRACT_H

#include <linux/errno.h>
#include <linux/printk.h>

#define CHECK(cond)								\
do {										\
	if (!(cond)) {								\
		pr_err(KBUILD_MODNAME ": line %d: not so: %s\n", __LINE__, #cond);	\
		return -EPROTO;							\
	}									\
} while (0)

#endif /* FSCOMMIT_CONTRACT_H */
