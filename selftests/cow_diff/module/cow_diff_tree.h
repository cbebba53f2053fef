/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Diffs of the copy-on-write tree of the tests, and the expected results.
 */
#ifndef FSCOMMIT_COW_DIFF_TREE_H
#define FSCOMMIT_COW_DIFF_TREE_H

#include <linux/cow_diff.h>

#include "cow_tree.h"

/* Three words, so that a comparison uses all of them; ordered like @key. */
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
	unsigned int	open;		/* blocks not yet released */
	unsigned int	fail_in;	/* reads until one fails with EIO; 0: never */
	/* optional bitmap of blocks that were read; reading one twice is an error */
	unsigned long	*was_read;
	unsigned int	read_twice;
};

extern const struct cow_diff_ops cow_diff_tree_ops;

struct cow_diff_params cow_diff_params_of(struct cow_diff_reader *reader, u32 old, u32 new,
					  u64 newer_than);

/*
 * Compute the expected pairs by brute force from all blocks of both trees, and store their
 * number in @all_blocks. Fill in at most @max pairs. Return the number of pairs, or < 0.
 */
long cow_diff_expect(struct cow_fs *fs, const struct cow_diff_params *p,
		     struct cow_diff_pair *pairs, unsigned long max,
		     unsigned long *all_blocks);

/* Number of blocks in @pairs that only one tree has; @new_blocks: those of the new tree. */
unsigned long cow_diff_changed(const struct cow_diff_pair *pairs, unsigned long nr,
			       unsigned long *new_blocks);
bool cow_diff_same_pair(const struct cow_diff_pair *a, const struct cow_diff_pair *b);

#endif /* FSCOMMIT_COW_DIFF_TREE_H */
