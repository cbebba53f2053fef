// SPDX-License-Identifier: GPL-2.0
/*
 * Commit-root search: the readers' side, pins and searches. How it works: commit_root.c.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/pid.h>

#include "commit_roots.h"
#include "compat.h"
#include "trace.h"

static bool commit_root_oracle;
module_param(commit_root_oracle, bool, 0644);
MODULE_PARM_DESC(commit_root_oracle,
		 "repeat live what a search found in a committed tree, and report a difference; default off");

/* Somebody wants to know of each pin: for the pins in the header alone. */
DEFINE_STATIC_KEY_FALSE(commit_root_watched);
EXPORT_SYMBOL_FSCOMMIT(commit_root_watched);

int watch_pins(void)
{
	static_branch_inc(&commit_root_watched);
	return 0;
}

void unwatch_pins(void)
{
	static_branch_dec(&commit_root_watched);
}

/* --- pins ---------------------------------------------------------------- */

static void track(struct commit_pin *pin)
{
	struct commit_root_set *set = pin->set;
	unsigned long irqflags;

	pin->since = jiffies;
	pin->pid = task_pid_nr(current);
	memcpy(pin->comm, current->comm, sizeof(pin->comm));
	spin_lock_irqsave(&set->track_lock, irqflags);
	list_add_tail(&pin->node, &set->tracks);
	spin_unlock_irqrestore(&set->track_lock, irqflags);
}

static void untrack(struct commit_pin *pin)
{
	struct commit_root_set *set = pin->set;
	unsigned long irqflags;

	spin_lock_irqsave(&set->track_lock, irqflags);
	list_del(&pin->node);
	spin_unlock_irqrestore(&set->track_lock, irqflags);
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
 * @pin: about to be given up
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
 * __commit_root_refused() - there are no roots to pin: take back what was done
 * @set: the set
 * @idx: of the SRCU section that was entered
 *
 * Context: as commit_root_pin().
 * Return: -ENODATA before the first commit, -ESHUTDOWN after the end began.
 */
int __commit_root_refused(struct commit_root_set *set, int idx)
	__fsc_unchecked
{
	int ret = READ_ONCE(set->ending) ? -ESHUTDOWN : -ENODATA;

	count(set, COMMIT_ROOT_REFUSED);
	__srcu_read_unlock(&set->pins, idx);
	__commit_root_gone(set);
	return ret;
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_refused);

/**
 * commit_root_pin_again() - a second pin of the same roots
 * @pin: the new one, to be given up by itself
 * @held: a pin that is held meanwhile
 *
 * For a request that is split: both halves see the same commit.
 *
 * Context: as commit_root_pin(). Cannot fail, also where a new pin would.
 */
void commit_root_pin_again(struct commit_pin *pin, const struct commit_pin *held)
	__fsc_unchecked
{
	*pin = (struct commit_pin){ .roots = held->roots, .set = held->set, .idx = -1 };
	if (WARN_ONCE(!held->roots, "fscommit: %s() of a pin that is not held\n", __func__))
		return;
	count(pin->set, COMMIT_ROOT_PIN);
	atomic_inc(&pin->roots->users);
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_pinned(pin);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_pin_again);

/**
 * __commit_root_unpin_odd() - give up a pin of commit_root_pin_again(), or of nobody
 * @pin: the pin; warns once, and does nothing, if it is not held
 *
 * Context: as commit_root_pin().
 */
void __commit_root_unpin_odd(struct commit_pin *pin)
{
	struct commit_root_set *set = pin->set;
	struct commit_roots *roots = pin->roots;

	if (WARN_ONCE(!roots, "fscommit: commit_root_unpin() of a pin that is not held\n"))
		return;
	if (static_branch_unlikely(&commit_root_watched))
		__commit_root_unpinned(pin);
	pin->roots = NULL;
	put_roots(roots);
	__commit_root_gone(set);
}
EXPORT_SYMBOL_FSCOMMIT(__commit_root_unpin_odd);

/**
 * commit_root_generation() - of the commit that is pinned
 * @pin: the pin
 *
 * Context: any.
 * Return: its generation; 0 for a pin that is not held.
 */
u64 commit_root_generation(const struct commit_pin *pin)
{
	return pin->roots ? pin->roots->generation : 0;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_generation);

/**
 * commit_root_of() - the root of a tree in the commit that is pinned
 * @pin: the pin
 * @tree: the tree, of the same set
 * @generation: if not NULL: is set to that of the commit that brought this root
 *
 * Context: any.
 * Return: the root as it was given to commit_root_update(); ERR_PTR(-ENOENT) if that
 * commit does not have the tree; ERR_PTR(-EINVAL), with a warning, for a tree of another
 * set or a pin that is not held.
 */
void *commit_root_of(const struct commit_pin *pin, const struct commit_tree *tree,
		     u64 *generation)
{
	const struct commit_roots *roots = pin->roots;
	const struct tree_root *t;

	if (WARN_ONCE(!roots, "fscommit: %s() of a pin that is not held\n", __func__))
		return ERR_PTR(-EINVAL);
	if (unlikely(tree->set != roots->set)) {
		misused(roots->set, "tree %llu is not one of them", tree->number);
		return ERR_PTR(-EINVAL);
	}
	if (tree->slot >= roots->capacity)
		return ERR_PTR(-ENOENT);
	t = &roots->tree[tree->slot];
	if (t->tree != tree->number)
		return ERR_PTR(-ENOENT);
	if (generation)
		*generation = t->generation;
	return t->root;
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_of);

/**
 * commit_root_wanted() - is the space that a pin keeps wanted?
 * @pin: the pin
 *
 * A reader that holds a pin for long asks from time to time, and if so gives it up and
 * pins again, where it can.
 *
 * Context: any.
 * Return: true if it is; false of a pin that was refused.
 */
bool commit_root_wanted(const struct commit_pin *pin)
{
	return pin->roots && READ_ONCE(pin->roots->wanted);
}
EXPORT_SYMBOL_FSCOMMIT(commit_root_wanted);

/* --- search -------------------------------------------------------------- */

static void ask_oracle(struct commit_search *s)
{
	struct commit_difference diff = { };

	if (!s->ops->compare || s->ops->compare(s, &diff))
		return;
	count(s->set, COMMIT_ROOT_DIFFERENCE);
	pr_err("fscommit: commit roots of %s: key %llu, generation %llu, committed in %llu: \"%s\" there, \"%s\" live\n",
	       s->set->name, diff.key, s->gen.max, s->generation, diff.committed, diff.live);
}

/* Returns -ENOENT if there is something left to search. */
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
			if (!ret && !forced && READ_ONCE(commit_root_oracle))
				ask_oracle(s);
		}
		if (ret == -ENOENT) {
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
 * commit_root_search() - search the committed tree, and for the remainder the live one
 * @s: what, where and how
 *
 * One pin for the whole: one lookup sees one commit. It is given up before the live
 * search.
 *
 * Context: as the search that the caller supplies.
 * Return: 0 if all was found; -ENOENT if something is nowhere; what
 * &commit_search_ops.search returned else. In mode COMMIT_SEARCH_FORCED also the errors
 * of commit_root_pin().
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
