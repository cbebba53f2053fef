/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: readers of old data search the last commit, and the committer never waits
 * for them.
 */
#ifndef _LINUX_COMMIT_ROOT_H
#define _LINUX_COMMIT_ROOT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/fs_generation.h>
#include <linux/fscommit_abi.h>
#include <linux/fscommit_context.h>
#include <linux/gfp_types.h>
#include <linux/list.h>
#include <linux/jump_label.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
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
 *	    !commit_root_pin(&fs->roots, &pin)) {
 *		if (commit_root_covers(&pin, &bio->gen))
 *			found = search_from(commit_root_of(&pin, &fs->csum_tree, NULL), ...);
 *		commit_root_unpin(&pin);
 *	}
 *	if (!found)
 *		search_live(...);
 *
 * commit_root_search() does all of this. The committer first prepares, which may fail for lack
 * of memory. It then switches, which cannot fail and does not wait for readers::
 *
 *	struct commit_roots *next = commit_root_prepare(&fs->roots, GFP_NOFS);
 *
 *	if (IS_ERR(next))
 *		return PTR_ERR(next);		// nothing has changed
 *	...					// write the new trees
 *	commit_root_update(next, &fs->csum_tree, new_root);
 *	commit_root_switch(next, generation);
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
 *    of these calls sleeps, except commit_root_search() in the caller's search. Only one task
 *    at a time may use a &struct commit_pin.
 *  - One commit at a time: commit_root_prepare(), commit_root_update() for each changed tree,
 *    commit_root_switch() or commit_root_cancel(). Prepare sleeps if its @gfp allows it, and
 *    cancel may sleep.
 *  - commit_root_reusable(), commit_root_want_space() and commit_root_oldest_pin() may run
 *    beside all of these.
 *  - commit_tree_init() may sleep, commit_tree_destroy() does not. They may run beside commits,
 *    beside all calls for other trees, and beside a search from a root of the same tree. The
 *    caller stops commit_root_of() and commit_root_search() of the tree before it is destroyed.
 *    A reader that has a root of it by then keeps that root until its unpin.
 *  - commit_root_set_init() and commit_root_set_destroy() sleep. The caller stops readers and
 *    commits before destroy.
 *  - &commit_root_ops.release runs in a workqueue of the set, one call at a time: beside readers
 *    and commits, and beside the releases of other sets.
 *
 * The comment of each function, here or in module/commit_root.c, has its context and errors;
 * docs/commit_root.rst shows both files.
 *
 * What to do on an error:
 *
 *  - commit_root_pin(): search the live tree. There is nothing to unpin.
 *  - commit_root_of(): unpin. On -ENOENT search the live tree; -EINVAL is a bug of the caller.
 *  - commit_root_prepare(): abort the commit, or try again. Nothing has changed.
 *  - commit_root_update(): a bug of the caller. @root stays the caller's.
 *  - commit_root_switch(): cancel. Only a bug of the caller makes it fail.
 *  - commit_root_set_destroy(): unpin or cancel, then call it again.
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
 * A part of the request. A request that is split or cloned copies it by assignment: the copy
 * may be newer than its half needs, never older.
 */
struct commit_gen {
	u64	max;
	bool	unknown;
};

/**
 * commit_gen_reset() - initialise for a new request
 * @gen: the accumulator
 *
 * Context: any, by the owner of @gen.
 */
static inline void commit_gen_reset(struct commit_gen *gen)
{
	*gen = (struct commit_gen){ };
}

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
	COMMIT_ROOT_REFUSED,	/* pins that found no roots */
	COMMIT_ROOT_SWITCH,
	COMMIT_ROOT_SLEPT,	/* switches that slept; expected: 0 */
	COMMIT_ROOT_RELEASE,
	COMMIT_ROOT_COMMITTED,	/* searches of a committed tree, */
	COMMIT_ROOT_MISS,	/* and those that missed something */
	COMMIT_ROOT_LIVE,
	COMMIT_ROOT_DIFFERENCE,
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
 */
