/* SPDX-License-Identifier: GPL-2.0 */
/* Trace events of fscommit. For waits, see the kernel's lock:contention_begin and _end. */
#ifndef _FSCOMMIT_TRACE_TYPES
#define _FSCOMMIT_TRACE_TYPES

#include <linux/sched.h>
#include <linux/unfair_rwsem.h>

#include "compat.h"

/* A waiter of a lock, and a holder. */
struct unfair_hold {
	const struct unfair_rwsem	*sem;
	struct task_struct		*waiter, *holder;	/* holder: NULL if not visible */
	bool				wants_write, write;
	char				state;			/* of the holder */
	u64				waited_ns;
	u8				lent;			/* to the holder */
};

/* R: on a CPU, r: runnable, S: asleep */
static inline char trace_state_of(struct task_struct *task)
{
	if (owner_on_cpu(task))
		return 'R';
	return task_is_running(task) ? 'r' : 'S';
}

#endif /* _FSCOMMIT_TRACE_TYPES */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM fscommit

#if !defined(_FSCOMMIT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _FSCOMMIT_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

/*
 * Waiters of @lock lend to @task, which is blocked on another lock, whose owner is @owner. @state:
 * see trace_state_of(). @lent: the real-time priority that the owner has been lent; 0 if none.
 */
TRACE_EVENT(unfair_chain,
	TP_PROTO(const void *lock, struct task_struct *task, struct task_struct *owner, char state,
		 u8 lent),
	TP_ARGS(lock, task, owner, state, lent),
	TP_STRUCT__entry(
		__field(const void *, lock)
		__array(char, comm, TASK_COMM_LEN)
		__field(pid_t, pid)
		__array(char, owner, TASK_COMM_LEN)
		__field(pid_t, owner_pid)
		__field(char, state)
		__field(u8, lent)
	),
	TP_fast_assign(
		__entry->lock = lock;
		memcpy(__entry->comm, task->comm, TASK_COMM_LEN);
		__entry->pid = task->pid;
		memcpy(__entry->owner, owner->comm, TASK_COMM_LEN);
		__entry->owner_pid = owner->pid;
		__entry->state = state;
		__entry->lent = lent;
	),
	TP_printk("lock=%p comm=%s pid=%d owner=%s owner_pid=%d state=%c lent=%u",
		  __entry->lock, __entry->comm, __entry->pid, __entry->owner, __entry->owner_pid,
		  __entry->state, __entry->lent)
);

#define UNFAIR_CLASS_NAME	48	/* bytes of the name of a class; the rest is truncated */

/*
 * A lock's first waiter, which sleeps, and one of its holders; pid 0 if no holder is visible. At a
 * look, the watcher traces up to eight holders of a lock, and each lock at most once in 10 ms.
 */
TRACE_EVENT(unfair_holder,
	TP_PROTO(const struct unfair_hold *hold),
	TP_ARGS(hold),
	TP_STRUCT__entry(
		__field(const void *, lock)
		__array(char, waiter, TASK_COMM_LEN)
		__field(pid_t, waiter_pid)
		__field(bool, wants_write)
		__field(u64, waited_ns)
		__array(char, comm, TASK_COMM_LEN)
		__field(pid_t, pid)
		__field(bool, write)
		__field(char, state)
		__field(u8, lent)
		__array(char, class, UNFAIR_CLASS_NAME)
	),
	TP_fast_assign(
		__entry->lock = hold->sem;
		memcpy(__entry->waiter, hold->waiter->comm, TASK_COMM_LEN);
		__entry->waiter_pid = hold->waiter->pid;
		__entry->wants_write = hold->wants_write;
		__entry->waited_ns = hold->waited_ns;
		strscpy(__entry->comm, hold->holder ? hold->holder->comm : "-", TASK_COMM_LEN);
		__entry->pid = hold->holder ? hold->holder->pid : 0;
		__entry->write = hold->write;
		__entry->state = hold->state;
		__entry->lent = hold->lent;
		strscpy(__entry->class, unfair_stats_class_name(hold->sem->class),
			UNFAIR_CLASS_NAME);
	),
	TP_printk("lock=%p waiter=%s waiter_pid=%d wants=%s waited_ns=%llu holder=%s pid=%d mode=%s state=%c lent=%u class=%s",
		  __entry->lock, __entry->waiter, __entry->waiter_pid,
		  __entry->wants_write ? "write" : "read", __entry->waited_ns, __entry->comm,
		  __entry->pid, __entry->write ? "write" : "read", __entry->state,
		  __entry->lent, __entry->class)
);

