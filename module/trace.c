// SPDX-License-Identifier: GPL-2.0
/* The trace events of trace.h, and what the watcher traces of a lock. */
#include <linux/sched.h>

#include "internal.h"
#include "lend.h"
#include "stats.h"
#include "visible_readers.h"
#include "watcher.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Holders of a lock that are traced at one look. */
#define MAX_HOLDERS	8

/* R: on a CPU, r: runnable, S: asleep */
char unfair_trace_state_of(struct task_struct *task)
{
	if (compat_on_cpu(task))
		return 'R';
	return task_is_running(task) ? 'r' : 'S';
}

static void trace_holder(struct unfair_hold *hold, struct task_struct *holder)
{
	hold->holder = holder;
	hold->state = holder ? unfair_trace_state_of(holder) : '-';
	hold->lent = holder ? lend_level_now(holder) : 0;
	trace_unfair_holder(hold);
}

/**
 * unfair_trace_holders() - trace the holders of a semaphore for which a task sleeps
 * @sem: the semaphore
 *
 * Traces at most MAX_HOLDERS readers, which are in the lock's own region or in converted biased
 * slots.
 *
 * Context: under wait_lock, the watcher.
 */
void unfair_trace_holders(struct unfair_rwsem *sem)
{
	struct unfair_hold hold = { .sem = sem };
	long word = atomic_long_read(&sem->word);
	unsigned int step, i, nr = 0;
	struct task_struct *task;

	if (!__unfair_rwsem_first_sleeper(sem, &hold))
		return;
	hold.write = word & UNFAIR_RWSEM_WRITER;
	if (hold.write) {
		trace_holder(&hold, (struct task_struct *)(word & ~UNFAIR_RWSEM_FLAGS));
		return;
	}
	rcu_read_lock();
	for (step = 0; step < 2; step++)
		for_each_visible_reader(sem, step, i, task)
			if (nr++ < MAX_HOLDERS)
				trace_holder(&hold, task);
	rcu_read_unlock();
	if (!nr)
		trace_holder(&hold, NULL);
}
