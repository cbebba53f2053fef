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
 *
 * With track_pins, each pin is in a list of its set, under a lock: for debugging. The committer
 * takes that lock only to report the oldest pin.
 */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <linux/commit_root.h>

#include "internal.h"
#include "trace.h"

FSCOMMIT_PARAM(track_pins, 0, 0, 1);
MODULE_PARM_DESC(track_pins,
		 "record the owner of each pin, for sets initialised later; 0 or 1, default 0");

FSCOMMIT_PARAM(commit_root_oracle, 0, 0, 1);
MODULE_PARM_DESC(commit_root_oracle,
		 "repeat committed searches in the live tree, report differences; 0 or 1, default 0");

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
	count(set, COMMIT_ROOT_MISUSE);						\
	WARN_ONCE(1, "fscommit: commit roots of %s: " fmt "\n", (set)->name,	\
		  ##__VA_ARGS__);						\
} while (0)

static inline struct commit_roots *oldest_roots(struct commit_root_set *set)
{
	lockdep_assert_held(&set->lock);
	return list_first_entry_or_null(&set->all, struct commit_roots, node);
}

static unsigned long sum_of(const struct commit_root_set *set, enum commit_root_event event)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(set->counts, cpu)->nr[event]);
	return sum;
}

/* The newest commit, unless commit_root_set_destroy() has replaced it. */
static struct commit_roots *current_roots(const struct commit_root_set *set)
{
	struct commit_roots *roots;

	lockdep_assert_held(&set->lock);
	if (list_empty(&set->all))
		return NULL;
	roots = list_last_entry(&set->all, struct commit_roots, node);
	return roots->replaced ? NULL : roots;
}

/* --- release ------------------------------------------------------------- */