/* The current task has waited for @lock, and has acquired it if @ret is 0. */
TRACE_EVENT(unfair_wait_end,
	TP_PROTO(const struct unfair_rwsem *lock, bool write, u64 waited_ns, int ret),
	TP_ARGS(lock, write, waited_ns, ret),
	TP_STRUCT__entry(
		__field(const void *, lock)
		__field(bool, write)
		__field(u64, waited_ns)
		__field(int, ret)
		__array(char, class, UNFAIR_CLASS_NAME)
	),
	TP_fast_assign(
		__entry->lock = lock;
		__entry->write = write;
		__entry->waited_ns = waited_ns;
		__entry->ret = ret;
		strscpy(__entry->class, unfair_stats_class_name(lock->class), UNFAIR_CLASS_NAME);
	),
	TP_printk("lock=%p wants=%s waited_ns=%llu ret=%d class=%s", __entry->lock,
		  __entry->write ? "write" : "read", __entry->waited_ns, __entry->ret,
		  __entry->class)
);

/* A window opens for @due overdue readers. */
TRACE_EVENT(unfair_window,
	TP_PROTO(const void *lock, unsigned int due),
	TP_ARGS(lock, due),
	TP_STRUCT__entry(
		__field(const void *, lock)
		__field(unsigned int, due)
	),
	TP_fast_assign(
		__entry->lock = lock;
		__entry->due = due;
	),
	TP_printk("lock=%p due=%u", __entry->lock, __entry->due)
);

#define COMMIT_ROOT_NAME	16	/* bytes of a set's name; the rest is truncated */

DECLARE_EVENT_CLASS(commit_root_generation,
	TP_PROTO(const char *set, u64 generation),
	TP_ARGS(set, generation),
	TP_STRUCT__entry(
		__array(char, set, COMMIT_ROOT_NAME)
		__field(u64, generation)
	),
	TP_fast_assign(
		strscpy(__entry->set, set, COMMIT_ROOT_NAME);
		__entry->generation = generation;
	),
	TP_printk("set=%s generation=%llu", __entry->set, __entry->generation)
);

/* Pins are inline: they check for their trace events only while one is enabled. */
int commit_root_watch_pins(void);
void commit_root_unwatch_pins(void);

DEFINE_EVENT_FN(commit_root_generation, commit_root_pin,
	TP_PROTO(const char *set, u64 generation),
	TP_ARGS(set, generation), commit_root_watch_pins, commit_root_unwatch_pins);

DEFINE_EVENT_FN(commit_root_generation, commit_root_unpin,
	TP_PROTO(const char *set, u64 generation),
	TP_ARGS(set, generation), commit_root_watch_pins, commit_root_unwatch_pins);

/* Blocks freed in generations up to @reusable may be reused. @kept: commits, including the new. */
TRACE_EVENT(commit_root_switch,
	TP_PROTO(const char *set, u64 generation, u64 reusable, unsigned int kept),
	TP_ARGS(set, generation, reusable, kept),
	TP_STRUCT__entry(
		__array(char, set, COMMIT_ROOT_NAME)
		__field(u64, generation)
		__field(u64, reusable)
		__field(unsigned int, kept)
	),
	TP_fast_assign(
		strscpy(__entry->set, set, COMMIT_ROOT_NAME);
		__entry->generation = generation;
		__entry->reusable = reusable;
		__entry->kept = kept;
	),
	TP_printk("set=%s generation=%llu reusable=%llu kept=%u", __entry->set,
		  __entry->generation, __entry->reusable, __entry->kept)
);

/* @slot: the number of the tree. @generation: of the commit that published the root. */
TRACE_EVENT(commit_root_release,
	TP_PROTO(const char *set, unsigned int slot, u64 generation),
	TP_ARGS(set, slot, generation),
	TP_STRUCT__entry(
		__array(char, set, COMMIT_ROOT_NAME)
		__field(unsigned int, slot)
		__field(u64, generation)
	),
	TP_fast_assign(
		strscpy(__entry->set, set, COMMIT_ROOT_NAME);
		__entry->slot = slot;
		__entry->generation = generation;
	),
	TP_printk("set=%s slot=%u generation=%llu", __entry->set, __entry->slot,
		  __entry->generation)
);

#endif /* _FSCOMMIT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
