// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: see cow_diff_test.h.
 */

#include "cow_diff_test_internal.h"
#include "test_device.h"

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

static int cdt_run(void *object, unsigned int cmd, void *args)
{
	struct cdt *c = object;
	int ret = mutex_lock_killable(&c->lock);

	if (ret)
		return ret;
	ret = cdt_do(c, cmd, args);
	mutex_unlock(&c->lock);
	return ret;
}

static int cdt_open(void **object)
{
	struct cdt *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	*object = c;
	return 0;
}

static void cdt_release(void *object)
{
	cdt_tear_down(object);
	kvfree(object);
}

TEST_DEVICE(cow_diff_test, cdt_open, cdt_release, cdt_run, union cdt_args);

MODULE_DESCRIPTION("Tests of the COW diff on copy-on-write trees");
MODULE_LICENSE("GPL");
