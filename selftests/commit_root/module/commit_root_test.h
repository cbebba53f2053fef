/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/commit_root_test: a toy filesystem whose checksum tree is a copy-on-write B+tree.
 * Tests only. Needs CAP_SYS_ADMIN.
 *
 * Each open file is one filesystem; ROOT_TEST_SETUP creates it. An extent has a place on the disk,
 * a generation, and one checksum per block, found by place. Overwriting an extent gives it a new
 * place, and the next commit deletes the checksums of the old place. Moving an extent does the
 * same but does not change its generation.
 */
#ifndef COMMIT_ROOT_TEST_H
#define COMMIT_ROOT_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum root_test_search {
	ROOT_TEST_LIVE,		/* always in the live tree */
	ROOT_TEST_BEHIND_RWSEM,	/* committed tree; the switch excludes readers, as in btrfs */
	ROOT_TEST_COMMIT_ROOT,	/* under a pin */
	ROOT_TEST_NR_SEARCHES,
};

/* Rules of commit-root search that the filesystem breaks on request. */
#define ROOT_TEST_BREAK_REUSE	0x01	/* reuse freed blocks at once */
#define ROOT_TEST_BREAK_ONE_PIN	0x02	/* pin once per extent */
#define ROOT_TEST_BREAK_KEEP	0x04	/* allow overwriting an extent during a read */
#define ROOT_TEST_BREAKS	0x07

#define ROOT_TEST_MAX_EXTENTS	1000000U
#define ROOT_TEST_EXTENT_BLOCKS	16U
#define ROOT_TEST_GROUP		4U	/* extents per request, and per group lock */
#define ROOT_TEST_MAX_PINS	4U

struct root_test_setup {
	__u32 search;		/* enum root_test_search */
	__u32 lock_type;	/* of the blocks: LOCK_TEST_RWSEM, _F2FS or _UNFAIR */
	__u32 extents;		/* ROOT_TEST_GROUP to ROOT_TEST_MAX_EXTENTS */
	__u32 rewrite;		/* see cow_commit() */
	__u32 broken;		/* ROOT_TEST_BREAK_* */
};

struct root_test_request {
	__u32 first, nr;	/* extents of one group */
	__u32 pause_us;		/* sleep before and after the search of each extent */
	/* out: */
	__u32 committed, missed, live;	/* numbers of searches */
	__u32 bad;		/* checksums that are wrong or missing */
	__u32 mixed;		/* extents from another commit than the first extent */
};

struct root_test_commit {
	__u64 ns;		/* out: duration */
	__u64 generation;	/* out: of this commit */
};

struct root_test_pin {
	__u32 id, unused;	/* below ROOT_TEST_MAX_PINS */
	__u64 generation;	/* out */
};

#define ROOT_TEST_SETUP		_IOW('R', 1, struct root_test_setup)
#define ROOT_TEST_READ		_IOWR('R', 2, struct root_test_request)
#define ROOT_TEST_WRITE		_IOW('R', 3, __u32)	/* overwrite this extent */
#define ROOT_TEST_MOVE		_IOW('R', 4, __u32)
#define ROOT_TEST_COMMIT	_IOR('R', 5, struct root_test_commit)
#define ROOT_TEST_PIN		_IOWR('R', 6, struct root_test_pin)
#define ROOT_TEST_UNPIN		_IOW('R', 7, struct root_test_pin)
#define ROOT_TEST_STALE		_IOR('R', 8, __u64)	/* searches that hit a reused block */
#define ROOT_TEST_CHECK		_IO('R', 9)	/* EUCLEAN if the tree is corrupt */
#define ROOT_TEST_MISUSE	_IOW('R', 10, __u32)	/* enum root_test_misuse */
/* enum root_test_contract; EPROTO on failure, and the log names the check */
#define ROOT_TEST_CONTRACT	_IOW('R', 11, __u32)

/* Promises of the calls, each tested on a set of its own. */
enum root_test_contract {
	ROOT_TEST_EARLY, ROOT_TEST_GENERATIONS, ROOT_TEST_TREES, ROOT_TEST_CANCEL,
	ROOT_TEST_LATE_TREES, ROOT_TEST_SPARE_ROOTS, ROOT_TEST_EACH_COMMIT, ROOT_TEST_OLD_PIN,
	ROOT_TEST_WANTED, ROOT_TEST_REUSABLE, ROOT_TEST_OTHER_CPU, ROOT_TEST_SWITCH_COST,
	ROOT_TEST_TWO_SETS, ROOT_TEST_IRQS_OFF, ROOT_TEST_RCU_READER, ROOT_TEST_DESTROY,
};

enum root_test_misuse {
	ROOT_TEST_UNPIN_TWICE, ROOT_TEST_COMMIT_BACK, ROOT_TEST_PREPARE_TWICE,
	ROOT_TEST_FOREIGN_TREE, ROOT_TEST_COMMIT_FOREIGN_TREE, ROOT_TEST_DESTROY_PREPARED,
};

#endif /* COMMIT_ROOT_TEST_H */
