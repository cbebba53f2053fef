/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Share gate: who shared nothing in this transaction locks nothing when he logs.
 *
 * The task that commits never waits for a task that is not running.
 */
#ifndef _LINUX_SHARE_GATE_H
#define _LINUX_SHARE_GATE_H

#include <linux/atomic.h>
#include <linux/fs_generation.h>
#include <linux/fscommit_context.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct task_struct;

/**
 * DOC: Overview
 *
 * What an fsync() logs is kept by where it lies on the disk: the checksums of an extent, its
 * references. If two files share an extent (reflink, dedupe), both log items for it, which
 * must not overlap. So before items are inserted, those that are in the way are deleted, under
 * a lock of the range: for each fsync() of each file, though most share nothing.
 *
 * A gate belongs to an object, a file say. It knows in which generation something of it was
 * last shared. If that was not the running one, there is nothing in the log that could be in
 * the way, and no other object that could log the same range::
 *
 *	struct share_gate_section section;
 *	struct share_range range;		// if &share_range_ops is the range lock
 *	int ret = share_gate_enter(&section, &inode->gate, running, &share_range_ops,
 *				   &log->ranges, &range, first, last);
 *
 *	if (ret < 0)
 *		return ret;			// the range lock's error; nothing is taken
 *	if (ret == SHARE_GATE_LOCKED)
 *		delete_items(log, first, last);
 *	insert_items(log, first, last);
 *	share_gate_exit(&section);
 *
 * Five rules:
 *
 *  1. Both sides of a share are marked, by share_gate_mark(), before the shared extent can
 *     be found through either of them.
 *  2. A share of an object, from its mark on, and a section of the same object exclude each
 *     other: by the lock of the inode. share_gate_exit() warns if they did not.
 *  3. The gate is in memory only. An object that is read in again is said to have been shared
 *     in its last transaction: share_gate_reloaded().
 *  4. share_gate_clear() is for who has just logged all of the object, under that lock: what
 *     overlapped is out of the way, and what is written from then on is new.
 *  5. When the object is to be logged from the start again, share_gate_raise(): what was
 *     logged before is shared as it was.
 *
 * The idea is btrfs's last_reflink_trans (Filipe Manana, 2020): 54.7 MiB/s became 121 with 128
 * jobs that fsync.
 */

/* --- gates --------------------------------------------------------------- */

/**
 * struct share_gate - when was something of an object last shared?
 *
 * Nothing in it is for others than the helper.
 */
struct share_gate {
/* private: */
	atomic64_t	last_shared;	/* the latest generation; 0: none; ~0: not known */
	atomic64_t	marks;		/* so many were made, */
	atomic64_t	cleared;	/* and up to this one all is logged */
};

enum share_gate_event {
	SHARE_GATE_MARK,
	SHARE_GATE_RAISE,
	SHARE_GATE_CLEAR,
	SHARE_GATE_SKIP,	/* sections without the lock */
	SHARE_GATE_LOCK,	/* and with it */
	SHARE_GATE_LOCK_FAILED,
	SHARE_GATE_RANGE_WAIT,	/* of share_range_lock() */
	SHARE_GATE_MISUSE,
	NR_SHARE_GATE_EVENTS,
};

struct share_gate_counts {
	unsigned long	nr[NR_SHARE_GATE_EVENTS];
};

DECLARE_PER_CPU(struct share_gate_counts, share_gate_counts);

/**
 * share_gate_init() - for a new object
 * @gate: its gate: nothing of it is shared
 */
static inline void share_gate_init(struct share_gate *gate)
{
	atomic64_set(&gate->last_shared, 0);
	atomic64_set(&gate->marks, 0);
	atomic64_set(&gate->cleared, 0);
}

void share_gate_reloaded(struct share_gate *gate, u64 last_transaction);
void share_gate_mark(struct share_gate *a, struct share_gate *b, u64 generation);
void share_gate_raise(struct share_gate *gate, u64 last_transaction);

/**
 * share_gate_may_be_shared() - must items for the object be expected in the log?
 * @gate: the object's gate
 * @generation: the running one; as long as it is 0 or ~0, all may be shared, unless nothing
 *	was marked since the gate was cleared
 *
 * Conservative: true if something of it was shared in @generation or later, or if that is
 * not known. False is good for as long as no share of the object can begin, see rule 2.
 *
 * Context: any.
 * Return: true if they must.
 */
static inline bool share_gate_may_be_shared(const struct share_gate *gate, u64 generation)
{
	/* A: pairs with the last step of a mark: whose number we see, its generation we see */
	u64 marks = atomic64_read_acquire(&gate->marks), last;

	if (marks == atomic64_read(&gate->cleared))
		return false;
	last = atomic64_read(&gate->last_shared);
	return !fs_generation_known(last) || !fs_generation_known(generation) ||
	       !fs_generation_after(generation, last);
}

/* --- sections ------------------------------------------------------------ */

/**
 * struct share_gate_ops - the caller's range lock
 * @lock: take @lock for @first to @last, both included; may sleep, may be interrupted. Return
 *	0, or an error with nothing taken. What it has to remember goes to @private, which is
 *	that of share_gate_enter()
 * @unlock: release that
 *
 * &share_range_ops is one for &struct share_ranges.
 */
