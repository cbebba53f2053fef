/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damage to the copy-on-write tree of the tests, at random or on purpose.
 */
#ifndef FSCOMMIT_COW_DIFF_CORRUPT_H
#define FSCOMMIT_COW_DIFF_CORRUPT_H

#include "cow_blocks.h"

/* The same sequence for the same seed in kernel and userspace. */
struct cow_random {
	u64 state;
};

u64 cow_random(struct cow_random *r);
u64 cow_random_below(struct cow_random *r, u64 n);
/* Often a value near @v, or @v with one bit flipped. */
u64 cow_bad_value(struct cow_random *r, u64 v);
/* Damage a field of @b or a pointer in it. */
void cow_corrupt(struct cow_random *r, const struct cow_fs *fs, struct cow_block *b);

#endif /* FSCOMMIT_COW_DIFF_CORRUPT_H */
