/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader-unfair, writer-preferring read/write semaphore.
 */
#ifndef _LINUX_UNFAIR_RWSEM_H
#define _LINUX_UNFAIR_RWSEM_H

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/fscommit_abi.h>
#include <linux/fscommit_context.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock_types.h>

/**
 * DOC: Overview
 *
 * A sleeping read/write lock for one important writer, such as a commit or a checkpoint, and
 * readers of any priority, some of them throttled by their cgroup. Use it where a stalled
 * writer costs more than a delayed reader; use an rw_semaphore everywhere else.
 *
 * A queued reader is woken, but never granted the lock: it acquires the lock itself, once it
 * runs. Until then it costs a writer nothing. New readers wait while a writer holds the lock or
 * waits for it. A reader that has waited longer than the lock's bound is overdue. At the next
 * release it opens a short window, in which writers wait::
 *
 *	struct unfair_rwsem cp_sem;
 *
 *	init_unfair_rwsem(&cp_sem);
 *
 *	unfair_down_read(&cp_sem);		// an operation
 *	unfair_up_read(&cp_sem);
 *
 *	scoped_guard(unfair_rwsem_write, &cp_sem)	// the checkpoint
 *		write_checkpoint();
 *
 * A waiting writer sees which tasks hold the lock for reading. It spins while they all run,
 * and those that do not are lent the priority of a real-time task, until they release the lock.
 *
 * Who may call what:
 *
 * - Process context with bottom halves enabled: every function that acquires, downgrades,
 *   releases, expedites or unexpedites. Of these, only unfair_down_*() without _trylock,
 *   unfair_rwsem_expedite() and unfair_rwsem_unexpedite() may sleep.
 * - Process context: unfair_rwsem_assert_held_write().
 * - Any context but NMI: initialisation, the other asserts, unfair_rwsem_set_*().
 * - Any context: unfair_rwsem_is_*().
 * - The task that acquires the lock must release it, on any CPU, before it returns to userspace
 *   or exits. It must not acquire a lock that it holds: if a writer queues in between, even
 *   two read acquisitions deadlock. lockdep reports it.
 * - Do not initialise a held lock. Do not free it before every call that releases it has
 *   returned.
 *
 * Memory ordering: acquiring the lock is an ACQUIRE, releasing it a RELEASE. A failed trylock
 * and a wait that ends with an error order nothing.
 *
 * Clang's context analysis knows the lock: data that is __guarded_by() it may be read
 * while it is held for reading, and written while it is held for writing.
 */

/*
 * The lock word.
 *
 *  bit 0	WRITER	held for writing; the bits from READER up are the owner's
 *			task_struct, which is aligned well enough for that
 *  bit 1	WWAIT	writers are queued
 *  bit 2	RWAIT	readers are queued
 *  bit 3	WINDOW	a window is open: no writer may acquire the lock
 *  bit 4	LENT	holders may have a loan, which ends when they release the lock
 *  from bit 5	READER	without WRITER: number of readers counted in the word
 *  top bit	BIAS	without WRITER: readers may register in a biased slot only
 *
 * Any task changes 0 <-> WRITER and +/- READER by one atomic operation. A writer that releases
 * with flags set stores the word under wait_lock. A reader sets BIAS while no flag is set; BIAS is
 * cleared under wait_lock. WWAIT, RWAIT, WINDOW and LENT change only under wait_lock. WINDOW and
 * BIAS are never set together with WRITER.
 */
#define UNFAIR_RWSEM_WRITER	0x1L
#define UNFAIR_RWSEM_WWAIT	0x2L
#define UNFAIR_RWSEM_RWAIT	0x4L
#define UNFAIR_RWSEM_WINDOW	0x8L
#define UNFAIR_RWSEM_LENT	0x10L
#define UNFAIR_RWSEM_READER	0x20L
#define UNFAIR_RWSEM_FLAGS	(UNFAIR_RWSEM_READER - 1)
#define UNFAIR_RWSEM_BIAS	LONG_MIN

