/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader-unfair, writer-preferring read/write semaphore.
 *
 * The task that commits never waits for a task that is not running.
 */
#ifndef _LINUX_UNFAIR_RWSEM_H
#define _LINUX_UNFAIR_RWSEM_H

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/fscommit_context.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock_types.h>

/**
 * DOC: Overview
 *
 * A sleeping read/write lock for the case in which one writer (a commit, a
 * checkpoint) works for everybody and its readers may be anybody: at the lowest
 * priority, or throttled by their cgroup. Use it where a stalled writer costs
 * more than a delayed reader; use an rw_semaphore everywhere else.
 *
 * A reader holds the lock only through an instruction that it executed itself.
 * A reader that sleeps in the queue is woken, never granted the lock, so it costs
 * a writer nothing until it really runs. New readers wait while a writer holds
 * or waits. A reader that waited longer than the lock's bound opens a short
 * window, at the next release, in which writers stand back::
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
 * Process context only, with bottom halves enabled; every function named down or up
 * but the trylocks may sleep. The lock has an owner: the task that took it releases it. Do not free
 * the lock's memory before each unlock has returned. Readers must not take it
 * recursively: a writer that queues between the two makes that a deadlock, and
 * lockdep reports it.
 *
 * A writer that waits sees who holds the lock for reading: it spins while they all run,
 * and lends its priority to those that do not, until they release it. A reader must
 * release it by itself, in the task that took it, before it returns to userspace or
 * exits. On which CPU does not matter.
 *
 * Memory ordering: taking the lock is an ACQUIRE, releasing it a RELEASE. A
 * failed trylock, or a wait that ends with an error, orders nothing.
 *
 * Clang's context analysis knows the lock: what is __guarded_by() one may be read with it
 * held for reading, and written with it held for writing.
 */

/*
 * The lock word.
 *
 *  bit 0	WRITER	held for writing; the bits from READER up are the owner,
 *			a task_struct, which is aligned well enough for that
 *  bit 1	WWAIT	writers are queued
 *  bit 2	RWAIT	readers are queued
 *  bit 3	WINDOW	the lock is kept for readers that waited too long
 *  bit 4	LENT	holders may have a lent priority, which ends at their release
 *  from bit 5	READER	if not WRITER: how many readers are counted here
 *  top bit	BIAS	if not WRITER: readers may register in a biased slot only
 *
 * Any task changes 0 <-> WRITER and +/- READER by one compare and exchange. A reader
 * sets BIAS when no flag is set; BIAS is cleared under wait_lock. WWAIT, RWAIT, WINDOW
 * and LENT change only under wait_lock. WINDOW and BIAS are never set together with
 * WRITER.
 */
#define UNFAIR_RWSEM_WRITER	0x1L
#define UNFAIR_RWSEM_WWAIT	0x2L
#define UNFAIR_RWSEM_RWAIT	0x4L
#define UNFAIR_RWSEM_WINDOW	0x8L
#define UNFAIR_RWSEM_LENT	0x10L
#define UNFAIR_RWSEM_READER	0x20L
#define UNFAIR_RWSEM_FLAGS	(UNFAIR_RWSEM_READER - 1)
#define UNFAIR_RWSEM_BIAS	LONG_MIN

/* Overlapping readers before BIAS is set for the first time. */
#ifndef UNFAIR_RWSEM_BIAS_FIRST
# define UNFAIR_RWSEM_BIAS_FIRST	16
#endif

/* Bounds for unfair_rwsem_set_reader_bound(), in microseconds. */
#define UNFAIR_RWSEM_BOUND_MAX_US	10000000U
#define UNFAIR_RWSEM_BOUND_DEFAULT	(~0U)

/**
 * enum unfair_rwsem_lend - what a waiter lends to a holder that is not running
 * @UNFAIR_LEND_DEFAULT: what the module parameter lend says
 * @UNFAIR_LEND_OFF: nothing
 * @UNFAIR_LEND_NICE: its own nice value, and SCHED_NORMAL to a SCHED_IDLE task
 * @UNFAIR_LEND_FULL: SCHED_FIFO for a time, after that as UNFAIR_LEND_NICE
 */