struct commit_root_ops {
	void (*release)(void *private, void *root, u64 generation);
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
	unsigned long		replaced;	/* jiffies; 0: current */
	u64			generation;
	struct commit_root_set	*set;
/* private: */
	bool			unpinned;	/* being released; under lock, like the lists */
	struct list_head	node;
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
	bool				tracked;
	bool				ending;
/* private: written by the committer */
	raw_spinlock_t			lock ____cacheline_aligned_in_smp;
	bool				preparing;
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
	struct list_head		node;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map		dep_map;	/* of pins */
#endif
	raw_spinlock_t			track_lock;	/* protects @tracks */
	struct list_head		tracks;		/* pins if @tracked, oldest first */
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
 * Belongs to one request. Never copy it: each half of a split request has a pin of its own. For
 * lockdep it is held by the task that pinned. If another task may drop it, or if it stays when the
 * task returns to user space, call commit_root_disown().
 */
struct commit_pin {
/* private: */
	struct commit_roots	*roots;		/* NULL: not pinned */
	struct commit_root_set	*set;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	bool			owned;		/* lockdep knows that this task has it */
#endif
	unsigned long		since;		/* jiffies; from here on: if tracked */
	pid_t			pid;
	char			comm[TASK_COMM_LEN];
	struct list_head	node;
};

/**
 * struct commit_pin_info - the oldest pin
 * @generation: generation of the pinned roots
 * @age_ms: milliseconds since the pin; without tracking, since these roots were replaced
 * @pid: the task that pinned; 0 without tracking
 * @comm: name of that task; empty without tracking
 */
struct commit_pin_info {
	u64	generation;
	u64	age_ms;
	pid_t	pid;
	char	comm[TASK_COMM_LEN];
};

int __must_check __commit_root_set_init(struct commit_root_set *set, const char *name,
					const struct commit_root_ops *ops, void *private,
					struct lock_class_key *key);

/**
 * commit_root_set_init() - initialise the committed roots of a filesystem
 * @set: the set
 * @name: for messages and debugfs; not copied
 * @ops: operations of the filesystem
 * @private: for @ops
 *
 * All sets that one call initialises have one lockdep class. @set must not be on a stack: it has a
 * work item.
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
#define commit_root_set_init(set, name, ops, private)				\
({										\
	static struct lock_class_key __key;					\
										\
	__commit_root_set_init(set, name, ops, private, &__key);		\
})

int __must_check commit_root_set_destroy(struct commit_root_set *set);
int __must_check commit_tree_init(struct commit_tree *tree, struct commit_root_set *set);
void commit_tree_destroy(struct commit_tree *tree);

/* --- readers ------------------------------------------------------------- */

/*
 * For lockdep a pin is a read lock that is always there to be had: it never waits, but others may
 * wait for it.
 */
static inline void __commit_root_own(struct commit_pin *pin)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lock_acquire(&pin->set->dep_map, 0, 1, 2, 1, NULL, _THIS_IP_);
	pin->owned = true;
#endif
}

/**
 * commit_root_disown() - the pin no longer belongs to this task
 * @pin: held by this task
 *
 * For lockdep only. Call it before a pin moves to another task, or stays held when this task
 * returns to user space.
 *
 * Context: any but NMI.
 */
static inline void commit_root_disown(struct commit_pin *pin)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	if (pin->owned)
		lock_release(&pin->set->dep_map, _THIS_IP_);
	pin->owned = false;
#endif
}

/**
 * commit_root_might_wait() - say that this task may wait until pins are dropped
 * @set: the set
 *
 * For lockdep only. It reports a task that waits for a pin of its own, or for one whose holder
 * waits for a lock of this task.
 *
 * Context: any in which the caller may wait.
 */
static inline void commit_root_might_wait(struct commit_root_set *set)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lock_map_acquire(&set->dep_map);
	lock_map_release(&set->dep_map);
#endif
}

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
void __commit_root_pinned(struct commit_pin *pin);
void __commit_root_unpinned(struct commit_pin *pin);
int __commit_root_refused(struct commit_root_set *set);
void __commit_root_uncounted(struct commit_roots *roots);

/* In a cache line of its own. Not per-CPU memory: its allocation would wait for a global mutex. */
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
 * Return: 0; -ENODATA before the first commit; -ESHUTDOWN after commit_root_set_destroy()
 * began. After an error there is no pin.
 */
