// SPDX-License-Identifier: GPL-2.0
/*
 * Share gate. The sections that skip the lock are inline in the header.
 *
 * A gate has three numbers that only increase: the latest generation in which something was
 * shared, the number of marks, and the mark up to which all shares are logged. So marks need no
 * lock, against other marks or a clear: a mark made after marks was read is not cleared. The
 * last two are one word, so that each change of one sees the other.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include <linux/share_gate.h>

#include "internal.h"
#include "trace.h"

DEFINE_PER_CPU(struct share_gate_counts, share_gate_counts);
EXPORT_SYMBOL_FSCOMMIT(share_gate_counts);

static void count(enum share_gate_event event)
{
	this_cpu_inc(share_gate_counts.nr[event]);
}

/* --- gates --------------------------------------------------------------- */

static u64 make_state(u64 marks, u64 cleared, u64 unknown)
{
	return (marks & SHARE_GATE_NUMBER) | unknown |
	       (cleared & SHARE_GATE_NUMBER) << SHARE_GATE_CLEARED_SHIFT;
}

/*
 * Count a mark. However many marks there are without a clear, their number does not come round
 * to the cleared one: that follows at a distance, and clears no mark by it.
 */
static void add_mark(struct share_gate *gate, u64 unknown)
{
	s64 state = atomic64_read(&gate->state), new;

	do {
		u64 cleared = __share_gate_cleared(state);

		if (((state - cleared) & SHARE_GATE_NUMBER) == SHARE_GATE_BEHIND)
			cleared++;
		new = make_state(state + 1, cleared, (state & SHARE_GATE_UNKNOWN) | unknown);
		/* A: pairs with share_gate_may_be_shared(): the generation comes before the mark */
	} while (!atomic64_try_cmpxchg_release(&gate->state, &state, new));
}

/* Never lowers the generation. */
static void raise_to(struct share_gate *gate, u64 generation)
{
	s64 last = atomic64_read(&gate->last_shared);

	if (!fs_generation_known(generation)) {
		add_mark(gate, SHARE_GATE_UNKNOWN);
		return;
	}
	do {
		if (last && !fs_generation_after(generation, last))
			break;
	} while (!atomic64_try_cmpxchg(&gate->last_shared, &last, generation));
	add_mark(gate, 0);
}

/**
 * share_gate_reloaded() - initialise the gate of an object that is read in again
 * @gate: the gate, which is not in use yet; it needs no share_gate_init() before
 * @last_transaction: the generation that last changed the object; 0 if it is not known
 *
 * The disk does not record shares, so something may have been shared in @last_transaction. If
 * that is not known, the object counts as shared until it is logged as a whole.
 *
 * Context: any but NMI.
 */
void share_gate_reloaded(struct share_gate *gate, u64 last_transaction)
{
	share_gate_init(gate);
	share_gate_raise(gate, last_transaction);
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_reloaded);

/**
 * share_gate_mark() - mark two objects that are about to share something
 * @a: the gate of the source
 * @b: the gate of the destination; may be @a
 * @generation: the running generation, 1 to ~0 - 1. 0 and ~0 are a bug of the caller: a warning,
 *	and both objects count as shared until they are logged as a whole
 *
 * Call it before the share can be found through either object, and while no task is in a section
 * of either. A generation older than that of another mark does not lower it.
 *
 * Context: any but NMI.
 */
void share_gate_mark(struct share_gate *a, struct share_gate *b, u64 generation)
{
	if (unlikely(!fs_generation_known(generation))) {
		count(SHARE_GATE_MISUSE);
		WARN_ONCE(1, "fscommit: %s() in generation %llu: must be 1 to %llu\n", __func__,
			  generation, ~0ULL - 1);
	}
	raise_to(a, generation);
	if (a != b)
		raise_to(b, generation);
	count(SHARE_GATE_MARK);
	trace_share_gate_mark(a, b, generation);
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_mark);

/**
 * share_gate_raise() - mark an object that must be logged from the start again
 * @gate: the object's gate
 * @last_transaction: the generation that last changed the object; 0 if it is not known, and the
 *	object counts as shared until it is logged as a whole
 *
 * The items of its shares, deleted when it was logged before, may overlap again. An object that
 * no transaction has changed yet shares nothing and needs no raise.
 *
 * Context: any but NMI, as share_gate_mark().
 */
void share_gate_raise(struct share_gate *gate, u64 last_transaction)
{
	raise_to(gate, last_transaction);
	count(SHARE_GATE_RAISE);
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_raise);

/**
 * share_gate_clear() - clear the marks of an object that was logged as a whole
 * @gate: the object's gate
 * @marks: from share_gate_marks() before the logging began
 *
 * Later marks and raises stay. Nothing happens if a later number was cleared before.
 *
 * Context: any but NMI.
 */
void share_gate_clear(struct share_gate *gate, u64 marks)
{
	s64 state = atomic64_read(&gate->state);
	u64 distance, all, unknown;

	do {
		distance = (marks - __share_gate_cleared(state)) & SHARE_GATE_NUMBER;
		all = (state - __share_gate_cleared(state)) & SHARE_GATE_NUMBER;
		if (!distance || distance > all)
			return;
		/* which mark was the unknown one is not recorded: a late mark keeps it */
		unknown = distance < all ? state & SHARE_GATE_UNKNOWN : 0;
	} while (!atomic64_try_cmpxchg(&gate->state, &state, make_state(state, marks, unknown)));
	count(SHARE_GATE_CLEAR);
	trace_share_gate_clear(gate, atomic64_read(&gate->last_shared));
}
EXPORT_SYMBOL_FSCOMMIT(share_gate_clear);

/**
 * __share_gate_lock() - enter a section with the range lock
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
		WARN_ONCE(1, "fscommit: share_gate_enter() of %llu to %llu: first is above last\n",
			  section->first, section->last);
		section->gate = NULL;
		return -EINVAL;
	}
	ret = section->ops->lock(section->lock, section->first, section->last, section->private);
	trace_share_gate_lock(section->gate, section->first, section->last, ret);
	if (ret) {
		count(SHARE_GATE_LOCK_FAILED);
		section->gate = NULL;
		/* a positive value would mean that the lock is held */
		return ret < 0 ? ret : -EIO;
	}
	count(SHARE_GATE_LOCK);
	section->locked = true;
	return SHARE_GATE_LOCKED;
}
EXPORT_SYMBOL_FSCOMMIT(__share_gate_lock);

/**
 * __share_gate_unlock() - release the range lock of a section
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
 * __share_gate_misused() - report a wrong share_gate_exit()
 * @section: the section
 * @how: what is wrong
 *
 * Context: any but NMI.
 */
void __share_gate_misused(struct share_gate_section *section, const char *how)
{
	count(SHARE_GATE_MISUSE);
	WARN_ONCE(1, "fscommit: share_gate_exit() of %llu to %llu: %s\n", section->first,
		  section->last, how);
}
EXPORT_SYMBOL_FSCOMMIT(__share_gate_misused);

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

void __init share_gate_setup(struct dentry *debugfs)
{
	debugfs_create_file("share_gates", 0400, debugfs, NULL, &share_gates_fops);
}
