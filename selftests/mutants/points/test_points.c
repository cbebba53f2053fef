// SPDX-License-Identifier: GPL-2.0
/*
 * What happens at a test point: see unfair_test_points.h.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/unfair_test_points.h>

unsigned int unfair_test_points = 300;
EXPORT_SYMBOL_GPL(unfair_test_points);
module_param_named(test_points, unfair_test_points, uint, 0644);
MODULE_PARM_DESC(test_points, "microseconds: the longest delay at a test point, 0 (none) to 5000, default 300");

static char *func;
module_param_named(test_points_in, func, charp, 0444);
MODULE_PARM_DESC(test_points_in, "names of the functions that have all long delays, with a + between, default all of them");

#define MAX_US		5000
#define SHORT_NS	1024
/* One short delay in so many writes. */
#define SHORT_EVERY	16
/* Jiffies between two long delays at one site: so those that are rarely visited have most. */
#define SITE_PAUSE	HZ
#define FUNC_PAUSE	1

/* While one task is in a long delay, the others run as fast as they can. */
static atomic_t in_long_delay;
static DEFINE_PER_CPU(u32, test_point_rnd);

static u32 next_rnd(void)
{
	u32 r = this_cpu_read(test_point_rnd);

	if (!r)
		r = (u32)ktime_get_mono_fast_ns() * 2 + 1;
	r ^= r << 13;
	r ^= r >> 17;
	r ^= r << 5;
	/* an interrupt that uses the same number in between does no harm */
	this_cpu_write(test_point_rnd, r);
	return r;
}

/* Only here to see that others go on: a lost update does no harm. */
static unsigned int passed;

static void delay(u64 ns)
{
	u64 end = ktime_get_mono_fast_ns() + ns;

	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
}

static void long_delay(struct unfair_test_site *site, u32 r)
{
	unsigned int pause = func ? FUNC_PAUSE : SITE_PAUSE;
	unsigned int from = READ_ONCE(passed), enough = r >> 4 & 0xfff;
	u64 ns = (u64)min_t(u32, READ_ONCE(unfair_test_points), MAX_US) * NSEC_PER_USEC;
	u64 end;

	if (func && !strstr(func, site->func)) {
		WRITE_ONCE(site->next, jiffies + MAX_JIFFY_OFFSET / 2);
		return;
	}
	if (atomic_cmpxchg(&in_long_delay, 0, 1))
		return;
	WRITE_ONCE(site->next, jiffies + 1 + (r >> 8) % (2 * pause));
	/* until the others have passed so many points, as this CPU or theirs may be a slow one */
	end = ktime_get_mono_fast_ns() + ns;
	while (ktime_get_mono_fast_ns() < end && READ_ONCE(passed) - from <= enough)
		cpu_relax();
	atomic_set(&in_long_delay, 0);
}

/*
 * Never sleeps: many points are under raw spinlocks, with interrupts off. Where preemption is
 * enabled, a task that waits for this CPU gets it here.
 */
void __unfair_test_point(struct unfair_test_site *site, bool write)
{
	unsigned long next = READ_ONCE(site->next);
	u32 r;

	preempt_disable();
	WRITE_ONCE(passed, passed + 1);
	r = next_rnd();
	/* the reads of loops that poll must not take all long delays */
	if (r >> 24 < (write ? 64 : 4) && (!next || time_after(jiffies, next)))
		long_delay(site, next_rnd());
	else if (write && r % SHORT_EVERY == 0)
		delay(r >> 10 & (SHORT_NS - 1));
	preempt_enable();
}
EXPORT_SYMBOL_GPL(__unfair_test_point);
