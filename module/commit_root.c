// SPDX-License-Identifier: GPL-2.0
/*
 * Commit-root search: the committer's side, and what becomes of old roots. For the other
 * one see commit_root_read.c.
 *
 * The committed roots of all trees, as of one commit, are one object, struct
 * commit_roots. A set points to the newest one; replaced ones stay in its list, oldest
 * first, as long as they are pinned.
 *
 *  reader	pin: enter an SRCU read section (B), then take the pointer. unpin: leave
 *		it, on whichever CPU that is. Both count on their own CPU, and write no
 *		line that others do.
 *
 *  committer	prepare: allocate.
 *		switch: fill in the trees that this commit did not change, publish the
 *		pointer (A), then the generation; have SRCU call back when all who may
 *		have seen the roots before have left. The switch waits for none of it.
 *
 *  release	In a workqueue, from the oldest on, if nobody has it any more: the roots
 *		that the next commit has no more go to the filesystem, then the
 *		generation up to which blocks may be reused moves on. So one old pin
 *		keeps all later roots, too: they may share blocks with it.
 *
 * SRCU (Paul McKenney) is made for read sections that sleep; it counts them in turn in one of
 * two sets of counters, so an old one holds up the next callbacks, which is the order that
 * we want. commit_root_pin_again() cannot enter a section of the past: it counts on the
 * roots themselves.
 *
 * With track_pins, each pin is in a list of its set, under a lock: for debugging. The
 * committer never takes that lock, except where it asks for the oldest pin.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/commit_root.h>

#include "commit_roots.h"
#include "compat.h"
#include "trace.h"

static bool track_pins;
module_param(track_pins, bool, 0644);
MODULE_PARM_DESC(track_pins,
		 "know the owner of each pin of committed roots; for sets that are made from then on; default off");

static struct workqueue_struct *release_wq;

static struct commit_roots *current_roots(const struct commit_root_set *set)
{
	return rcu_dereference_protected(set->roots, lockdep_is_held(&set->lock));
}

/* --- release ------------------------------------------------------------- */

/* After that, freed blocks up to the generation of the oldest roots may be reused. */
static void move_reusable(struct commit_root_set *set)
{
	struct commit_roots *oldest = oldest_roots(set);

	/* F: pairs with commit_root_reusable() */
	if (oldest)
		atomic64_set_release(&set->reusable, oldest->generation);
}

static bool is_still_in(const struct tree_root *old, unsigned int slot,
			const struct commit_roots *next)
{
	const struct tree_root *t;

	if (!next || slot >= next->capacity)
		return false;
	t = &next->tree[slot];
	return t->tree == old->tree && t->root == old->root && t->generation == old->generation;
}

static void release_those_replaced(struct commit_roots *roots, const struct commit_roots *next)
{
	struct commit_root_set *set = roots->set;
	unsigned int i;

	for (i = 0; i < roots->capacity; i++) {
		const struct tree_root *t = &roots->tree[i];

		if (!t->tree || is_still_in(t, i, next))
			continue;
		count(set, COMMIT_ROOT_RELEASE);
		trace_commit_root_release(set->name, i, t->generation);
		set->ops->release(set->private, t->root, t->generation);
	}
}

static void release_work(struct work_struct *work)
{
	struct commit_root_set *set = container_of(work, struct commit_root_set, work);
	struct commit_roots *roots, *next;

	for (;;) {
		raw_spin_lock_irq(&set->lock);
		roots = oldest_roots(set);
		if (!roots || !roots->unpinned) {
			raw_spin_unlock_irq(&set->lock);
			return;
		}
		next = list_is_last(&roots->node, &set->all) ? NULL : list_next_entry(roots, node);
		raw_spin_unlock_irq(&set->lock);

		/* nobody else takes roots off the list: both stay */
		release_those_replaced(roots, next);

		raw_spin_lock_irq(&set->lock);
		list_del(&roots->node);
		move_reusable(set);
		raw_spin_unlock_irq(&set->lock);
		kvfree(roots);
	}
}

unsigned long sum_of(const struct commit_root_set *set, enum commit_root_event event)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(set->counts, cpu)->nr[event]);
	return sum;
}

void put_roots(struct commit_roots *roots)
{
	struct commit_root_set *set = roots->set;
	unsigned long irqflags;

	if (!atomic_dec_and_test(&roots->users))
		return;
	/* as one step: the roots, and the set with them, may go as soon as they are seen so */
	raw_spin_lock_irqsave(&set->lock, irqflags);
	roots->unpinned = true;
	queue_work(release_wq, &set->work);
	raw_spin_unlock_irqrestore(&set->lock, irqflags);
}

static void all_have_left(struct rcu_head *head)
{
	put_roots(container_of(head, struct commit_roots, head));
}

