/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commit-root search: readers of old data that never meet the committer.
 *
 * The task that commits never waits for a task that is not running.
 */
#ifndef _LINUX_COMMIT_ROOT_H
#define _LINUX_COMMIT_ROOT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/fs_generation.h>
#include <linux/fscommit_context.h>
#include <linux/gfp_types.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock_types.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * DOC: Overview
 *
 * A copy-on-write filesystem has trees. Each has a live root, changed in the running
 * generation R, and a committed root, the state at the end of an earlier generation. What
 * was written before R is found from the committed root, unless it was moved in R. A
 * reader that wants old data pins the committed roots, searches one without any lock of
 * the live tree, and unpins::
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
 * commit_root_search() does all of that. The committer prepares, where memory may be
 * short, and switches, which cannot fail and waits for nobody::
 *
 *	struct commit_roots *next = commit_root_prepare(&fs->roots, GFP_NOFS);
 *
 *	if (IS_ERR(next))
 *		return PTR_ERR(next);		// nothing has changed
 *	...					// writes the new trees
 *	commit_root_update(next, &fs->csum_tree, new_root);
 *	commit_root_switch(next, generation);
 *
 * Three rules make a stale hit impossible. The helper keeps the first; the caller must
 * keep the others:
 *
 *  1. A pin sees the roots of one commit, of all trees, until it is given up.
 *  2. A block that can be reached from a committed root is neither changed nor reused
 *     before commit_root_reusable() is at least the generation that freed it. So what a
 *     pinned root leads to is as it was when it was committed.
 *  3. What a reader looks for, it keeps from being freed and written again from when it
 *     learned of it until its search has ended: by a lock of the extent, a reference,
 *     what the filesystem has. So what it finds in the committed tree is still meant.
 *
 * A miss is not an answer: what was moved in the running generation has its new entry in
 * the live tree only. Then the remainder is searched there.
 *
 * Searching the committed root for the checksums of old extents is what btrfs does since
 * 2025 (Boris Burkov and Qu Wenruo; the idea to go by the generation of the extents is
 * theirs). There, readers and the switch share commit_root_sem; here they share nothing.
 */

/* --- generations of a request ------------------------------------------- */

/**
 * struct commit_gen - the newest generation of what a request is about
 * @max: the highest that was added; 0 if none was
 * @unknown: one was not known
 *
 * It travels with the request, as a part of it. A request that is split or cloned takes a
 * copy along, by assignment: it may be older than its half needs, never newer.
 */
struct commit_gen {
	u64	max;
	bool	unknown;
};

/**
 * commit_gen_reset() - for a new request
 * @gen: the accumulator
 */
static inline void commit_gen_reset(struct commit_gen *gen)
{
	*gen = (struct commit_gen){ };
}

/**
 * commit_gen_add() - an extent has become part of the request
 * @gen: the accumulator
 * @generation: in which it was written; 0 and ~0 if that is not known
 *
 * Not before it really is part of it: the generation of one that did not fit belongs to
 * the next request.
 */
static inline void commit_gen_add(struct commit_gen *gen, u64 generation)
{
	if (!fs_generation_known(generation))
		gen->unknown = true;
	else if (!gen->max || fs_generation_after(generation, gen->max))
		gen->max = generation;
}

/**
 * commit_gen_merge() - a request has become part of another one
 * @gen: the accumulator of the one that goes on
 * @from: that of the other one
 */
static inline void commit_gen_merge(struct commit_gen *gen, const struct commit_gen *from)
{
	gen->unknown |= from->unknown;
	if (from->max)
		commit_gen_add(gen, from->max);
}

/* Is all of it in a commit of @generation? */
static inline bool __commit_gen_within(const struct commit_gen *gen, u64 generation)
{
	return !gen->unknown && gen->max && generation &&
	       !fs_generation_after(gen->max, generation);
}

/* --- the set ------------------------------------------------------------- */

struct commit_roots;	/* those of one commit */

enum commit_root_event {
	COMMIT_ROOT_PIN,
	COMMIT_ROOT_UNPIN,
	COMMIT_ROOT_REFUSED,	/* of the pins */
	COMMIT_ROOT_SWITCH,
	COMMIT_ROOT_SLEPT,	/* a switch gave up its CPU: never */
	COMMIT_ROOT_RELEASE,
	COMMIT_ROOT_COMMITTED,	/* searches of a committed tree */
	COMMIT_ROOT_MISS,	/* of these, with something missing */
	COMMIT_ROOT_LIVE,
	COMMIT_ROOT_DIFFERENCE,
	COMMIT_ROOT_MISUSE,
	NR_COMMIT_ROOT_EVENTS,
};

struct commit_root_counts {
	unsigned long	nr[NR_COMMIT_ROOT_EVENTS];
};

