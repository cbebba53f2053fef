// SPDX-License-Identifier: GPL-2.0
/*
 * Visible readers: two tables, apart from the locks, of the tasks that hold locks for reading.
 * Their size is fixed and does not depend on the number of CPUs.
 *
 * A reader holds a lock in one of two ways:
 *
 *  counted	The reader adds itself to the lock word, then stores its identity in a slot
 *		of the first table. Exclusion depends on the word only. The slots show the
 *		watcher which tasks to lend to. A reader without a slot is allowed: a task
 *		that sees fewer readers than the word counts knows that others exist.
 *  biased	The lock word has BIAS: no writer holds the lock or waits, and readers have
 *		overlapped. The reader claims a biased slot by one compare and exchange, then
 *		reads the word again (B). Readers write no common cache line, unless their
 *		pids agree modulo 64. Exclusion depends on these slots, so they are exact.
 *
 * Slots of counted readers
 *	A slot is one word: 0, or pid and lock of its reader. Stores are plain. If two tasks
 *	find the same slot empty, both store, and the first one is not visible. Its release
 *	finds another identity in the slot and does not change it. A word cannot mix two
 *	readers, so a slot never names a task that does not hold the lock, except for locks
 *	whose addresses agree in 48 bits (19 bits on 32-bit kernels).
 *
 *	A task tries a line of the lock's own region, then lines of the regions that follow,
 *	all selected by a hash of its pid. Claim and release visit the same COUNTED_PROBES
 *	lines. So the release finds the slot from any CPU, and visits at most 64 slots
 *	and five biased ones, whatever the number of CPUs and readers.
 *
 * Biased slots
 *	A slot belongs to the task that claimed it until that task releases it. Before a
 *	writer waits for the lock or acquires it, it revokes the bias: it clears BIAS (C),
 *	then counts the reader of each biased slot in the word and converts the slot. Either
 *	the reader sees the word without BIAS and tries to undo its claim, or the writer sees
 *	the slot. If both change a slot, the compare and exchange decides.
 *
 * A revocation visits 64 slots. Readers set BIAS only after many of them overlapped, and after
 * BIAS_AGAIN of them following a revocation. By then, the contention on the word has cost much
 * more than the revocation.
 *
 * The table of readers outside of the lock and the bias that writers revoke are ideas of BRAVO
 * (Dice and Kogan, USENIX ATC 2019).
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/threads.h>

#include "internal.h"
#include "stats.h"
#include "visible_readers.h"

#ifndef BIAS_AGAIN
# define BIAS_AGAIN	255
#endif

/*
 * The slots of counted readers: 64 KiB on 64 bits. Exported only for the inline functions of the
 * header; test modules read it, too.
 */
unsigned long unfair_reader_slots[UNFAIR_REGIONS * UNFAIR_REGION_SLOTS] ____cacheline_aligned;
EXPORT_SYMBOL_FSCOMMIT(unfair_reader_slots);

/* One cache line each, so that readers do not slow down each other. */
struct biased_slot {
	unsigned long	sem;		/* 0: free; SLOT_BIASED: reader not counted in the word */
	pid_t		pid;		/* 0: not stored yet, or already cleared */
} ____cacheline_aligned_in_smp;

#define SLOT_BIASED		1UL
#define COUNTED_PROBES		8U
#define BIASED_REGIONS		16U
#define BIASED_PROBES		4U

static struct biased_slot biased_slots[BIASED_REGIONS][UNFAIR_REGION_SLOTS];

/* --- counted readers ----------------------------------------------------- */

/* The line number @probe that @pid tries; line 0 is in the lock's own region. */
static unsigned long *probe_line(const struct unfair_rwsem *sem, unsigned int probe,
				 unsigned int pid)
{
	unsigned int slot = __unfair_slot(sem, pid) - unfair_reader_slots;

	if (probe)
		slot += UNFAIR_REGION_SLOTS *
			(1 + (pid * GOLDEN_RATIO_32 / 64 + probe - 1) %
			 (VISIBLE_READERS_REGIONS - 1));
	return unfair_reader_slots +
	       round_down(slot % ARRAY_SIZE(unfair_reader_slots), UNFAIR_LINE_SLOTS);
}

