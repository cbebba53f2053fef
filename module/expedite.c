// SPDX-License-Identifier: GPL-2.0
/*
 * Expedited sections: a task that commits keeps the readers of a lock on their CPUs,
 * although it waits for something else. It lends once by itself; after that the watcher
 * of lend.c looks at the readers every lend_period_us.
 */
#include <linux/module.h>
#include <linux/rtmutex.h>
#include <linux/sched/task.h>

#include "compat.h"
#include "lend.h"
#include "stats.h"
#include "visible_readers.h"

#define MAX_EXPEDITES	64

static struct expedite {
	struct unfair_rwsem	*sem;		/* NULL: free */
	struct task_struct	*task;
	struct lend_level	level;
	unsigned int		nested;
} expedites[MAX_EXPEDITES];

/*
 * Both protect expedites: either is enough to read. The mutex is one that lends, too:
 * the committer is not to wait here for a task that is not running.
 */
static DEFINE_RT_MUTEX(expedite_mutex);
static DEFINE_RAW_SPINLOCK(expedite_lock);	/* within any wait_lock */
/* Sections that have no entry, and no effect. */
static unsigned int without_room;

static struct expedite *find_expedite(const struct unfair_rwsem *sem,
				      const struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < MAX_EXPEDITES; i++)
		if (expedites[i].sem == sem && expedites[i].task == task)
			return &expedites[i];
	return NULL;
}

/* The answer may be old, but not if one has begun before wake_watcher(). */
bool any_expedites(void)
{
	unsigned int i;

	for (i = 0; i < MAX_EXPEDITES; i++)
		if (data_race(READ_ONCE(expedites[i].sem)))
			return true;
	return false;
}

/**
 * expedited_level() - what those that expedite @sem lend
 * @sem: the semaphore
 *
 * Context: under wait_lock.
 * Return: the highest of their levels; nothing to lend, if nobody does.
 */
struct lend_level expedited_level(const struct unfair_rwsem *sem)
{
	struct lend_level level = LEND_NOTHING;
	unsigned int i;

	if (!sem->expedited)
		return level;
	raw_spin_lock(&expedite_lock);
	for (i = 0; i < MAX_EXPEDITES; i++)
		if (expedites[i].sem == sem)
			level = higher_level(level, expedites[i].level);
	raw_spin_unlock(&expedite_lock);
	return level;
}

/*
 * One look at a lock's readers, for @e; under expedite_mutex. Its task gets what it lends:
 * those that it lends to would keep it from its CPU.
 */
static void expedite_readers(const struct expedite *e)
{
	struct unfair_rwsem *sem = e->sem;
	struct settlement todo = { };
	unsigned long irqflags;

	raw_spin_lock_irqsave(&sem->wait_lock, irqflags);
	lend_to_expediter(sem, e->task, e->level, &todo);
	if (!(atomic_long_read(&sem->word) & UNFAIR_RWSEM_WRITER))
		lend_to_readers(sem, expedited_level(sem), &todo);
	raw_spin_unlock_irqrestore(&sem->wait_lock, irqflags);
	settle_loans(&todo);
}

static void set_expedite(struct expedite *e, struct expedite to)
{
	raw_spin_lock_irq(&expedite_lock);
	*e = to;
	raw_spin_unlock_irq(&expedite_lock);
}

/* Nobody knows it any more, or others only: its loans follow. */
static void end_expedite(struct expedite *e)
{
	struct unfair_rwsem *sem = e->sem;
	struct settlement todo = { };

	raw_spin_lock_irq(&sem->wait_lock);
	give_back(sem, e->task, true, &todo);
	raw_spin_unlock_irq(&sem->wait_lock);
	settle_loans(&todo);
	put_task_struct(e->task);
	set_expedite(e, (struct expedite){ });
	__unfair_rwsem_lenders_changed(sem);
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
 * Sections nest, and several tasks may expedite the same semaphore.
 *
 * With more than 64 pairs of semaphore and task, or lending off, it has no effect.
 *
 * Context: process context; may sleep.
 */
void unfair_rwsem_expedite(struct unfair_rwsem *sem)
{
	struct expedite *e;

	might_sleep();
	rt_mutex_lock(&expedite_mutex);
	e = find_expedite(sem, current);
	if (e) {
		e->nested++;
		goto out;
	}
	e = find_expedite(NULL, NULL);
	if (!e) {
		without_room++;
		pr_warn_once("fscommit: more than %u expedited sections at once; the others have no effect\n",
			     MAX_EXPEDITES);
		goto out;
	}
	set_expedite(e, (struct expedite) {
		.sem = sem,
		.task = get_task_struct(current),
		/* what it was lent ends with another lock */
		.level = own_level_to_lend(sem),
		.nested = 1,
	});
	raw_spin_lock_irq(&sem->wait_lock);
	sem->expedited = 1;
	/*
	 * All readers are to be seen, and to come by when they release. In this order: with
	 * LENT in the word no reader sets BIAS again.
	 */
	expect_returns(sem);
	revoke_bias(sem);
	raw_spin_unlock_irq(&sem->wait_lock);
	expedite_readers(e);
	wake_watcher();
	count_event(sem, EV_EXPEDITED);
out:
	rt_mutex_unlock(&expedite_mutex);
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_expedite);

/**
 * unfair_rwsem_unexpedite() - end what unfair_rwsem_expedite() has begun
 * @sem: the semaphore
 *
 * What was lent for the sake of this section alone is taken back. The semaphore may be
 * freed after that. By a task that has no such section, it warns once and does nothing,
 * unless some had no effect for want of room.
 *
 * Context: process context; may sleep.
 */
void unfair_rwsem_unexpedite(struct unfair_rwsem *sem)
{
	struct expedite *e;

	might_sleep();
	rt_mutex_lock(&expedite_mutex);
	e = find_expedite(sem, current);
	if (e && !--e->nested)
		end_expedite(e);
	else if (!e && without_room)
		without_room--;
	else if (!e)
		WARN_ONCE(1, "fscommit: %s() by %s[%d], which has not expedited it\n", __func__,
			  current->comm, task_pid_nr(current));
	rt_mutex_unlock(&expedite_mutex);
}
EXPORT_SYMBOL_FSCOMMIT(unfair_rwsem_unexpedite);

/* For the watcher: looks at expedited locks. Returns whether there are any. */
bool watch_expedites(void)
{
	bool any = false;
	unsigned int i;

	rt_mutex_lock(&expedite_mutex);
	for (i = 0; i < MAX_EXPEDITES; i++) {
		struct expedite *e = &expedites[i];

		if (!e->sem)
			continue;
		if (e->task->exit_state) {
			pr_warn("fscommit: %s[%d] exits within an expedited section\n",
				e->task->comm, task_pid_nr(e->task));
			end_expedite(e);
			continue;
		}
		any = true;
		expedite_readers(e);
	}
	rt_mutex_unlock(&expedite_mutex);
	return any;
}
