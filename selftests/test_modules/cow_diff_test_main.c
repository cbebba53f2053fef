// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: see cow_diff_test.h.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cdt.h"
#include "import_fscommit.h"

union cdt_args {
	struct cdt_setup setup;
	struct cdt_change change;
	struct cdt_mark mark;
	struct cdt_diff diff;
	struct cdt_corrupt corrupt;
	struct cdt_fuzz fuzz;
	struct cdt_balance balance;
	u32 number;
};

static int cdt_do(struct cdt *c, unsigned int cmd, union cdt_args *a)
{
	if (cmd == CDT_SETUP)
		return c->fs ? -EBUSY : cdt_set_up(c, &a->setup);
	if (!c->fs)
		return -ENXIO;
	switch (cmd) {
	case CDT_CHANGE:
		return cdt_change(c, &a->change);
	case CDT_MARK:
		return cdt_mark(c, &a->mark);
	case CDT_BALANCE:
		return cdt_balance(c, &a->balance);
	case CDT_CHECK:
		return cdt_check(c);
	case CDT_BY_HAND:
		return cdt_by_hand(c, a->number);
	}
	if (!c->generation)
		return -ENODATA;
	switch (cmd) {
	case CDT_DIFF:
		return cdt_diff(c, &a->diff);
	case CDT_CORRUPT:
		return cdt_corrupt(c, &a->corrupt);
	case CDT_FUZZ:
		return cdt_fuzz(c, &a->fuzz);
	case CDT_MISUSE:
		return cdt_misuse(c, a->number);
	}
	return -ENOTTY;
}

static long cdt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct cdt *c = file->private_data;
	void __user *user = (void __user *)arg;
	union cdt_args *a;
	int ret = -EFAULT;

	if (_IOC_SIZE(cmd) > sizeof(*a))
		return -ENOTTY;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(a, user, _IOC_SIZE(cmd)))
		goto out;
	ret = mutex_lock_killable(&c->lock);
	if (ret)
		goto out;
	ret = cdt_do(c, cmd, a);
	mutex_unlock(&c->lock);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, a, _IOC_SIZE(cmd)))
		ret = -EFAULT;
out:
	kfree(a);
	return ret;
}

static int cdt_open(struct inode *inode, struct file *file)
{
	struct cdt *c;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	c = kvzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	file->private_data = c;
	return 0;
}

static int cdt_release(struct inode *inode, struct file *file)
{
	struct cdt *c = file->private_data;

	cdt_tear_down(c);
	kvfree(c);
	return 0;
}

static const struct file_operations cdt_fops = {
	.owner = THIS_MODULE,
	.open = cdt_open,
	.release = cdt_release,
	.unlocked_ioctl = cdt_ioctl,
};

static struct miscdevice cdt_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "cow_diff_test",
	.fops = &cdt_fops,
	.mode = 0600,
};
module_misc_device(cdt_device);

MODULE_DESCRIPTION("Tests of the COW diff on copy-on-write trees");
MODULE_LICENSE("GPL");
