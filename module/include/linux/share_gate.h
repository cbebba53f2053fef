/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Share gate: skip the range lock for an inode that shared no extent in this transaction.
 */
#ifndef _LINUX_SHARE_GATE_H
#define _LINUX_SHARE_GATE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/fs_generation.h>
#include <linux/fscommit_abi.h>
#include <linux/percpu.h>
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
 *	struct share_gate_section section;
 *	int ret = share_gate_enter(&section, &inode->gate, running, &range_lock_ops,
 *				   &log->range_lock, NULL, first, last);
 *
 *	if (ret < 0)
 *		return ret;			// from the range lock; nothing is held
 *	if (ret == SHARE_GATE_LOCKED)
 *		delete_items(log, first, last);
 *	insert_items(log, first, last);
 *	share_gate_exit(&section);
 *
 * Five rules for the caller:
 *
 *  1. share_gate_mark_extent() marks both sides of a share, or the destination alone if the
 *     extent is of an older transaction, before the shared extent can be found through the
 *     destination. share_gate_mark() always marks both sides.
 *  2. The lock of the inode excludes a share of an object, from its mark on, and a gate section
 *     (enter to exit) of that object. share_gate_exit() warns if it sees that they overlapped.
 *  3. The gate is in memory only. When an object is read in again, share_gate_reloaded() assumes
 *     that it was shared in its last transaction. It replaces share_gate_init().
 *  4. share_gate_clear() is called under the same lock, after all of the object was logged.
 *     Overlapping items are then deleted, and blocks written later are new.
 *  5. share_gate_raise() is called when the object must be logged from the start again: what was
 *     logged before is still shared. A raise counts as a mark: share_gate_clear() with a number
 *     that was read before it does not clear it. share_gate_exit() takes a raise within a gate
 *     section for a share, and warns.
 *
 * Concurrency and context:
 *
 *  - share_gate_mark(), share_gate_mark_extent(), share_gate_raise(), share_gate_clear(),
 *    share_gate_marks() and share_gate_may_be_shared() take no lock, never sleep and cannot
 *    fail. They may run beside each other, in any context but NMI; rules 2 and 4 still need the
 *    lock of the inode.
 *  - share_gate_init() or share_gate_reloaded() runs before others can use the gate. A gate
 *    holds no memory and needs no end.
 *  - share_gate_enter() and share_gate_exit() may sleep only if the object may be shared: in the
 *    range lock. Several tasks may be in gate sections of one object.
 *
 * If share_gate_enter() fails, nothing is held: do not log and do not call share_gate_exit().
 * -EINVAL is a bug of the caller; other errors are those of the range lock.
 *
 * The comment of each function, here or in module/share_gate.c, has its context and errors;
 * docs/share_gate.rst shows both files.
 *
 * The idea is last_reflink_trans of btrfs (Filipe Manana, 2020): with 128 jobs that fsync,
 * 54.7 MiB/s became 121 MiB/s.
 */

/* --- gates --------------------------------------------------------------- */

/**
 * struct share_gate - the generation in which something of an object was last shared
 *
 * 16 bytes. All fields are private.
 */
struct share_gate {
/* private: */
	atomic64_t	last_shared;	/* the latest known generation; 0: none */
	atomic64_t	state;		/* see SHARE_GATE_NUMBER */
};

/*
 * The state: the number of marks (bits 0 to 30), SHARE_GATE_UNKNOWN, and the number of the mark
 * up to which all shares are logged (bits 32 to 62). Both numbers wrap around, and the second
 * is at most SHARE_GATE_BEHIND less than the first.
 */
#define SHARE_GATE_NUMBER		GENMASK_ULL(30, 0)
#define SHARE_GATE_UNKNOWN		BIT_ULL(31)	/* a mark of no known generation */
#define SHARE_GATE_CLEARED_SHIFT	32
#define SHARE_GATE_BEHIND		BIT_ULL(30)

static inline u64 __share_gate_cleared(u64 state)
{
	return state >> SHARE_GATE_CLEARED_SHIFT & SHARE_GATE_NUMBER;
}

enum share_gate_event {
	SHARE_GATE_MARK,
	SHARE_GATE_RAISE,
	SHARE_GATE_CLEAR,
	SHARE_GATE_SKIP,	/* gate sections without the lock */
	SHARE_GATE_LOCK,	/* gate sections with the lock */
	SHARE_GATE_LOCK_FAILED,
	SHARE_GATE_MISUSE,
	NR_SHARE_GATE_EVENTS,
};

/**
 * struct share_gate_counts - events of all gates on one CPU
 * @nr: how often each event happened
 *
 * The per-CPU variable of this name is exported only for the inline functions below.
 */
struct share_gate_counts {
	unsigned long	nr[NR_SHARE_GATE_EVENTS];
};

DECLARE_PER_CPU(struct share_gate_counts, share_gate_counts);

/**
 * share_gate_init() - initialise the gate of a new object, which shares nothing
 * @gate: the gate
 *
 * Context: any, while no other task uses @gate.
 */
static inline void share_gate_init(struct share_gate *gate)
{
	atomic64_set(&gate->last_shared, 0);
	atomic64_set(&gate->state, 0);
}

