/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/cow_diff_test: diffs of copy-on-write B+trees. Tests only.
 *
 * Each open file has one filesystem, made by CDT_SETUP, with one tree and its snapshots.
 * CDT_MARK commits: what the tree is then is the old one for CDT_DIFF, until the next mark.
 * Needs CAP_SYS_ADMIN.
 */
#ifndef COW_DIFF_TEST_H
#define COW_DIFF_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CDT_MAX_KEYS		4000000U
#define CDT_MAX_SNAPSHOTS	126U
#define CDT_MAX_ITEMS		169U
#define CDT_TEXT		200

struct cdt_setup {
	__u32 keys;		/* 0, 10, 20, ...: 0 to CDT_MAX_KEYS of them */
	__u32 in_order;		/* are inserted so; else at random */
	__u32 leaf_items, node_items;	/* 4 to CDT_MAX_ITEMS; 0: as many as a block holds */
	__u64 seed;		/* not 0 */
};

enum cdt_op {
	CDT_INSERT, CDT_DELETE, CDT_INSERT_RANDOM, CDT_CHANGE_RANDOM,
};

struct cdt_change {
	__u32 op;		/* enum cdt_op */
	__u32 tree;		/* 0: the tree; from 1 on its snapshots */
	__u64 first, nr, step;	/* of random ones @nr; up to @first, in steps of @step */
};

struct cdt_mark {
	__u32 snapshot, unused;	/* take one, too */
	__u64 generation;	/* out: that was committed */
};

/* As struct cow_diff_pair. */
struct cdt_pair {
	__u64 old, new, key;	/* key: of what is not there again */
	__u32 level;
	__u8 old_again, new_again;
	__u16 unused;
};

/* Flags of a diff. */
#define CDT_UNREAD	0x01
#define CDT_SWAP	0x02	/* the arguments */
#define CDT_SAME	0x04	/* the old tree is the new one, too */
#define CDT_NO_ORACLE	0x08	/* do not compare with brute force */
#define CDT_NO_OLD	0x10	/* an empty old tree */
#define CDT_SNAPSHOT	0x20	/* the old one is the last snapshot; no bound */
#define CDT_FLAGS	0x3f

struct cdt_diff {
	__u32 flags, lowest_level;
	__s64 bound;		/* is added to the generation of the mark */
	__u32 stop_after;	/* so many pairs, or a failed read, the diff is ended, and
				 * another begun; 0: never
				 */
	__u32 fail_in;		/* so many reads one fails; again and again; 0: none */
	__u64 pairs_at;		/* address of @max_pairs struct cdt_pair; 0: none */
	__u32 max_pairs;
	/* out: */
	__u32 problem;		/* enum cow_diff_problem */
	__s32 error;		/* of the diff, < 0; the ioctl succeeds */
	__u32 levels[2];	/* of the old and the new tree */
	__u32 open, read_twice;	/* blocks: must be 0 */
	__u32 differs;		/* pairs that brute force does not find, or only that */
	__u64 pairs, reads, shared, new_blocks, old_blocks, blocks;
	__u64 resume_reads;	/* the most that it took to go on */
	__u64 failed;
	__u64 all_blocks;	/* that both trees have, each by itself */
	__u64 ns;		/* of the diff */
	char text[CDT_TEXT];
};

/* Damage, done and undone around a diff. */
struct cdt_corrupt {
	__u32 problem;		/* that must be found: enum cow_diff_problem */
	__u32 of_new;		/* in this tree */
	__s32 error;		/* out */
	__u32 found;		/* out: a problem */
	__u32 found_in_new;	/* out */
	__u32 open;		/* out */
	char text[CDT_TEXT];
};

struct cdt_fuzz {
	__u64 seed;
	__u32 rounds;
	__u32 refused, open;	/* out */
};

struct cdt_balance {
	__u32 whole;		/* mark whole subtrees */
	__u32 groups;		/* of blocks, one after the other: 1 to 64 */
	/* out: */
	__u32 quota_wrong;	/* trees whose quota is not as by a recount */
	__u32 trees;
	__u64 relocated, swapped, dirty, visited, ns;
};

#define CDT_SETUP	_IOW('D', 1, struct cdt_setup)
#define CDT_CHANGE	_IOW('D', 2, struct cdt_change)
#define CDT_MARK	_IOWR('D', 3, struct cdt_mark)
#define CDT_DIFF	_IOWR('D', 4, struct cdt_diff)
#define CDT_CORRUPT	_IOWR('D', 5, struct cdt_corrupt)
#define CDT_FUZZ	_IOWR('D', 6, struct cdt_fuzz)
#define CDT_BALANCE	_IOWR('D', 7, struct cdt_balance)
#define CDT_CHECK	_IO('D', 8)		/* EUCLEAN if the trees are not in order */
#define CDT_MISUSE	_IOW('D', 9, __u32)	/* enum cdt_misuse; must fail */
#define CDT_BY_HAND	_IOW('D', 10, __u32)	/* enum cdt_by_hand; EPROTO: see the log */

enum cdt_by_hand {
	CDT_APPENDED, CDT_MOVED,
};

enum cdt_misuse {
	CDT_NO_OPERATION, CDT_NEXT_AFTER_END, CDT_LOWEST_TOO_HIGH, CDT_UNKNOWN_FLAGS,
	CDT_NO_CHILDREN, CDT_POSITION_TOO_HIGH,
};

#endif /* COW_DIFF_TEST_H */
