// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: see cow_diff_test.h.
 */

#include "cow_diff_test_internal.h"
#include "test_device.h"

union diff_test_args {
	struct diff_test_setup setup;
	struct diff_test_change change;
	struct diff_test_mark mark;
	struct diff_test_diff diff;
	struct diff_test_corrupt corrupt;
	struct diff_test_fuzz fuzz;
	struct diff_test_balance balance;
	u32 number;
};

static int diff_test_do(struct diff_test *c, unsigned int cmd, union diff_test_args *a)
{
	if (cmd == DIFF_TEST_SETUP)
		return c->fs ? -EBUSY : diff_test_set_up(c, &a->setup);
	if (!c->fs)
		return -ENXIO;
	switch (cmd) {
	case DIFF_TEST_CHANGE:
		return diff_test_change(c, &a->change);
	case DIFF_TEST_MARK:
		return diff_test_mark(c, &a->mark);
	case DIFF_TEST_BALANCE:
		return diff_test_balance(c, &a->balance);
	case DIFF_TEST_CHECK:
		return diff_test_check(c);
	case DIFF_TEST_BY_HAND:
		return diff_test_by_hand(c, a->number);
	}
	if (!c->generation)
		return -ENODATA;
	switch (cmd) {
	case DIFF_TEST_DIFF:
		return diff_test_diff(c, &a->diff);
	case DIFF_TEST_CORRUPT:
		return diff_test_corrupt(c, &a->corrupt);
	case DIFF_TEST_FUZZ:
		return diff_test_fuzz(c, &a->fuzz);
	case DIFF_TEST_MISUSE:
		return diff_test_misuse(c, a->number);
	}
	return -ENOTTY;
}

static int diff_test_run(void *object, unsigned int cmd, void *args)
{
	struct diff_test *c = object;
	int ret = mutex_lock_killable(&c->lock);

	if (ret)
		return ret;
	ret = diff_test_do(c, cmd, args);
	mutex_unlock(&c->lock);
	return ret;
}

static int diff_test_open(void **object)
{
	struct diff_test *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	*object = c;
	return 0;
}

static void diff_test_release(void *object)
{
	diff_test_tear_down(object);
	kvfree(object);
}

TEST_DEVICE(cow_diff_test, diff_test_open, diff_test_release, diff_test_run, union diff_test_args);

MODULE_DESCRIPTION("Tests of the COW diff on copy-on-write trees");
MODULE_LICENSE("GPL");
