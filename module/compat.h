/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shims for kernels older than the newest supported one. Each names the version that no longer
 * needs it, and the reason. COMPAT_HAS_* come from Kbuild, which searches the kernel's headers:
 * older kernels may have backports. No other file of module/ checks the kernel's version.
 */
#ifndef _FSCOMMIT_COMPAT_H
#define _FSCOMMIT_COMPAT_H

#include <linux/export.h>
#include <linux/version.h>

/* 6.13: the namespace became a string. */
#ifdef COMPAT_HAS_STRING_NS
# define EXPORT_SYMBOL_FSCOMMIT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "FSCOMMIT")
#else
# define EXPORT_SYMBOL_FSCOMMIT(sym)	EXPORT_SYMBOL_NS_GPL(sym, FSCOMMIT)
#endif

/* 6.7: lock:contention_begin/end are exported. */
#ifdef COMPAT_HAS_CONTENTION
# include <trace/events/lock.h>
#else
# define LCB_F_READ	0
# define LCB_F_WRITE	0
# define trace_contention_begin(lock, flags)	do { } while (0)
# define trace_contention_end(lock, ret)	do { } while (0)
#endif

/* 7.2: lock:contended_release. */
#ifdef COMPAT_HAS_CONTENDED_RELEASE
# define compat_trace_contended_release(lock)	trace_contended_release(lock)
#else
# define compat_trace_contended_release(lock)	do { } while (0)
#endif

/* The cgroup or autogroup whose share of a CPU a task uses; only compared, may have been freed */
#ifdef CONFIG_CGROUP_SCHED
# define compat_task_group(task)	((const void *)READ_ONCE((task)->sched_task_group))
#else
# define compat_task_group(task)	((void)(task), (const void *)&init_task)
#endif

/*
 * Not in 6.12, but in 7.3: when a sleeping task that is still queued for its lag changes its
 * scheduling class, psi forgets that the task waits for I/O. The wakeup then finds an inconsistent
 * state. A task that runs, or is about to sleep, may be asleep when its class changes; a later
 * look lends to it if it needs that. We read the flags without the run queue's lock, so the
 * result may be stale: then psi prints its warning, once.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0) && defined(CONFIG_PSI)
# define compat_class_upsets_psi(task)					\
	((task) != current && READ_ONCE((task)->on_rq) &&		\
	 (owner_on_cpu(task) ||						\
	  (READ_ONCE((task)->__state) != TASK_RUNNING &&		\
	   ((task)->in_iowait || (task)->in_memstall))))
#else
# define compat_class_upsets_psi(task)	false
#endif

/* 6.12: a task that sleeps may stay on its run queue for its lag. */
#ifdef COMPAT_HAS_SCHED_DELAYED
# define compat_sched_delayed(task)	READ_ONCE((task)->se.sched_delayed)
#else
# define compat_sched_delayed(task)	false
#endif

/* 6.17: task->blocker for mutexes and rw_semaphores; 7.3: task->blocked_on for all mutexes. */
/*
 * What a task is blocked on. The kernel has functions that return the owner of a lock, but does not
 * export them. A reader of a rw_semaphore and the last task that acquired a semaphore may have
 * exited: their pointers are not used. The mutex of PREEMPT_RT is an rt_mutex.
 */
/* The low bits of the owner, of a mutex and of a rw_semaphore. */
#define COMPAT_OWNER_FLAGS	7UL
#define COMPAT_READER_OWNED	1UL
#define compat_owner(owner)	((struct task_struct *)((owner) & ~COMPAT_OWNER_FLAGS))

#if defined(CONFIG_DETECT_HUNG_TASK_BLOCKER) && !defined(CONFIG_PREEMPT_RT)
# include <linux/hung_task.h>
#endif

#ifdef BLOCKER_TYPE_RWSEM_READER
# include <linux/mutex.h>
# include <linux/rwsem.h>
# define COMPAT_BLOCKER_KINDS	"mutex, rw_semaphore held for writing"

static inline struct task_struct *compat_blocker_owner(const struct task_struct *task)
{
	unsigned long blocker = READ_ONCE(task->blocker);
	const struct rw_semaphore *sem;
	const struct mutex *mutex;
	unsigned long owner;

	if (!blocker)
		return NULL;
	switch (blocker & BLOCKER_TYPE_MASK) {
	case BLOCKER_TYPE_MUTEX:
		mutex = hung_task_blocker_to_lock(blocker);
		return compat_owner(atomic_long_read(&mutex->owner));
	case BLOCKER_TYPE_RWSEM_READER:
	case BLOCKER_TYPE_RWSEM_WRITER:
		sem = hung_task_blocker_to_lock(blocker);
		owner = atomic_long_read(&sem->owner);
		if (!(owner & COMPAT_READER_OWNED))
			return compat_owner(owner);
	}
	return NULL;
}
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && !defined(CONFIG_PREEMPT_RT)
# include <linux/mutex.h>
# define COMPAT_BLOCKER_KINDS	"mutex"

static inline struct task_struct *compat_blocker_owner(const struct task_struct *task)
{
	/* an unlock clears it by a plain store */
	const struct mutex *mutex = data_race(READ_ONCE(task->blocked_on));

	return mutex ? compat_owner(atomic_long_read(&mutex->owner)) : NULL;
}
#else
# define COMPAT_BLOCKER_KINDS	NULL
# define compat_blocker_owner(task)	((void)(task), (struct task_struct *)NULL)
#endif

/* 6.13: hrtimer_setup() takes the timer's function. */
#ifdef COMPAT_HAS_HRTIMER_SETUP
# define compat_hrtimer_setup(timer, fn, clock, mode)	hrtimer_setup(timer, fn, clock, mode)
#else
# define compat_hrtimer_setup(timer, fn, clock, mode)			\
do {									\
	hrtimer_init(timer, clock, mode);				\
	(timer)->function = fn;						\
} while (0)
#endif

#endif /* _FSCOMMIT_COMPAT_H */
