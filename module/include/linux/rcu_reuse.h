/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reuse stamps: reuse freed objects after a grace period, without waiting for it.
 */
#ifndef _LINUX_RCU_REUSE_H
#define _LINUX_RCU_REUSE_H

#include <linux/fscommit_abi.h>
#include <linux/types.h>

/**
 * DOC: Overview
 *
 * An object that readers find under rcu_read_lock() may be reused only after a grace period.
 * Waiting for one at each allocation costs milliseconds. A stamp in the object says whether its
 * grace period has passed, so that the allocator may choose another object instead of waiting. XFS
 * is an example: its free inode btree chooses an inode number, whose inode may still be in the
 * cache::
 *
 *	item->stamp = get_completed_synchronize_rcu();	// a new object
 *
 *	item->flags |= ITEM_FREE;		// free: under the lock of the item
 *	item->stamp = rcu_reuse_stamp(&fs->clock);
 *
 *	if (!rcu_reuse_passed(&fs->clock, item->stamp))
 *		goto choose_another;		// allocate: under the lock of the item
 *	item->flags &= ~ITEM_FREE;
 *
 * Rules for the caller:
 *
 *  1. Mark or unlink the object before stamping it. A reader that finds it later must ignore it.
 *  2. The readers use RCU.
 *  3. Order the stamp before the question, usually by the lock of the object.
 *  4. Have an answer if no object may be reused yet: make a new one, or wait.
 *
 * Memory ordering: all accesses, in RCU read-side critical sections, of readers that found the
 * object before its stamp happen before accesses after rcu_reuse_passed() returned true.
 *
 * Concurrency and context: both calls never sleep, take no lock except for a request, about one
 * in each grace period, and may run on all CPUs at once, with interrupts enabled. Polled grace
 * periods before the reuse of inodes were proposed for XFS in 2021 (Dave Chinner, Brian Foster).
 */

/**
 * struct rcu_reuse_clock - requests the grace periods of stamps
 *
 * One for all objects of a kind. A clock of zeroes is ready for use, and needs no end. All fields
 * are private.
 */
struct rcu_reuse_clock {
/* private: */
	unsigned long	requested;	/* cookie of the last request */
	unsigned long	requested_at;	/* jiffies */
	unsigned long	requests;	/* for debuggers and tests */
};

unsigned long rcu_reuse_stamp(struct rcu_reuse_clock *clock);
bool rcu_reuse_passed(struct rcu_reuse_clock *clock, unsigned long stamp);

#endif /* _LINUX_RCU_REUSE_H */