/* Acquisitions that overlap other readers before BIAS is set for the first time. */
#ifndef UNFAIR_RWSEM_BIAS_FIRST
# define UNFAIR_RWSEM_BIAS_FIRST	16
#endif

/* Bounds for unfair_rwsem_set_reader_bound(), in microseconds. */
#define UNFAIR_RWSEM_BOUND_MAX_US	10000000U
#define UNFAIR_RWSEM_BOUND_DEFAULT	(~0U)

/*
 * The table of counted readers. A slot is one word: 0, or the identity of a reader. The hash of
 * a lock's address selects its first region, the hash of a pid the line in a region. See
 * visible_readers.c.
 */
#define UNFAIR_LINE_SLOTS	8U		/* one cache line on 64 bits */
#define UNFAIR_REGION_LINES	8U
#define UNFAIR_REGION_SLOTS	(UNFAIR_REGION_LINES * UNFAIR_LINE_SLOTS)
#define UNFAIR_REGIONS		128U

/* PID_MAX_LIMIT is 2^22 on 64 bits, 2^15 on 32 bits. */
#define UNFAIR_PID_BITS		(BITS_PER_LONG == 64 ? 22 : 15)

extern unsigned long unfair_reader_slots[UNFAIR_REGIONS * UNFAIR_REGION_SLOTS];

/* Declared apart: kernel-doc does not know the macro. */
fscommit_lock_struct(unfair_rwsem);

/**
 * struct unfair_rwsem - a reader-unfair read/write semaphore
 *
 * All fields are private. At most 64 bytes on a 64-bit production kernel. Do not put data that
 * other tasks write into the same cache line.
 */
struct unfair_rwsem {
	/* private: */
	atomic_long_t		word;
	raw_spinlock_t		wait_lock;	/* protects the fields that do not say otherwise */
	u8			region;		/* first one of unfair_reader_slots; constant */
	u8			bias_wait;	/* overlaps left until BIAS; not protected */
	u16			class;		/* in the statistics; constant */
	u8			steals;		/* in a row, ahead of the first writer */
	u8			window_due:5;	/* readers that the open window waits for */
	u8			window_used:1;	/* a window was opened since the last writer */
	u8			expedited:1;	/* has an active section */
	u8			lend_off:1;	/* waiters lend nothing */
	u16			window_seq;	/* number of the last window */
	struct rb_root_cached	writers;	/* by priority, then arrival */
	struct rb_root		readers;	/* by real-time priority, then arrival */
	struct unfair_watch	*watch;		/* NULL: not in the watcher's list */
	u32			window_end;	/* in 1,024 ns, wraps */
	u32			reader_bound;	/* microseconds; 0: off, ~0: the default */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map	dep_map;
#endif
};

#ifdef CONFIG_DEBUG_LOCK_ALLOC
# define __UNFAIR_RWSEM_DEP_MAP(_name)				\
	.dep_map = {						\
		.name = #_name,					\
		.wait_type_inner = LD_WAIT_SLEEP,		\
	},
#else
# define __UNFAIR_RWSEM_DEP_MAP(_name)
#endif

#define __UNFAIR_RWSEM_INITIALIZER(_name) {				\
	.word = ATOMIC_LONG_INIT(0),					\
	.region = __LINE__ * 37U % UNFAIR_REGIONS,			\
	.wait_lock = __RAW_SPIN_LOCK_UNLOCKED((_name).wait_lock),	\
	.writers = RB_ROOT_CACHED,					\
	.readers = RB_ROOT,						\
	.bias_wait = UNFAIR_RWSEM_BIAS_FIRST,				\
	.reader_bound = UNFAIR_RWSEM_BOUND_DEFAULT,			\
	__UNFAIR_RWSEM_DEP_MAP(_name)					\
}

/**
 * DEFINE_UNFAIR_RWSEM() - define and initialise a reader-unfair semaphore
 * @_name: name of the variable
 */
#define DEFINE_UNFAIR_RWSEM(_name)					\
	struct unfair_rwsem _name = __UNFAIR_RWSEM_INITIALIZER(_name)

void __init_unfair_rwsem(struct unfair_rwsem *sem, const char *name,
			 struct lock_class_key *key);