enum unfair_rwsem_lend {
	UNFAIR_LEND_DEFAULT,
	UNFAIR_LEND_OFF,
	UNFAIR_LEND_NICE,
	UNFAIR_LEND_FULL,
};

/*
 * The table of counted readers: one word each, 0 or the identity of a reader. A lock
 * starts in the region of its address; in a region a task uses the line of its pid's hash.
 * See visible_readers.c.
 */
#define UNFAIR_LINE_SLOTS	8U		/* one cache line on 64 bits */
#define UNFAIR_REGION_LINES	8U
#define UNFAIR_REGION_SLOTS	(UNFAIR_REGION_LINES * UNFAIR_LINE_SLOTS)
#define UNFAIR_REGIONS		128U
#define __UNFAIR_REGION(n)	((n) * 37U % UNFAIR_REGIONS * UNFAIR_REGION_SLOTS)

/* PID_MAX_LIMIT is 2^22 with 64 bits, 2^15 with 32. */
#define UNFAIR_PID_BITS		(BITS_PER_LONG == 64 ? 22 : 15)

extern unsigned long unfair_reader_slots[UNFAIR_REGIONS * UNFAIR_REGION_SLOTS];

/* A declaration; the struct itself is as kernel-doc reads it. */
fscommit_lock_struct(unfair_rwsem);

/**
 * struct unfair_rwsem - a reader-unfair read/write semaphore
 *
 * All fields are private. At most 64 bytes on a 64-bit production kernel; put
 * nothing that others write beside it in its cache line.
 */
