/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: readers of old data search the last commit, and the committer never waits
 * for them.
 */
#ifndef _LINUX_COMMIT_ROOT_H
#define _LINUX_COMMIT_ROOT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/fs_generation.h>
#include <linux/fscommit_abi.h>
#include <linux/fscommit_context.h>
#include <linux/gfp_types.h>
#include <linux/list.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * DOC: Overview
 *
 * A copy-on-write filesystem has trees. Each tree has a live root, which the running generation
 * R changes, and a committed root, its state at the end of an earlier generation. Data written
 * before R is found from the committed root, unless R moved it. A reader of old data pins the
 * committed roots, searches one of them without any lock of the live tree, and unpins::
 *
 *	struct commit_pin pin;
 *
 *	if (commit_root_eligible(&fs->roots, &bio->gen) &&
 *	    commit_root_pin(&fs->roots, &pin)) {
 *		if (commit_root_covers(&pin, &bio->gen))
 *			found = search_from(commit_root_of(&pin, &fs->csum_tree, NULL), ...);
 *		commit_root_unpin(&pin);
 *	}
 *	if (!found)
 *		search_live(...);
 *
 * The committer first prepares, which may fail for lack of memory. It then switches, which cannot
 * fail and does not wait for readers::
 *
 *	struct commit_roots *next = commit_root_prepare(&fs->roots, generation, GFP_NOFS);
 *
 *	if (IS_ERR(next))
 *		return PTR_ERR(next);		// nothing has changed
 *	...					// write the new trees
 *	commit_root_update(next, &fs->csum_tree, new_root);
 *	commit_root_switch(next);
 *
 * Three rules make a stale hit impossible. The first is kept here, the caller keeps the others:
 *
 *  1. A pin sees the roots of one commit, of all trees, until it is unpinned.
 *  2. A block that a committed root reaches is neither changed nor reused before
 *     commit_root_reusable() is at least the generation that freed it. So the blocks below a
 *     pinned root are as they were committed.
 *  3. From when a reader learns of an extent until its search ends, it keeps the extent from
 *     being freed and written again, for example by a lock of the extent or a reference. So
 *     an entry found in the committed tree is still valid.
 *
 * A miss is not an answer: an extent that the running generation moved has its new entry in
 * the live tree only. The caller searches there for the remainder.
 *
 * Concurrency and context:
 *
 *  - Readers may pin, search and unpin at any time, beside each other and beside a commit. None
 *    of these calls sleeps. Only one task at a time may use a &struct commit_pin.
 *  - One commit at a time: commit_root_prepare(), commit_root_update() for each changed tree,
 *    commit_root_switch() or commit_root_cancel(). Prepare sleeps if its @gfp allows it, and
 *    cancel may sleep.
 *  - commit_root_reusable() and commit_root_want_space() may run beside all of these.
 *  - commit_tree_init() may sleep, commit_tree_destroy() does not. They may run beside commits,
 *    beside all calls for other trees, and beside a search from a root of the same tree. The
 *    caller stops commit_root_of() of the tree before it is destroyed. A reader that has a root of
 *    it by then keeps that root until its unpin.
 *  - commit_root_set_init() and commit_root_set_destroy() sleep. The caller stops new pins and
 *    commits before destroy, which waits for the last pin.
 *  - &commit_root_ops run in a workqueue of the set, one call at a time: beside readers and
 *    commits, and beside the workqueues of other sets.
 *
 * Pins are counted for each commit. Roots are released when they are replaced, or with their
 * last pin; pins of other commits do not matter, unless these have the same root. A pin delays the
 * reuse of blocks, since they may be shared: blocks are reused in the order of the generations that
 * freed them.
 *
 * Since 2025 btrfs searches the committed root for the checksums of old extents (Boris Burkov
 * and Qu Wenruo). The idea to decide by the generation of the extents is theirs. In btrfs,
 * readers and the switch share commit_root_sem; here they share no lock.
 */