/* Blocks freed up to the generation of the oldest roots may be reused. */
static void move_reusable(struct commit_root_set *set)
{
	struct commit_roots *oldest = oldest_roots(set);

	/* F: pairs with commit_root_reusable() */
	if (oldest)
		atomic64_set_release(&set->reusable, oldest->generation);
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

	/* only the work removes commits from the list: @older stays */
	raw_spin_lock_irq(&set->lock);
	roots->unpinned = true;
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
	move_reusable(set);
	raw_spin_unlock_irq(&set->lock);
	/* D: pairs with commit_root_pin() and __commit_root_uncount() */
	call_rcu(&roots->rcu, free_roots_rcu);
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

/*
 * True while a trace event of pins is enabled, or a set tracks its pins. Exported only for the
 * inline functions of the header.
 */
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

/* The list is ordered by age. */
static void track(struct commit_pin *pin)
{
	struct commit_root_set *set = pin->set;
	unsigned long irqflags;

	pin->since = jiffies;
	pin->pid = task_pid_nr(current);
	memcpy(pin->comm, current->comm, sizeof(pin->comm));
	raw_spin_lock_irqsave(&set->track_lock, irqflags);
	list_add_tail(&pin->node, &set->tracks);
	raw_spin_unlock_irqrestore(&set->track_lock, irqflags);
}

static void untrack(struct commit_pin *pin)
{
	struct commit_root_set *set = pin->set;
	unsigned long irqflags;

	raw_spin_lock_irqsave(&set->track_lock, irqflags);
	list_del(&pin->node);
	raw_spin_unlock_irqrestore(&set->track_lock, irqflags);
}

/**
 * __commit_root_pinned() - trace and track a pin
 * @pin: just taken
 *
 * Context: as commit_root_pin().
 */
void __commit_root_pinned(struct commit_pin *pin)
{
	trace_commit_root_pin(pin->set->name, pin->roots->generation);
	if (pin->set->tracked)
		track(pin);
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_pinned);

/**
 * __commit_root_unpinned() - trace and untrack a pin
 * @pin: about to be dropped
 *
 * Context: as commit_root_pin().
 */
void __commit_root_unpinned(struct commit_pin *pin)
{
	trace_commit_root_unpin(pin->set->name, pin->roots->generation);
	if (pin->set->tracked)
		untrack(pin);
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_unpinned);

/**
 * __commit_root_refused() - count a pin that found no roots
 * @set: the set
 *
 * Context: as commit_root_pin().
 * Return: -ENODATA before the first commit, -ESHUTDOWN after commit_root_set_destroy() began.
 */
int __commit_root_refused(struct commit_root_set *set)
{
	count(set, COMMIT_ROOT_REFUSED);
	return READ_ONCE(set->ending) ? -ESHUTDOWN : -ENODATA;
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_refused);

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
 * commit_root_generation() - generation of the pinned commit
 * @pin: the pin
 *
 * Context: any.
 * Return: the generation; 0 for a pin that is not held.
 */
u64 commit_root_generation(const struct commit_pin *pin)
{
	return pin->roots ? pin->roots->generation : 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_generation);

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
bool commit_root_wanted(const struct commit_pin *pin)
{
	return pin->roots && fs_generation_after(atomic64_read(&pin->set->wanted),
						 pin->roots->generation);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_wanted);

/* --- search -------------------------------------------------------------- */

static void run_oracle(struct commit_search *s)
{
	struct commit_difference diff = { };

	if (!s->ops->compare || s->ops->compare(s, &diff))
		return;
	count(s->set, COMMIT_ROOT_DIFFERENCE);
	pr_err("fscommit: commit roots of %s: key %llu, generation %llu: \"%s\" in commit %llu, \"%s\" live\n",
	       s->set->name, diff.key, s->gen.max, diff.committed, s->generation, diff.live);
}

/* Returns -ENOENT if something is left to search. */
static int search_committed(struct commit_search *s)
{
	bool forced = s->mode == COMMIT_SEARCH_FORCED;
	struct commit_pin pin;
	int ret;

	if (!forced && !commit_root_eligible(s->set, &s->gen))
		return -ENOENT;
	ret = commit_root_pin(s->set, &pin);
	if (ret)
		return forced ? ret : -ENOENT;
	ret = -ENOENT;
	s->generation = commit_root_generation(&pin);
	if (forced || commit_root_covers(&pin, &s->gen)) {
		s->root = commit_root_of(&pin, s->tree, NULL);
		if (IS_ERR(s->root)) {
			ret = PTR_ERR(s->root);
		} else {
			s->committed = true;
			count(s->set, COMMIT_ROOT_COMMITTED);
			ret = s->ops->search(s);
			if (!ret && !forced && READ_ONCE(commit_root_oracle.value))
				run_oracle(s);
		}
		/* a commit that does not have the tree was not searched */
		if (ret == -ENOENT && s->committed) {
			s->missed = true;
			count(s->set, COMMIT_ROOT_MISS);
			trace_commit_root_miss(s->set->name, s->gen.max, s->generation);
		}
	}
	s->root = NULL;
	commit_root_unpin(&pin);
	return ret;
}

/**
 * commit_root_search() - search the committed tree, then the live tree for the remainder
 * @s: the search
 *
 * One pin covers the whole committed search, so one lookup sees one commit. It is dropped before
 * the live search.
 *
 * Context: as &commit_search_ops.search.
 * Return: 0 if all was found; -ENOENT if something is missing; any other error of
 * &commit_search_ops.search; -EINVAL, with a warning, for a tree of another set. With
 * COMMIT_SEARCH_FORCED also the errors of commit_root_pin(), and -ENOENT without
 * &commit_search.committed if the commit does not have the tree.
 */
int commit_root_search(struct commit_search *s)
{
	int ret;

	s->root = NULL;
	s->generation = 0;
	s->committed = false;
	s->missed = false;
	s->live = false;
	ret = search_committed(s);
	if (ret != -ENOENT || s->mode == COMMIT_SEARCH_FORCED)
		return ret;
	s->live = true;
	count(s->set, COMMIT_ROOT_LIVE);
	return s->ops->search(s);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_search);

/* --- the committer ------------------------------------------------------- */

static struct commit_roots *new_roots(struct commit_root_set *set, gfp_t gfp)
{
	struct commit_roots *roots;

	roots = kzalloc(sizeof(*roots), gfp);
	if (!roots)
		return NULL;
	roots->set = set;
	INIT_LIST_HEAD(&roots->added);
	INIT_LIST_HEAD(&roots->last);
	roots->pins = kvcalloc(nr_cpu_ids, L1_CACHE_BYTES, gfp);
	if (!roots->pins) {
		kfree(roots);
		return NULL;
	}
	return roots;
}

/* Allocate until there is a spare root for each tree. */
static int make_spare_roots(struct commit_root_set *set, gfp_t gfp)
{
	struct commit_tree_root *t;

	while (READ_ONCE(set->nr_spare) < READ_ONCE(set->nr_trees)) {
		t = kmalloc(sizeof(*t), gfp);
		if (!t)
			return -ENOMEM;
		raw_spin_lock_irq(&set->lock);
		list_add(&t->node, &set->spare);
		set->nr_spare++;
		raw_spin_unlock_irq(&set->lock);
	}
	return 0;
}

/**
 * commit_root_prepare() - prepare a commit
 * @set: the set
 * @gfp: as for kmalloc()
 *
 * One commit at a time. Allocates all that the commit needs, whichever trees it updates: later
 * calls for this commit do not fail for lack of memory, also for trees that are added meanwhile.
 * So prepare before the part of the commit in which a failure is fatal.
 *
 * Context: as @gfp allows; interrupts are enabled.
 * Return: roots for commit_root_update(), then commit_root_switch() or commit_root_cancel();
 * ERR_PTR(-ENOMEM) with nothing changed; ERR_PTR(-EBUSY), with a warning, if another commit is
 * prepared; ERR_PTR(-ESHUTDOWN) after commit_root_set_destroy() began.
 */
struct commit_roots *commit_root_prepare(struct commit_root_set *set, gfp_t gfp)
{
	struct commit_roots *roots;
	unsigned long irqflags;
	bool ending, busy;

	raw_spin_lock_irqsave(&set->lock, irqflags);
	ending = set->ending;
	busy = READ_ONCE(set->preparing);
	if (!ending && !busy)
		WRITE_ONCE(set->preparing, true);
	raw_spin_unlock_irqrestore(&set->lock, irqflags);
	if (ending)
		return ERR_PTR(-ESHUTDOWN);
	if (busy) {
		misused(set, "two commits are prepared at once");
		return ERR_PTR(-EBUSY);
	}
	roots = new_roots(set, gfp);
	if (!roots || make_spare_roots(set, gfp)) {
		if (roots)
			free_roots(roots);
		WRITE_ONCE(set->preparing, false);
		return ERR_PTR(-ENOMEM);
	}
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
int commit_root_update(struct commit_roots *next, const struct commit_tree *tree, void *root)
{
	/* const for the caller; its fields are ours */
	struct commit_tree *updated = (struct commit_tree *)tree;
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
	if (!updated->updated) {
		t = list_first_entry_or_null(&set->spare, struct commit_tree_root, node);
		/* there is one for each tree: see make_spare_roots() */
		ret = WARN_ON_ONCE(!t) ? -ENOMEM : 0;
	}
	if (!ret) {
		set->nr_spare--;
		list_move_tail(&t->node, &next->added);
		t->tree = updated;
		t->root = root;
		t->number = tree->number;
		updated->updated = true;
	}
	raw_spin_unlock_irqrestore(&set->lock, irqflags);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_update);

/* For commit_roots.replaced: never 0, and never in the future. */
static unsigned long nonzero_jiffies(void)
{
	return (jiffies - 1) | 1;
}

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
 * @generation: of the commit; later than that of the last commit, neither 0 nor ~0
 *
 * Switches all trees at once, and does not wait for readers: none of them searches with a lock
 * held that the switch takes. Call it before anyone can see the next generation running. It takes
 * a step for each tree that was updated, and none for other trees.
 *
 * Context: process context, with interrupts enabled; does not sleep.
 * Return: 0; -EINVAL, with a warning, for a generation out of range or after
 * commit_root_set_destroy() began: nothing has changed, and @next stays the caller's.
 */
int commit_root_switch(struct commit_roots *next, u64 generation)
{
	struct commit_root_set *set = next->set;
	unsigned long slept = current->nvcsw;
	struct commit_roots *old;
	unsigned int nr_kept;
	bool ending;
	u64 last;

	raw_spin_lock_irq(&set->lock);
	old = current_roots(set);
	ending = set->ending;
	raw_spin_unlock_irq(&set->lock);
	last = old ? old->generation : 0;
	if (unlikely(!fs_generation_known(generation) || ending ||
		     (old && !fs_generation_after(generation, last)))) {
		misused(set, "switch to generation %llu: must be %llu to %llu", generation,
			last + 1, last + S64_MAX);
		return -EINVAL;
	}
	next->generation = generation;
	replace_roots(next, old);
	raw_spin_lock_irq(&set->lock);
	list_add_tail(&next->node, &set->all);
	nr_kept = ++set->nr_kept;
	if (old) {
		list_splice_tail_init(&set->deleted, &old->last);
		/* C: pairs with __commit_root_uncount() */
		WRITE_ONCE(old->replaced, nonzero_jiffies());
	} else {
		move_reusable(set);
		/* from no pin, also if generations begin late */
		atomic64_set(&set->wanted, generation);
	}
	/* A: pairs with commit_root_pin(): readers that see @next see its roots */
	smp_store_release(&set->roots, next);
	/* A: readers that see the generation can pin its roots */
	atomic64_set_release(&set->running, generation + 1);
	WRITE_ONCE(set->preparing, false);
	raw_spin_unlock_irq(&set->lock);

	if (old)
		queue_work(set->wq, &set->work);
	count(set, COMMIT_ROOT_SWITCH);
	if (unlikely(current->nvcsw != slept))
		count(set, COMMIT_ROOT_SLEPT);
	trace_commit_root_switch(set->name, generation, atomic64_read(&set->reusable), nr_kept);
	return 0;
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
	WRITE_ONCE(set->preparing, false);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_cancel);

static bool oldest_tracked(struct commit_root_set *set, struct commit_pin_info *info)
{
	struct commit_pin *pin;

	raw_spin_lock_irq(&set->track_lock);
	pin = list_first_entry_or_null(&set->tracks, struct commit_pin, node);
	if (pin) {
		info->generation = pin->roots->generation;
		info->age_ms = jiffies_to_msecs(jiffies - pin->since);
		info->pid = pin->pid;
		memcpy(info->comm, pin->comm, sizeof(info->comm));
	}
	raw_spin_unlock_irq(&set->track_lock);
	return pin;
}

/**
 * commit_root_oldest_pin() - find the pin that keeps freed blocks from being reused
 * @set: the set
 * @info: filled in
 *
 * Without track_pins, pins of the newest roots are not seen. Older roots count as pinned until the
 * work of the set has looked at them.
 *
 * Context: process context; does not sleep.
 * Return: true if there is a pin.
 */
bool commit_root_oldest_pin(struct commit_root_set *set, struct commit_pin_info *info)
{
	struct commit_roots *roots;
	bool found = false;

	memset(info, 0, sizeof(*info));
	if (set->tracked)
		return oldest_tracked(set, info);
	raw_spin_lock_irq(&set->lock);
	list_for_each_entry(roots, &set->all, node) {
		if (!roots->replaced)
			break;
		if (roots->unpinned)
			continue;
		info->generation = roots->generation;
		info->age_ms = jiffies_to_msecs(jiffies - roots->replaced);
		found = true;
		break;
	}
	raw_spin_unlock_irq(&set->lock);
	return found;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_oldest_pin);

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
	[COMMIT_ROOT_REFUSED] = "pins_refused",
	[COMMIT_ROOT_SWITCH] = "switches",
	[COMMIT_ROOT_SLEPT] = "switches_slept",
	[COMMIT_ROOT_RELEASE] = "roots_released",
	[COMMIT_ROOT_COMMITTED] = "searches_committed",
	[COMMIT_ROOT_MISS] = "misses",
	[COMMIT_ROOT_LIVE] = "searches_live",
	[COMMIT_ROOT_DIFFERENCE] = "differences",
	[COMMIT_ROOT_MISUSE] = "misuses",
};

static DEFINE_MUTEX(sets_mutex);
static LIST_HEAD(sets);

static void list_set(struct commit_root_set *set)
{
	mutex_lock(&sets_mutex);
	list_add_tail(&set->node, &sets);
	mutex_unlock(&sets_mutex);
}

static void unlist_set(struct commit_root_set *set)
{
	mutex_lock(&sets_mutex);
	list_del(&set->node);
	mutex_unlock(&sets_mutex);
}

static void show_set(struct seq_file *m, struct commit_root_set *set)
{
	struct commit_roots *roots;
	unsigned int i, nr;
	u64 oldest = 0;

	raw_spin_lock_irq(&set->lock);
	nr = set->nr_kept;
	roots = oldest_roots(set);
	if (roots)
		oldest = roots->generation;
	raw_spin_unlock_irq(&set->lock);
	seq_printf(m, "%s running=%lld reusable=%lld oldest=%llu kept=%u\n", set->name,
		   atomic64_read(&set->running), atomic64_read(&set->reusable), oldest, nr);
	for (i = 0; i < NR_COMMIT_ROOT_EVENTS; i++)
		seq_printf(m, "  %s %lu\n", event_names[i], sum_of(set, i));
}

/* Only some, because interrupts are off. */
static void show_oldest_pins(struct seq_file *m, struct commit_root_set *set)
{
	struct commit_pin *pin;
	unsigned int left = 32;

	raw_spin_lock_irq(&set->track_lock);
	list_for_each_entry(pin, &set->tracks, node) {
		if (!left--)
			break;
		seq_printf(m, "  pin generation=%llu comm=%s pid=%d age_ms=%u\n",
			   pin->roots->generation, pin->comm, pin->pid,
			   jiffies_to_msecs(jiffies - pin->since));
	}
	raw_spin_unlock_irq(&set->track_lock);
}

static int commit_roots_show(struct seq_file *m, void *unused)
{
	struct commit_root_set *set;

	mutex_lock(&sets_mutex);
	list_for_each_entry(set, &sets, node) {
		show_set(m, set);
		if (set->tracked)
			show_oldest_pins(m, set);
	}
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
 * Context: process context; may sleep, and allocates with GFP_KERNEL: call memalloc_nofs_save()
 * first within a transaction or under a lock that reclaim takes. It waits until there is memory.
 * Return: 0.
 */
int commit_tree_init(struct commit_tree *tree, struct commit_root_set *set)
{
	tree->set = set;
	tree->updated = false;
	tree->newest = NULL;
	raw_spin_lock_irq(&set->lock);
	tree->number = ++set->last_tree;
	set->nr_trees++;
	raw_spin_unlock_irq(&set->lock);
	return make_spare_roots(set, GFP_KERNEL | __GFP_NOFAIL);
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

	raw_spin_lock_irq(&set->lock);
	/* once commit_root_set_destroy() has begun, no commit follows: the last one has the root */
	if (tree->newest && !set->ending)
		list_move_tail(&tree->newest->node, &set->deleted);
	set->nr_trees--;
	raw_spin_unlock_irq(&set->lock);
	tree->set = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(commit_tree_destroy);

/**
 * __commit_root_set_init() - initialise a set
 * @set: the set
 * @name: for messages and debugfs; not copied
 * @ops: operations of the filesystem
 * @private: for @ops
 * @key: of the lockdep class
 *
 * Called by commit_root_set_init().
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int __commit_root_set_init(struct commit_root_set *set, const char *name,
			   const struct commit_root_ops *ops, void *private,
			   struct lock_class_key *key)
{
	*set = (struct commit_root_set) {
		.name = name,
		.ops = ops,
		.private = private,
		.tracked = READ_ONCE(track_pins.value),
	};
	set->counts = alloc_percpu(struct commit_root_counts);
	if (!set->counts)
		return -ENOMEM;
	/*
	 * Ordered: one release at a time. Reclaim may depend on it. The name has 23 characters at
	 * most, which every kernel keeps.
	 */
	set->wq = alloc_ordered_workqueue("fscommit_%.14s", WQ_MEM_RECLAIM, name);
	if (!set->wq) {
		free_percpu(set->counts);
		return -ENOMEM;
	}
	if (set->tracked)
		commit_root_watch_pins();
	raw_spin_lock_init(&set->lock);
	raw_spin_lock_init(&set->track_lock);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lockdep_init_map(&set->dep_map, "commit_root_pin", key, 0);
#endif
	INIT_WORK(&set->work, release_work);
	INIT_LIST_HEAD(&set->all);
	INIT_LIST_HEAD(&set->tracks);
	INIT_LIST_HEAD(&set->newest);
	INIT_LIST_HEAD(&set->deleted);
	INIT_LIST_HEAD(&set->spare);
	/* no known generation is below 1: no request is eligible before the first commit */
	atomic64_set(&set->running, 1);
	list_set(set);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_set_init);

static void report_oldest_pin(struct commit_root_set *set, u64 generation)
{
	struct commit_pin_info info;

	if (set->tracked && commit_root_oldest_pin(set, &info))
		pr_err("fscommit: commit roots of %s: generation %llu is still pinned, by %s[%d] for %llu ms\n",
		       set->name, info.generation, info.comm, info.pid, info.age_ms);
	else
		pr_err("fscommit: commit roots of %s: generation %llu is still pinned\n",
		       set->name, generation);
}

/**
 * commit_root_set_destroy() - destroy the committed roots of a filesystem
 * @set: the set
 *
 * From the first call on, new pins and commits fail, also after -EBUSY. Callers must stop new
 * pins first: @set may be freed when this returns 0. If there is no pin, it waits until all roots
 * have been released by &commit_root_ops.release. Trees need no commit_tree_destroy() before.
 *
 * Context: process context; may sleep, for two grace periods of RCU.
 * Return: 0; -EBUSY if roots are pinned, which the log reports, or, with a warning, if a commit
 * is prepared: unpin or cancel, then call it again.
 */
int commit_root_set_destroy(struct commit_root_set *set)
{
	struct commit_tree_root *t, *n;
	struct commit_roots *roots;
	bool preparing;
	u64 generation;

	raw_spin_lock_irq(&set->lock);
	roots = current_roots(set);
	/* a pin that finds no roots reads this without the lock */
	WRITE_ONCE(set->ending, true);
	preparing = READ_ONCE(set->preparing);
	if (roots && !preparing) {
		list_splice_tail_init(&set->deleted, &roots->last);
		list_splice_tail_init(&set->newest, &roots->last);
		WRITE_ONCE(roots->replaced, nonzero_jiffies());
	}
	/* C: a late count finds the mark, if there is one; else the next call sets it */
	smp_store_release(&set->roots, NULL);
	raw_spin_unlock_irq(&set->lock);
	if (preparing) {
		misused(set, "destroyed with a commit in preparation");
		return -EBUSY;
	}
	if (roots)
		queue_work(set->wq, &set->work);
	/* a task in commit_root_pin() has a pin afterwards, or has failed and left no count */
	synchronize_rcu();
	flush_work(&set->work);
	raw_spin_lock_irq(&set->lock);
	roots = oldest_roots(set);
	generation = roots ? roots->generation : 0;
	raw_spin_unlock_irq(&set->lock);
	if (roots) {
		report_oldest_pin(set, generation);
		return -EBUSY;
	}
	/* D: a task that has just dropped the last count may still queue the work */
	synchronize_rcu();
	unlist_set(set);
	if (set->tracked)
		commit_root_unwatch_pins();
	destroy_workqueue(set->wq);
	list_for_each_entry_safe(t, n, &set->spare, node)
		kfree(t);
	free_percpu(set->counts);
	set->counts = NULL;
	return 0;
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
