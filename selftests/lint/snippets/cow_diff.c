// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of docs/cow_diff.rst: see snippets.py. */
#include <linux/cow_diff.h>

static const struct cow_diff_ops btrfs_diff_ops;

static void __used trace_swap(u64 file_bytenr, u64 file_gen, u64 reloc_bytenr, u64 reloc_gen,
			      struct cow_diff_key key, u8 level, u64 last_snapshot)
{
//: 1

	(void)p;
}
