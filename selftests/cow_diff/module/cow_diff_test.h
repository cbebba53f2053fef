/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/cow_diff_test: diffs of copy-on-write B+trees. Tests only. Needs CAP_SYS_ADMIN.
 *
 * Each open file has one filesystem with one tree and at most one snapshot; DIFF_TEST_SETUP
 * creates it. DIFF_TEST_MARK commits: until the next mark the committed tree is the old tree of
 * DIFF_TEST_DIFF.
 */
#ifndef COW_DIFF_TEST_H
#define COW_DIFF_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DIFF_TEST_MAX_KEYS	4000000U
#define DIFF_TEST_MAX_ITEMS	169U
#define DIFF_TEST_STEP		10U	/* between the keys of a new tree */
#define DIFF_TEST_TEXT		64

struct diff_test_setup {
	__u32 keys;		/* 0 to DIFF_TEST_MAX_KEYS keys: 0, 10, 20, ... */
	__u32 in_order;		/* insert in order, else at random */
	__u32 leaf_items, node_items;	/* 4 to DIFF_TEST_MAX_ITEMS; 0: a full block */
	__u64 seed;		/* not 0 */
};

enum diff_test_op {
	DIFF_TEST_INSERT, DIFF_TEST_DELETE, DIFF_TEST_INSERT_RANDOM, DIFF_TEST_CHANGE_RANDOM,
};

struct diff_test_change {
	__u32 op;		/* enum diff_test_op */
	__u32 of_snapshot;	/* change the snapshot, not the tree */
	__u64 first, nr, step;	/* random: @nr keys from 0 to @first in steps of @step */
};

struct diff_test_mark {
	__u32 snapshot;		/* also take a new snapshot */
};

/* As struct cow_diff_pair. */
struct diff_test_pair {
	__u64 old, new;
	__u32 level;
	__u8 old_again, new_again;
	__u16 unused;
};

/* Flags of a diff. */
#define DIFF_TEST_SWAP		0x02	/* swap the arguments */
#define DIFF_TEST_SAME		0x04	/* the old tree is the new tree, too */
#define DIFF_TEST_NO_OLD	0x10	/* an empty old tree; no bound */
#define DIFF_TEST_SNAPSHOT	0x20	/* the old tree is the snapshot; no bound */
#define DIFF_TEST_FLAGS		0x3f

struct diff_test_diff {
	__u32 flags;
	__u32 fail_at;		/* this read fails; 0: none */
	__s64 bound;		/* relative to the generation of the mark */
	__u32 stop_after;	/* end the diff after so many pairs; 0: never */
	__u32 max_pairs;
	__u64 pairs_at;		/* address of @max_pairs struct diff_test_pair; 0: none */
	/* out: */
	__s32 error;		/* of the diff, < 0; the ioctl succeeds */
	__u32 levels[2];	/* of the old and the new tree */
	__u32 open, read_twice;	/* blocks: must be 0 */
	__u32 differs;		/* pairs that only the diff or only brute force finds */
	__u64 pairs, reads, new_blocks, old_blocks;
	char problem[DIFF_TEST_TEXT];	/* of a tree; empty: none */
};

/* Damage that is undone after a diff. */
struct diff_test_corrupt {
	__u32 damage;		/* enum diff_test_damage */
	__u32 of_new;		/* damage the new tree */
	__s32 error;		/* out */
	__u32 found_in_new;	/* out */
	__u32 open;		/* out */
	char problem[DIFF_TEST_TEXT];	/* out */
};

enum diff_test_damage {
	DIFF_TEST_SWAPPED, DIFF_TEST_TOO_DEEP, DIFF_TEST_BAD_LEVEL, DIFF_TEST_BAD_GENERATION,
	DIFF_TEST_NEWER_CHILD, DIFF_TEST_BAD_KEY, DIFF_TEST_NO_CHILD, DIFF_TEST_MANY_CHILDREN,
	DIFF_TEST_LOOP, DIFF_TEST_NOT_SHARED, DIFF_TEST_REUSED,
};

/*
 * A walk that marks blocks for quota, as the users of a diff do. Each block that only one of the
 * trees has must be marked; to mark another one costs time.
 */
enum diff_test_walker {
	DIFF_TEST_WHOLE,	/* all blocks of both trees */
	DIFF_TEST_BY_POSITION,	/* new blocks, and those with the same path in the old tree */
	DIFF_TEST_DIFF_WALK,
	DIFF_TEST_NR_WALKERS,
};

struct diff_test_walk {
	__u32 walker;
	__s32 error;		/* out: -ENOENT: the old tree has no block at such a path */
	__u64 marked;		/* out: blocks */
	__u64 missed, needless;	/* out: blocks that should have been marked, or should not */
	__u64 reads, ns;	/* out */
};

/* Damage at random. */
struct diff_test_fuzz {
	__u32 rounds;
	__u32 refused, open;	/* out */
};

#define DIFF_TEST_SETUP		_IOW('D', 1, struct diff_test_setup)
#define DIFF_TEST_CHANGE	_IOW('D', 2, struct diff_test_change)
#define DIFF_TEST_MARK		_IOW('D', 3, struct diff_test_mark)
#define DIFF_TEST_DIFF		_IOWR('D', 4, struct diff_test_diff)
#define DIFF_TEST_CORRUPT	_IOWR('D', 5, struct diff_test_corrupt)
#define DIFF_TEST_FUZZ		_IOWR('D', 6, struct diff_test_fuzz)
#define DIFF_TEST_CHECK		_IO('D', 7)	/* EUCLEAN if a tree is corrupt */
#define DIFF_TEST_MISUSE	_IOW('D', 8, __u32)	/* enum diff_test_misuse; must fail */
#define DIFF_TEST_WALK		_IOWR('D', 10, struct diff_test_walk)
/* enum diff_test_by_hand; EPROTO on failure, and the log has the pair */
#define DIFF_TEST_BY_HAND	_IOW('D', 9, __u32)

enum diff_test_by_hand {
	DIFF_TEST_APPENDED, DIFF_TEST_MOVED, DIFF_TEST_COLLAPSED, DIFF_TEST_EMPTY_OLD,
	DIFF_TEST_EMPTY_LEAF,
};

enum diff_test_misuse {
	DIFF_TEST_NEXT_AFTER_END, DIFF_TEST_NO_CHILDREN,
};

#endif /* COW_DIFF_TEST_H */