/* The first slot with @value in the lines of @pid; NULL if there is none. */
static unsigned long *find_slot(const struct unfair_rwsem *sem, unsigned int pid,
				unsigned long value)
{
	unsigned int probe, i;

	for (probe = 0; probe < COUNTED_PROBES; probe++) {
		unsigned long *line = probe_line(sem, probe, pid);

		for (i = 0; i < UNFAIR_LINE_SLOTS; i++)
			if (READ_ONCE(line[i]) == value)
				return &line[i];
	}
	return NULL;
}

/**
 * visible_readers_publish() - store the identity of the caller in a slot
 * @sem: the semaphore, whose word counts the caller
 *
 * Context: preemption disabled.
 */
void visible_readers_publish(struct unfair_rwsem *sem)
{
	pid_t pid = current->pid;
	unsigned long *slot = find_slot(sem, pid, 0);

	if (slot)
		WRITE_ONCE(*slot, __unfair_reader_id(sem, pid));
	else
		count_event(sem, EV_UNSEEN);
}

/* --- biased readers ------------------------------------------------------ */

static __always_inline struct biased_slot *biased_slot(const struct unfair_rwsem *sem,
						       unsigned int i)
{
	return &biased_slots[sem->region % BIASED_REGIONS][i % UNFAIR_REGION_SLOTS];
}

static __always_inline unsigned long biased_value(const struct unfair_rwsem *sem)
{
	return (unsigned long)sem | SLOT_BIASED;
}

static bool is_slot_of(unsigned long v, const struct unfair_rwsem *sem)
{
	return (v & ~SLOT_BIASED) == (unsigned long)sem;
}

static __always_inline bool claim_slot(const struct unfair_rwsem *sem, struct biased_slot *s)
{
	/* B: a full barrier between the claim and the look at the word */
	return !READ_ONCE(s->sem) && !cmpxchg(&s->sem, 0UL, biased_value(sem));
}

/*
 * Called if BIAS was cleared while the caller claimed @s. Returns true if a writer has converted
 * the slot: the word counts the caller, which holds the lock. Otherwise it frees the slot.
 */
static bool is_converted(const struct unfair_rwsem *sem, struct biased_slot *s)
{
	unsigned long v = biased_value(sem);

	return !try_cmpxchg(&s->sem, &v, 0UL);
}

/*
 * Stores @pid in @s, which the caller has claimed. Returns false, with the slot free again, if
 * the lock is no longer biased.
 */
static __always_inline bool confirm_slot(const struct unfair_rwsem *sem, struct biased_slot *s,
					 unsigned int pid)
{
	/*
	 * B: pairs with C: either the reader sees here that BIAS is clear, or the writer
	 * that cleared it sees the slot. This read is also the lock's ACQUIRE: since the
	 * first read, a writer may have held the lock, and a reader may have set BIAS again.
	 */
	if (unlikely(!is_biased(atomic_long_read(&sem->word))) && !is_converted(sem, s))
		return false;
	/* B: also if a writer has converted the slot */
	smp_acquire__after_ctrl_dep();
	WRITE_ONCE(s->pid, pid);
	return true;
}

/* The slot that the caller has claimed for @sem. Only the task itself stores its pid. */
static struct biased_slot *own_biased_slot(const struct unfair_rwsem *sem, unsigned int pid)
{
	unsigned int i;

	for (i = 0; i < BIASED_PROBES; i++) {
		struct biased_slot *s = biased_slot(sem, pid + i);

		if (READ_ONCE(s->pid) == pid && is_slot_of(READ_ONCE(s->sem), sem))
			return s;
	}
	return NULL;
}

/* Called by a counted reader that overlaps others. */
static void consider_bias(struct unfair_rwsem *sem, long word)
{
	u8 wait = READ_ONCE(sem->bias_wait);

	if (wait) {
		WRITE_ONCE(sem->bias_wait, wait - 1);
		return;
	}
	word = atomic_long_read(&sem->word);
	if (word > 0 && !(word & UNFAIR_RWSEM_FLAGS) &&
	    atomic_long_try_cmpxchg_relaxed(&sem->word, &word, word | UNFAIR_RWSEM_BIAS))
		count_event(sem, EV_BIASED);
}

/* Called if the lock is not biased, or the first biased slot of the caller is in use. */
static noinline bool read_contended(struct unfair_rwsem *sem, unsigned int pid)
{
	long word = atomic_long_read(&sem->word);
	unsigned int i;

	for (i = 1; is_biased(word) && i < BIASED_PROBES; i++) {
		struct biased_slot *s = biased_slot(sem, pid + i);

		if (claim_slot(sem, s) && confirm_slot(sem, s, pid))
			return true;
		word = atomic_long_read(&sem->word);
	}
	for (;;) {
		if (word & (UNFAIR_RWSEM_WRITER | UNFAIR_RWSEM_WWAIT))
			return false;
		/* also with BIAS, if no biased slot is free */
		if (atomic_long_try_cmpxchg_acquire(&sem->word, &word,
						    word + UNFAIR_RWSEM_READER))
			break;
	}
	visible_readers_publish(sem);
	if (!is_biased(word) && counted_readers(word))
		consider_bias(sem, word);
	return true;
}

