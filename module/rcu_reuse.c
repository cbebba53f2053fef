// SPDX-License-Identifier: GPL-2.0
/*
 * Reuse stamps: see the header for what they are.
 *
 * A cookie alone starts no grace period: on an idle machine it may never pass. A clock has the
 * cookie that was requested last. A stamp with another cookie requests it, so all objects that wait
 * for the same grace period share one request.
 */
#include <linux/jiffies.h>
#include <linux/rcupdate.h>

#include <linux/rcu_reuse.h>

#include "internal.h"

/*
 * Request again if a requested grace period has not passed by then: where a normal and an expedited
 * grace period overlap, polling may see one less than there were, and no other request may follow.
 */
#define REQUEST_AGAIN	max(HZ / 10, 1)

/*
 * Publish the cookie after the request: a CPU that reads it need not request it. Two CPUs may
 * both request it, and RCU starts one grace period.
 */
static void request(struct rcu_reuse_clock *clock, unsigned long cookie)
{
	start_poll_synchronize_rcu();
	WRITE_ONCE(clock->requested_at, jiffies);
	WRITE_ONCE(clock->requested, cookie);
	/* may miss one of two at once */
	data_race(clock->requests++);
}

/**
 * rcu_reuse_stamp() - stamp an object that was freed
 * @clock: the clock of this kind of object
 *
 * Call this after the last change that new readers must see to ignore the object, for example
 * after a flag was set or a name was removed. The caller stores the stamp in the object, and orders
 * that before rcu_reuse_passed() of the same object, usually by the object's own lock.
 *
 * The grace period that the object must wait for is requested, too: once for all objects that wait
 * for it. That request takes a raw spinlock of RCU and may wake its kthread; all other calls take
 * no lock. Grace periods chosen for inodes that XFS may reuse were proposed in 2021 and 2022 (Dave
 * Chinner, Brian Foster).
 *
 * Context: interrupts enabled, also with preemption or softirqs off. Does not sleep. Cannot fail.
 * Return: the stamp, a cookie of get_state_synchronize_rcu().
 */
unsigned long rcu_reuse_stamp(struct rcu_reuse_clock *clock)
{
	/* A: full barrier after the object was freed. Pairs with B */
	unsigned long cookie = get_state_synchronize_rcu();

	if (unlikely(READ_ONCE(clock->requested) != cookie))
		request(clock, cookie);
	return cookie;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_stamp);

/**
 * rcu_reuse_passed() - whether an object may be reused
 * @clock: the clock that was used for the stamp
 * @stamp: the stamp of the object, or get_completed_synchronize_rcu() of one that was never freed
 *
 * If this returns true, all accesses, in RCU read-side critical sections, of readers that found
 * the object before its stamp happen before what the caller does next.
 *
 * Context: as rcu_reuse_stamp(). Does not sleep, and waits for no grace period. Takes no lock,
 * unless the grace period is still missing 100 ms after its request: then it is requested again.
 * Return: true if the whole grace period has passed.
 */
bool rcu_reuse_passed(struct rcu_reuse_clock *clock, unsigned long stamp)
{
	/* B: pairs with A. Accesses of readers come before the end of the grace period */
	if (poll_state_synchronize_rcu(stamp))
		return true;
	/* unsigned: a request of any age is old */
	if (unlikely(jiffies - READ_ONCE(clock->requested_at) >= REQUEST_AGAIN))
		request(clock, stamp);
	return false;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_passed);