/* --- generations of a request ------------------------------------------- */

/**
 * struct commit_gen - the newest generation of the extents of a request
 * @max: the latest generation that was added; 0 if none was
 * @unknown: the generation of some extent is not known
 *
 * A part of the request, zeros for a new one. A request that is split or cloned copies it by
 * assignment: the copy may be newer than its half needs, never older.
 */
struct commit_gen {
	u64	max;
	bool	unknown;
};

/**
 * commit_gen_add() - add the generation of an extent to a request
 * @gen: the accumulator
 * @generation: the generation that wrote the extent; 0 or ~0 if it is not known
 *
 * Call this only after the extent was added: if it did not fit, its generation belongs to the
 * next request.
 *
 * Context: any, by the owner of @gen.
 */
static inline void commit_gen_add(struct commit_gen *gen, u64 generation)
{
	if (!fs_generation_known(generation))
		gen->unknown = true;
	else if (!gen->max || fs_generation_after(generation, gen->max))
		gen->max = generation;
}

/* Is the whole request in the commit of @generation? */
static inline bool __commit_gen_within(const struct commit_gen *gen, u64 generation)
{
	return !gen->unknown && gen->max && generation &&
	       !fs_generation_after(gen->max, generation);
}

/* --- the set ------------------------------------------------------------- */

enum commit_root_event {
	COMMIT_ROOT_PIN,
	COMMIT_ROOT_SWITCH,
	COMMIT_ROOT_SLEPT,	/* switches that slept; expected: 0 */
	COMMIT_ROOT_RELEASE,
	COMMIT_ROOT_MISUSE,
	NR_COMMIT_ROOT_EVENTS,
};

struct commit_root_counts {
	unsigned long	nr[NR_COMMIT_ROOT_EVENTS];
};

/**
 * struct commit_root_ops - operations of the filesystem
 * @release: no pin has @root, and no later commit. Called once for each successful
 *	commit_root_update(), with the generation that added the root. Older roots may still be
 *	pinned and share blocks with it: see commit_root_reusable() for the blocks. Process
 *	context, one call at a time; may sleep
 * @reusable: optional: commit_root_reusable() has advanced to @generation. Called in the same
 *	context as @release, and not for the first commit
 */
struct commit_root_ops {
	void (*release)(void *private, void *root, u64 generation);
	void (*reusable)(void *private, u64 generation);
};

struct commit_tree_root;

/**
 * struct commit_roots - one commit
 *
 * All fields are private.
 */
struct commit_roots {
/* private: read by readers */
	atomic_long_t		*pins;		/* pins minus unpins, by CPU */
	bool			replaced;
	u64			generation;
	struct commit_root_set	*set;
/* private: */
	struct list_head	node;		/* under lock, like the other lists */
	struct list_head	added;		/* roots, before the switch */
	struct list_head	last;		/* roots that no newer commit has */
	struct rcu_head		rcu;
};

/**
 * struct commit_root_set - the committed roots of a filesystem
 *
 * All fields are private.
 */
struct commit_root_set {
/* private: read by readers, written by a switch */
	struct commit_roots		*roots;
	atomic64_t			running;
	atomic64_t			wanted;		/* pins of earlier generations */
	struct commit_root_counts __percpu *counts;
/* private: written by the committer */
	raw_spinlock_t			lock ____cacheline_aligned_in_smp;
	atomic_t			preparing;	/* 1 also after destroy began */
	u64				last_tree;
	struct list_head		all;		/* oldest first */
	unsigned int			nr_kept;	/* in @all */
	atomic64_t			reusable;
	struct list_head		newest;		/* roots, one for each tree */
	struct list_head		deleted;	/* roots that the next commit lacks */
	struct list_head		spare;		/* for new roots */
	unsigned int			nr_spare, nr_trees;
	struct workqueue_struct		*wq;
	struct work_struct		work;		/* releases */
	const struct commit_root_ops	*ops;
	void				*private;
	const char			*name;
	struct completion		released;	/* all roots, in destroy */
	struct list_head		node;
};