/**
 * struct commit_root_ops - what a filesystem does
 * @release: no pin reaches @root any more, and no later commit has it. Called once for
 *	each root that was given to commit_root_update(), in the order in which commits
 *	replaced them, with the generation that brought it, in process context; may sleep
 */
struct commit_root_ops {
	void (*release)(void *private, void *root, u64 generation);
};

/**
 * struct commit_root_set - the committed roots of a filesystem
 *
 * Nothing in it is for others than the helper.
 */
struct commit_root_set {
/* private: read by readers, written by a switch */
	struct commit_roots __rcu	*roots;
	atomic64_t			running;
	struct commit_root_counts __percpu *counts;
	bool				tracked;
	bool				ending;
	struct srcu_struct		pins;
/* private: of the committer */
	raw_spinlock_t			lock ____cacheline_aligned_in_smp;
	bool				preparing;
	unsigned int			capacity;	/* of the next roots */
	u64				last_tree;
	struct list_head		all;		/* oldest first */
	atomic64_t			reusable;
	struct work_struct		work;
	struct ida			slots;
	const struct commit_root_ops	*ops;
	void				*private;
	const char			*name;
	struct list_head		node;
	spinlock_t			track_lock;	/* of @tracks */
	struct list_head		tracks;		/* pins, oldest first, when tracked */
};

/**
 * struct commit_tree - a tree of a filesystem
 *
 * Nothing in it is for others than the helper.
 */
struct commit_tree {
/* private: */
	struct commit_root_set	*set;
	unsigned int		slot;
	u64			number;
};

fscommit_lock_struct(commit_pin);

/**
 * struct commit_pin - the roots of one commit, kept
 *
 * Belongs to one request, and moves with it from task to task. Not to be copied: see
 * commit_root_pin_again().
 */
struct commit_pin {
/* private: */
	struct commit_roots	*roots;		/* NULL: given up */
	struct commit_root_set	*set;
	int			idx;		/* of SRCU; < 0: by commit_root_pin_again() */
	unsigned long		since;		/* jiffies; this and the rest when tracked */
	pid_t			pid;
	char			comm[TASK_COMM_LEN];
	struct list_head	node;
};

/**
 * struct commit_pin_info - the oldest pin
 * @generation: of the roots that it keeps
 * @age_ms: milliseconds since the pin; without tracking, since these roots were replaced
 * @pid: who pinned; 0 without tracking
 * @comm: the same
 */
struct commit_pin_info {
	u64	generation;
	u64	age_ms;
	pid_t	pid;
	char	comm[TASK_COMM_LEN];
};

int __must_check commit_root_set_init(struct commit_root_set *set, const char *name,
				      const struct commit_root_ops *ops, void *private);
int __must_check commit_root_set_destroy(struct commit_root_set *set);
int __must_check commit_tree_init(struct commit_tree *tree, struct commit_root_set *set);
void commit_tree_destroy(struct commit_tree *tree);

/* --- readers ------------------------------------------------------------- */

/**
 * commit_root_eligible() - may a request be answered from the committed roots?
 * @set: the set
 * @gen: the generations of the request
 *
 * A quick look before a pin; what counts is commit_root_covers() after it.
 *
 * Context: any.
 * Return: true if they may hold all of it; false if it must go to the live trees.
 */
static inline bool commit_root_eligible(const struct commit_root_set *set,
					const struct commit_gen *gen)
{
	return __commit_gen_within(gen, atomic64_read(&set->running) - 1);
}

/* Somebody wants to know of each pin: trace events, or track_pins. */
DECLARE_STATIC_KEY_FALSE(commit_root_watched);
void __commit_root_pinned(struct commit_pin *pin);
void __commit_root_unpinned(struct commit_pin *pin);
int __commit_root_refused(struct commit_root_set *set, int idx);
void __commit_root_unpin_odd(struct commit_pin *pin);

/**
 * commit_root_pin() - keep the roots of the newest commit
 * @set: the set
 * @pin: to be given to commit_root_unpin(), by any task
 *
 * The pin may be held across anything that sleeps. It keeps the blocks that were freed
 * since from being reused: see commit_root_wanted().
 *
 * Context: any but NMI; does not sleep. Not from hard interrupts with track_pins, nor from any
 * interrupt on a kernel without CONFIG_SMP (CONFIG_TINY_SRCU): there an unpin is for tasks, too.
 * Return: 0; -ENODATA before the first commit; -ESHUTDOWN after a commit_root_set_destroy()
 * that was refused.
 */