/**
 * __unfair_read_contended() - acquire for reading if the word or the first slot is not 0
 * @sem: the semaphore
 * @pid: of the caller
 *
 * Context: preemption disabled.
 * Return: true with the semaphore held; false if a writer holds it or waits for it.
 */
bool __unfair_read_contended(struct unfair_rwsem *sem, unsigned int pid)
{
	struct biased_slot *s = biased_slot(sem, pid);

	/* tasks with neighbouring pids start at different slots */
	if (unlikely(!is_biased(atomic_long_read(&sem->word)) || !claim_slot(sem, s)))
		return read_contended(sem, pid);
	return confirm_slot(sem, s, pid) || read_contended(sem, pid);
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_read_contended);

/* Releases for reading if a revocation has converted the caller's slot. Enables preemption. */
static void up_read_converted(struct unfair_rwsem *sem, struct biased_slot *s)
{
	/*
	 * H: the slot is converted, so the word counts the caller. Pairs with the order of a
	 * revocation, count before conversion: the next read of the word sees the count.
	 */
	smp_acquire__after_ctrl_dep();
	/* A: after the pid is cleared */
	smp_store_release(&s->sem, 0UL);
	__unfair_up_read_counted(sem);
}

/* Releases the caller's biased slot @s. Enables preemption. */
static __always_inline void up_read_biased(struct unfair_rwsem *sem, struct biased_slot *s)
{
	unsigned long v = biased_value(sem);

	/* the next task that claims the slot must not find this pid */
	WRITE_ONCE(s->pid, 0);
	/* a revocation may convert the slot between the read and the exchange */
	if (likely(READ_ONCE(s->sem) == v && try_cmpxchg_release(&s->sem, &v, 0UL)))
		preempt_enable();
	else
		up_read_converted(sem, s);
}

/* Called if the first biased slot is not the caller's. Enables preemption. */
static noinline void up_read_elsewhere(struct unfair_rwsem *sem, unsigned int pid)
{
	struct biased_slot *s = own_biased_slot(sem, pid);
	unsigned long *slot;

	if (s) {
		up_read_biased(sem, s);
		return;
	}
	slot = find_slot(sem, pid, __unfair_reader_id(sem, pid));
	if (slot)
		WRITE_ONCE(*slot, 0);
	__unfair_up_read_counted(sem);
}

/**
 * __unfair_up_read_elsewhere() - release for reading if the first slot is not the caller's
 * @sem: the semaphore
 * @pid: of the caller
 *
 * Context: preemption disabled; enables it.
 */
void __unfair_up_read_elsewhere(struct unfair_rwsem *sem, unsigned int pid)
{
	struct biased_slot *s = biased_slot(sem, pid);

	if (likely(READ_ONCE(s->pid) == pid && is_slot_of(READ_ONCE(s->sem), sem)))
		up_read_biased(sem, s);
	else
		up_read_elsewhere(sem, pid);
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_elsewhere);

/**
 * visible_readers_revoke_bias() - clear BIAS and count all readers in the word
 * @sem: the semaphore
 *
 * Context: under wait_lock.
 */
void visible_readers_revoke_bias(struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);
	unsigned int i;

	if (!is_biased(word))
		return;
	/* first: a reader that finds BIAS clear must not set it again at once */
	WRITE_ONCE(sem->bias_wait, BIAS_AGAIN);
	/* C: pairs with B. An extra reader keeps the word from being 0 during the scan. */
	do {
		if (!is_biased(word))
			return;
	} while (!atomic_long_try_cmpxchg(&sem->word, &word,
					  (word & ~UNFAIR_RWSEM_BIAS) + UNFAIR_RWSEM_READER));
	for (i = 0; i < UNFAIR_REGION_SLOTS; i++) {
		struct biased_slot *s = biased_slot(sem, i);
		unsigned long v = biased_value(sem);

		if (READ_ONCE(s->sem) != v)
			continue;
		/* H: count, then convert: the reader may release the lock after the conversion */
		atomic_long_add(UNFAIR_RWSEM_READER, &sem->word);
		if (!try_cmpxchg(&s->sem, &v, (unsigned long)sem))
			atomic_long_sub(UNFAIR_RWSEM_READER, &sem->word);
	}
	/* D: pairs with the release of slots that were empty or failed to convert */
	smp_mb();
	atomic_long_sub(UNFAIR_RWSEM_READER, &sem->word);
	count_event(sem, EV_REVOKED);
}

