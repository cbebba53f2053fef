// SPDX-License-Identifier: GPL-2.0
/*
 * Share gate, and a range lock for those who have none. Sections that skip the lock are in the
 * header; this is the rest.
 *
 * A gate is three numbers that only go up: the latest generation in which something was
 * shared, how often that was said, and up to which of these all has been logged. So two who
 * mark at once, and one who marks while another clears, need no lock: what was marked after
 * the number was read is not cleared.
 *
 * The range lock is an interval tree of those who hold a range and those who wait, and each of
 * them knows how many that came before are in his way. Who leaves, holding or not, takes one
 * from each that came later and overlaps; at zero it is theirs. So they come in turn, and one
 * that is killed while it waits leaves as if it had held.
 */
#include <linux/debugfs.h>
#include <linux/interval_tree_generic.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include <linux/share_gate.h>

#include "compat.h"
#include "share_gates.h"
#include "trace.h"

/* What gates have done: for the sections in the header alone. */
DEFINE_PER_CPU(struct share_gate_counts, share_gate_counts);
EXPORT_SYMBOL_FSCOMMIT(share_gate_counts);

static void count(enum share_gate_event event)
{
	this_cpu_inc(share_gate_counts.nr[event]);
}

/* --- gates --------------------------------------------------------------- */

/* Monotonic, whoever is first. ~0, not known, is the latest of all. */
static void raise_to(struct share_gate *gate, u64 generation)
{
	s64 last = atomic64_read(&gate->last_shared);

	do {
		if (last == ~0ULL)
			break;
		if (generation != ~0ULL && last && !fs_generation_after(generation, last))
			break;
	} while (!atomic64_try_cmpxchg(&gate->last_shared, &last, generation));
	/* A: pairs with share_gate_may_be_shared(); the generation comes first */
	atomic64_inc_return_release(&gate->marks);
}

/**
 * share_gate_reloaded() - for an object that is read in again
 * @gate: its gate, which nobody uses yet
 * @last_transaction: the generation that changed it last; 0 if that is not known
 *
 * What was shared is not on the disk, so something may have been shared in that one.
 *
 * Context: any.
 */
void share_gate_reloaded(struct share_gate *gate, u64 last_transaction)
{
	share_gate_init(gate);
	share_gate_raise(gate, last_transaction);
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_reloaded);

/**
 * share_gate_mark() - two objects share something from now on
 * @a: the gate of the source
 * @b: the gate of the destination; may be the same
 * @generation: the running one; 1 to ~0 - 1. Anything else is a bug of the caller: a
 *	warning, and from then on all may be shared
 *
 * Before it can be found through either, and while no section of either is entered. An
 * older generation than that of another mark changes nothing.
 *
 * Context: any.
 */
void share_gate_mark(struct share_gate *a, struct share_gate *b, u64 generation)
{
	if (unlikely(!fs_generation_known(generation))) {
		count(SHARE_GATE_MISUSE);
		WARN_ONCE(1, "fscommit: %s() in generation %llu: must be 1 to %llu\n", __func__,
			  generation, ~0ULL - 1);
		generation = ~0ULL;
	}
	raise_to(a, generation);
	if (a != b)
		raise_to(b, generation);
	count(SHARE_GATE_MARK);
	trace_share_gate_mark(a, b, generation);
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_mark);

/**
 * share_gate_raise() - the object is to be logged from the start again
 * @gate: its gate
 * @last_transaction: the generation that changed it last; 0 if that is not known
 *
 * What it shares was out of the way when it was logged; now it may be in the way again.
 *
 * Context: any, as share_gate_mark().
 */
void share_gate_raise(struct share_gate *gate, u64 last_transaction)
{
	raise_to(gate, fs_generation_known(last_transaction) ? last_transaction : ~0ULL);
	count(SHARE_GATE_RAISE);
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_raise);

/**
 * share_gate_clear() - all of the object has been logged
 * @gate: its gate
 * @marks: what share_gate_marks() returned before that began
 *
 * What was marked since stays so.
 *
 * Context: any.
 */
void share_gate_clear(struct share_gate *gate, u64 marks)
{
	s64 cleared = atomic64_read(&gate->cleared);

	do {
		if ((s64)(marks - cleared) <= 0)
			return;
	} while (!atomic64_try_cmpxchg(&gate->cleared, &cleared, marks));
	count(SHARE_GATE_CLEAR);
	trace_share_gate_clear(gate, atomic64_read(&gate->last_shared));
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_clear);