/**
 * struct commit_tree - a tree of a filesystem
 *
 * All fields are private.
 */
struct commit_tree {
/* private: */
	struct commit_root_set	*set;
	u64			number;
	bool			updated;	/* by a prepared commit; under lock */
	struct commit_tree_root	*newest;	/* of its roots; RCU; changed under lock */
};

fscommit_lock_struct(commit_pin);

/**
 * struct commit_pin - a pin of the roots of one commit
 *
 * Belongs to one request. Never copy it: each half of a split request has a pin of its own. Any
 * task may drop it. Initialise it with zeros if it may not be pinned.
 */
struct commit_pin {
/* private: */
	struct commit_roots	*roots;		/* NULL: not pinned */
};

int __must_check commit_root_set_init(struct commit_root_set *set, const char *name,
				      const struct commit_root_ops *ops, void *private);
void commit_root_set_destroy(struct commit_root_set *set);
void commit_tree_init(struct commit_tree *tree, struct commit_root_set *set);
void commit_tree_destroy(struct commit_tree *tree);

/* --- readers ------------------------------------------------------------- */

/**
 * commit_root_eligible() - may the committed roots answer a request?
 * @set: the set
 * @gen: the generations of the request
 *
 * A cheap check before a pin. commit_root_covers() decides after the pin.
 *
 * Context: any but NMI.
 * Return: true if the committed roots may hold the whole request; false if the request must
 * search the live trees.
 */
static inline bool commit_root_eligible(const struct commit_root_set *set,
					const struct commit_gen *gen)
{
	/* A: pairs with commit_root_switch(): the next pin has roots of this generation or newer */
	return __commit_gen_within(gen, atomic64_read_acquire(&set->running) - 1);
}

DECLARE_STATIC_KEY_FALSE(commit_root_watched);
void __commit_root_trace(const struct commit_roots *roots, bool pinned);
void __commit_root_uncounted(struct commit_roots *roots);

/* A cache line apart from the next. Not per-CPU memory: its allocation takes a global mutex. */
static inline atomic_long_t *__commit_root_count(const struct commit_roots *roots, int cpu)
{
	return &roots->pins[cpu * (L1_CACHE_BYTES / sizeof(*roots->pins))];
}

/* Drop a count. If it was the last one, only the section below keeps @roots and the set. */
static inline void __commit_root_uncount(struct commit_roots *roots)
{
	/* D: RCU's grace period, which pairs with remove_roots(), waits for this section */
	preempt_disable();
	/* C, F: fully ordered; pairs with is_pinned() */
	atomic_long_dec_return(__commit_root_count(roots, smp_processor_id()));
	if (unlikely(READ_ONCE(roots->replaced)))
		__commit_root_uncounted(roots);
	preempt_enable();
}

/**
 * commit_root_pin() - pin the roots of the newest commit
 * @set: the set
 * @pin: the pin, for commit_root_unpin() by any task
 *
 * The pin may be held while the caller sleeps. Blocks that are freed later are not reused
 * before the unpin: see commit_root_wanted().
 *
 * Context: any but NMI; not under locks of the scheduler or of workqueues. Does not sleep.
 * Return: true; false before the first commit and after commit_root_set_destroy() began: there is
 * no pin.
 */