/* --- finding readers ----------------------------------------------------- */

/* The pid in slot @i of the region of @step if it is a reader of @sem, else 0. */
static pid_t counted_pid(const struct unfair_rwsem *sem, unsigned int step, unsigned int i)
{
	unsigned int region = (sem->region + step) % UNFAIR_REGIONS;
	unsigned long v = READ_ONCE(unfair_reader_slots[region * UNFAIR_REGION_SLOTS + i]);
	pid_t pid = __unfair_reader_pid(sem, v);

	return v && v == __unfair_reader_id(sem, pid) ? pid : 0;
}

/* The pid in biased slot @i if the slot is converted for @sem, else 0. */
static pid_t converted_pid(const struct unfair_rwsem *sem, unsigned int i)
{
	const struct biased_slot *s = biased_slot(sem, i);
	pid_t pid;

	/*
	 * A: pairs with the release of a slot, which clears the pid first. Slots of @sem are
	 * converted only under its wait_lock, so an unchanged value means an unchanged slot.
	 */
	if (smp_load_acquire(&s->sem) != (unsigned long)sem)
		return 0;
	pid = READ_ONCE(s->pid);
	smp_rmb();	/* A: read the pid, then the semaphore again */
	return READ_ONCE(s->sem) == (unsigned long)sem ? pid : 0;
}

/**
 * visible_readers_at() - find a reader of a semaphore in one slot
 * @sem: the semaphore; its biased readers are not found
 * @step: below VISIBLE_READERS_STEPS
 * @i: below UNFAIR_REGION_SLOTS
 *
 * The task may already have released @sem when this returns.
 *
 * Context: under rcu_read_lock(); any but hard interrupts.
 * Return: the task; NULL if the slot holds no reader of @sem, or the task has exited.
 */
struct task_struct *visible_readers_at(const struct unfair_rwsem *sem, unsigned int step,
				       unsigned int i)
{
	pid_t pid = step == 1 ? converted_pid(sem, i) : counted_pid(sem, step - !!step, i);

	return pid ? pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_PID) : NULL;
}

/**
 * visible_readers_state() - do all readers run?
 * @sem: the semaphore
 * @counted: the number of readers in the word
 *
 * For a spinning waiter: scans only the lock's own region and the biased slots.
 *
 * Context: any but hard interrupts.
 * Return: HOLDERS_OFF_CPU if a visible reader is off its CPU, else HOLDERS_RUN or
 * HOLDERS_UNSEEN.
 */
enum holders_state visible_readers_state(const struct unfair_rwsem *sem, unsigned long counted)
{
	enum holders_state state = HOLDERS_RUN;
	struct task_struct *task;
	unsigned long seen = 0;
	unsigned int step, i;

	rcu_read_lock();
	for (step = 0; step < 2 && seen < counted && !need_resched(); step++) {
		for_each_visible_reader(sem, step, i, task) {
			if (!owner_on_cpu(task)) {
				state = HOLDERS_OFF_CPU;
				goto out;
			}
			seen++;
		}
	}
	if (seen < counted)
		state = HOLDERS_UNSEEN;
out:
	rcu_read_unlock();
	return state;
}

/**
 * __unfair_biased_readers() - count the biased slots of a semaphore
 * @sem: the semaphore
 *
 * Context: any.
 * Return: the number, which may be out of date when the function returns.
 */
unsigned int __unfair_biased_readers(const struct unfair_rwsem *sem)
{
	unsigned int i, nr = 0;

	BUILD_BUG_ON(BIT(UNFAIR_PID_BITS) < PID_MAX_LIMIT);
	/* see __unfair_reader_id() */
	BUILD_BUG_ON(sizeof(*sem) < BIT(UNFAIR_PID_BITS - __UNFAIR_ID_SHIFT));
	for (i = 0; i < UNFAIR_REGION_SLOTS; i++)
		nr += is_slot_of(READ_ONCE(biased_slot(sem, i)->sem), sem);
	return nr;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_biased_readers);
