// SPDX-License-Identifier: GPL-2.0
/*
 * Expedited sections: a task that commits keeps the readers of a lock on their CPUs,
 * although it waits for something else. It looks at the readers once by itself; after that
 * the watcher does.
 *
 * A section is one object for a task and a semaphore. All sections are in one tree, by
 * semaphore and then by what they lend: so the sections of a semaphore are neighbours, and
 * the highest one comes first. The name is after rcu_expedite_gp().
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rbtree.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat.h"
#include "lend.h"
#include "stats.h"
#include "visible_readers.h"
#include "watcher.h"

#define TASK_BITS	6
/* Sections that one look of the watcher visits. */
#define EXPEDITE_CHUNK	32

struct section {
	struct rb_node		node;
	struct hlist_node	hash;		/* by task */
	struct unfair_rwsem	*sem;
	struct task_struct	*task;
	struct lend_level	level;
	u64			turn;		/* when the watcher looked at it last */
	unsigned int		nested;
	struct watch		watch;
};

/* Protects all of this; nests within any wait_lock. */
static DEFINE_RAW_SPINLOCK(expedite_lock);
static struct rb_root sections;
static struct hlist_head sections_of_task[1 << TASK_BITS];
/* Sections without an object, and without effect. */
static unsigned int without_memory;
/* A section whose task has exited; the watcher ends it. */
static struct section *orphan;

#define to_section(n)	rb_entry_safe(n, struct section, node)

static struct hlist_head *bucket(const struct task_struct *task)
{
	return &sections_of_task[hash_ptr(task, TASK_BITS)];
}

static struct section *find_section(const struct unfair_rwsem *sem)
{
	struct section *s;

	lockdep_assert_held(&expedite_lock);
	hlist_for_each_entry(s, bucket(current), hash)
		if (s->task == current && s->sem == sem)
			return s;
	return NULL;
}

static bool section_before(struct rb_node *na, const struct rb_node *nb)
{
	const struct section *a = to_section(na), *b = to_section((struct rb_node *)nb);

	if (a->sem != b->sem)
		return a->sem < b->sem;
	if (a->level.rt != b->level.rt)
		return a->level.rt > b->level.rt;
	if (a->level.nice != b->level.nice)
		return a->level.nice < b->level.nice;
	return a->turn < b->turn;
}

/* The one of @sem that lends most. */
static struct section *first_section(const struct unfair_rwsem *sem)
{
	struct rb_node *n = sections.rb_node;
	struct section *first = NULL;

	lockdep_assert_held(&expedite_lock);
	while (n) {
		struct section *s = to_section(n);

		if (s->sem == sem)
			first = s;
		n = s->sem >= sem ? n->rb_left : n->rb_right;
	}
	return first;
}

/**
 * expedite_level() - what the expedited sections of a semaphore lend
 * @sem: the semaphore
 *
 * Context: under wait_lock.
 * Return: the highest of their levels; LEND_NOTHING if there is none.
 */
struct lend_level expedite_level(const struct unfair_rwsem *sem)
{
	struct lend_level level = LEND_NOTHING;
	struct section *s;

	if (!sem->expedited)
		return level;
	raw_spin_lock(&expedite_lock);
	s = first_section(sem);
	if (s)
		level = s->level;
	raw_spin_unlock(&expedite_lock);
	return level;
}

/* A watch for @sem; NULL if it is not expedited. Under wait_lock, so that it stays. */
struct watch *expedite_watch(const struct unfair_rwsem *sem)
{
	struct section *s;

	raw_spin_lock(&expedite_lock);
	s = first_section(sem);
	raw_spin_unlock(&expedite_lock);
	return s ? &s->watch : NULL;
}

/**
 * expedite_look() - keep the tasks that expedite a semaphore at what they lend
 * @sem: the semaphore
 * @work: to be applied by the caller
 *
 * Otherwise the readers that they lend to would keep them from their CPUs.
 *
 * Context: under wait_lock, the watcher.
 */
void expedite_look(struct unfair_rwsem *sem, struct lend_work *work)
{
	u64 now = ktime_get_ns();
	struct section *s;
	unsigned int i;

	raw_spin_lock(&expedite_lock);
	for (i = 0; i < EXPEDITE_CHUNK && work->nr < LEND_WORK_MAX; i++) {
		s = first_section(sem);
		if (s->turn == now)
			break;
		if (s->task->exit_state)
			orphan = s;
		lend_to_expediter(sem, s->task, s->level, work);
		/* behind its equals, so that each has its turn */
		rb_erase(&s->node, &sections);
		s->turn = now;
		rb_add(&s->node, &sections, section_before);
	}
	raw_spin_unlock(&expedite_lock);
}

