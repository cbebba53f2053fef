/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/share_gate_test: a toy filesystem whose fsync logs checksums. Tests only. Needs
 * CAP_SYS_ADMIN.
 *
 * Each open file is one filesystem; GATE_TEST_SETUP creates it. It has files with
 * GATE_TEST_SLOTS slots each. A slot refers to a part of an extent; the place of an extent on
 * the disk is never reused. An fsync logs the slots, and the checksums of new extents as
 * items (first block, blocks) of a copy-on-write B+tree. Items must not overlap, because a
 * lookup uses the last item that begins at or before the block. A commit empties the log.
 */
#ifndef SHARE_GATE_TEST_H
#define SHARE_GATE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum gate_test_mode {
	GATE_TEST_ALWAYS,	/* lock, delete, insert */
	GATE_TEST_GATE,		/* the same if something may be shared, else insert */
	GATE_TEST_NEVER,	/* insert: wrong if something is shared */
	GATE_TEST_NR_MODES,
};

/* Rules of share_gate.h that the filesystem breaks on request. */
#define GATE_TEST_BREAK_SOURCE	0x01	/* do not mark the source of a share */
#define GATE_TEST_BREAK_DESTINATION	0x02	/* do not mark the destination */
#define GATE_TEST_BREAK_RELOAD	0x04	/* reset the gate of a file that is read in again */
#define GATE_TEST_BREAK_FULL	0x08	/* a full log does not mark the gate */
#define GATE_TEST_BREAK_CLEAR	0x10	/* clear the gate before all is logged */
#define GATE_TEST_BREAKS	0x1f

#define GATE_TEST_MAX_FILES	2048U
#define GATE_TEST_SLOTS	16U
#define GATE_TEST_BLOCKS	16U	/* per extent: 64 KiB */

struct gate_test_setup {
	__u32 mode;		/* enum gate_test_mode */
	__u32 lock_type;	/* of the blocks: LOCK_TEST_RWSEM, _F2FS or _UNFAIR */
	__u32 files;		/* 1 to GATE_TEST_MAX_FILES */
	__u32 broken;		/* GATE_TEST_BREAK_* */
};

struct gate_test_slot {
	__u32 file, slot;
};

/* Share blocks @offset to @offset + @nr - 1 of the slot @from with the slot @to. */
struct gate_test_clone {
	struct gate_test_slot from, to;
	__u32 offset, nr;
};

struct gate_test_crash {
	__u64 checked;		/* out: blocks of new extents that were logged */
	__u64 missing;		/* out: those without a checksum after the replay */
};

struct gate_test_state {
	__u64 skipped, locked;	/* items logged without and with the lock */
	__u64 deleted;		/* overlapping items */
};

#define GATE_TEST_SETUP		_IOW('S', 1, struct gate_test_setup)
#define GATE_TEST_WRITE		_IOW('S', 2, struct gate_test_slot)
#define GATE_TEST_CLONE		_IOW('S', 3, struct gate_test_clone)
#define GATE_TEST_FSYNC		_IOW('S', 4, __u32)	/* of a file */
#define GATE_TEST_FULL		_IOW('S', 5, __u32)	/* log the whole file next time */
#define GATE_TEST_EVICT		_IOW('S', 6, __u32)	/* evict it and read it in again */
#define GATE_TEST_COMMIT	_IO('S', 7)
#define GATE_TEST_CRASH		_IOR('S', 8, struct gate_test_crash)	/* replay, check, commit */
#define GATE_TEST_STATE		_IOR('S', 9, struct gate_test_state)
#define GATE_TEST_WRITE_FSYNC	_IOW('S', 10, struct gate_test_slot)
/* enum gate_test_contract; EPROTO on failure, and the log names the check */
#define GATE_TEST_CONTRACT	_IOW('S', 11, __u32)

enum gate_test_contract {
	GATE_TEST_MONOTONIC, GATE_TEST_LATE_MARK, GATE_TEST_UNKNOWN,
};

#ifdef __KERNEL__
int gate_test_contract(u32 which);
#endif

#endif /* SHARE_GATE_TEST_H */
