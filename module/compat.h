/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernels before the newest one lack. Each shim names the version in which
 * it stops being needed, and why it is. Nothing else in module/ asks for a
 * version.
 */
#ifndef _FSCOMMIT_COMPAT_H
#define _FSCOMMIT_COMPAT_H

#include <linux/export.h>
#include <linux/version.h>

/* 6.13: the namespace became a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
# define EXPORT_SYMBOL_FSCOMMIT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "FSCOMMIT")
#else
# define EXPORT_SYMBOL_FSCOMMIT(sym)	EXPORT_SYMBOL_NS_GPL(sym, FSCOMMIT)
#endif

/* 6.12 is the first supported kernel that exports lock:contention_begin/end. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
# include <trace/events/lock.h>
#else
# define LCB_F_READ	0
# define LCB_F_WRITE	0
# define trace_contention_begin(lock, flags)	do { } while (0)
# define trace_contention_end(lock, ret)	do { } while (0)
#endif

/* 7.2 is the first supported kernel that has lock:contended_release. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
# define compat_trace_contended_release(lock)	trace_contended_release(lock)
#else
# define compat_trace_contended_release(lock)	do { } while (0)
#endif

/* Some time after 6.12: owner_on_cpu() exists on kernels for one CPU, too. */
#ifdef CONFIG_SMP
# define compat_on_cpu(task)	owner_on_cpu(task)
#else
# define compat_on_cpu(task)	((void)(task), false)
#endif

/*
 * Before 6.5 and 6.1.50, sched_setattr_nocheck() took the lock of cpusets for all policies and
 * could sleep. Since then it does so for SCHED_DEADLINE only, which is never lent.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0) ||			\
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 50) &&		\
	 LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0))
# define compat_lend_apply_begin()	preempt_disable()
# define compat_lend_apply_end()	preempt_enable()
#else
# define compat_lend_apply_begin()	do { } while (0)
# define compat_lend_apply_end()	do { } while (0)
#endif

/* 6.12: sched_setattr() sets a task's slice, too; 0: the default one. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
# define compat_custom_slice(task)	((task)->se.custom_slice ? (task)->se.slice : 0)
#else
# define compat_custom_slice(task)	0
#endif

/*
 * Not in 6.12, but in 7.3: when a task that sleeps, and is still queued for its lag,
 * changes its class, psi forgets that it waits for I/O, and finds that inconsistent when
 * the task is woken. Without the run queue's lock this may be old when it arrives: then
 * psi says so, once.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0) && defined(CONFIG_PSI)
# define compat_class_upsets_psi(task)					\
	(READ_ONCE((task)->se.sched_delayed) && ((task)->in_iowait || (task)->in_memstall))
#else
# define compat_class_upsets_psi(task)	false
#endif

/* 6.13: a timer is set up with its function. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
# define compat_hrtimer_setup(timer, fn, clock, mode)	hrtimer_setup(timer, fn, clock, mode)
#else
# define compat_hrtimer_setup(timer, fn, clock, mode)			\
do {									\
	hrtimer_init(timer, clock, mode);				\
	(timer)->function = fn;						\
} while (0)
#endif

/*
 * 6.12 is the first supported kernel that exports stack_trace_save_tsk(). User-Mode
 * Linux cannot walk the stack of a task that is asleep.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && defined(CONFIG_STACKTRACE) && \
	!defined(CONFIG_UML)
# include <linux/stacktrace.h>
# define compat_pr_stack(task)						\
do {									\
	unsigned long _entries[8];					\
	unsigned int _i, _nr = stack_trace_save_tsk(task, _entries,	\
						    ARRAY_SIZE(_entries), 0); \
									\
	for (_i = 0; _i < _nr; _i++)					\
		pr_warn("fscommit:     %pS\n", (void *)_entries[_i]);	\
} while (0)
#else
# define compat_pr_stack(task)	do { } while (0)
#endif

/* 6.7: a shrinker is allocated by its own call, and knows whose it is. */
#include <linux/shrinker.h>
#include <linux/slab.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
# define compat_shrinker_private(s)	((s)->private_data)

static inline struct shrinker *
compat_shrinker_new(const char *name, typeof_member(struct shrinker, count_objects) count,
		    typeof_member(struct shrinker, scan_objects) scan, void *private)
{
	struct shrinker *s = shrinker_alloc(0, "fscommit-%s", name);

	if (s) {
		s->count_objects = count;
		s->scan_objects = scan;
		s->private_data = private;
		shrinker_register(s);
	}
	return s;
}

static inline void compat_shrinker_free(struct shrinker *s)
{
	shrinker_free(s);
}
#else
struct compat_shrinker {
	struct shrinker	shrinker;
	void		*private;
};

# define compat_shrinker_private(s)	\
	(container_of(s, struct compat_shrinker, shrinker)->private)

static inline struct shrinker *
compat_shrinker_new(const char *name, typeof_member(struct shrinker, count_objects) count,
		    typeof_member(struct shrinker, scan_objects) scan, void *private)
{
	struct compat_shrinker *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->shrinker.count_objects = count;
	c->shrinker.scan_objects = scan;
	c->shrinker.seeks = DEFAULT_SEEKS;
	c->private = private;
	if (register_shrinker(&c->shrinker, "fscommit-%s", name)) {
		kfree(c);
		return NULL;
	}
	return &c->shrinker;
}

static inline void compat_shrinker_free(struct shrinker *s)
{
	unregister_shrinker(s);
	kfree(container_of(s, struct compat_shrinker, shrinker));
}
#endif

#endif /* _FSCOMMIT_COMPAT_H */
