// SPDX-License-Identifier: GPL-2.0
/*
 * Commit-root search: pins, searches, commits, and the release of old roots.
 *
 * struct commit_roots is a commit. A set points to the newest one. Replaced commits stay in the
 * set's list, oldest first, while they are pinned. A tree has a list of its roots, newest first.
 * The root of a tree in a commit is the first one that was not added later.
 *
 *  reader	pin: load the pointer (A), count the pin in these roots, on this CPU, and look
 *		at the pointer again (B). If it has changed, take the count back and try again.
 *		unpin: take the count back, on any CPU. If the roots were replaced (C), queue
 *		the work.
 *
 *  committer	prepare: allocate, also a struct commit_tree_root for each tree.
 *		switch: add the new roots to the lists of their trees, move the roots that
 *		they replace to the list of the old commit, which is the last to have them,
 *		publish the pointer (A), then the generation. Mark the old commit as replaced
 *		(C), and queue the work. The switch does not wait for it.
 *
 *  release	The work of the set adds up the counts of each replaced commit (B, C). Where
 *		the sum is 0, no pin is left. Each root of which this commit is the last passes
 *		to the next older kept commit, if that has it, or else to the filesystem. Then
 *		the work advances the generation up to which blocks may be reused. The memory of
 *		the commit is freed after an RCU grace period (D), since a reader may have
 *		loaded the pointer and not counted its pin yet.
 *
 * Why a sum of 0 is right, though it is not read at once: each pin that found its roots current
 * adds 1, which the work sees (B); its unpin takes 1 away, perhaps unseen; a count that came too
 * late adds 1 and takes it away on one CPU. None of them ever adds less than 0, and a pin that is
 * held adds 1. Why the last one is not missed: a task that drops a count after the work has read it
 * sees that the roots were replaced, and queues the work again (C).
 *
 * So pins are counted for each commit: a commit that no pin has is released when it is replaced,
 * whatever other pins exist, and whatever RCU waits for. Only the oldest pin keeps blocks from
 * being reused.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <linux/commit_root.h>

#include "internal.h"
#include "trace.h"

struct commit_tree_root {
	/*
	 * In a list, under lock: the spare ones of the set; those of a prepared commit; the newest
	 * ones of all trees; those whose trees are deleted; those that a commit is the last to have
	 */
	union {
		struct list_head	node;
		struct rcu_head		rcu;
	};
	struct commit_tree	*tree;		/* in a prepared commit only; may be gone later */
	struct commit_tree_root	*older, *newer;	/* of the tree; under lock. @older: RCU */
	u64			generation;	/* the commit that added @root */
	void			*root;
	unsigned int		number;		/* of the tree */
};

static inline void count(const struct commit_root_set *set, enum commit_root_event event)
{
	this_cpu_inc(set->counts->nr[event]);
}