/* Nobody finds these roots any more. Called once, by who has replaced them. */
static void retire(struct commit_roots *roots)
{
	if (roots)
		call_srcu(&roots->set->pins, &roots->head, all_have_left);
}

/* --- the committer ------------------------------------------------------- */

/**
 * commit_root_prepare() - get ready for a switch
 * @set: the set
 * @gfp: as for kmalloc()
 *
 * One at a time, and after all trees that it is to have were added.
 *
 * The table of roots is 32 bytes for each tree there ever was at once.
 *
 * Context: as @gfp says; memory that need not be contiguous where that may sleep.
 * Return: what is to be filled in, then given to commit_root_switch() or
 * commit_root_cancel(); ERR_PTR(-ENOMEM) with nothing changed; ERR_PTR(-EBUSY), with a
 * warning, if another one is in preparation; ERR_PTR(-ESHUTDOWN) after
 * commit_root_set_destroy() began.
 */
struct commit_roots *commit_root_prepare(struct commit_root_set *set, gfp_t gfp)
{
	struct commit_roots *roots;
	unsigned long irqflags;
	unsigned int capacity;
	bool ending, busy;

	raw_spin_lock_irqsave(&set->lock, irqflags);
	ending = set->ending;
	busy = READ_ONCE(set->preparing);
	if (!ending)
		WRITE_ONCE(set->preparing, true);
	capacity = set->capacity;
	raw_spin_unlock_irqrestore(&set->lock, irqflags);
	if (ending)
		return ERR_PTR(-ESHUTDOWN);
	if (busy) {
		misused(set, "two commits are prepared at once");
		return ERR_PTR(-EBUSY);
	}
	roots = kvzalloc(struct_size(roots, tree, capacity), gfp);
	if (!roots) {
		WRITE_ONCE(set->preparing, false);
		return ERR_PTR(-ENOMEM);
	}
	roots->capacity = capacity;
	roots->set = set;
	atomic_set(&roots->users, 1);
	return roots;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_prepare);

/**
 * commit_root_update() - what the root of a tree is after the commit
 * @next: from commit_root_prepare()
 * @tree: the tree
 * @root: the filesystem's, not NULL; goes to &commit_root_ops.release in the end
 *
 * A tree that is not named keeps the root that it has. One that is named has a new root: name
 * those that have changed, or take a reference to @root for each time, since it is released as
 * often as it was named.
 *
 * Context: any.
 * Return: 0; -EAGAIN if @tree was added after commit_root_prepare(): cancel, and prepare
 * again; -EEXIST if it was named for this commit before; -EINVAL, with a warning, for a tree of
 * another set or no root. With an error @root stays the caller's.
 */
int commit_root_update(struct commit_roots *next, const struct commit_tree *tree, void *root)
{
	if (tree->set != next->set || !root) {
		misused(next->set, "%s of tree %llu, which is not one of them",
			root ? "root" : "no root", tree->number);
		return -EINVAL;
	}
	if (tree->slot >= next->capacity)
		return -EAGAIN;
	if (next->tree[tree->slot].tree)
		return -EEXIST;
	/* the generation is not known before the switch */
	next->tree[tree->slot] = (struct tree_root){ .tree = tree->number, .root = root };
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_update);

/* In jiffies, and never in the future. */
static unsigned long now_not_0(void)
{
	return (jiffies - 1) | 1;
}

static void fill_in(struct commit_roots *next, const struct commit_roots *old)
{
	unsigned int i;

	for (i = 0; i < next->capacity; i++) {
		struct tree_root *t = &next->tree[i];

		if (t->tree)
			t->generation = next->generation;
		else if (old && i < old->capacity && !old->tree[i].gone)
			*t = old->tree[i];
	}
}

/**
 * commit_root_switch() - from now on, these are the committed roots
 * @next: from commit_root_prepare(); belongs to the set afterwards
 * @generation: of the commit; later than that of the last one, neither 0 nor ~0
 *
 * All trees at once. It waits for no reader: no lock that it takes is held by one. It is
 * to be called before anybody can see the next generation running.
 *
 * Context: process context; does not sleep, but on PREEMPT_RT for a lock of SRCU.
 * Return: 0; or -EINVAL, with a warning, for a generation out of range: then nothing has
 * changed, and @next is still the caller's.
 */
