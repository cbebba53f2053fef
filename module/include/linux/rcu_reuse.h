/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reuse stamps: reuse freed objects after a grace period, without waiting for it.
 */
#ifndef _LINUX_RCU_REUSE_H
#define _LINUX_RCU_REUSE_H

#include <linux/fscommit_abi.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * DOC: Overview
 *
 * An object that readers find under rcu_read_lock() may be reused only after a grace period.
 * Waiting for one at each allocation costs milliseconds. A stamp in the object says whether its
 * grace period has passed, so that the allocator may choose another object instead of waiting. XFS
 * is an example: its free inode btree chooses an inode number, whose inode may still be in the
 * cache::
 *
 *	struct item {
 *		...
 *		struct rcu_reuse_cookie stamp;	// rcu_reuse_stamp_init() once
 *	};
 *
 *	item->flags |= ITEM_FREE;		// free: under the lock of the item
 *	rcu_reuse_stamp(&fs->clock, &item->stamp);
 *
 *	if (!rcu_reuse_passed(&fs->clock, &item->stamp))
 *		goto choose_another;		// allocate: under the lock of the item
 *	item->flags &= ~ITEM_FREE;
 *
 * Rules for the caller:
 *
 *  1. Mark or unlink the object before stamping it. A reader that finds it later must ignore it.
 *  2. The flavour of the clock is that of the readers: RCU, or the same srcu_struct.
 *  3. Order the stamp before the question, usually by the lock of the object.
 *  4. Have an answer if no object may be reused yet: make a new one, or wait.
 *
 * Memory ordering: all accesses, in RCU read-side critical sections, of readers that found the
 * object before its stamp happen before accesses after rcu_reuse_passed() returned true.
 *
 * Concurrency and context: rcu_reuse_stamp() and rcu_reuse_passed() never sleep, take no lock
 * except for one request in each grace period, and may run on all CPUs at once, in any context but
 * NMI and not under locks of the scheduler. All of them must have returned before
 * rcu_reuse_clock_destroy(). Polled grace periods before the reuse of inodes were proposed for XFS
 * in 2021 (Dave Chinner, Brian Foster).
 */

/**
 * struct rcu_reuse_cookie - embedded in each object
 *
 * All fields are private. 8 bytes on 64-bit machines.
 */
struct rcu_reuse_cookie {
/* private: of RCU or SRCU, whose cookies are even; or RCU_REUSE_NO_COOKIE */
	unsigned long		cookie;
};

#define RCU_REUSE_NO_COOKIE	1UL

/**
 * rcu_reuse_stamp_init() - initialise the stamp of a new object
 * @stamp: the stamp
 *
 * rcu_reuse_passed() returns true until the first rcu_reuse_stamp().
 *
 * Context: any.
 */
static inline void rcu_reuse_stamp_init(struct rcu_reuse_cookie *stamp)
{
	stamp->cookie = RCU_REUSE_NO_COOKIE;
}

/**
 * struct rcu_reuse_clock - requests the grace periods of stamps
 *
 * One for all objects of a kind, or for all objects whose readers use the same flavour. All fields
 * are private.
 */
struct rcu_reuse_clock {
/* private: */
	struct srcu_struct	*srcu;
	unsigned long		requested;	/* cookie of the last request */
	unsigned long		requested_at;	/* jiffies */
	unsigned long		requests;	/* for debuggers and tests */
	struct work_struct	work;
};

void rcu_reuse_clock_init(struct rcu_reuse_clock *clock, struct srcu_struct *srcu);
void rcu_reuse_clock_destroy(struct rcu_reuse_clock *clock);
void rcu_reuse_stamp(struct rcu_reuse_clock *clock, struct rcu_reuse_cookie *stamp);
bool rcu_reuse_passed(struct rcu_reuse_clock *clock, const struct rcu_reuse_cookie *stamp);

#endif /* _LINUX_RCU_REUSE_H */