struct unfair_rwsem {
	/* private: */
	atomic_long_t		word;
	unsigned long		*slots;		/* its first region of unfair_reader_slots; fixed */
	raw_spinlock_t		wait_lock;	/* protects all below */
	u8			steals;		/* how often the first writer was passed */
	u8			window_due:5;	/* readers that the open window waits for */
	u8			window_used:1;	/* a window was opened since the last writer */
	u8			expedited:1;	/* between expedite and unexpedite */
	u8			watched:1;	/* in the watcher's list */
	u16			window_seq;	/* number of the last window */
	struct rb_root_cached	writers;	/* by priority, then arrival */
	struct rb_root		readers;	/* by real-time priority, then arrival */
	u32			window_end;	/* in 1,024 ns, wraps */
	u32			reader_bound:24; /* microseconds, 0: off, all ones: the default */
	u32			lend:8;		/* enum unfair_rwsem_lend */
	u16			class;		/* in the statistics; fixed */
	u8			bias_wait;	/* overlapping readers until BIAS; not protected */
	u8			reader_rt;	/* the highest level of the queued readers */
	s8			reader_nice;
	u16			leaving;	/* lenders that left; their loans have not */
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
	.slots = unfair_reader_slots + __UNFAIR_REGION(__LINE__),	\
	.wait_lock = __RAW_SPIN_LOCK_UNLOCKED((_name).wait_lock),	\
	.writers = RB_ROOT_CACHED,					\
	.readers = RB_ROOT,						\
	.bias_wait = UNFAIR_RWSEM_BIAS_FIRST,				\
	.reader_bound = UNFAIR_RWSEM_BOUND_DEFAULT & 0xffffff,		\
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
 * Each place that calls it is a lockdep class of its own. Where many places
 * must share one, call __init_unfair_rwsem() with a name and a key.
 *
 * The idea that unfairness belongs to the semaphore and is set when it is
 * initialised is Tim Murray's (linux-f2fs-devel, January 2022).
 *
 * Context: any.
 */
#define init_unfair_rwsem(sem)					\
do {								\
	static struct lock_class_key __key;			\
	static u16 __class;					\
								\
	__unfair_rwsem_init((sem), #sem, &__key, &__class);	\
} while (0)

int unfair_rwsem_set_reader_bound(struct unfair_rwsem *sem, unsigned int us);
int unfair_rwsem_set_lend(struct unfair_rwsem *sem, enum unfair_rwsem_lend lend);

/* debugfs: fscommit/stats */
DECLARE_STATIC_KEY_FALSE(unfair_rwsem_stats);
void __unfair_count_acquired(const struct unfair_rwsem *sem, bool write);

#define __unfair_count(sem, write)					\
do {									\
	if (static_branch_unlikely(&unfair_rwsem_stats))		\
		__unfair_count_acquired(sem, write);			\
} while (0)

/* Slow paths; @timeout in jiffies, @state of the sleeping task. */
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

/* Where the reader @pid looks for a slot first: by the upper bits of a hash. */
static __always_inline unsigned long *__unfair_slot(const struct unfair_rwsem *sem,
						    unsigned int pid)
{
	return sem->slots + pid * GOLDEN_RATIO_32 / (BIT_ULL(32) / UNFAIR_REGION_SLOTS);
}

/*
 * The identity of a reader: its pid, and as many bits of the lock's address as one word
 * holds beside it. One word, so that two readers that race for a slot cannot mix theirs.
 */
static __always_inline unsigned long __unfair_reader_id(const struct unfair_rwsem *sem,
							unsigned int pid)
{
	return (unsigned long)sem << (UNFAIR_PID_BITS - (BITS_PER_LONG == 64 ? 3 : 2)) | pid;
}

/*
 * The lock is free and the slot is empty: count the caller in the word, then fill the
 * slot. Everything else is in the slow path. Preemption is disabled so that a reader is
 * visible before it can be preempted. The slot is read only to be compared, once: a plain
 * read, which needs no register.
 */
static __always_inline bool __unfair_read_fast(struct unfair_rwsem *sem)
{
	unsigned int pid = current->pid;
	unsigned long *slot = __unfair_slot(sem, pid);
	long word = atomic_long_read(&sem->word);
	bool taken = true;

	preempt_disable();
	/* data_race: see above */
	if (likely(!word && !data_race(*slot) &&
		   atomic_long_try_cmpxchg_acquire(&sem->word, &word, UNFAIR_RWSEM_READER)))
		WRITE_ONCE(*slot, __unfair_reader_id(sem, pid));
	else
		taken = __unfair_read_contended(sem, pid);
	preempt_enable();
	return taken;
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
	/* read = 1: blocking and not recursive, which is what this lock is */
	__unfair_acquire(sem, subclass, 0, 1, NULL);
	if (unlikely(!__unfair_read_fast(sem)))
		ret = __unfair_down_slow(sem, false, state, timeout);
	if (unlikely(ret)) {
		__unfair_release(sem);
	} else {
		__unfair_acquired(sem);
		__unfair_count(sem, false);
	}
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
	if (unlikely(ret)) {
		__unfair_release(sem);
	} else {
		__unfair_acquired(sem);
		__unfair_count(sem, true);
	}
	return ret;
}

/**
 * unfair_down_read() - take the semaphore for reading
 * @sem: the semaphore; the caller must not hold it already
 *
 * Waits while a writer holds it or waits for it. A caller that runs does not wait
 * longer than the reader bound (if that is not off), the window, and the write
 * section in which the bound passes.
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
 * unfair_down_read_interruptible() - take it for reading, unless a signal comes
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR when a signal came first.
 */
static inline int __must_check unfair_down_read_interruptible(struct unfair_rwsem *sem)
	__fsc_cond_acquires_shared(0, sem)
{
	return __unfair_down_read(sem, 0, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_read_killable() - take it for reading, unless the task is killed
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR when a fatal signal came first.
 */
static inline int __must_check unfair_down_read_killable(struct unfair_rwsem *sem)
	__fsc_cond_acquires_shared(0, sem)
{
	return __unfair_down_read(sem, 0, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_read_timeout() - take it for reading, or give up after a time
 * @sem: the semaphore
 * @timeout: at most so many jiffies; 0 looks once
 *
 * Context: process context; may sleep, uninterruptibly.
 * Return: 0 with the semaphore held; -ETIME when the time passed first; -EINVAL
 * (and a warning) for a negative time, if it had to wait.
 */
static inline int __must_check unfair_down_read_timeout(struct unfair_rwsem *sem, long timeout)
	__fsc_cond_acquires_shared(0, sem)
{
	return __unfair_down_read(sem, 0, TASK_UNINTERRUPTIBLE, timeout);
}

/**
 * unfair_down_read_nested() - take it for reading, of a lockdep subclass
 * @sem: the semaphore
 * @subclass: below MAX_LOCKDEP_SUBCLASSES
 *
 * The same algorithm as unfair_down_read(), on every kernel.
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
 * unfair_down_read_trylock() - take it for reading if that needs no wait
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 * Return: true with the semaphore held; false if a writer holds it or waits.
 */
static inline bool __must_check unfair_down_read_trylock(struct unfair_rwsem *sem)
	__fsc_cond_acquires_shared(true, sem)
{
	if (!__unfair_read_fast(sem))
		return false;
	__unfair_acquire(sem, 0, 1, 1, NULL);
	__unfair_count(sem, false);
	return true;
}

/**
 * unfair_up_read() - release a semaphore that is held for reading
 * @sem: the semaphore
 *
 * If no task holds it for reading, the function warns once and does nothing. A priority
 * that was lent to the caller because it held @sem ends here.
 *
 * Context: process context; does not sleep.
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
	 * slots, which are exact, come first. data_race: see __unfair_read_fast().
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
 * unfair_down_write() - take the semaphore for writing
 * @sem: the semaphore; the caller must not hold it already
 *
 * Waits for the tasks that hold it, and for writers of higher priority or of the
 * same and earlier. Readers that wait cost nothing, but for one window for those
 * that waited too long, or that are real-time and outrank all writers.
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
 * unfair_down_write_interruptible() - take it for writing, unless a signal comes
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR when a signal came first.
 */
static inline int __must_check unfair_down_write_interruptible(struct unfair_rwsem *sem)
	__fsc_cond_acquires(0, sem)
{
	return __unfair_down_write(sem, 0, NULL, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_write_killable() - take it for writing, unless the task is killed
 * @sem: the semaphore
 *
 * Context: process context; may sleep.
 * Return: 0 with the semaphore held; -EINTR when a fatal signal came first.
 */
static inline int __must_check unfair_down_write_killable(struct unfair_rwsem *sem)
	__fsc_cond_acquires(0, sem)
{
	return __unfair_down_write(sem, 0, NULL, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
}

/**
 * unfair_down_write_timeout() - take it for writing, or give up after a time
 * @sem: the semaphore
 * @timeout: at most so many jiffies; 0 looks once
 *
 * Context: process context; may sleep, uninterruptibly.
 * Return: 0 with the semaphore held; -ETIME when the time passed first; -EINVAL
 * (and a warning) for a negative time, if it had to wait.
 */
static inline int __must_check unfair_down_write_timeout(struct unfair_rwsem *sem, long timeout)
	__fsc_cond_acquires(0, sem)
{
	return __unfair_down_write(sem, 0, NULL, TASK_UNINTERRUPTIBLE, timeout);
}

/**
 * unfair_down_write_nested() - take it for writing, of a lockdep subclass
 * @sem: the semaphore
 * @subclass: below MAX_LOCKDEP_SUBCLASSES
 *
 * The same algorithm as unfair_down_write(), on every kernel.
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
 * unfair_down_write_nest_lock() - take it for writing, one of many under a lock
 * @sem: the semaphore
 * @nest_lock: a lock, held by the caller, that orders those of @sem's class
 *
 * Context: process context; may sleep, uninterruptibly.
 */
#define unfair_down_write_nest_lock(sem, nest_lock)				\
	__unfair_down_write_nested_in((sem), __unfair_nest_map(nest_lock))

/**
 * unfair_down_write_trylock() - take it for writing if that needs no wait
 * @sem: the semaphore
 *
 * Context: process context; does not sleep.
 * Return: true with the semaphore held; false if anyone holds it, if a writer
 * waits, or in the window of a reader that waited too long.
 */
static inline bool __must_check unfair_down_write_trylock(struct unfair_rwsem *sem)
	__fsc_cond_acquires(true, sem)
{
	if (!__unfair_write_fast(sem) && !__unfair_down_write_trylock_slow(sem))
		return false;
	__unfair_acquire(sem, 0, 1, 0, NULL);
	__unfair_count(sem, true);
	return true;
}

/**
 * unfair_up_write() - release a semaphore that the caller holds for writing
 * @sem: the semaphore
 *
 * Called by a task that does not hold it for writing, it warns once and does
 * nothing.
 *
 * Context: process context; does not sleep.
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

void unfair_rwsem_expedite(struct unfair_rwsem *sem);
void unfair_rwsem_unexpedite(struct unfair_rwsem *sem);

/**
 * unfair_rwsem_is_locked() - does anyone hold it?
 * @sem: the semaphore
 *
 * Context: any. The answer may be old when it arrives.
 * Return: true if it is held, for reading or for writing, by whomever.
 */
static inline bool unfair_rwsem_is_locked(const struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);

	if (word & UNFAIR_RWSEM_WRITER || word & ~(UNFAIR_RWSEM_FLAGS | UNFAIR_RWSEM_BIAS))
		return true;
	return word & UNFAIR_RWSEM_BIAS && __unfair_biased_readers(sem);
}

/**
 * unfair_rwsem_is_write_locked() - does anyone hold it for writing?
 * @sem: the semaphore
 *
 * Context: any. The answer may be old when it arrives.
 * Return: true if it is held for writing, by whomever.
 */
static inline bool unfair_rwsem_is_write_locked(const struct unfair_rwsem *sem)
{
	return atomic_long_read(&sem->word) & UNFAIR_RWSEM_WRITER;
}

/**
 * unfair_rwsem_is_contended() - does anyone wait for it?
 * @sem: the semaphore
 *
 * Context: any. The answer may be old when it arrives.
 * Return: true if readers or writers are queued. A reader that was woken and has
 * not run yet is not counted: it queues again if it has to.
 */
static inline bool unfair_rwsem_is_contended(const struct unfair_rwsem *sem)
{
	return atomic_long_read(&sem->word) & (UNFAIR_RWSEM_WWAIT | UNFAIR_RWSEM_RWAIT);
}

/* False if the lock is free; true if it is held, or if BIAS hides whether it is. */
static inline bool __unfair_may_be_held(const struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);

	return word & UNFAIR_RWSEM_WRITER || word & ~UNFAIR_RWSEM_FLAGS;
}

/**
 * unfair_rwsem_assert_held() - warn unless it is held
 * @sem: the semaphore
 *
 * With lockdep: held by the caller. Without it: warns if no task can hold the lock; it
 * does not search for the readers of a biased lock.
 *
 * Context: any.
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
 * With lockdep: held by the caller. Without it: as unfair_rwsem_assert_held(), and warns
 * if a writer holds the lock.
 *
 * Context: any.
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
 * Exact on every kernel: the lock knows its writer.
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

/*
 * guard(unfair_rwsem_read)(&sem), scoped_guard(unfair_rwsem_write, &sem), and the
 * conditional ones of both: _try, _intr and _kill.
 */
DEFINE_LOCK_GUARD_1(unfair_rwsem_read, struct unfair_rwsem,
		    unfair_down_read(_T->lock), unfair_up_read(_T->lock))
DEFINE_LOCK_GUARD_1(unfair_rwsem_write, struct unfair_rwsem,
		    unfair_down_write(_T->lock), unfair_up_write(_T->lock))
DEFINE_LOCK_GUARD_1(unfair_rwsem_expedite, struct unfair_rwsem,
		    unfair_rwsem_expedite(_T->lock), unfair_rwsem_unexpedite(_T->lock))

#if defined(DEFINE_LOCK_GUARD_1_COND_4)		/* since 6.17: ACQUIRE_ERR() knows the error */
# define __UNFAIR_GUARD_COND(_name, _ext, _lock, _cond)			\
	DEFINE_LOCK_GUARD_1_COND(_name, _ext, _lock, _cond)
#elif defined(DEFINE_LOCK_GUARD_1_COND)		/* since 6.8 */
# define __UNFAIR_GUARD_COND(_name, _ext, _lock, _cond)			\
	DEFINE_LOCK_GUARD_1_COND(_name, _ext, ({ int _RET = (_lock); _cond; }))
#else	/* 6.1: CLASS(unfair_rwsem_read_try, g)(&sem), then look at g.lock */
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

#ifdef WITH_LOCK_GUARD_1_ATTRS		/* since 7.0: the analysis sees through guards */
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
