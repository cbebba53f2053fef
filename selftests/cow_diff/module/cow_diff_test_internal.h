/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The filesystems of /dev/cow_diff_test: see cow_diff_test.h.
 */
#ifndef COW_DIFF_TEST_INTERNAL_H
#define COW_DIFF_TEST_INTERNAL_H

#include <linux/cow_diff.h>
#include <linux/mutex.h>

#include "cow_tree.h"
#include "cow_diff_test.h"

struct diff_test {
	struct mutex		lock;		/* one ioctl at a time */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		tree, marked, snapshot;
	u64			generation;	/* of the mark; 0: none yet */
	u64			random;		/* state of diff_test_random() */
	struct cow_diff		diff;
};

/* Three words, so that a comparison uses all of them; ordered like @key. */
static inline struct cow_diff_key diff_test_key(u64 key)
{
	return (struct cow_diff_key){ { key >> 6, key >> 3 & 7, key & 7 } };
}

/* The private of the operations that read the tree. */
struct diff_test_reader {
	struct cow_fs	*fs;
	unsigned int	open;		/* blocks not yet released */
	unsigned int	fail_at;	/* the read that fails with EIO; 0: none */
	unsigned long	reads;
	unsigned long	*was_read;	/* optional bitmap of blocks that were read */
	unsigned int	read_twice;
};

/* cow_diff_test_main.c */
u64 diff_test_random(struct diff_test *c);
u64 diff_test_random_below(struct diff_test *c, u64 n);

/* cow_diff_test_diff.c */
extern const struct cow_diff_ops diff_test_ops;
struct cow_diff_params diff_test_params(struct diff_test_reader *reader, u32 old, u32 new,
					u64 newer_than);
int diff_test_diff(struct diff_test *c, struct diff_test_diff *d);

/* cow_diff_test_walk.c */
int diff_test_walk(struct diff_test *c, struct diff_test_walk *w);

/* cow_diff_test_oracle.c */
int diff_test_all_blocks(struct cow_fs *fs, u32 root, unsigned long **has);
long diff_test_expect(struct cow_fs *fs, const struct cow_diff_params *p,
		      struct cow_diff_pair *pairs, unsigned long max);

/* cow_diff_test_damage.c */
int diff_test_corrupt(struct diff_test *c, struct diff_test_corrupt *d);
int diff_test_fuzz(struct diff_test *c, struct diff_test_fuzz *f);
int diff_test_misuse(struct diff_test *c, u32 which);

/* cow_diff_test_by_hand.c */
int diff_test_by_hand(struct diff_test *c, u32 which);

#endif /* COW_DIFF_TEST_INTERNAL_H */