void __unfair_rwsem_init(struct unfair_rwsem *sem, const char *name, struct lock_class_key *key,
			 u16 *class);

/**
 * init_unfair_rwsem() - initialise a reader-unfair semaphore
 * @sem: the semaphore; must not be held
 *
 * Each call site is a lockdep class of its own. Call sites that must share a class use
 * __init_unfair_rwsem() with a name and a key.
 *
 * Tim Murray proposed that unfairness belongs to the semaphore and is set when it is
 * initialised (linux-f2fs-devel, January 2022).
 *
 * Context: any but NMI.
 */
#define init_unfair_rwsem(sem)					\
do {								\
	static struct lock_class_key __key;			\
	static u16 __class;					\
								\
	__unfair_rwsem_init((sem), #sem, &__key, &__class);	\
} while (0)

int unfair_rwsem_set_reader_bound(struct unfair_rwsem *sem, unsigned int us);
void unfair_rwsem_set_lend(struct unfair_rwsem *sem, bool on);

/* Slow paths; @timeout in jiffies, @state: task state to sleep in */
int __unfair_down_slow(struct unfair_rwsem *sem, bool write, unsigned int state, long timeout);
bool __unfair_down_write_trylock_slow(struct unfair_rwsem *sem);
bool __unfair_read_contended(struct unfair_rwsem *sem, unsigned int pid);
void __unfair_up_read_counted(struct unfair_rwsem *sem);
void __unfair_up_read_elsewhere(struct unfair_rwsem *sem, unsigned int pid);
unsigned int __unfair_biased_readers(const struct unfair_rwsem *sem);
void __unfair_up_write_slow(struct unfair_rwsem *sem);

#ifdef CONFIG_DEBUG_LOCK_ALLOC
# define __unfair_acquire(sem, sub, try, read, nest)			\
	lock_acquire(&(sem)->dep_map, sub, try, read, 1, nest, _THIS_IP_)
# define __unfair_acquired(sem)	lock_acquired(&(sem)->dep_map, _THIS_IP_)
# define __unfair_release(sem)	lock_release(&(sem)->dep_map, _THIS_IP_)
#else
# define __unfair_acquire(sem, sub, try, read, nest)	do { (void)(sub); } while (0)
# define __unfair_acquired(sem)				do { } while (0)
# define __unfair_release(sem)				do { } while (0)
#endif

/* The first slot that the reader @pid tries, selected by the upper bits of a hash. */
static __always_inline unsigned long *__unfair_slot(const struct unfair_rwsem *sem,
						    unsigned int pid)
{
	return unfair_reader_slots + sem->region * UNFAIR_REGION_SLOTS +
	       pid * GOLDEN_RATIO_32 / (BIT_ULL(32) / UNFAIR_REGION_SLOTS);
}

/*
 * The identity of a reader: the lock's address and the pid in one word, so that two readers that
 * race for a slot cannot mix theirs. It keeps the lower 48 bits of the address, or 19 on 32 bits.
 * The pid overlaps the lowest 6, or 2, of them. Two locks, which are not smaller than that, cannot
 * differ in these bits alone.
 */
#define __UNFAIR_ID_SHIFT	(UNFAIR_PID_BITS - (BITS_PER_LONG == 64 ? 6 : 2))

static __always_inline unsigned long __unfair_reader_id(const struct unfair_rwsem *sem,
							unsigned int pid)
{
	return (unsigned long)sem << __UNFAIR_ID_SHIFT ^ pid;
}

/* The pid of a reader with identity @id if it reads @sem. */
static __always_inline unsigned int __unfair_reader_pid(const struct unfair_rwsem *sem,
							unsigned long id)
{
	return (id ^ (unsigned long)sem << __UNFAIR_ID_SHIFT) & (BIT(UNFAIR_PID_BITS) - 1);
}

/*
 * If the lock is free and the slot is empty, counts the caller in the word, then fills the
 * slot. Preemption is disabled so that a reader is visible before it can be preempted. The
 * slot is read once, to be compared: a plain read, which needs no register.
 */
static __always_inline bool __unfair_read_fast(struct unfair_rwsem *sem)
{
	unsigned int pid = current->pid;
	unsigned long *slot = __unfair_slot(sem, pid);
	long word = atomic_long_read(&sem->word);
	bool acquired = true;

	preempt_disable();
	/* data_race: see above */
	if (likely(!word && !data_race(*slot) &&
		   atomic_long_try_cmpxchg_acquire(&sem->word, &word, UNFAIR_RWSEM_READER)))
		WRITE_ONCE(*slot, __unfair_reader_id(sem, pid));
	else
		acquired = __unfair_read_contended(sem, pid);
	preempt_enable();
	return acquired;
}

static __always_inline bool __unfair_write_fast(struct unfair_rwsem *sem)
{
	long word = 0;

	return likely(atomic_long_try_cmpxchg_acquire(&sem->word, &word,
						      (long)current | UNFAIR_RWSEM_WRITER));
}

static __always_inline int __unfair_down_read(struct unfair_rwsem *sem, int subclass,
					      unsigned int state, long timeout)
{
	int ret = 0;

	might_sleep();
	/* read = 1: blocking and not recursive */
	__unfair_acquire(sem, subclass, 0, 1, NULL);
	if (unlikely(!__unfair_read_fast(sem)))
		ret = __unfair_down_slow(sem, false, state, timeout);
	if (unlikely(ret))
		__unfair_release(sem);
	else
		__unfair_acquired(sem);
	return ret;
}

static __always_inline int __unfair_down_write(struct unfair_rwsem *sem, int subclass,
					       struct lockdep_map *nest, unsigned int state,
					       long timeout)
{
	int ret = 0;

	might_sleep();
	__unfair_acquire(sem, subclass, 0, 0, nest);
	if (unlikely(!__unfair_write_fast(sem)))
		ret = __unfair_down_slow(sem, true, state, timeout);
	if (unlikely(ret))
		__unfair_release(sem);
	else
		__unfair_acquired(sem);
	return ret;
}

/**
 * unfair_down_read() - acquire the semaphore for reading
 * @sem: the semaphore; the caller must not hold it
 *
 * Waits while a writer holds the semaphore or waits for it. A caller that runs waits at most
 * for the reader bound (unless it is off), the hold of a writer in which the bound expires, and
 * the window; for more of these if more readers are overdue than there are CPUs, or 16.
 *
 * Context: process context; may sleep, uninterruptibly.
 */
static inline void unfair_down_read(struct unfair_rwsem *sem)
	__fsc_acquires_shared(sem)
	__fsc_unchecked
{
	__unfair_down_read(sem, 0, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_read_interruptible() - acquire it for reading, unless a signal arrives
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR if a signal arrived first.
 */
static inline int __must_check unfair_down_read_interruptible(struct unfair_rwsem *sem)
	__fsc_cond_acquires_shared(0, sem)
{
	return __unfair_down_read(sem, 0, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_read_killable() - acquire it for reading, unless the task is killed
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR if a fatal signal arrived first.
 */
static inline int __must_check unfair_down_read_killable(struct unfair_rwsem *sem)
	__fsc_cond_acquires_shared(0, sem)
{
	return __unfair_down_read(sem, 0, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_read_timeout() - acquire it for reading, or fail after a timeout
 * @sem: the semaphore
 * @timeout: maximum wait in jiffies; 0: try once
 *
 * Context: process context; may sleep, uninterruptibly.
 * Return: 0 with the semaphore held; -ETIME after the timeout; -EINVAL and a warning for a
 * negative timeout, if the caller would have to wait.
 */
static inline int __must_check unfair_down_read_timeout(struct unfair_rwsem *sem, long timeout)
	__fsc_cond_acquires_shared(0, sem)
{
	return __unfair_down_read(sem, 0, TASK_UNINTERRUPTIBLE, timeout);
}

/**
 * unfair_down_read_nested() - acquire it for reading, with a lockdep subclass
 * @sem: the semaphore
 * @subclass: below MAX_LOCKDEP_SUBCLASSES
 *
 * On every kernel, the algorithm is that of unfair_down_read().
 *
 * Context: process context; may sleep, uninterruptibly.
 */
static inline void unfair_down_read_nested(struct unfair_rwsem *sem, int subclass)
	__fsc_acquires_shared(sem)
	__fsc_unchecked
{
	__unfair_down_read(sem, subclass, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_read_trylock() - acquire it for reading if that needs no wait
 * @sem: the semaphore
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 * Return: true with the semaphore held; false if a writer holds it or waits for it.
 */
static inline bool __must_check unfair_down_read_trylock(struct unfair_rwsem *sem)
	__fsc_cond_acquires_shared(true, sem)
{
	if (!__unfair_read_fast(sem))
		return false;
	__unfair_acquire(sem, 0, 1, 1, NULL);
	return true;
}

/**
 * unfair_up_read() - release a semaphore that is held for reading
 * @sem: the semaphore
 *
 * Ends the loan that the caller got for holding @sem. If no task holds @sem for reading, the
 * function warns once and does nothing.
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 */
static inline void unfair_up_read(struct unfair_rwsem *sem)
	__fsc_releases_shared(sem)
	__fsc_unchecked
{
	unsigned int pid = current->pid;
	unsigned long *slot = __unfair_slot(sem, pid);
	long word = UNFAIR_RWSEM_READER;

	__unfair_release(sem);
	preempt_disable();
	/*
	 * On 32 bits another lock that the caller reads may have the same identity, so the biased
	 * slots, which are exact, come first. On 64 bits the two addresses would have to be a
	 * multiple of 256 TiB apart. data_race: see __unfair_read_fast().
	 */
	if (BITS_PER_LONG == 32 || unlikely(data_race(*slot) != __unfair_reader_id(sem, pid))) {
		__unfair_up_read_elsewhere(sem, pid);	/* enables preemption */
		return;
	}
	WRITE_ONCE(*slot, 0);
	if (unlikely(!atomic_long_try_cmpxchg_release(&sem->word, &word, 0))) {
		__unfair_up_read_counted(sem);		/* enables preemption */
		return;
	}
	preempt_enable();
}

/**
 * unfair_down_write() - acquire the semaphore for writing
 * @sem: the semaphore; the caller must not hold it
 *
 * Waits for the holders, for writers of higher priority, and for earlier writers of the same
 * priority. Up to 250 later ones in a row may acquire it while they run and the first one does not;
 * any writer may, once a woken one has not run in its grace time. Waiting readers delay it by one
 * window at most, for readers that are overdue, or that are real-time and outrank all writers.
 *
 * Context: process context; may sleep, uninterruptibly.
 */
static inline void unfair_down_write(struct unfair_rwsem *sem)
	__fsc_acquires(sem)
	__fsc_unchecked
{
	__unfair_down_write(sem, 0, NULL, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_write_interruptible() - acquire it for writing, unless a signal arrives
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR if a signal arrived first.
 */
static inline int __must_check unfair_down_write_interruptible(struct unfair_rwsem *sem)
	__fsc_cond_acquires(0, sem)
{
	return __unfair_down_write(sem, 0, NULL, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_write_killable() - acquire it for writing, unless the task is killed
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR if a fatal signal arrived first.
 */
static inline int __must_check unfair_down_write_killable(struct unfair_rwsem *sem)
	__fsc_cond_acquires(0, sem)
{
	return __unfair_down_write(sem, 0, NULL, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_write_timeout() - acquire it for writing, or fail after a timeout
 * @sem: the semaphore
 * @timeout: maximum wait in jiffies; 0: try once
 *
 * Context: process context; may sleep, uninterruptibly.
 * Return: 0 with the semaphore held; -ETIME after the timeout; -EINVAL and a warning for a
 * negative timeout, if the caller would have to wait.
 */
static inline int __must_check unfair_down_write_timeout(struct unfair_rwsem *sem, long timeout)
	__fsc_cond_acquires(0, sem)
{
	return __unfair_down_write(sem, 0, NULL, TASK_UNINTERRUPTIBLE, timeout);
}

/**
 * unfair_down_write_nested() - acquire it for writing, with a lockdep subclass
 * @sem: the semaphore
 * @subclass: below MAX_LOCKDEP_SUBCLASSES
 *
 * On every kernel, the algorithm is that of unfair_down_write().
 *
 * Context: process context; may sleep, uninterruptibly.
 */
static inline void unfair_down_write_nested(struct unfair_rwsem *sem, int subclass)
	__fsc_acquires(sem)
	__fsc_unchecked
{
	__unfair_down_write(sem, subclass, NULL, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

#ifdef CONFIG_DEBUG_LOCK_ALLOC
# define __unfair_nest_map(nest_lock)	(&(nest_lock)->dep_map)
#else
# define __unfair_nest_map(nest_lock)	((void)(nest_lock), NULL)
#endif

static __always_inline void __unfair_down_write_nested_in(struct unfair_rwsem *sem,
							  struct lockdep_map *nest)
	__fsc_acquires(sem)
	__fsc_unchecked
{
	__unfair_down_write(sem, 0, nest, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_write_nest_lock() - acquire one of many of a class for writing
 * @sem: the semaphore
 * @nest_lock: a lock, held by the caller, that orders the semaphores of @sem's class
 *
 * Context: process context; may sleep, uninterruptibly.
 */
#define unfair_down_write_nest_lock(sem, nest_lock)				\
	__unfair_down_write_nested_in((sem), __unfair_nest_map(nest_lock))

/**
 * unfair_down_write_trylock() - acquire it for writing if that needs no wait
 * @sem: the semaphore
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 * Return: true with the semaphore held; false if a task holds it, if a writer waits, while a
 * window is open, or at the moment at which an expedited section takes effect.
 */
static inline bool __must_check unfair_down_write_trylock(struct unfair_rwsem *sem)
	__fsc_cond_acquires(true, sem)
{
	if (!__unfair_write_fast(sem) && !__unfair_down_write_trylock_slow(sem))
		return false;
	__unfair_acquire(sem, 0, 1, 0, NULL);
	return true;
}

/**
 * unfair_up_write() - release a semaphore that the caller holds for writing
 * @sem: the semaphore
 *
 * If the caller does not hold it for writing, the function warns once and does nothing.
 *
 * Context: process context, with bottom halves enabled; does not sleep.
 */
static inline void unfair_up_write(struct unfair_rwsem *sem)
	__fsc_releases(sem)
	__fsc_unchecked
{
	long word = (long)current | UNFAIR_RWSEM_WRITER;

	__unfair_release(sem);
	if (unlikely(!atomic_long_try_cmpxchg_release(&sem->word, &word, 0)))
		__unfair_up_write_slow(sem);
}

void unfair_downgrade_write(struct unfair_rwsem *sem)
	__fsc_releases(sem)
	__fsc_acquires_shared(sem);

/**
 * struct unfair_watch - the entry of a lock in the watcher's list; a lock has at most one
 *
 * All fields are private.
 */
struct unfair_watch {
	/* private: */
	struct list_head	entry;
	struct unfair_rwsem	*sem;		/* NULL: not in the list */
	u64			trace_due;	/* earliest time of the next unfair_holder, in ns */
	u8			pass;		/* the last pass that visited this entry */
};

/**
 * struct unfair_section - an expedited section
 *
 * All fields are private. The caller provides it, usually on its stack, and keeps it until
 * unfair_rwsem_unexpedite() has returned.
 */
struct unfair_section {
	/* private: */
	struct unfair_rwsem	*sem;		/* NULL: not begun */
	struct task_struct	*task;
	struct list_head	entry;		/* in the list of new sections, or empty */
	struct rb_node		node;		/* of an active section, or empty */
	struct unfair_watch	watch;
	u64			since;		/* sorts: its begin, or the last visit */
	u8			level;		/* real-time priority that it lends; 0: nothing */
	bool			real_time;
	bool			put_off;	/* once, because its task was not blocked */
};

void unfair_rwsem_expedite(struct unfair_rwsem *sem, struct unfair_section *section);
void unfair_rwsem_unexpedite(struct unfair_section *section);

/**
 * unfair_rwsem_is_locked() - is it held?
 * @sem: the semaphore
 *
 * Context: any. The result may be out of date when the function returns.
 * Return: true if any task holds it; for a moment also while the bias of a free lock is revoked.
 */
static inline bool unfair_rwsem_is_locked(const struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);

	if (word & UNFAIR_RWSEM_WRITER || word & ~(UNFAIR_RWSEM_FLAGS | UNFAIR_RWSEM_BIAS))
		return true;
	return word & UNFAIR_RWSEM_BIAS && __unfair_biased_readers(sem);
}

/**
 * unfair_rwsem_is_write_locked() - is it held for writing?
 * @sem: the semaphore
 *
 * Context: any. The result may be out of date when the function returns.
 * Return: true if any task holds it for writing.
 */
static inline bool unfair_rwsem_is_write_locked(const struct unfair_rwsem *sem)
{
	return atomic_long_read(&sem->word) & UNFAIR_RWSEM_WRITER;
}

/**
 * unfair_rwsem_is_contended() - do tasks wait for it?
 * @sem: the semaphore
 *
 * Context: any. The result may be out of date when the function returns.
 * Return: true if readers or writers are queued. A reader that was woken and has not run yet
 * is not in the queue.
 */
static inline bool unfair_rwsem_is_contended(const struct unfair_rwsem *sem)
{
	return atomic_long_read(&sem->word) & (UNFAIR_RWSEM_WWAIT | UNFAIR_RWSEM_RWAIT);
}

/* False if the lock is free; true if it is held, or biased: then it may be free. */
static inline bool __unfair_may_be_held(const struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);

	return word & UNFAIR_RWSEM_WRITER || word & ~UNFAIR_RWSEM_FLAGS;
}

/**
 * unfair_rwsem_assert_held() - warn unless it is held
 * @sem: the semaphore
 *
 * With lockdep, warns unless the caller holds it. Without lockdep, warns if no task holds it,
 * but not if it is biased.
 *
 * Context: any but NMI.
 */
static inline void unfair_rwsem_assert_held(const struct unfair_rwsem *sem)
	__fsc_assumes_shared(sem)
	__fsc_unchecked
{
	if (IS_ENABLED(CONFIG_LOCKDEP))
		lockdep_assert_held(sem);
	else
		WARN_ON_ONCE(!__unfair_may_be_held(sem));
}

/**
 * unfair_rwsem_assert_held_read() - warn unless it is held for reading
 * @sem: the semaphore
 *
 * With lockdep, warns unless the caller holds it for reading. Without lockdep, as
 * unfair_rwsem_assert_held(), and warns if a writer holds it.
 *
 * Context: any but NMI.
 */
static inline void unfair_rwsem_assert_held_read(const struct unfair_rwsem *sem)
	__fsc_assumes_shared(sem)
	__fsc_unchecked
{
	if (IS_ENABLED(CONFIG_LOCKDEP))
		lockdep_assert_held_read(sem);
	else
		WARN_ON_ONCE(!__unfair_may_be_held(sem) || unfair_rwsem_is_write_locked(sem));
}

/**
 * unfair_rwsem_assert_held_write() - warn unless the caller holds it for writing
 * @sem: the semaphore
 *
 * Exact on every kernel: the lock word names the owner.
 *
 * Context: process context.
 */
static inline void unfair_rwsem_assert_held_write(const struct unfair_rwsem *sem)
	__fsc_assumes(sem)
	__fsc_unchecked
{
	if (IS_ENABLED(CONFIG_LOCKDEP))
		lockdep_assert_held_write(sem);
	WARN_ON_ONCE((atomic_long_read(&sem->word) &
		      ~(UNFAIR_RWSEM_FLAGS & ~UNFAIR_RWSEM_WRITER)) !=
		     ((long)current | UNFAIR_RWSEM_WRITER));
}

/* Guards: guard(unfair_rwsem_read)(&sem), and conditional guards _try, _intr and _kill. */
DEFINE_LOCK_GUARD_1(unfair_rwsem_read, struct unfair_rwsem,
		    unfair_down_read(_T->lock), unfair_up_read(_T->lock))
DEFINE_LOCK_GUARD_1(unfair_rwsem_write, struct unfair_rwsem,
		    unfair_down_write(_T->lock), unfair_up_write(_T->lock))

/*
 * guard(unfair_rwsem_expedite)(&sem): the section is in the caller's block. The function that this
 * macro hides would return a copy, and the section is in a list.
 */
DEFINE_GUARD(unfair_rwsem_expedite, struct unfair_section *,
	     unfair_rwsem_expedite(_T->sem, _T), unfair_rwsem_unexpedite(_T))
#define class_unfair_rwsem_expedite_constructor(_sem)				\
	class_unfair_rwsem_expedite_constructor(&(struct unfair_section){ .sem = (_sem) })

#if defined(DEFINE_LOCK_GUARD_1_COND_4)		/* since 6.17: with ACQUIRE_ERR() */
# define __UNFAIR_GUARD_COND(_name, _ext, _lock, _cond)			\
	DEFINE_LOCK_GUARD_1_COND(_name, _ext, _lock, _cond)
#elif defined(DEFINE_LOCK_GUARD_1_COND)		/* since 6.8 */
# define __UNFAIR_GUARD_COND(_name, _ext, _lock, _cond)			\
	DEFINE_LOCK_GUARD_1_COND(_name, _ext, ({ int _RET = (_lock); _cond; }))
#else	/* 6.1: CLASS(unfair_rwsem_read_try, g)(&sem), then test g.lock */
# define __UNFAIR_GUARD_COND(_name, _ext, _lock, _cond)			\
	EXTEND_CLASS(_name, _ext, ({					\
		class_##_name##_t _g = { .lock = _l }, *_T = &_g;	\
		int _RET = (_lock);					\
									\
		if (!(_cond))						\
			_g.lock = NULL;					\
		_g; }), struct unfair_rwsem *_l)
#endif

__UNFAIR_GUARD_COND(unfair_rwsem_read, _try, unfair_down_read_trylock(_T->lock), _RET)
__UNFAIR_GUARD_COND(unfair_rwsem_read, _intr, unfair_down_read_interruptible(_T->lock), _RET == 0)
__UNFAIR_GUARD_COND(unfair_rwsem_read, _kill, unfair_down_read_killable(_T->lock), _RET == 0)
__UNFAIR_GUARD_COND(unfair_rwsem_write, _try, unfair_down_write_trylock(_T->lock), _RET)
__UNFAIR_GUARD_COND(unfair_rwsem_write, _intr, unfair_down_write_interruptible(_T->lock), _RET == 0)
__UNFAIR_GUARD_COND(unfair_rwsem_write, _kill, unfair_down_write_killable(_T->lock), _RET == 0)

#ifdef WITH_LOCK_GUARD_1_ATTRS		/* since 7.0: guards for the context analysis */
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_read, __acquires_shared(_T),
			   __releases_shared(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_read_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_read, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_read_try, __acquires_shared(_T),
			   __releases_shared(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_read_try_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_read_try, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_read_intr, __acquires_shared(_T),
			   __releases_shared(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_read_intr_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_read_intr, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_read_kill, __acquires_shared(_T),
			   __releases_shared(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_read_kill_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_read_kill, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_write, __acquires(_T),
			   __releases(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_write_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_write, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_write_try, __acquires(_T),
			   __releases(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_write_try_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_write_try, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_write_intr, __acquires(_T),
			   __releases(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_write_intr_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_write_intr, _T)
DECLARE_LOCK_GUARD_1_ATTRS(unfair_rwsem_write_kill, __acquires(_T),
			   __releases(*(struct unfair_rwsem **)_T))
# define class_unfair_rwsem_write_kill_constructor(_T)			\
	WITH_LOCK_GUARD_1_ATTRS(unfair_rwsem_write_kill, _T)
#endif

#endif /* _LINUX_UNFAIR_RWSEM_H */
