/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/share_gate_test: a toy filesystem that logs the checksums of what is fsynced. Tests
 * only.
 *
 * Each open file is a filesystem, made by SGT_SETUP. It has files of SGT_SLOTS slots; a slot
 * refers to a part of an extent, which lies at a place of the disk that is never used again.
 * An fsync puts the checksums of new extents into the log, a copy-on-write B+tree, as items
 * (first block, blocks), and what the slots are. Two items must not overlap: a checksum is
 * looked for in the last item that begins at or before its block. A commit empties the
 * log. Needs CAP_SYS_ADMIN.
 */
#ifndef SHARE_GATE_TEST_H
#define SHARE_GATE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum sgt_mode {
	SGT_ALWAYS,		/* lock, delete, insert */
	SGT_GATE,		/* the same where something may be shared */
	SGT_NEVER,		/* insert: wrong where something is shared */
	SGT_NR_MODES,
};

/* Rules of share_gate.h to be broken: who looks for them must find that. */
#define SGT_BREAK_SOURCE	0x01	/* the source of a share is not marked */
#define SGT_BREAK_DESTINATION	0x02	/* nor the destination */
#define SGT_BREAK_RELOAD	0x04	/* a file that is read in again begins anew */
#define SGT_BREAK_RAISE		0x08	/* a full log does not raise the gate */
#define SGT_BREAK_CLEAR		0x10	/* the gate is cleared before all is logged */
#define SGT_BREAKS		0x1f

#define SGT_MAX_FILES	2048U
#define SGT_SLOTS	16U
#define SGT_BLOCKS	16U		/* of an extent: 64 KiB */

struct sgt_setup {
	__u32 mode;		/* enum sgt_mode */
	__u32 lock_type;	/* of the log's blocks: FCT_RWSEM, FCT_F2FS, FCT_UNFAIR */
	__u32 files;		/* 1 to SGT_MAX_FILES */
	__u32 broken;		/* SGT_BREAK_* */
};

struct sgt_slot {
	__u32 file, slot;
};

/* Blocks @offset to @offset + @nr - 1 of what the source has there. */
struct sgt_clone {
	struct sgt_slot from, to;
	__u32 offset, nr;
};

struct sgt_crash {
	__u64 checked;		/* out: blocks of new extents that were logged */
	__u64 missing;		/* out: of these, without a checksum after the replay */
	__u64 sum;		/* out: of the checksums that were found */
};

struct sgt_state {
	__u64 generation;
	__u64 skipped, locked;	/* sections */
	__u64 deleted;		/* items that were in the way */
};

#define SGT_SETUP	_IOW('S', 1, struct sgt_setup)
#define SGT_WRITE	_IOW('S', 2, struct sgt_slot)
#define SGT_CLONE	_IOW('S', 3, struct sgt_clone)
#define SGT_FSYNC	_IOW('S', 4, __u32)		/* a file */
#define SGT_FULL	_IOW('S', 5, __u32)		/* is to be logged from the start */
#define SGT_EVICT	_IOW('S', 6, __u32)		/* and is read in again */
#define SGT_COMMIT	_IO('S', 7)
#define SGT_CRASH	_IOR('S', 8, struct sgt_crash)	/* replay the log; look; commit */
#define SGT_STATE	_IOR('S', 9, struct sgt_state)
#define SGT_WRITE_FSYNC	_IOW('S', 10, struct sgt_slot)
#define SGT_RANGE	_IOWR('S', 11, struct sgt_range)
#define SGT_RANGE_STATE	_IOR('S', 12, struct sgt_range_state)
#define SGT_CONTRACT	_IOW('S', 13, __u32)	/* enum sgt_contract; EPROTO: see the log */
#define SGT_MISUSE	_IOW('S', 14, __u32)	/* enum sgt_misuse */

/* Holds a range until the file that was opened goes, or for @ms; killable while it waits. */
struct sgt_range {
	__u64 first, last;
	__u32 ms, unused;
	__u64 turn;		/* out: how many had their range before */
};

struct sgt_range_state {
	__u32 waiting, holding;
	__u64 together;		/* pairs that overlapped while both held: never */
};

enum sgt_contract {
	SGT_MONOTONIC, SGT_LATE_MARK, SGT_RELOADED, SGT_WRAP, SGT_LOCK_FAILS,
};

enum sgt_misuse {
	SGT_EXIT_TWICE, SGT_EMPTY_RANGE, SGT_NO_GENERATION, SGT_SHARED_MEANWHILE,
	SGT_UNLOCK_TWICE, SGT_LOCK_EMPTY_RANGE,
};

#endif /* SHARE_GATE_TEST_H */
