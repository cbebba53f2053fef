/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Module parameters with a range, and an error that names it.
 *
 *	static struct ranged_param window_us = { 200, 1, 10000 };
 *	module_param_cb(window_us, &ranged_param_ops, &window_us, 0644);
 *
 *	READ_ONCE(window_us.value)
 */
#ifndef _FSCOMMIT_RANGED_PARAM_H
#define _FSCOMMIT_RANGED_PARAM_H

#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

struct ranged_param {
	unsigned int value, min, max;
};

static int ranged_param_set(const char *val, const struct kernel_param *kp)
{
	struct ranged_param *p = kp->arg;
	unsigned int v;

	if (kstrtouint(val, 0, &v) || v < p->min || v > p->max) {
		/* built in, it has our name before its own */
		const char *dot = strrchr(kp->name, '.');

		/* one line of the log, with the range, whatever it is; echo ends it with \n */
		pr_err("fscommit: %s=%.*s: must be a number from %u to %u\n",
		       dot ? dot + 1 : kp->name,
		       (int)min(strcspn(val, "\n"), (size_t)64), val, p->min, p->max);
		return -EINVAL;
	}
	WRITE_ONCE(p->value, v);
	return 0;
}

static int ranged_param_get(char *buffer, const struct kernel_param *kp)
{
	const struct ranged_param *p = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(p->value));
}

static const struct kernel_param_ops ranged_param_ops = {
	.set = ranged_param_set,
	.get = ranged_param_get,
};

#endif /* _FSCOMMIT_RANGED_PARAM_H */