/**
 * __share_gate_lock() - enter a section of an object that may be shared
 * @section: filled in by share_gate_enter()
 *
 * Context: as the range lock.
 * Return: as share_gate_enter().
 */
int __share_gate_lock(struct share_gate_section *section)
{
	int ret;

	if (section->first > section->last) {
		count(SHARE_GATE_MISUSE);
		WARN_ONCE(1, "fscommit: share_gate_enter() of %llu to %llu: ends before it begins\n",
			  section->first, section->last);
		section->gate = NULL;
		return -EINVAL;
	}
	ret = section->ops->lock(section->lock, section->first, section->last, section->private);
	trace_share_gate_lock(section->gate, section->first, section->last, ret);
	if (ret) {
		count(SHARE_GATE_LOCK_FAILED);
		section->gate = NULL;
		return ret;
	}
	count(SHARE_GATE_LOCK);
	section->locked = true;
	return SHARE_GATE_LOCKED;
}
EXPORT_SYMBOL_FSCOMMIT(__share_gate_lock);

/**
 * __share_gate_unlock() - leave a section that has the lock
 * @section: the section
 *
 * Context: as the range lock.
 */
void __share_gate_unlock(struct share_gate_section *section)
{
	section->ops->unlock(section->lock, section->first, section->last, section->private);
}
EXPORT_SYMBOL_FSCOMMIT(__share_gate_unlock);

/**
 * __share_gate_misused() - a section was not left as it must be
 * @section: the section
 * @how: what happened
 *
 * Context: any.
 */
void __share_gate_misused(struct share_gate_section *section, const char *how)
{
	count(SHARE_GATE_MISUSE);
	WARN_ONCE(1, "fscommit: share_gate_exit() of %llu to %llu: %s\n", section->first,
		  section->last, how);
}
EXPORT_SYMBOL_FSCOMMIT(__share_gate_misused);

/* --- the range lock ------------------------------------------------------ */

static u64 first_of(const struct share_range *range)
{
	return range->first;
}

static u64 last_of(const struct share_range *range)
{
	return range->last;
}

INTERVAL_TREE_DEFINE(struct share_range, node, u64, subtree_last, first_of, last_of, static, ranges)

/* Under the lock, for each in turn that overlaps @range. */
#define for_each_overlap(r, ranges, range)					\
	for (r = ranges_iter_first(&(ranges)->tree, (range)->first, (range)->last); r; \
	     r = ranges_iter_next(r, (range)->first, (range)->last))

static void join(struct share_ranges *ranges, struct share_range *range)
{
	struct share_range *r;

	spin_lock(&ranges->lock);
	range->ticket = ++ranges->last_ticket;
	for_each_overlap(r, ranges, range)
		range->in_the_way++;
	ranges_insert(range, &ranges->tree);
	spin_unlock(&ranges->lock);
}

static void leave(struct share_ranges *ranges, struct share_range *range)
{
	struct share_range *r;

	spin_lock(&ranges->lock);
	ranges_remove(range, &ranges->tree);
	for_each_overlap(r, ranges, range) {
		if (r->ticket < range->ticket)
			continue;
		/* B: pairs with is_mine(): what was done to the range comes before */
		smp_store_release(&r->in_the_way, r->in_the_way - 1);
		if (!r->in_the_way)
			wake_up_process(r->task);
	}
	spin_unlock(&ranges->lock);
}

static bool is_mine(const struct share_range *range)
{
	/* B: pairs with leave() */
	return !smp_load_acquire(&range->in_the_way);
}

