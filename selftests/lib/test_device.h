/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of the misc devices of the tests: one object per open file, and ioctls whose
 * argument is copied in and out.
 *
 *	static int open_it(void **object);
 *	static void release_it(void *object);
 *	static int run_it(void *object, unsigned int cmd, void *args);
 *
 *	TEST_DEVICE(commit_root_test, open_it, release_it, run_it, union its_args);
 */
#ifndef FSCOMMIT_TEST_DEVICE_H
#define FSCOMMIT_TEST_DEVICE_H

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "import_fscommit.h"

/* @size: of the largest argument. @args is copied back after @run, also after an error. */
static inline long test_ioctl(void *object, unsigned int cmd, unsigned long arg, size_t size,
			      int (*run)(void *object, unsigned int cmd, void *args))
{
	void __user *user = (void __user *)arg;
	int ret = -EFAULT;
	void *args;

	if (_IOC_SIZE(cmd) > size)
		return -ENOTTY;
	args = kzalloc(size, GFP_KERNEL);
	if (!args)
		return -ENOMEM;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(args, user, _IOC_SIZE(cmd)))
		goto out;
	ret = run(object, cmd, args);
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, args, _IOC_SIZE(cmd)))
		ret = -EFAULT;
out:
	kfree(args);
	return ret;
}

#define TEST_DEVICE(_name, _open, _release, _run, _args)				\
static long _name##_ioctl(struct file *file, unsigned int cmd, unsigned long arg)	\
{											\
	return test_ioctl(file->private_data, cmd, arg, sizeof(_args), _run);		\
}											\
											\
static int _name##_open(struct inode *inode, struct file *file)			\
{											\
	return capable(CAP_SYS_ADMIN) ? _open(&file->private_data) : -EPERM;		\
}											\
											\
static int _name##_release(struct inode *inode, struct file *file)			\
{											\
	_release(file->private_data);							\
	return 0;									\
}											\
											\
static const struct file_operations _name##_fops = {					\
	.owner = THIS_MODULE,								\
	.open = _name##_open,								\
	.release = _name##_release,							\
	.unlocked_ioctl = _name##_ioctl,						\
	.compat_ioctl = compat_ptr_ioctl,						\
};											\
											\
static struct miscdevice _name##_device = {						\
	.minor = MISC_DYNAMIC_MINOR,							\
	.name = #_name,									\
	.fops = &_name##_fops,								\
	.mode = 0600,									\
};											\
module_misc_device(_name##_device)

#endif /* FSCOMMIT_TEST_DEVICE_H */
