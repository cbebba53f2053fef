/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Share gate: whether an inode may share an extent since it was last logged as a whole.
 */
#ifndef _LINUX_SHARE_GATE_H
#define _LINUX_SHARE_GATE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/fscommit_abi.h>
#include <linux/minmax.h>
#include <linux/types.h>

/**
 * DOC: Overview
 *
 * A log keeps what an fsync() logs by its place on the disk: the checksums of an extent, its
 * references. Two files that share an extent (reflink, dedupe) both log items for it, which must
 * not overlap. So each fsync() first deletes overlapping items, under a lock of the range, though
 * most files share nothing.
 *
 * A gate belongs to an object, for example a file. It records the generation in which something
 * of the object was last shared. If that is not the running generation, no item in the log
 * overlaps, and no other object can log the same range::
 *
 *	u64 seen = share_gate_log_begin(&inode->gate);
 *
 *	for each extent that is not logged yet:
 *		if (!share_gate_may_be_shared(&inode->gate, running)) {
 *			insert_items(log, first, last);
 *			continue;
 *		}
 *		lock_range(log, first, last);
 *		delete_items(log, first, last);
 *		insert_items(log, first, last);
 *		unlock_range(log, first, last);
 *	share_gate_log_end(&inode->gate, seen);	// only if all of the inode is logged
 *
 * Rules for the caller:
 *
 *  1. Mark the destination of a share always, and the source if its extent is of the running
 *     generation, before the extent can be found through the destination. The checksums of an
 *     older extent are committed, so no fsync logs them for the source.
 *  2. The lock of the inode excludes a share of an object, from its mark on, and the logging of
 *     that object.
 *  3. The gate is in memory only. When an object is read in again, mark it with the generation
 *     that last changed it: something may have been shared then.
 *  4. An object that must be logged from the start again, after it was logged, is marked in the
 *     same way: what was logged before is still shared.
 *  5. One task at a time is between share_gate_log_begin() and share_gate_log_end() of a gate.
 *
 * Concurrency and context: share_gate_init() runs before others can use the gate. All other
 * functions take no lock, never sleep and cannot fail. They may run beside each other, in any
 * context; rules 2 and 5 still need the lock of the inode. A gate has one word, so it needs no
 * memory barrier; the lock of the inode orders the mark and the question.
 *
 * The idea is last_reflink_trans of btrfs (Filipe Manana, 2020).
 */

/**
 * struct share_gate - the generation in which something of an object was last shared
 *
 * 8 bytes. All fields are private.
 */
struct share_gate {
/* private: a generation, 0 or SHARE_GATE_ALWAYS; with SHARE_GATE_LOGGING since log_begin() */
	atomic64_t	last_shared;
};

#define SHARE_GATE_LOGGING	BIT_ULL(63)
#define SHARE_GATE_ALWAYS	GENMASK_ULL(62, 0)

/* 0 if it is not known. */
static inline u64 __share_gate_known(u64 generation)
{
	return generation < SHARE_GATE_ALWAYS ? generation : 0;
}

/**
 * share_gate_init() - initialise the gate of an object, which shares nothing
 * @gate: the gate
 *
 * Context: any, while no other task uses @gate.
 */
static inline void share_gate_init(struct share_gate *gate)
{
	atomic64_set(&gate->last_shared, 0);
}

/**
 * share_gate_mark() - mark an object that shares something, or may share something
 * @gate: the object's gate
 * @generation: the running generation, or the one in which the object may have been shared. 0 or
 *	more than 2^63 - 2: not known, and the object counts as shared until it is logged as a whole
 *
 * Never lowers the generation of an earlier mark.
 *
 * Context: any.
 */
static inline void share_gate_mark(struct share_gate *gate, u64 generation)
{
	s64 last = atomic64_read(&gate->last_shared);
	u64 new = __share_gate_known(generation) ?: SHARE_GATE_ALWAYS;

	/* without LOGGING: share_gate_log_end() keeps this mark, even of the same generation */
	while (!atomic64_try_cmpxchg(&gate->last_shared, &last,
				     max(last & ~SHARE_GATE_LOGGING, new)))
		;
}

/**
 * share_gate_may_be_shared() - may the log have items that overlap those of an object?
 * @gate: the object's gate
 * @generation: the running generation; 0 or more than 2^63 - 2: not known
 *
 * Conservative: true if something was shared in @generation or later, or if it is not known. A
 * result of false holds only while no share of the object can begin: see rule 2.
 *
 * Context: any.
 * Return: true if the caller must lock the range and delete such items.
 */
static inline bool share_gate_may_be_shared(const struct share_gate *gate, u64 generation)
{
	u64 last = atomic64_read(&gate->last_shared) & ~SHARE_GATE_LOGGING;

	return last && last >= __share_gate_known(generation);
}

/**
 * share_gate_log_begin() - begin to log an object
 * @gate: the object's gate
 *
 * Context: any.
 * Return: for share_gate_log_end(). Drop it if not all of the object is logged.
 */
static inline u64 share_gate_log_begin(struct share_gate *gate)
{
	if (!atomic64_read(&gate->last_shared))
		return 0;
	return atomic64_fetch_or(SHARE_GATE_LOGGING, &gate->last_shared) | SHARE_GATE_LOGGING;
}

/**
 * share_gate_log_end() - all of an object is logged: it shares nothing with the log any more
 * @gate: the object's gate
 * @seen: from share_gate_log_begin()
 *
 * Overlapping items are deleted, and blocks written later are new. A mark that was made since
 * share_gate_log_begin() stays.
 *
 * Context: any.
 */
static inline void share_gate_log_end(struct share_gate *gate, u64 seen)
{
	if (seen)
		atomic64_cmpxchg(&gate->last_shared, seen, 0);
}

#endif /* _LINUX_SHARE_GATE_H */
