/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The filesystems of /dev/cow_diff_test: see cow_diff_test.h.
 */
#ifndef COW_DIFF_TEST_INTERNAL_H
#define COW_DIFF_TEST_INTERNAL_H

#include <linux/mutex.h>

#include "cow_diff_corrupt.h"
#include "cow_diff_test.h"
#include "cow_diff_tree.h"

struct diff_test {
	struct mutex		lock;		/* one ioctl at a time */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		tree, marked, snapshot[DIFF_TEST_MAX_SNAPSHOTS];
	unsigned int		nr_snapshots;
	u64			generation;	/* of the mark; 0: none yet */
	struct cow_random	random;
	struct cow_diff		diff;
};

/* cow_diff_test_tree.c */
int diff_test_set_up(struct diff_test *c, const struct diff_test_setup *s);
void diff_test_tear_down(struct diff_test *c);
int diff_test_change(struct diff_test *c, const struct diff_test_change *ch);
int diff_test_mark(struct diff_test *c, struct diff_test_mark *m);
int diff_test_balance(struct diff_test *c, struct diff_test_balance *b);
int diff_test_check(struct diff_test *c);

/* cow_diff_test_diff.c */
int diff_test_diff(struct diff_test *c, struct diff_test_diff *d);

/* cow_diff_test_damage.c */
int diff_test_corrupt(struct diff_test *c, struct diff_test_corrupt *d);
int diff_test_fuzz(struct diff_test *c, struct diff_test_fuzz *f);
int diff_test_misuse(struct diff_test *c, u32 which);

/* cow_diff_test_by_hand.c */
int diff_test_by_hand(struct diff_test *c, u32 which);

#endif /* COW_DIFF_TEST_INTERNAL_H */
