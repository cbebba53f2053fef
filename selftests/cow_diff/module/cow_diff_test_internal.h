/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The filesystems of /dev/cow_diff_test: see cow_diff_test.h. For its files alone.
 */
#ifndef FSCOMMIT_CDT_H
#define FSCOMMIT_CDT_H

#include <linux/mutex.h>

#include "cow_diff_corrupt.h"
#include "cow_diff_test.h"
#include "cow_diff_tree.h"

struct cdt {
	struct mutex		lock;		/* one ioctl at a time */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		tree, marked, snapshot[CDT_MAX_SNAPSHOTS];
	unsigned int		nr_snapshots;
	u64			generation;	/* of the mark; 0: none yet */
	struct cow_random	random;
	struct cow_diff		diff;
};

/* cdt_tree.c */
int cdt_set_up(struct cdt *c, const struct cdt_setup *s);
void cdt_tear_down(struct cdt *c);
int cdt_change(struct cdt *c, const struct cdt_change *ch);
int cdt_mark(struct cdt *c, struct cdt_mark *m);
int cdt_balance(struct cdt *c, struct cdt_balance *b);
int cdt_check(struct cdt *c);

/* cdt_diff.c */
int cdt_diff(struct cdt *c, struct cdt_diff *d);

/* cdt_damage.c */
int cdt_corrupt(struct cdt *c, struct cdt_corrupt *d);
int cdt_fuzz(struct cdt *c, struct cdt_fuzz *f);
int cdt_misuse(struct cdt *c, u32 which);

/* cdt_by_hand.c */
int cdt_by_hand(struct cdt *c, u32 which);

#endif /* FSCOMMIT_CDT_H */