struct share_gate_ops {
	int (*lock)(void *lock, u64 first, u64 last, void *private);
	void (*unlock)(void *lock, u64 first, u64 last, void *private);
};

/**
 * struct share_gate_section - from share_gate_enter() to share_gate_exit()
 *
 * On the stack. Nothing in it is for others than the helper.
 */
struct share_gate_section {
/* private: */
	struct share_gate		*gate;	/* NULL: not entered */
	const struct share_gate_ops	*ops;
	void				*lock, *private;
	u64				first, last;
	u64				generation;
	bool				locked;
};

enum {
	SHARE_GATE_SKIPPED,	/* insert */
	SHARE_GATE_LOCKED,	/* delete what is there, then insert */
};

int __share_gate_lock(struct share_gate_section *section);
void __share_gate_unlock(struct share_gate_section *section);
void __share_gate_misused(struct share_gate_section *section, const char *how);

/**
 * share_gate_enter() - before an object's items for a range go to the log
 * @section: to be given to share_gate_exit()
 * @gate: the object's
 * @generation: the running one
 * @ops: the range lock
 * @lock: for @ops
 * @private: for @ops: where it keeps what it has to remember
 * @first: first of the range
 * @last: last of the range, not below @first
 *
 * Context: as the range lock, if the object may be shared; else any.
 * Return: SHARE_GATE_SKIPPED, SHARE_GATE_LOCKED, or an error of the range lock with nothing
 * taken; -EINVAL, with a warning, for a range that ends before it begins.
 */
static inline int __must_check
share_gate_enter(struct share_gate_section *section, struct share_gate *gate, u64 generation,
		 const struct share_gate_ops *ops, void *lock, void *private, u64 first, u64 last)
{
	*section = (struct share_gate_section) {
		.gate = gate, .ops = ops, .lock = lock, .private = private, .first = first,
		.last = last, .generation = generation,
	};
	if (likely(first <= last) && !share_gate_may_be_shared(gate, generation)) {
		this_cpu_inc(share_gate_counts.nr[SHARE_GATE_SKIP]);
		return SHARE_GATE_SKIPPED;
	}
	return __share_gate_lock(section);
}

/**
 * share_gate_exit() - the items are in the log, or an error occurred
 * @section: what share_gate_enter() was given and did not fail for; undoes exactly what
 *	that has taken. Twice is a bug of the caller, and has no effect but a warning
 *
 * Context: as share_gate_enter().
 */
static inline void share_gate_exit(struct share_gate_section *section)
{
	struct share_gate *gate = section->gate;

	if (unlikely(!gate)) {
		__share_gate_misused(section, "left twice");
		return;
	}
	if (section->locked)
		__share_gate_unlock(section);
	else if (unlikely(share_gate_may_be_shared(gate, section->generation)))
		__share_gate_misused(section, "shared meanwhile");
	section->gate = NULL;
}

void share_gate_clear(struct share_gate *gate, u64 marks);

/**
 * share_gate_marks() - how often was the object marked?
 * @gate: the object's gate
 *
 * For share_gate_clear(): to be read before the first section of a logging that covers all
 * of the object.
 *
 * Context: any.
 * Return: a number that each mark changes.
 */
static inline u64 share_gate_marks(const struct share_gate *gate)
{
	return atomic64_read_acquire(&gate->marks);
}

/* --- a range lock -------------------------------------------------------- */

/**
 * struct share_ranges - ranges that are locked, for who has no range lock
 *
 * Exclusive, first come first served; those that do not overlap do not meet.
 */
struct share_ranges {
/* private: */
	spinlock_t		lock;
	struct rb_root_cached	tree;		/* held and waited for */
	u64			last_ticket;
};

fscommit_lock_struct(share_range);

/**
 * struct share_range - one of them
 *
 * On the stack of who holds it.
 */
struct share_range {
/* private: */
	struct rb_node		node;
	u64			first, last, subtree_last;
	u64			ticket;
	unsigned int		in_the_way;	/* earlier ones that overlap */
	struct task_struct	*task;
};

/**
 * share_ranges_init() - nothing is locked
 * @ranges: the ranges
 */
static inline void share_ranges_init(struct share_ranges *ranges)
{
	spin_lock_init(&ranges->lock);
	ranges->tree = RB_ROOT_CACHED;
	ranges->last_ticket = 0;
}

void share_range_lock(struct share_ranges *ranges, struct share_range *range, u64 first, u64 last)
	__fsc_acquires(range);
int __must_check share_range_lock_killable(struct share_ranges *ranges, struct share_range *range,
					   u64 first, u64 last)
	__fsc_cond_acquires(0, range);
void share_range_unlock(struct share_ranges *ranges, struct share_range *range)
	__fsc_releases(range);

/* Killable; @lock is a struct share_ranges, @private a struct share_range. */
extern const struct share_gate_ops share_range_ops;

#endif /* _LINUX_SHARE_GATE_H */