static inline int __must_check commit_root_pin(struct commit_root_set *set,
					       struct commit_pin *pin)
	__fsc_cond_acquires(0, pin)
{
	struct commit_roots *roots;

	pin->set = set;
	/* D: RCU's grace period, which pairs with remove_roots(), waits for this section */
	preempt_disable();
	for (;;) {
		/* A: pairs with the release in commit_root_switch() */
		roots = smp_load_acquire(&set->roots);
		pin->roots = roots;
		if (unlikely(!roots)) {
			int ret = __commit_root_refused(set);

			preempt_enable();
			return ret;
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
	__commit_root_own(pin);
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_pinned(pin);
	return 0;
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
		__commit_root_unpinned(pin);
	commit_root_disown(pin);
	pin->roots = NULL;
	__commit_root_uncount(roots);
}

u64 commit_root_generation(const struct commit_pin *pin);
void *commit_root_of(const struct commit_pin *pin, const struct commit_tree *tree,
		     u64 *generation);
bool commit_root_wanted(const struct commit_pin *pin);

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

/* --- search -------------------------------------------------------------- */

/**
 * enum commit_search_mode - which trees commit_root_search() may search
 * @COMMIT_SEARCH_OPTIONAL: the committed tree if the request is eligible, then the live tree
 * @COMMIT_SEARCH_FORCED: only the committed tree, whatever the generations
 * @COMMIT_SEARCH_IN_TRANSACTION: as COMMIT_SEARCH_OPTIONAL, for a caller inside a transaction:
 *	the live search must use that transaction, and must not wait for a commit
 */
enum commit_search_mode {
	COMMIT_SEARCH_OPTIONAL,
	COMMIT_SEARCH_FORCED,
	COMMIT_SEARCH_IN_TRANSACTION,
};

#define COMMIT_DIFFERENCE_LEN	48

/**
 * struct commit_difference - a difference that the oracle found
 * @key: key of the entry that differs
 * @committed: its value in the committed tree, as text
 * @live: its value in the live tree, as text
 */
struct commit_difference {
	u64	key;
	char	committed[COMMIT_DIFFERENCE_LEN];
	char	live[COMMIT_DIFFERENCE_LEN];
};

struct commit_search;

/**
 * struct commit_search_ops - how to search a tree
 * @search: search what is still missing, from &commit_search.root, or the live tree if that is
 *	NULL. Return 0 if nothing is missing; -ENOENT if something is, and keep what was
 *	found; or another error, which ends the search
 * @compare: optional, for the oracle: repeat the search in the live tree. Return true if it
 *	finds the same, else describe a difference in @diff
 */
struct commit_search_ops {
	int (*search)(struct commit_search *s);
	bool (*compare)(struct commit_search *s, struct commit_difference *diff);
};

/**
 * struct commit_search - a search
 * @set: the set
 * @tree: the tree to search
 * @gen: the generations of the request
 * @mode: see &enum commit_search_mode
 * @ops: how to search
 * @arg: for @ops
 * @root: set for @ops: the committed root, or NULL for the live tree
 * @generation: set for @ops: generation of the commit that was pinned, which an earlier one may
 *	have given @root; 0 if none was pinned. It stays set during the live search
 * @committed: set on return: the committed tree was searched; not set if the commit does not
 *	have the tree
 * @missed: set on return: the committed tree was searched and lacked something
 * @live: set on return: the live tree was searched
 */
struct commit_search {
	struct commit_root_set		*set;
	const struct commit_tree	*tree;
	struct commit_gen		gen;
	enum commit_search_mode		mode;
	const struct commit_search_ops	*ops;
	void				*arg;
	void				*root;
	u64				generation;
	bool				committed, missed, live;
};

int commit_root_search(struct commit_search *s);

/* --- the committer ------------------------------------------------------- */

struct commit_roots *commit_root_prepare(struct commit_root_set *set, gfp_t gfp);
int commit_root_update(struct commit_roots *next, const struct commit_tree *tree, void *root);
int commit_root_switch(struct commit_roots *next, u64 generation);
void commit_root_cancel(struct commit_roots *next);
bool commit_root_oldest_pin(struct commit_root_set *set, struct commit_pin_info *info);
void commit_root_want_space(struct commit_root_set *set);

/**
 * commit_root_reusable() - up to which generation may freed blocks be reused?
 * @set: the set
 *
 * To be polled: there is no call that waits for it.
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