static int lock_range(struct share_ranges *ranges, struct share_range *range, u64 first, u64 last,
		      unsigned int state)
{
	int ret = 0;

	*range = (struct share_range) { .first = first, .last = last, .task = current };
	if (first > last) {
		count(SHARE_GATE_MISUSE);
		WARN_ONCE(1, "fscommit: share_range_lock() of %llu to %llu: ends before it begins\n",
			  first, last);
		range->task = NULL;
		return -EINVAL;
	}
	join(ranges, range);
	if (is_mine(range))
		return 0;
	count(SHARE_GATE_RANGE_WAIT);
	trace_contention_begin(ranges, LCB_F_WRITE);
	for (;;) {
		set_current_state(state);
		if (is_mine(range))
			break;
		if (signal_pending_state(state, current)) {
			ret = -EINTR;
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	trace_contention_end(ranges, ret);
	if (ret) {
		leave(ranges, range);
		range->task = NULL;
		return ret;
	}
	/* who made it ours may still be about to wake us, and looks at @range for that */
	spin_lock(&ranges->lock);
	spin_unlock(&ranges->lock);
	return 0;
}

/**
 * share_range_lock() - lock a range
 * @ranges: what it is a range of
 * @range: to be given to share_range_unlock(), by the same task
 * @first: first of the range
 * @last: last of the range; below @first is a bug of the caller: a warning, and nothing is
 *	locked
 *
 * After all that overlap and came before. A task that holds an overlapping one waits for ever.
 *
 * Context: process context; may sleep.
 */
void share_range_lock(struct share_ranges *ranges, struct share_range *range, u64 first, u64 last)
	__fsc_unchecked
{
	lock_range(ranges, range, first, last, TASK_UNINTERRUPTIBLE);
}
EXPORT_SYMBOL_FSCOMMIT(share_range_lock);

/**
 * share_range_lock_killable() - lock a range, or be killed
 * @ranges: as share_range_lock()
 * @range: the same
 * @first: the same
 * @last: the same
 *
 * Context: process context; may sleep.
 * Return: 0; -EINTR after a fatal signal, with nothing locked; -EINVAL, with a warning, for a
 * range that ends before it begins.
 */
int share_range_lock_killable(struct share_ranges *ranges, struct share_range *range, u64 first,
			      u64 last)
{
	return lock_range(ranges, range, first, last, TASK_KILLABLE);
}
EXPORT_SYMBOL_FSCOMMIT(share_range_lock_killable);

/**
 * share_range_unlock() - release a range
 * @ranges: as share_range_lock()
 * @range: the same; one that is not locked is a bug of the caller, and has no effect but a
 *	warning
 *
 * Context: process context.
 */
void share_range_unlock(struct share_ranges *ranges, struct share_range *range)
	__fsc_unchecked
{
	if (unlikely(!range->task)) {
		count(SHARE_GATE_MISUSE);
		WARN_ONCE(1, "fscommit: %s() of %llu to %llu, which is not locked\n", __func__,
			  range->first, range->last);
		return;
	}
	leave(ranges, range);
	range->task = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(share_range_unlock);

/* The context analysis cannot follow what comes by a void *. */
static int gate_lock(void *lock, u64 first, u64 last, void *private)
	__fsc_unchecked
{
	return share_range_lock_killable(lock, private, first, last);
}

static void gate_unlock(void *lock, u64 first, u64 last, void *private)
	__fsc_unchecked
{
	share_range_unlock(lock, private);
}

/* &struct share_ranges as the range lock of a gate. */
const struct share_gate_ops share_range_ops = { gate_lock, gate_unlock };
EXPORT_SYMBOL_FSCOMMIT(share_range_ops);

/* --- debugfs ------------------------------------------------------------- */

static int share_gates_show(struct seq_file *m, void *unused)
{
	static const char * const names[NR_SHARE_GATE_EVENTS] = {
		[SHARE_GATE_MARK] = "marks",
		[SHARE_GATE_RAISE] = "raises",
		[SHARE_GATE_CLEAR] = "clears",
		[SHARE_GATE_SKIP] = "sections_skipped",
		[SHARE_GATE_LOCK] = "sections_locked",
		[SHARE_GATE_LOCK_FAILED] = "locks_failed",
		[SHARE_GATE_RANGE_WAIT] = "range_waits",
		[SHARE_GATE_MISUSE] = "misuses",
	};
	unsigned int i;
	int cpu;

	for (i = 0; i < NR_SHARE_GATE_EVENTS; i++) {
		unsigned long sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(share_gate_counts, cpu).nr[i]);
		seq_printf(m, "%s %lu\n", names[i], sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(share_gates);

void __init init_share_gates(struct dentry *debugfs)
{
	debugfs_create_file("share_gates", 0400, debugfs, NULL, &share_gates_fops);
}