void share_gate_reloaded(struct share_gate *gate, u64 last_transaction);
void share_gate_mark(struct share_gate *a, struct share_gate *b, u64 generation);
void share_gate_raise(struct share_gate *gate, u64 last_transaction);

/**
 * share_gate_mark_extent() - mark the sides of a share that its extent concerns
 * @source: the gate of the source
 * @destination: the gate of the destination; may be @source
 * @generation: the running generation, as for share_gate_mark()
 * @new_extent: whether the extent was written in @generation, or may have been
 *
 * The checksums of an extent of an older transaction are committed: no fsync logs them, so the
 * source need not lock for them. Nor does it for a hole. The destination is always marked,
 * because its log must have what it received, of whatever generation that is.
 *
 * Otherwise as share_gate_mark().
 *
 * Context: any but NMI.
 */
static inline void share_gate_mark_extent(struct share_gate *source,
					  struct share_gate *destination, u64 generation,
					  bool new_extent)
{
	share_gate_mark(new_extent ? source : destination, destination, generation);
}

/**
 * share_gate_may_be_shared() - may the log have items that overlap those of an object?
 * @gate: the object's gate
 * @generation: the running generation; 0 and ~0 mean not known
 *
 * Conservative: true if something was shared in @generation or later, or if one of the two is not
 * known. False if nothing was marked since the gate was cleared. False remains true to fact only
 * while no share of the object can begin: see rule 2.
 *
 * Context: any but NMI.
 * Return: true if the caller must lock the range and delete such items.
 */
static inline bool share_gate_may_be_shared(const struct share_gate *gate, u64 generation)
{
	/* A: pairs with add_mark(): for each mark counted here we see its generation */
	u64 state = atomic64_read_acquire(&gate->state);

	if ((state & SHARE_GATE_NUMBER) == __share_gate_cleared(state))
		return false;
	return state & SHARE_GATE_UNKNOWN || !fs_generation_known(generation) ||
	       !fs_generation_after(generation, atomic64_read(&gate->last_shared));
}

/* --- gate sections ------------------------------------------------------- */

/**
 * struct share_gate_ops - the caller's range lock
 * @lock: lock the range @first to @last of @lock, both included; may sleep or be interrupted.
 *	Return 0, or a negative error with nothing held. @private is that of
 *	share_gate_enter(), for what @unlock needs
 * @unlock: release the range
 */
struct share_gate_ops {
	int (*lock)(void *lock, u64 first, u64 last, void *private);
	void (*unlock)(void *lock, u64 first, u64 last, void *private);
};

/**
 * struct share_gate_section - a gate section, from share_gate_enter() to share_gate_exit()
 *
 * On the stack. All fields are private.
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

/**
 * enum share_gate_result - what share_gate_enter() returns without an error
 * @SHARE_GATE_SKIPPED: the object shares nothing: insert items
 * @SHARE_GATE_LOCKED: the range is locked: delete overlapping items, then insert
 */
enum share_gate_result {
	SHARE_GATE_SKIPPED,
	SHARE_GATE_LOCKED,
};

int __share_gate_lock(struct share_gate_section *section);
void __share_gate_unlock(struct share_gate_section *section);
void __share_gate_misused(struct share_gate_section *section, const char *how);

/**
 * share_gate_enter() - begin to log an object's items for a range
 * @section: for share_gate_exit()
 * @gate: the object's gate
 * @generation: the running generation
 * @ops: the range lock
 * @lock: for @ops
 * @private: for @ops
 * @first: first of the range
 * @last: last of the range, inclusive; not below @first
 *
 * Context: as the range lock if the object may be shared, else any.
 * Return: SHARE_GATE_SKIPPED; SHARE_GATE_LOCKED; or an error of the range lock; -EIO if the range
 * lock returned a positive value; -EINVAL, with a warning, for a range that ends before it begins.
 * After an error nothing is held.
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
 * share_gate_exit() - end a gate section, after the items are in the log or after an error
 * @section: from a share_gate_enter() that did not fail
 *
 * Releases the range lock if share_gate_enter() acquired it. A second exit only warns.
 *
 * Context: as share_gate_enter().
 */
static inline void share_gate_exit(struct share_gate_section *section)
{
	struct share_gate *gate = section->gate;

	if (unlikely(!gate)) {
		__share_gate_misused(section, "exited twice");
		return;
	}
	if (section->locked)
		__share_gate_unlock(section);
	else if (unlikely(share_gate_may_be_shared(gate, section->generation)))
		__share_gate_misused(section, "the object was shared within the section");
	section->gate = NULL;
}

void share_gate_clear(struct share_gate *gate, u64 marks);

/**
 * share_gate_marks() - number of marks of an object
 * @gate: the object's gate
 *
 * For share_gate_clear(): read it before the first gate section that logs a part of the object.
 *
 * Context: any but NMI.
 * Return: a number that each mark changes. It wraps around: do not compare two of them.
 */
static inline u64 share_gate_marks(const struct share_gate *gate)
{
	return atomic64_read_acquire(&gate->state) & SHARE_GATE_NUMBER;
}

#endif /* _LINUX_SHARE_GATE_H */
