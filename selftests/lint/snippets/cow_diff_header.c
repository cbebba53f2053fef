// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of the header: see snippets.py. */
#include <linux/cow_diff.h>

static void mark_dirty(u64 block)
{
}

struct cow_diff *make_diff(void);

static int __used overview(const struct cow_diff_params params)
{
//: 1 lines 1-1
	diff = make_diff();
//: 1 lines 2-13
	return ret;
}