static inline int __must_check commit_root_pin(struct commit_root_set *set,
					       struct commit_pin *pin)
	__fsc_cond_acquires(0, pin)
{
	struct commit_roots *roots;
	int idx;

	this_cpu_inc(set->counts->nr[COMMIT_ROOT_PIN]);
	/* B: its full barrier, pairs with C. As srcu_down_read(), which 6.1 lacks */
	idx = __srcu_read_lock(&set->pins);
	/* A: pairs with the release in commit_root_switch() */
	roots = rcu_dereference_check(set->roots, true);
	pin->roots = roots;
	pin->set = set;
	pin->idx = idx;
	if (unlikely(!roots))
		return __commit_root_refused(set, idx);
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_pinned(pin);
	return 0;
}

void commit_root_pin_again(struct commit_pin *pin, const struct commit_pin *held)
	__fsc_acquires(pin);

/* The last look at the set: see commit_root_set_destroy(). */
static inline void __commit_root_gone(struct commit_root_set *set)
{
	/* E: pairs with D: whose unpin is seen, of that nothing is still to come */
	smp_wmb();
	this_cpu_inc(set->counts->nr[COMMIT_ROOT_UNPIN]);
}

/**
 * commit_root_unpin() - give up a pin
 * @pin: the pin; twice is a bug of the caller, and has no effect but a warning
 *
 * Context: as commit_root_pin(), and by any task on any CPU.
 */
static inline void commit_root_unpin(struct commit_pin *pin)
	__fsc_releases(pin)
	__fsc_unchecked
{
	struct commit_root_set *set = pin->set;
	int idx = pin->idx;

	if (unlikely(!pin->roots || idx < 0)) {
		__commit_root_unpin_odd(pin);
		return;
	}
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_unpinned(pin);
	pin->roots = NULL;
	__srcu_read_unlock(&set->pins, idx);
	__commit_root_gone(set);
}

u64 commit_root_generation(const struct commit_pin *pin);
void *commit_root_of(const struct commit_pin *pin, const struct commit_tree *tree,
		     u64 *generation);
bool commit_root_wanted(const struct commit_pin *pin);

/**
 * commit_root_covers() - is all of a request in the commit that is pinned?
 * @pin: the pin
 * @gen: the generations of the request
 *
 * Context: any.
 * Return: true if all of it is in the commit; false as well where that is not known.
 */
static inline bool commit_root_covers(const struct commit_pin *pin, const struct commit_gen *gen)
{
	return __commit_gen_within(gen, commit_root_generation(pin));
}

/* --- the whole pattern in one call --------------------------------------- */

/**
 * enum commit_search_mode - where commit_root_search() may look
 * @COMMIT_SEARCH_OPTIONAL: in the committed tree if the request is eligible, then live
 * @COMMIT_SEARCH_FORCED: in the committed tree, whatever the generations, and never live
 * @COMMIT_SEARCH_IN_TRANSACTION: as optional, for a caller inside a transaction: the live
 *	search is to use that one, and to wait for no commit
 */
enum commit_search_mode {
	COMMIT_SEARCH_OPTIONAL,
	COMMIT_SEARCH_FORCED,
	COMMIT_SEARCH_IN_TRANSACTION,
};

#define COMMIT_DIFFERENCE_LEN	48

/**
 * struct commit_difference - what the oracle found
 * @key: of the entry that differs
 * @committed: its value in the committed tree, as text
 * @live: in the live tree
 */
struct commit_difference {
	u64	key;
	char	committed[COMMIT_DIFFERENCE_LEN];
	char	live[COMMIT_DIFFERENCE_LEN];
};

struct commit_search;

/**
 * struct commit_search_ops - how to search a tree
 * @search: look for what is still missing, from &commit_search.root, or live if that is
 *	NULL. Return 0 when nothing is missing, -ENOENT when something is (and keep what
 *	was found), or another error, which ends the search
 * @compare: for the oracle, optional: look live for all that was found, and return true
 *	if it is the same; else say in @diff what is not
 */
struct commit_search_ops {
	int (*search)(struct commit_search *s);
	bool (*compare)(struct commit_search *s, struct commit_difference *diff);
};

/**
 * struct commit_search - a search
 * @set: the set
 * @tree: where to look
 * @gen: the generations of the request
 * @mode: see &enum commit_search_mode
 * @ops: how
 * @arg: for @ops
 * @root: set for @ops: the committed root, or NULL for the live tree
 * @generation: set for @ops: of the commit that @root belongs to
 * @committed: set on return: the committed tree was searched
 * @missed: set on return: and something was missing there
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
 * commit_root_reusable() - which freed blocks may be reused?
 * @set: the set
 *
 * Polled, never waited for.
 *
 * Context: any.
 * Return: the generation up to which: a block that generation G has freed, that is which
 * the roots of G do not reach any more, may be reused if G is not above it. 0 before the
 * first commit.
 */
static inline u64 commit_root_reusable(const struct commit_root_set *set)
{
	/* F: pairs with the release of whoever moved it: what readers did came before */
	return atomic64_read_acquire(&set->reusable);
}

#endif /* _LINUX_COMMIT_ROOT_H */