/* Removes a section; its loan ends, and what it lent to readers. */
static void end_section(struct section *s)
{
	struct unfair_rwsem *sem = s->sem;
	struct lend_work work = { };
	unsigned long irqflags;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	raw_spin_lock(&expedite_lock);
	hlist_del(&s->hash);
	if (lends(s->level)) {
		rb_erase(&s->node, &sections);
		sem->expedited = !!first_section(sem);
		sem->leaving++;
	}
	raw_spin_unlock(&expedite_lock);
	lend_end(sem, s->task, true, &work);
	if (s->watch.sem)
		__unfair_rwsem_hand_over_watch(sem, &s->watch);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	lend_apply(&work);
	if (lends(s->level))
		__unfair_rwsem_lenders_changed(sem);
	put_task_struct(s->task);
	kfree(s);
}

/* For the watcher: ends a section whose task has exited. */
void expedite_end_orphan(void)
{
	struct section *s;

	raw_spin_lock_irq(&expedite_lock);
	s = orphan;
	orphan = NULL;
	raw_spin_unlock_irq(&expedite_lock);
	if (!s)
		return;
	pr_warn("fscommit: %s[%d] exits within an expedited section\n", s->task->comm,
		task_pid_nr(s->task));
	end_section(s);
}

/**
 * unfair_rwsem_expedite() - keep the readers of a semaphore on their CPUs
 * @sem: the semaphore; not held by the caller, or for reading
 *
 * From here to unfair_rwsem_unexpedite(), each task that holds @sem for reading and is
 * off its CPU is lent the caller's priority, at once and again whenever it is
 * preempted, although the caller does not wait for @sem. For a commit that may get
 * stuck on a folio or a mutex that such a reader owns. The caller has that priority too,
 * where it is more than its own, so that it is not behind those that it lends to.
 * Sections nest, and any number of tasks may expedite the same semaphore.
 *
 * With lending off, or without memory, it has no effect.
 *
 * Context: process context; may sleep.
 */
void unfair_rwsem_expedite(struct unfair_rwsem *sem)
{
	struct lend_work work = { };
	struct look look = { };
	unsigned long irqflags;
	struct section *s;
	bool more;

	might_sleep();
	raw_spin_lock_irqsave(&expedite_lock, irqflags);
	s = find_section(sem);
	if (s)
		s->nested++;
	raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
	if (s)
		return;
	s = kzalloc(sizeof(*s), GFP_NOFS | __GFP_NOWARN);
	if (!s) {
		raw_spin_lock_irqsave(&expedite_lock, irqflags);
		without_memory++;
		raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
		pr_warn_once("fscommit: no memory for an expedited section, which has no effect\n");
		return;
	}
	s->sem = sem;
	s->task = get_task_struct(current);
	/* what the caller was lent ends with another lock */
	s->level = lend_own_level(sem);
	s->nested = 1;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	raw_spin_lock(&expedite_lock);
	hlist_add_head(&s->hash, bucket(current));
	if (lends(s->level))
		rb_add(&s->node, &sections, section_before);
	raw_spin_unlock(&expedite_lock);
	if (!lends(s->level)) {
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		return;
	}
	sem->expedited = 1;
	/*
	 * All readers must be visible, and take wait_lock when they release. In this order: with
	 * LENT in the word no reader sets BIAS again.
	 */
	lend_announce(sem);
	visible_readers_revoke_bias(sem);
	if (!sem->watched) {
		sem->watched = 1;
		watch_start(sem, &s->watch);
	}
	lend_to_expediter(sem, current, s->level, &work);
	do {
		raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
		lend_apply(&work);
		raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
		more = __unfair_rwsem_look(sem, &look, &work);
	} while (more);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	lend_apply(&work);
	count_event(sem, EV_EXPEDITED);
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_expedite);

/**
 * unfair_rwsem_unexpedite() - end what unfair_rwsem_expedite() has begun
 * @sem: the semaphore
 *
 * What was lent for this section only is taken back. The semaphore may be freed after
 * that. Called by a task that has no such section, it warns once and does nothing, unless
 * there was no memory for a section before.
 *
 * Context: process context; may sleep.
 */
void unfair_rwsem_unexpedite(struct unfair_rwsem *sem)
{
	bool wrong = false, ends = false;
	unsigned long irqflags;
	struct section *s;

	might_sleep();
	raw_spin_lock_irqsave(&expedite_lock, irqflags);
	s = find_section(sem);
	if (s)
		ends = !--s->nested;
	else if (without_memory)
		without_memory--;
	else
		wrong = true;
	raw_spin_unlock_irqrestore(&expedite_lock, irqflags);
	if (ends)
		end_section(s);
	WARN_ONCE(wrong, "fscommit: %s() by %s[%d], which has not expedited it\n", __func__,
		  current->comm, task_pid_nr(current));
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_unexpedite);
