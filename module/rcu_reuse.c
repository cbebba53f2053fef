// SPDX-License-Identifier: GPL-2.0
/*
 * Reuse stamps: see the header for what they are.
 *
 * A cookie alone starts no grace period: on an idle machine it may never pass. A clock has the
 * cookie that was requested last. A stamp with another cookie requests it, so all objects that wait
 * for the same grace period share one request.
 */
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>

#include <linux/rcu_reuse.h>

#include "compat.h"

/*
 * Request again if a requested grace period has not passed by then: where a normal and an expedited
 * grace period overlap, polling may see one less than there were, and no other request may follow.
 */
#define REQUEST_AGAIN	max(HZ / 10, 1)

static inline unsigned long reuse_cookie(struct srcu_struct *srcu)
{
	return srcu ? get_state_synchronize_srcu(srcu) : get_state_synchronize_rcu();
}

static inline bool reuse_passed(struct srcu_struct *srcu, unsigned long cookie)
{
	return srcu ? poll_state_synchronize_srcu(srcu, cookie) :
		      poll_state_synchronize_rcu(cookie);
}

static void start_grace_period(struct srcu_struct *srcu)
{
	if (srcu)
		start_poll_synchronize_srcu(srcu);
	else
		start_poll_synchronize_rcu();
}

static void clock_work(struct work_struct *work)
{
	start_grace_period(container_of(work, struct rcu_reuse_clock, work)->srcu);
}

/*
 * Publish the cookie after the request: a CPU that reads it need not request it. Two CPUs may
 * both request it, and RCU starts one grace period. A work item makes the requests of SRCU, whose
 * locks sleep on PREEMPT_RT, and those with interrupts off, which RCU allows since 6.13.
 */
static void clock_request(struct rcu_reuse_clock *clock, unsigned long cookie)
{
	if (clock->srcu || irqs_disabled())
		schedule_work(&clock->work);
	else
		start_grace_period(NULL);
	WRITE_ONCE(clock->requested_at, jiffies);
	WRITE_ONCE(clock->requested, cookie);
	/* may miss one of two at once */
	data_race(clock->requests++);
}

/**
 * rcu_reuse_clock_init() - initialise a clock
 * @clock: the clock, which requests grace periods for the stamps of many objects
 * @srcu: the domain of the readers, which must outlive the clock; NULL: they use RCU
 *
 * Context: any. Cannot fail.
 */
void rcu_reuse_clock_init(struct rcu_reuse_clock *clock, struct srcu_struct *srcu)
{
	*clock = (struct rcu_reuse_clock) { .srcu = srcu, .requested = RCU_REUSE_NO_COOKIE };
	INIT_WORK(&clock->work, clock_work);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_clock_init);

/**
 * rcu_reuse_clock_destroy() - end the use of a clock
 * @clock: the clock
 *
 * All calls of rcu_reuse_stamp() and rcu_reuse_passed() with @clock must have returned. Stamps need
 * no cleanup. With SRCU, the caller may free the domain afterwards.
 *
 * Context: process context; sleeps, with SRCU for a grace period.
 */
void rcu_reuse_clock_destroy(struct rcu_reuse_clock *clock)
{
	cancel_work_sync(&clock->work);
	/* requested grace periods have ended */
	if (clock->srcu)
		synchronize_srcu(clock->srcu);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_clock_destroy);

/**
 * rcu_reuse_stamp() - note that an object was freed
 * @clock: the clock of this kind of object
 * @stamp: the stamp of the object
 *
 * Call this after the last change that new readers must see to ignore the object, for example
 * after a flag was set or a name was removed. The caller orders this call before
 * rcu_reuse_passed() of the same object, usually by the object's own lock. A later stamp replaces
 * an earlier one.
 *
 * The grace period that the object must wait for is requested, too: once for all objects that wait
 * for it. That request takes a raw spinlock of RCU and may wake its kthread; all other calls take
 * no lock. With SRCU, or with interrupts off, a worker makes the request. Grace periods chosen
 * for inodes that XFS may reuse were proposed in 2021 and 2022 (Dave Chinner, Brian Foster).
 *
 * Context: any but NMI, also with preemption or interrupts off or a raw spinlock held, on
 * PREEMPT_RT, too; not under locks of the scheduler. Does not sleep. Cannot fail.
 */
void rcu_reuse_stamp(struct rcu_reuse_clock *clock, struct rcu_reuse_cookie *stamp)
{
	/* A: full barrier after the object was freed. Pairs with B */
	unsigned long cookie = reuse_cookie(clock->srcu);

	WRITE_ONCE(stamp->cookie, cookie);
	if (unlikely(READ_ONCE(clock->requested) != cookie))
		clock_request(clock, cookie);
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_stamp);

/**
 * rcu_reuse_passed() - whether an object may be reused
 * @clock: the clock that was used for the stamp
 * @stamp: the stamp of the object
 *
 * If this returns true, all accesses, in RCU read-side critical sections, of readers that found
 * the object before its stamp happen before what the caller does next. It remains true until the
 * next rcu_reuse_stamp(). On 32-bit machines, SRCU of older kernels answers false for a stamp that
 * is 2^29 grace periods old, until the object is stamped again.
 *
 * Context: as rcu_reuse_stamp(). Does not sleep, and waits for no grace period. Takes no lock,
 * unless the grace period is still missing 100 ms after its request: then it is requested again.
 * Return: true if the whole grace period has passed, or if the object was never stamped.
 */
bool rcu_reuse_passed(struct rcu_reuse_clock *clock, const struct rcu_reuse_cookie *stamp)
{
	unsigned long cookie = READ_ONCE(stamp->cookie);

	/* B: pairs with A. Accesses of readers come before the end of the grace period */
	if (cookie == RCU_REUSE_NO_COOKIE || reuse_passed(clock->srcu, cookie))
		return true;
	/* unsigned: a request of any age is old */
	if (unlikely(jiffies - READ_ONCE(clock->requested_at) >= REQUEST_AGAIN))
		clock_request(clock, cookie);
	return false;
}
EXPORT_SYMBOL_FSCOMMIT(rcu_reuse_passed);