#define misused(set, fmt, ...)							\
do {										\
	/* not of a destroyed set */						\
	if ((set)->counts)							\
		count(set, COMMIT_ROOT_MISUSE);					\
	WARN_ONCE(1, "fscommit: commit roots of %s: " fmt "\n", (set)->name,	\
		  ##__VA_ARGS__);						\
} while (0)

static inline struct commit_roots *oldest_roots(struct commit_root_set *set)
{
	lockdep_assert_held(&set->lock);
	return list_first_entry_or_null(&set->all, struct commit_roots, node);
}

/* --- release ------------------------------------------------------------- */

/* Blocks freed up to the generation of the oldest roots may be reused. Returns whether it grew. */
static bool move_reusable(struct commit_root_set *set)
{
	struct commit_roots *oldest = oldest_roots(set);

	if (!oldest || oldest->generation == atomic64_read(&set->reusable))
		return false;
	/* F: pairs with commit_root_reusable() */
	atomic64_set_release(&set->reusable, oldest->generation);
	return true;
}

/*
 * Remove a root from those of its tree. The newest one of a tree that exists goes last, see
 * goes_last().
 */
static void unlink_root(struct commit_tree_root *t)
{
	if (t->newer)
		WRITE_ONCE(t->newer->older, t->older);
	if (t->older)
		t->older->newer = t->newer;
}

/*
 * Take a root of which @roots is the last commit. If @older has it, too, it becomes the last.
 * Return NULL when none is left.
 */
static struct commit_tree_root *take_root(struct commit_roots *roots, struct commit_roots *older)
{
	struct commit_root_set *set = roots->set;
	struct commit_tree_root *t;
	bool keep;

	do {
		raw_spin_lock_irq(&set->lock);
		t = list_first_entry_or_null(&roots->last, struct commit_tree_root, node);
		keep = t && older && !fs_generation_after(t->generation, older->generation);
		if (keep) {
			list_move_tail(&t->node, &older->last);
		} else if (t) {
			list_del(&t->node);
			unlink_root(t);
		}
		raw_spin_unlock_irq(&set->lock);
	} while (keep);
	return t;
}

static void free_roots(struct commit_roots *roots)
{
	kvfree(roots->pins);
	kfree(roots);
}

static void free_roots_rcu(struct rcu_head *rcu)
{
	free_roots(container_of(rcu, struct commit_roots, rcu));
}

/* No pin has @roots. */
static void remove_roots(struct commit_roots *roots)
{
	struct commit_root_set *set = roots->set;
	struct commit_roots *older = NULL;
	struct commit_tree_root *t;
	bool moved;

	/* only the work removes commits from the list: @older stays */
	raw_spin_lock_irq(&set->lock);
	if (!list_is_first(&roots->node, &set->all))
		older = list_prev_entry(roots, node);
	raw_spin_unlock_irq(&set->lock);

	while ((t = take_root(roots, older))) {
		count(set, COMMIT_ROOT_RELEASE);
		trace_commit_root_release(set->name, t->number, t->generation);
		set->ops->release(set->private, t->root, t->generation);
		kfree_rcu(t, rcu);
	}

	raw_spin_lock_irq(&set->lock);
	list_del(&roots->node);
	set->nr_kept--;
	moved = move_reusable(set);
	if (list_empty(&set->all))
		complete(&set->released);
	raw_spin_unlock_irq(&set->lock);
	/* D: pairs with commit_root_pin() and __commit_root_uncount() */
	call_rcu(&roots->rcu, free_roots_rcu);
	if (moved && set->ops->reusable)
		set->ops->reusable(set->private, commit_root_reusable(set));
}

/* Has replaced roots a pin? */
static bool is_pinned(const struct commit_roots *roots)
{
	long pins = 0;
	int cpu;

	/* B, C: pairs with commit_root_pin() and __commit_root_uncount() */
	smp_mb();
	for_each_possible_cpu(cpu) {
		/* F: the release comes after all that readers did while they were pinned */
		pins += atomic_long_read_acquire(__commit_root_count(roots, cpu));
	}
	return pins;
}

/* The oldest commit, or the one after @roots, if it was replaced; else NULL. */
static struct commit_roots *next_replaced(struct commit_root_set *set, struct commit_roots *roots)
{
	raw_spin_lock_irq(&set->lock);
	if (!roots)
		roots = oldest_roots(set);
	else
		roots = list_is_last(&roots->node, &set->all) ? NULL : list_next_entry(roots, node);
	if (roots && !roots->replaced)
		roots = NULL;
	raw_spin_unlock_irq(&set->lock);
	return roots;
}

/*
 * The last commit has the newest root of each tree, where commit_root_of() begins. It is replaced
 * only by commit_root_set_destroy(). Then it goes after the older commits, which may be pinned.
 */
static bool goes_last(struct commit_root_set *set, const struct commit_roots *roots)
{
	bool last;

	raw_spin_lock_irq(&set->lock);
	last = list_is_last(&roots->node, &set->all) && !list_is_first(&roots->node, &set->all);
	raw_spin_unlock_irq(&set->lock);
	return last;
}

/*
 * Runs after each switch, and after each unpin of replaced roots. From the oldest commit on: what
 * goes last is the only one left by then, if none of the others has a pin.
 */
static void release_work(struct work_struct *work)
{
	struct commit_root_set *set = container_of(work, struct commit_root_set, work);
	struct commit_roots *roots, *next;

	for (roots = next_replaced(set, NULL); roots; roots = next) {
		next = next_replaced(set, roots);
		if (!is_pinned(roots) && !goes_last(set, roots))
			remove_roots(roots);
		cond_resched();
	}
}

/* --- pins ---------------------------------------------------------------- */

/* True while a trace event of pins is enabled. Exported only for the inline functions. */
DEFINE_STATIC_KEY_FALSE(commit_root_watched);
EXPORT_SYMBOL_FSCOMMIT(commit_root_watched);

int commit_root_watch_pins(void)
{
	static_branch_inc(&commit_root_watched);
	return 0;
}

void commit_root_unwatch_pins(void)
{
	static_branch_dec(&commit_root_watched);
}

/**
 * __commit_root_trace() - trace a pin or an unpin
 * @roots: the roots, which are pinned
 * @pinned: whether the pin begins
 *
 * Context: as commit_root_pin().
 */
void __commit_root_trace(const struct commit_roots *roots, bool pinned)
{
	if (pinned)
		trace_commit_root_pin(roots->set->name, roots->generation);
	else
		trace_commit_root_unpin(roots->set->name, roots->generation);
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_trace);

/**
 * __commit_root_uncounted() - have replaced roots released if this was their last count
 * @roots: the roots; NULL: commit_root_unpin() of a pin that is not held, warn once
 *
 * Context: as commit_root_pin(). With @roots, preemption has been disabled since before the count
 * was dropped, which keeps @roots and their set.
 */
void __commit_root_uncounted(struct commit_roots *roots)
{
	if (WARN_ONCE(!roots, "fscommit: commit_root_unpin() of a pin that is not held\n"))
		return;
	queue_work(roots->set->wq, &roots->set->work);
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_uncounted);

/**
 * commit_root_of() - root of a tree in the pinned commit
 * @pin: the pin
 * @tree: the tree, of the same set
 * @generation: if not NULL: set to the generation that added this root
 *
 * Takes a step for each newer root of @tree that a kept commit has.
 *
 * Context: any.
 * Return: the root that was passed to commit_root_update(); ERR_PTR(-ENOENT) if the commit
 * does not have the tree; ERR_PTR(-EINVAL), with a warning, for a tree of another set or a pin
 * that is not held.
 */
void *commit_root_of(const struct commit_pin *pin, const struct commit_tree *tree,
		     u64 *generation)
{
	const struct commit_roots *roots = pin->roots;
	void *root = ERR_PTR(-ENOENT);
	const struct commit_tree_root *t;

	if (WARN_ONCE(!roots, "fscommit: %s() of a pin that is not held\n", __func__))
		return ERR_PTR(-EINVAL);
	if (unlikely(tree->set != roots->set)) {
		misused(roots->set, "tree %llu belongs to another set", tree->number);
		return ERR_PTR(-EINVAL);
	}
	rcu_read_lock();
	/* A: pairs with replace_root() */
	t = smp_load_acquire(&tree->newest);
	while (t && fs_generation_after(t->generation, roots->generation))
		t = READ_ONCE(t->older);
	if (t) {
		root = t->root;
		if (generation)
			*generation = t->generation;
	}
	rcu_read_unlock();
	return root;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_of);

/* --- the committer ------------------------------------------------------- */

static int add_spare_root(struct commit_root_set *set, gfp_t gfp)
{
	struct commit_tree_root *t = kmalloc(sizeof(*t), gfp);

	if (!t)
		return -ENOMEM;
	raw_spin_lock_irq(&set->lock);
	list_add(&t->node, &set->spare);
	set->nr_spare++;
	raw_spin_unlock_irq(&set->lock);
	return 0;
}

/* Allocate until there is a spare root for each tree. */
static int make_spare_roots(struct commit_root_set *set, gfp_t gfp)
{
	int ret = 0;

	while (!ret && READ_ONCE(set->nr_spare) < READ_ONCE(set->nr_trees))
		ret = add_spare_root(set, gfp);
	return ret;
}

static struct commit_roots *new_roots(struct commit_root_set *set, u64 generation, gfp_t gfp)
{
	struct commit_roots *roots = kzalloc(sizeof(*roots), gfp);

	if (!roots)
		return ERR_PTR(-ENOMEM);
	roots->pins = kvcalloc(nr_cpu_ids, L1_CACHE_BYTES, gfp);
	if (!roots->pins || make_spare_roots(set, gfp)) {
		free_roots(roots);
		return ERR_PTR(-ENOMEM);
	}
	roots->set = set;
	roots->generation = generation;
	INIT_LIST_HEAD(&roots->added);
	INIT_LIST_HEAD(&roots->last);
	return roots;
}

/**
 * commit_root_prepare() - prepare a commit
 * @set: the set
 * @generation: of the commit; later than that of the last commit, neither 0 nor ~0
 * @gfp: as for kmalloc()
 *
 * One commit at a time. Allocates all that the commit needs, whichever trees it updates: later
 * calls for this commit do not fail for lack of memory, also for trees that are added meanwhile.
 * So prepare before the part of the commit in which a failure is fatal.
 *
 * Context: as @gfp allows; interrupts are enabled.
 * Return: roots for commit_root_update(), then commit_root_switch() or commit_root_cancel(). An
 * error has changed nothing: ERR_PTR(-ENOMEM); ERR_PTR(-EINVAL), with a warning, for a generation
 * out of range; ERR_PTR(-EBUSY), with a warning, if another commit is prepared or
 * commit_root_set_destroy() has begun.
 */
struct commit_roots *commit_root_prepare(struct commit_root_set *set, u64 generation, gfp_t gfp)
{
	struct commit_roots *roots;
	u64 min = 1, max = ~0ULL - 1;

	if (atomic_xchg(&set->preparing, 1)) {
		misused(set, "two commits are prepared at once, or a destroyed set is used");
		return ERR_PTR(-EBUSY);
	}
	/* no other task changes @set->roots now */
	if (set->roots) {
		min = set->roots->generation + 1;
		max = set->roots->generation + S64_MAX;
	}
	if (!fs_generation_known(generation) || generation - min > max - min) {
		misused(set, "commit of generation %llu: must be %llu to %llu", generation, min,
			max);
		roots = ERR_PTR(-EINVAL);
	} else {
		roots = new_roots(set, generation, gfp);
	}
	if (IS_ERR(roots))
		atomic_set_release(&set->preparing, 0);
	return roots;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_prepare);

/**
 * commit_root_update() - set the root of a tree in a prepared commit
 * @next: from commit_root_prepare()
 * @tree: the tree
 * @root: pointer of the filesystem, not NULL; passed to &commit_root_ops.release in the end
 *
 * Other trees keep their roots. @root is released once for each update: update only trees that
 * have changed, or take a reference to @root for each update.
 *
 * Context: any but NMI; one call at a time for @next.
 * Return: 0; -EEXIST if this commit already has an update of @tree; -EINVAL, with a warning, for a
 * tree of another set or no root; -ENOMEM, with a warning, only if this code has a bug. After an
 * error @root stays the caller's.
 */
int commit_root_update(struct commit_roots *next, struct commit_tree *tree, void *root)
{
	struct commit_root_set *set = next->set;
	struct commit_tree_root *t = NULL;
	unsigned long irqflags;
	int ret = -EEXIST;

	if (tree->set != set || !root) {
		misused(set, "tree %llu %s", tree->number,
			root ? "belongs to another set" : "is updated without a root");
		return -EINVAL;
	}
	raw_spin_lock_irqsave(&set->lock, irqflags);
	if (!tree->updated) {
		t = list_first_entry_or_null(&set->spare, struct commit_tree_root, node);
		/* each tree that is not updated has one */
		ret = WARN_ON_ONCE(!t) ? -ENOMEM : 0;
	}
	if (!ret) {
		set->nr_spare--;
		list_move_tail(&t->node, &next->added);
		t->tree = tree;
		t->root = root;
		t->number = tree->number;
		tree->updated = true;
	}
	raw_spin_unlock_irqrestore(&set->lock, irqflags);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_update);

/* The new root of a tree replaces one that @old is the last commit to have. */
static void replace_root(struct commit_tree_root *new, u64 generation, struct commit_roots *old)
{
	struct commit_tree *tree = new->tree;

	tree->updated = false;
	new->generation = generation;
	new->newer = NULL;
	new->older = tree->newest;
	if (new->older) {
		new->older->newer = new;
		list_move_tail(&new->older->node, &old->last);
	}
	/*
	 * A: pairs with commit_root_of(). Pins of older commits pass over @new; there is no pin of
	 * @generation yet.
	 */
	smp_store_release(&tree->newest, new);
}

/* Interrupts are on after each root: a commit may have many. */
static void replace_roots(struct commit_roots *next, struct commit_roots *old)
{
	struct commit_root_set *set = next->set;
	struct commit_tree_root *t;

	do {
		raw_spin_lock_irq(&set->lock);
		t = list_first_entry_or_null(&next->added, struct commit_tree_root, node);
		if (t) {
			list_move_tail(&t->node, &set->newest);
			replace_root(t, next->generation, old);
		}
		raw_spin_unlock_irq(&set->lock);
	} while (t);
}

/**
 * commit_root_switch() - publish the roots of a commit
 * @next: from commit_root_prepare(); belongs to the set afterwards
 *
 * Switches all trees at once, and does not wait for readers: none of them searches with a lock
 * held that the switch takes. Call it before anyone can see the next generation running. It takes
 * a step for each tree that was updated, and none for other trees.
 *
 * Context: process context, with interrupts enabled; does not sleep.
 */
void commit_root_switch(struct commit_roots *next)
{
	struct commit_root_set *set = next->set;
	unsigned long slept = current->nvcsw;
	/* only this task changes it */
	struct commit_roots *old = set->roots;
	u64 generation = next->generation;
	unsigned int nr_kept;

	replace_roots(next, old);
	raw_spin_lock_irq(&set->lock);
	list_add_tail(&next->node, &set->all);
	nr_kept = ++set->nr_kept;
	if (old) {
		list_splice_tail_init(&set->deleted, &old->last);
		/* C: pairs with __commit_root_uncount() */
		WRITE_ONCE(old->replaced, true);
	} else {
		move_reusable(set);
		/* from no pin, also if generations begin late */
		atomic64_set(&set->wanted, generation);
	}
	/* A: pairs with commit_root_pin(): readers that see @next see its roots */
	smp_store_release(&set->roots, next);
	/* A: readers that see the generation can pin its roots */
	atomic64_set_release(&set->running, generation + 1);
	raw_spin_unlock_irq(&set->lock);
	atomic_set_release(&set->preparing, 0);

	if (old)
		queue_work(set->wq, &set->work);
	count(set, COMMIT_ROOT_SWITCH);
	if (unlikely(current->nvcsw != slept))
		count(set, COMMIT_ROOT_SLEPT);
	trace_commit_root_switch(set->name, generation, atomic64_read(&set->reusable), nr_kept);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_switch);

/**
 * commit_root_cancel() - abandon a prepared commit
 * @next: from commit_root_prepare(); NULL and ERR_PTR() have no effect
 *
 * The roots that were passed to commit_root_update() stay the caller's.
 *
 * Context: process context; may sleep.
 */
void commit_root_cancel(struct commit_roots *next)
{
	struct commit_root_set *set;
	struct commit_tree_root *t, *n;

	if (IS_ERR_OR_NULL(next))
		return;
	set = next->set;
	/* no other task has seen these roots */
	list_for_each_entry_safe(t, n, &next->added, node) {
		raw_spin_lock_irq(&set->lock);
		t->tree->updated = false;
		list_move(&t->node, &set->spare);
		set->nr_spare++;
		raw_spin_unlock_irq(&set->lock);
	}
	free_roots(next);
	atomic_set_release(&set->preparing, 0);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_cancel);

/**
 * commit_root_want_space() - ask readers to unpin old roots
 * @set: the set
 *
 * Readers poll it with commit_root_wanted(), which is true for pins of all commits but the newest
 * one. This call does not wait for them.
 *
 * Context: any but NMI.
 */
void commit_root_want_space(struct commit_root_set *set)
{
	s64 wanted = atomic64_read(&set->wanted);
	u64 newest = atomic64_read(&set->running) - 1;

	/* beside a later call, this one changes nothing */
	while (fs_generation_after(newest, wanted))
		if (atomic64_try_cmpxchg(&set->wanted, &wanted, newest))
			break;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_want_space);

/* --- debugfs ------------------------------------------------------------- */

static const char * const event_names[NR_COMMIT_ROOT_EVENTS] = {
	[COMMIT_ROOT_PIN] = "pins",
	[COMMIT_ROOT_SWITCH] = "switches",
	[COMMIT_ROOT_SLEPT] = "switches_slept",
	[COMMIT_ROOT_RELEASE] = "roots_released",
	[COMMIT_ROOT_MISUSE] = "misuses",
};

static DEFINE_MUTEX(sets_mutex);
static LIST_HEAD(sets);

static void show_set(struct seq_file *m, struct commit_root_set *set)
{
	struct commit_roots *roots;
	unsigned int nr, cpu;
	unsigned long sum;
	u64 oldest = 0;
	int i;

	raw_spin_lock_irq(&set->lock);
	nr = set->nr_kept;
	roots = oldest_roots(set);
	if (roots)
		oldest = roots->generation;
	raw_spin_unlock_irq(&set->lock);
	seq_printf(m, "%s running=%lld reusable=%lld oldest=%llu kept=%u\n", set->name,
		   atomic64_read(&set->running), atomic64_read(&set->reusable), oldest, nr);
	for (i = 0; i < NR_COMMIT_ROOT_EVENTS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(set->counts, cpu)->nr[i]);
		seq_printf(m, "  %s %lu\n", event_names[i], sum);
	}
}

