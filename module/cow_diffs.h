/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the COW diff share. For them, and main.c.
 */
#ifndef _FSCOMMIT_COW_DIFFS_H
#define _FSCOMMIT_COW_DIFFS_H

#include <linux/cow_diff.h>

struct dentry;

enum cow_diff_event {
	COW_DIFF_BEGUN,
	COW_DIFF_RESUMED,	/* of these, after a position */
	COW_DIFF_PAIRS,
	COW_DIFF_SHARED,
	COW_DIFF_READ_OLD,
	COW_DIFF_READ_NEW,
	COW_DIFF_READ_FAILED,
	COW_DIFF_TROUBLE,	/* errors of a tree */
	COW_DIFF_MISUSE,
	NR_COW_DIFF_EVENTS,
};

/* For debugfs, per CPU: none for each block, a diff adds up its own till its end. */
void count_cow_diff(enum cow_diff_event event, unsigned long nr);

void init_cow_diffs(struct dentry *debugfs);

#endif /* _FSCOMMIT_COW_DIFFS_H */
