/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/commit_root_test: a toy filesystem whose checksum tree is a copy-on-write B+tree.
 * Tests only.
 *
 * Each open file is a filesystem, made by CRT_SETUP. It has extents; each lies at a
 * place of the disk, and has a version, a generation, and a checksum for each of its
 * blocks, found by place. To overwrite an extent gives it a new place, and deletes the
 * checksums of the old one at the next commit. To move it does so, too, and changes
 * neither version nor generation. Needs CAP_SYS_ADMIN.
 */
#ifndef COMMIT_ROOT_TEST_H
#define COMMIT_ROOT_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum crt_search {
	CRT_LIVE,		/* always in the live tree */
	CRT_BEHIND_RWSEM,	/* committed tree, the switch excludes readers, as in btrfs */
	CRT_COMMIT_ROOT,	/* commit_root_search() */
	CRT_NR_SEARCHES,
};

/* Rules of commit-root search to be broken: who looks for them must find that. */
#define CRT_BREAK_MAXIMUM	0x01	/* goes by the generation of the first extent */
#define CRT_BREAK_UNKNOWN	0x02	/* a generation that is not known is no reason */
#define CRT_BREAK_ADD		0x04	/* adds an extent that is not in the request */
#define CRT_BREAK_SPLIT		0x08	/* the second half takes no generation along */
#define CRT_BREAK_MISS		0x10	/* a miss is an answer */
#define CRT_BREAK_REUSE		0x20	/* freed blocks are reused at once */
#define CRT_BREAK_ONE_PIN	0x40	/* a pin for each extent */
#define CRT_BREAK_KEEP		0x80	/* an extent may be overwritten while it is read */
#define CRT_BREAKS		0xff

#define CRT_MAX_EXTENTS		1000000U
#define CRT_EXTENT_BLOCKS	16U
#define CRT_GROUP		4U	/* extents in a request; and under one lock */
#define CRT_MAX_PINS		64U

struct crt_setup {
	__u32 search;		/* enum crt_search */
	__u32 lock_type;	/* of the tree's blocks: FCT_RWSEM, FCT_F2FS, FCT_UNFAIR */
	__u32 extents;		/* CRT_GROUP to CRT_MAX_EXTENTS */
	__u32 rewrite;		/* see cow_commit() */
	__u32 broken;		/* CRT_BREAK_* */
	__u32 unused;
};

struct crt_request {
	__u32 first, nr;	/* extents of one group */
	__u32 split;		/* it is read in two halves */
	__u32 forced;		/* never live */
	__u32 pause_us;		/* asleep, before and after the search of each extent */
	/* out: */
	__u32 committed, missed, live;	/* searches */
	__u32 wrong, lost;	/* checksums that differ, or were not found */
	__u32 mixed;		/* extents from another commit than the first one */
};

struct crt_commit {
	__u64 ns;		/* out: how long it took */
	__u64 generation;	/* out: of this commit */
};

struct crt_pin {
	__u32 id, unused;	/* below CRT_MAX_PINS */
	__u64 generation;	/* out */
};

struct crt_lookup {
	__u32 id;		/* of a pin */
	__u32 extent;		/* as it was in the generation that is pinned */
	__u64 place, version;	/* see CRT_WHERE */
	__u32 wrong, lost;	/* out */
};

struct crt_where {
	__u32 extent, unused;
	__u64 place, version, generation;
};

struct crt_state {
	__u64 running, reusable, released, out_of_order;
	__u64 oldest_generation, oldest_age_ms;
	__u32 oldest_pid, has_pin;
	__u32 blocks, free, pending;
	__u64 stale, cowed, copies;
};

struct crt_loop {
	__u64 count;		/* pairs of pin and unpin */
	__u64 ns;		/* out */
};

#define CRT_SETUP	_IOW('R', 1, struct crt_setup)
#define CRT_READ	_IOWR('R', 2, struct crt_request)
#define CRT_WRITE	_IOW('R', 3, __u32)	/* overwrite this extent */
#define CRT_MOVE	_IOW('R', 4, __u32)
#define CRT_COMMIT	_IOR('R', 5, struct crt_commit)
#define CRT_PIN		_IOWR('R', 6, struct crt_pin)
#define CRT_UNPIN	_IOW('R', 7, struct crt_pin)
#define CRT_LOOKUP	_IOWR('R', 8, struct crt_lookup)
#define CRT_WHERE	_IOWR('R', 9, struct crt_where)
#define CRT_STATE	_IOR('R', 10, struct crt_state)
#define CRT_CHECK	_IO('R', 11)		/* EUCLEAN if the trees are not in order */
#define CRT_SNAPSHOT	_IO('R', 12)		/* at the next commit; drops the last one */
#define CRT_FORGET	_IOW('R', 13, __u32)	/* this extent's generation is not known */
#define CRT_DESTROY	_IO('R', 14)		/* EBUSY while something is pinned */
#define CRT_WANT_SPACE	_IO('R', 15)
#define CRT_WANTED	_IOWR('R', 16, struct crt_pin)	/* ENOENT if it is not */
#define CRT_PIN_LOOP	_IOWR('R', 17, struct crt_loop)
#define CRT_MISUSE	_IOW('R', 18, __u32)	/* enum crt_misuse */

#define CRT_CONTRACT	_IOW('R', 19, __u32)	/* enum crt_contract; EPROTO: see the log */

/* What the calls promise, each on a set of its own. */
enum crt_contract {
	CRT_EARLY, CRT_PIN_AGAIN, CRT_TREES, CRT_CANCEL, CRT_NAMED_TWICE, CRT_AGE, CRT_MANY_TREES,
};

enum crt_misuse {
	CRT_UNPIN_TWICE, CRT_SWITCH_BACK, CRT_PREPARE_TWICE, CRT_FOREIGN_TREE,
	CRT_COMMIT_FOREIGN_TREE, CRT_SEARCH_FOREIGN_TREE, CRT_DESTROY_PREPARED,
};

#endif /* COMMIT_ROOT_TEST_H */
