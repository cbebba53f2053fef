// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/commit_root_test: see commit_root_test.h.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "crt.h"
#include "import_fscommit.h"

union crt_args {
	struct crt_setup setup;
	struct crt_request request;
	struct crt_commit commit;
	struct crt_pin pin;
	struct crt_lookup lookup;
	struct crt_where where;
	struct crt_state state;
	struct crt_loop loop;
	u32 number;
};

static int with_lock(struct crt *c, unsigned int cmd, union crt_args *a)
{
	switch (cmd) {
	case CRT_COMMIT:
		return crt_do_commit(c, &a->commit);
	case CRT_PIN:
		return crt_take_pin(c, &a->pin);
	case CRT_UNPIN:
		return crt_give_pin(c, a->pin.id);
	case CRT_LOOKUP:
		return crt_look_up_pinned(c, &a->lookup);
	case CRT_CHECK:
		return crt_check(c);
	case CRT_SNAPSHOT:
		c->want_snapshot = true;
		return 0;
	case CRT_DESTROY:
		return crt_tear_down(c, false);
	case CRT_WANT_SPACE:
		commit_root_want_space(&c->roots);
		return 0;
	case CRT_WANTED:
		if (a->pin.id >= CRT_MAX_PINS || !c->pinned[a->pin.id])
			return -EINVAL;
		return commit_root_wanted(&c->pin[a->pin.id]) ? 0 : -ENOENT;
	case CRT_CONTRACT:
		return crt_contract(a->number);
	case CRT_MISUSE:
		return crt_misuse(c, a->number);
	}
	return -ENOTTY;
}

static int where(struct crt *c, struct crt_where *w)
{
	const struct extent *e;

	if (w->extent >= c->setup.extents)
		return -EINVAL;
	e = &c->extent[w->extent];
	w->place = e->place;
	w->version = e->version;
	w->generation = e->generation;
	return 0;
}

static int crt_do(struct crt *c, unsigned int cmd, union crt_args *a)
{
	int ret;

	switch (cmd) {
	case CRT_READ:
		return crt_read_extents(c, &a->request);
	case CRT_WRITE:
		return crt_change_extent(c, a->number, false);
	case CRT_MOVE:
		return crt_change_extent(c, a->number, true);
	case CRT_WHERE:
		return where(c, &a->where);
	case CRT_STATE:
		crt_get_state(c, &a->state);
		return 0;
	case CRT_FORGET:
		if (a->number >= c->setup.extents)
			return -EINVAL;
		c->extent[a->number].generation = 0;
		return 0;
	case CRT_PIN_LOOP:
		return crt_pin_loop(c, &a->loop);
	}
	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	ret = with_lock(c, cmd, a);
	mutex_unlock(&c->lock);
	return ret;
}

static long crt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct crt *c = file->private_data;
	void __user *user = (void __user *)arg;
	union crt_args a = { };
	int ret;

	if (_IOC_SIZE(cmd) > sizeof(a))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&a, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == CRT_SETUP) {
		mutex_lock(&c->lock);
		ret = crt_set_up(c, &a.setup);
		mutex_unlock(&c->lock);
		return ret;
	}
	if (!READ_ONCE(c->fs))
		return -ENXIO;
	ret = crt_do(c, cmd, &a);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &a, _IOC_SIZE(cmd)))
		return -EFAULT;
	return ret;
}

static int crt_open(struct inode *inode, struct file *file)
{
	struct crt *c;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	c = kvzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	init_rwsem(&c->commit_sem);
	spin_lock_init(&c->places_lock);
	file->private_data = c;
	return 0;
}

static int crt_release(struct inode *inode, struct file *file)
{
	struct crt *c = file->private_data;

	if (c->fs)
		WARN_ON(crt_tear_down(c, true));
	kvfree(c);
	return 0;
}

static const struct file_operations crt_fops = {
	.owner = THIS_MODULE,
	.open = crt_open,
	.release = crt_release,
	.unlocked_ioctl = crt_ioctl,
};

static struct miscdevice crt_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "commit_root_test",
	.fops = &crt_fops,
	.mode = 0600,
};
module_misc_device(crt_device);

MODULE_DESCRIPTION("Tests of commit-root search on a copy-on-write tree");
MODULE_LICENSE("GPL");
