/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Diffs of the copy-on-write tree of the tests, and what they must find.
 */
#ifndef FSCOMMIT_COW_DIFF_TREE_H
#define FSCOMMIT_COW_DIFF_TREE_H

#include <linux/cow_diff.h>

#include "cow_tree.h"

/* In three words, so that all of them are compared; in the order of the keys. */
static inline struct cow_diff_key cow_diff_key(u64 key)
{
	return (struct cow_diff_key){ { key >> 6, key >> 3 & 7, key & 7 } };
}

static inline u64 cow_diff_key_of(const struct cow_diff_key *key)
{
	return key->word[0] << 6 | key->word[1] << 3 | key->word[2];
}

/* The private of the operations. */
struct cow_diff_reader {
	struct cow_fs	*fs;
	unsigned int	open;		/* blocks that were not released */
	unsigned int	fail_in;	/* reads until one fails with EIO; 0: never */
	/* if it is there, each block that is read is noted: twice is an error */
	unsigned long	*was_read;
	unsigned int	read_twice;
};

extern const struct cow_diff_ops cow_diff_tree_ops;

struct cow_diff_params cow_diff_params_of(struct cow_diff_reader *reader, u32 old, u32 new,
					  u64 newer_than);

/*
 * By brute force: all blocks of both trees, @all_blocks of them. Fills in at most @max pairs
 * of @lowest_level and above, and returns how many there are, or < 0.
 */
long cow_diff_expect(struct cow_fs *fs, u32 old, u32 new, unsigned int lowest_level,
		     struct cow_diff_pair *pairs, unsigned long max,
		     unsigned long *all_blocks);

/* Blocks that one of the trees has only, of those pairs; and the new ones of them. */
unsigned long cow_diff_changed(const struct cow_diff_pair *pairs, unsigned long nr,
			       unsigned long *new_blocks);
bool cow_diff_same_pair(const struct cow_diff_pair *a, const struct cow_diff_pair *b);

#endif /* FSCOMMIT_COW_DIFF_TREE_H */
