// SPDX-License-Identifier: GPL-2.0
/*
 * The delays of test points, see unfair_test_points.h.
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
MODULE_PARM_DESC(test_points,
		 "longest delay at a test point; microseconds, 0 (no delays) to 5000, default 300");

static char *func;
module_param_named(test_points_in, func, charp, 0444);
MODULE_PARM_DESC(test_points_in,
		 "functions that get all long delays, separated by +; default all functions");

#define MAX_US		5000
#define SHORT_NS	1024
/* One write out of this many gets a short delay. */
#define SHORT_EVERY	16
/* Minimum jiffies between two long delays at one site, so that rare sites get most of them. */
#define SITE_PAUSE	HZ
#define FUNC_PAUSE	1

/* During a long delay of one task, the other tasks run without long delays. */
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
	/* an interrupt may use the same number: harmless */
	this_cpu_write(test_point_rnd, r);
	return r;
}

/* Shows that other tasks make progress; a lost update is harmless. */
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
	/* until other tasks have passed enough points: the speed of the CPUs may differ */
	end = ktime_get_mono_fast_ns() + ns;
	while (ktime_get_mono_fast_ns() < end && READ_ONCE(passed) - from <= enough)
		cpu_relax();
	atomic_set(&in_long_delay, 0);
}

/*
 * Never sleeps: many points are under raw spinlocks, with interrupts off. If preemption is
 * enabled, preempt_enable() lets a task that waits for this CPU run.
 */
void __unfair_test_point(struct unfair_test_site *site, bool write)
{
	unsigned long next = READ_ONCE(site->next);
	u32 r;

	preempt_disable();
	WRITE_ONCE(passed, passed + 1);
	r = next_rnd();
	/* fewer for reads, or polling loops would get all long delays */
	if (r >> 24 < (write ? 64 : 4) && (!next || time_after(jiffies, next)))
		long_delay(site, next_rnd());
	else if (write && r % SHORT_EVERY == 0)
		delay(r >> 10 & (SHORT_NS - 1));
	preempt_enable();
}
EXPORT_SYMBOL_GPL(__unfair_test_point);