int commit_root_switch(struct commit_roots *next, u64 generation)
{
	struct commit_root_set *set = next->set;
	unsigned long slept = current->nvcsw, irqflags;
	struct commit_roots *old;
	u64 last;

	raw_spin_lock_irqsave(&set->lock, irqflags);
	old = current_roots(set);
	last = old ? old->generation : 0;
	if (unlikely(!fs_generation_known(generation) || set->ending ||
		     (old && !fs_generation_after(generation, last)))) {
		raw_spin_unlock_irqrestore(&set->lock, irqflags);
		misused(set, "switch to generation %llu: must be %llu to %llu", generation,
			last + 1, last + S64_MAX);
		return -EINVAL;
	}
	next->generation = generation;
	fill_in(next, old);
	list_add_tail(&next->node, &set->all);
	if (!old)
		move_reusable(set);
	/* A: pairs with commit_root_pin(): who sees the roots sees what they are */
	rcu_assign_pointer(set->roots, next);
	/* and who sees the generation can pin its roots */
	atomic64_set_release(&set->running, generation + 1);
	if (old)
		WRITE_ONCE(old->replaced, now_not_0());
	WRITE_ONCE(set->preparing, false);
	raw_spin_unlock_irqrestore(&set->lock, irqflags);

	retire(old);
	count(set, COMMIT_ROOT_SWITCH);
	if (unlikely(current->nvcsw != slept))
		count(set, COMMIT_ROOT_SLEPT);
	trace_commit_root_switch(set->name, generation, atomic64_read(&set->reusable));
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_switch);

/**
 * commit_root_cancel() - a commit that is not to be
 * @next: from commit_root_prepare(); NULL or an error have no effect
 *
 * The roots that were given to commit_root_update() stay the caller's.
 *
 * Context: process context.
 */
void commit_root_cancel(struct commit_roots *next)
{
	struct commit_root_set *set;

	if (IS_ERR_OR_NULL(next))
		return;
	set = next->set;
	kvfree(next);
	WRITE_ONCE(set->preparing, false);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_cancel);

static bool oldest_tracked(struct commit_root_set *set, struct commit_pin_info *info)
{
	struct commit_pin *pin;

	spin_lock_irq(&set->track_lock);
	pin = list_first_entry_or_null(&set->tracks, struct commit_pin, node);
	if (pin) {
		info->generation = pin->roots->generation;
		info->age_ms = jiffies_to_msecs(jiffies - pin->since);
		info->pid = pin->pid;
		memcpy(info->comm, pin->comm, sizeof(info->comm));
	}
	spin_unlock_irq(&set->track_lock);
	return pin;
}

/**
 * commit_root_oldest_pin() - what keeps freed blocks from being reused?
 * @set: the set
 * @info: is filled in
 *
 * Without track_pins, pins of the newest roots are not known, and of older ones no more than
 * that there is one, or was until a moment ago.
 *
 * Context: process context; does not sleep.
 * Return: true if there is a pin.
 */
bool commit_root_oldest_pin(struct commit_root_set *set, struct commit_pin_info *info)
{
	struct commit_roots *oldest;
	bool found;

	memset(info, 0, sizeof(*info));
	if (set->tracked)
		return oldest_tracked(set, info);
	raw_spin_lock_irq(&set->lock);
	oldest = oldest_roots(set);
	found = oldest && oldest->replaced && !oldest->unpinned;
	if (found) {
		info->generation = oldest->generation;
		info->age_ms = jiffies_to_msecs(jiffies - oldest->replaced);
	}
	raw_spin_unlock_irq(&set->lock);
	return found;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_oldest_pin);

/**
 * commit_root_want_space() - ask long readers to give up old roots
 * @set: the set
 *
 * They see it in commit_root_wanted(), if they ask. Nobody waits.
 *
 * Context: any but NMI and hard interrupts; does not sleep.
 */
void commit_root_want_space(struct commit_root_set *set)
{
	struct commit_roots *roots;
	unsigned long irqflags;

	raw_spin_lock_irqsave(&set->lock, irqflags);
	/* those that were wanted before are the oldest ones */
	list_for_each_entry_reverse(roots, &set->all, node) {
		if (roots->wanted)
			break;
		if (roots->replaced)
			WRITE_ONCE(roots->wanted, true);
	}
	raw_spin_unlock_irqrestore(&set->lock, irqflags);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_want_space);

/* --- trees and sets ------------------------------------------------------ */

/**
 * commit_tree_init() - a new tree
 * @tree: the tree
 * @set: the set of its filesystem
 *
 * Its first root comes with the next commit that is prepared.
 *
 * Context: process context; may sleep, and allocates with GFP_KERNEL: within a transaction, or
 * under a lock that reclaim takes, only after memalloc_nofs_save().
 * Return: 0; -ENOMEM; -ENOSPC with 2^31 trees.
 */
int commit_tree_init(struct commit_tree *tree, struct commit_root_set *set)
{
	int slot = ida_alloc(&set->slots, GFP_KERNEL);

	if (slot < 0)
		return slot;
	tree->set = set;
	tree->slot = slot;
	raw_spin_lock_irq(&set->lock);
	tree->number = ++set->last_tree;
	set->capacity = max(set->capacity, tree->slot + 1);
	raw_spin_unlock_irq(&set->lock);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_tree_init);