static int commit_roots_show(struct seq_file *m, void *unused)
{
	struct commit_root_set *set;

	mutex_lock(&sets_mutex);
	list_for_each_entry(set, &sets, node)
		show_set(m, set);
	mutex_unlock(&sets_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(commit_roots);

/* --- trees and sets ------------------------------------------------------ */

/**
 * commit_tree_init() - add a tree
 * @tree: the tree
 * @set: the set of its filesystem
 *
 * The next commit may update it, also if that is prepared already.
 *
 * Context: process context; may sleep, and allocates one root with GFP_KERNEL: call
 * memalloc_nofs_save() first within a transaction or under a lock that reclaim takes. It waits
 * until there is memory.
 */
void commit_tree_init(struct commit_tree *tree, struct commit_root_set *set)
{
	tree->set = set;
	tree->updated = false;
	tree->newest = NULL;
	raw_spin_lock_irq(&set->lock);
	tree->number = ++set->last_tree;
	set->nr_trees++;
	raw_spin_unlock_irq(&set->lock);
	add_spare_root(set, GFP_KERNEL | __GFP_NOFAIL);
}
EXPORT_SYMBOL_FSCOMMIT(commit_tree_init);

/**
 * commit_tree_destroy() - delete a tree
 * @tree: the tree; a prepared commit must not have an update of it
 *
 * The caller stops commit_root_of() of @tree first. The next commit drops the root of @tree,
 * which is released when no pin has it.
 *
 * Context: process context; does not sleep.
 */
void commit_tree_destroy(struct commit_tree *tree)
{
	struct commit_root_set *set = tree->set;
	struct commit_tree_root *surplus = NULL;

	raw_spin_lock_irq(&set->lock);
	/* once commit_root_set_destroy() has begun, no commit follows: the last one has the root */
	if (tree->newest && set->roots)
		list_move_tail(&tree->newest->node, &set->deleted);
	if (set->nr_spare > --set->nr_trees) {
		surplus = list_first_entry(&set->spare, struct commit_tree_root, node);
		list_del(&surplus->node);
		set->nr_spare--;
	}
	raw_spin_unlock_irq(&set->lock);
	kfree(surplus);
	tree->set = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(commit_tree_destroy);

/**
 * commit_root_set_init() - initialise the committed roots of a filesystem
 * @set: the set; not on a stack, since it has a work item
 * @name: for messages and debugfs; not copied
 * @ops: operations of the filesystem
 * @private: for @ops
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int commit_root_set_init(struct commit_root_set *set, const char *name,
			 const struct commit_root_ops *ops, void *private)
{
	*set = (struct commit_root_set) {
		.name = name,
		.ops = ops,
		.private = private,
	};
	set->counts = alloc_percpu(struct commit_root_counts);
	if (!set->counts)
		return -ENOMEM;
	/*
	 * Ordered: one release at a time. Reclaim may depend on it, and tasks that need space may
	 * wait for it beside busy CPUs. The name has 23 characters at most, which every kernel
	 * keeps.
	 */
	set->wq = alloc_ordered_workqueue("fscommit_%.14s", WQ_MEM_RECLAIM | WQ_HIGHPRI, name);
	if (!set->wq) {
		free_percpu(set->counts);
		return -ENOMEM;
	}
	raw_spin_lock_init(&set->lock);
	init_completion(&set->released);
	INIT_WORK(&set->work, release_work);
	INIT_LIST_HEAD(&set->all);
	INIT_LIST_HEAD(&set->newest);
	INIT_LIST_HEAD(&set->deleted);
	INIT_LIST_HEAD(&set->spare);
	/* no known generation is below 1: no request is eligible before the first commit */
	atomic64_set(&set->running, 1);
	mutex_lock(&sets_mutex);
	list_add_tail(&set->node, &sets);
	mutex_unlock(&sets_mutex);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_set_init);

/**
 * commit_root_set_destroy() - destroy the committed roots of a filesystem
 * @set: the set
 *
 * Waits until the last pin has been dropped, and until all roots have been released by
 * &commit_root_ops.release. A task that waits here for long is in the reports of hung tasks. The
 * caller stops new pins and commits first: @set may be freed afterwards. Trees need no
 * commit_tree_destroy() before.
 *
 * If a commit is prepared, it warns and does nothing: switch or cancel, then call it again.
 *
 * Context: process context; may sleep, at least for a grace period of RCU.
 */
void commit_root_set_destroy(struct commit_root_set *set)
{
	struct commit_tree_root *t, *n;
	struct commit_roots *roots;

	if (atomic_xchg(&set->preparing, 1)) {
		misused(set, "destroyed with a commit in preparation");
		return;
	}
	roots = set->roots;
	if (roots) {
		raw_spin_lock_irq(&set->lock);
		list_splice_tail_init(&set->deleted, &roots->last);
		list_splice_tail_init(&set->newest, &roots->last);
		WRITE_ONCE(roots->replaced, true);
		/* B, C: pairs with commit_root_pin(): a count that comes late finds the mark */
		smp_store_release(&set->roots, NULL);
		raw_spin_unlock_irq(&set->lock);
		queue_work(set->wq, &set->work);
		wait_for_completion(&set->released);
	}
	/* D: a task that has just dropped a count may still queue the work */
	synchronize_rcu();
	mutex_lock(&sets_mutex);
	list_del(&set->node);
	mutex_unlock(&sets_mutex);
	destroy_workqueue(set->wq);
	list_for_each_entry_safe(t, n, &set->spare, node)
		kfree(t);
	free_percpu(set->counts);
	set->counts = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_set_destroy);

/* --- setup --------------------------------------------------------------- */

void __init commit_root_setup(struct dentry *debugfs)
{
	debugfs_create_file("commit_roots", 0400, debugfs, NULL, &commit_roots_fops);
}

void commit_root_teardown(void)
{
	/* free_roots_rcu() */
	rcu_barrier();
}