static inline bool __must_check commit_root_pin(struct commit_root_set *set,
						struct commit_pin *pin)
	__fsc_cond_acquires(true, pin)
{
	struct commit_roots *roots;

	/* D: RCU's grace period, which pairs with remove_roots(), waits for this section */
	preempt_disable();
	for (;;) {
		/* A: pairs with the release in commit_root_switch() */
		roots = smp_load_acquire(&set->roots);
		pin->roots = roots;
		if (unlikely(!roots)) {
			preempt_enable();
			return false;
		}
		/* B: fully ordered; pairs with is_pinned() */
		atomic_long_inc_return(__commit_root_count(roots, smp_processor_id()));
		if (likely(READ_ONCE(set->roots) == roots))
			break;
		/* replaced meanwhile: this count may have come too late */
		__commit_root_uncount(roots);
	}
	this_cpu_inc(set->counts->nr[COMMIT_ROOT_PIN]);
	preempt_enable();
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_trace(roots, true);
	return true;
}

/**
 * commit_root_is_pinned() - has a pin been taken, and not been dropped?
 * @pin: the pin; zeros count as not pinned
 *
 * Context: any, by the owner of @pin.
 * Return: true if the pin is held.
 */
static inline bool commit_root_is_pinned(const struct commit_pin *pin)
{
	return pin->roots;
}

/**
 * commit_root_unpin() - drop a pin
 * @pin: the pin; a second unpin is a bug of the caller, which only warns
 *
 * Context: as commit_root_pin(), in any task on any CPU.
 */
static inline void commit_root_unpin(struct commit_pin *pin)
	__fsc_releases(pin)
	__fsc_unchecked
{
	struct commit_roots *roots = pin->roots;

	if (unlikely(!roots)) {
		__commit_root_uncounted(NULL);
		return;
	}
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_trace(roots, false);
	pin->roots = NULL;
	__commit_root_uncount(roots);
}

void *commit_root_of(const struct commit_pin *pin, const struct commit_tree *tree,
		     u64 *generation);

/**
 * commit_root_generation() - generation of the pinned commit
 * @pin: the pin
 *
 * Context: any.
 * Return: the generation; 0 for a pin that is not held.
 */
static inline u64 commit_root_generation(const struct commit_pin *pin)
{
	return pin->roots ? pin->roots->generation : 0;
}

/**
 * commit_root_wanted() - did commit_root_want_space() ask for the space that a pin keeps?
 * @pin: the pin
 *
 * A reader that holds a pin for long checks this now and then. If true, it unpins and pins
 * again where it can.
 *
 * Context: any but NMI.
 * Return: true if the space is wanted; false also for a pin that is not held.
 */
static inline bool commit_root_wanted(const struct commit_pin *pin)
{
	const struct commit_roots *roots = pin->roots;

	return roots && fs_generation_after(atomic64_read(&roots->set->wanted), roots->generation);
}

/**
 * commit_root_covers() - does the pinned commit contain a whole request?
 * @pin: the pin
 * @gen: the generations of the request
 *
 * Context: any.
 * Return: true if it does; false if it does not, or if that is not known.
 */
static inline bool commit_root_covers(const struct commit_pin *pin, const struct commit_gen *gen)
{
	return __commit_gen_within(gen, commit_root_generation(pin));
}

/* --- the committer ------------------------------------------------------- */

struct commit_roots *commit_root_prepare(struct commit_root_set *set, u64 generation, gfp_t gfp);
int commit_root_update(struct commit_roots *next, struct commit_tree *tree, void *root);
void commit_root_switch(struct commit_roots *next);
void commit_root_cancel(struct commit_roots *next);
void commit_root_want_space(struct commit_root_set *set);

/**
 * commit_root_reusable() - up to which generation may freed blocks be reused?
 * @set: the set
 *
 * No call waits for it: poll it, or queue work from &commit_root_ops.reusable.
 *
 * Context: any but NMI.
 * Return: a generation: a block may be reused if the generation G that freed it is not later.
 * (The roots of G no longer reach the block.) 0 before the first commit.
 */
static inline u64 commit_root_reusable(const struct commit_root_set *set)
{
	/* F: pairs with move_reusable(): reuse comes after all that readers did */
	return atomic64_read_acquire(&set->reusable);
}

#endif /* _LINUX_COMMIT_ROOT_H */