/**
 * commit_tree_destroy() - a tree is deleted
 * @tree: the tree; not one of a commit that is in preparation
 *
 * Pins keep its roots. They are released when the next commit has replaced the newest
 * roots that have them, and no pin is left.
 *
 * Context: process context; may sleep.
 */
void commit_tree_destroy(struct commit_tree *tree)
{
	struct commit_root_set *set = tree->set;
	struct commit_roots *roots;

	raw_spin_lock_irq(&set->lock);
	roots = current_roots(set);
	if (roots && tree->slot < roots->capacity &&
	    roots->tree[tree->slot].tree == tree->number)
		roots->tree[tree->slot].gone = true;
	raw_spin_unlock_irq(&set->lock);
	ida_free(&set->slots, tree->slot);
	tree->set = NULL;
}
EXPORT_SYMBOL_FSCOMMIT(commit_tree_destroy);

/**
 * commit_root_set_init() - the committed roots of a filesystem
 * @set: the set
 * @name: for messages and debugfs; is not copied
 * @ops: what the filesystem does
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
		.tracked = READ_ONCE(track_pins),
	};
	set->counts = alloc_percpu(struct commit_root_counts);
	if (!set->counts)
		return -ENOMEM;
	if (init_srcu_struct(&set->pins)) {
		free_percpu(set->counts);
		return -ENOMEM;
	}
	if (set->tracked)
		watch_pins();
	raw_spin_lock_init(&set->lock);
	spin_lock_init(&set->track_lock);
	INIT_LIST_HEAD(&set->all);
	INIT_LIST_HEAD(&set->tracks);
	INIT_WORK(&set->work, release_work);
	ida_init(&set->slots);
	/* nothing is below it: no request is eligible before the first commit */
	atomic64_set(&set->running, 1);
	list_set(set);
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_set_init);

static void say_who_pins(struct commit_root_set *set, u64 generation)
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
 * commit_root_set_destroy() - the filesystem goes
 * @set: the set
 *
 * From the first call on nothing can be pinned or prepared: after one that returned -EBUSY
 * that is refused. But who may still come when this returns 0 finds a set that is no more:
 * as with any object, the caller has stopped that before. If nothing is pinned, it
 * waits until all roots have been released, by &commit_root_ops.release. Trees that
 * are still there go with the set, and need no commit_tree_destroy().
 *
 * Context: process context; may sleep, for a grace period of SRCU.
 * Return: 0, and the memory may be freed; -EBUSY if something is pinned, which the log
 * names, or, with a warning, in preparation: to be called again.
 */
int commit_root_set_destroy(struct commit_root_set *set)
{
	struct commit_roots *roots;
	unsigned long unpins;
	bool preparing, pinned;
	u64 generation;

	raw_spin_lock_irq(&set->lock);
	roots = current_roots(set);
	/* a pin that finds no roots looks why, without the lock */
	WRITE_ONCE(set->ending, true);
	preparing = READ_ONCE(set->preparing);
	rcu_assign_pointer(set->roots, NULL);
	if (roots)
		roots->replaced = now_not_0();
	raw_spin_unlock_irq(&set->lock);
	retire(roots);
	/*
	 * C: pairs with B. A reader either finds no roots, or its pin is in the sum below.
	 * Unpins first: who comes in between makes it look pinned, not free.
	 */
	smp_mb();
	unpins = sum_of(set, COMMIT_ROOT_UNPIN);
	/*
	 * D: pairs with E, and with the full barrier of an unpin. Whose unpin we saw, its pin
	 * we see, and all that it did to the set.
	 */
	smp_rmb();
	pinned = sum_of(set, COMMIT_ROOT_PIN) != unpins;
	if (!pinned) {
		/* nobody is in: the callbacks come, then the work that they queue */
		srcu_barrier(&set->pins);
		flush_work(&set->work);
	}
	raw_spin_lock_irq(&set->lock);
	roots = oldest_roots(set);
	generation = roots ? roots->generation : 0;
	raw_spin_unlock_irq(&set->lock);
	if (pinned || WARN_ON_ONCE(roots)) {
		say_who_pins(set, generation);
		return -EBUSY;
	}
	if (preparing) {
		misused(set, "destroyed with a commit in preparation");
		return -EBUSY;
	}
	unlist_set(set);
	if (set->tracked)
		unwatch_pins();
	ida_destroy(&set->slots);
	cleanup_srcu_struct(&set->pins);
	free_percpu(set->counts);
	set->counts = NULL;
	return 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_set_destroy);

/* --- setup --------------------------------------------------------------- */

int __init init_commit_roots(struct dentry *debugfs)
{
	/* may be needed to free memory */
	release_wq = alloc_workqueue("fscommit_release", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!release_wq)
		return -ENOMEM;
	init_commit_roots_debugfs(debugfs);
	return 0;
}

void exit_commit_roots(void)
{
	destroy_workqueue(release_wq);
}
