// SPDX-License-Identifier: GPL-2.0
/*
 * Visible readers: a table, outside of the locks, of the tasks that hold one for
 * reading.
 *
 * Each lock belongs to a region of the table, and each CPU has some slots in each
 * region. A reader takes a free slot of the CPU that it runs on, with preemption
 * disabled, so it needs no atomic operation for that: nobody else claims slots there.
 * It gives the slot up by itself, from whichever CPU it is on then.
 *
 * A reader is held in one of two ways:
 *
 *  counted	It adds itself to the lock word, then fills a slot. Without a free slot
 *		it is unseen: in the count, but not in the table. So whoever has seen
 *		fewer than are counted knows that there are more.
 *  biased	The lock word has BIAS: no writer holds or waits, and the lock was read
 *		by several at once. It fills a slot with UNFAIR_SLOT_BIASED and looks
 *		at the word again (B). Readers share no cache line that they write.
 *
 * A writer, before it waits or takes, revokes: it takes BIAS off the word (C), then
 * turns each biased slot into a counted one. Either the reader sees the word without
 * BIAS and tries to take its slot back, or the writer sees the slot. For a slot that
 * both change, the compare and exchange decides.
 *
 * Two readers of a biased lock do not slow each other down; a writer pays for that by
 * looking at its region on each CPU. So BIAS is set only after many readers have found
 * others in, and after a revocation that takes BIAS_AGAIN of them: what they lose by
 * the shared count is then many times what the revocation has cost.
 *
 * The idea of a table of readers beside the lock, and of a bias that writers revoke,
 * is that of BRAVO (Dice and Kogan, USENIX ATC 2019). Its slots are chosen by a hash,
 * claimed by an atomic operation, and hold the lock alone; per-CPU slots as of the
 * trackers in FreeBSD's rmlock need none, and there is room for the task.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "compat.h"
#include "stats.h"
#include "visible_readers.h"

/* Per CPU; u16 slots in the lock is an offset into it. */
#define TABLE_SIZE	16384U
#define MIN_SLOTS	8U
#define MAX_SLOTS	64U
#define BIAS_AGAIN	255

/* The table of readers, per CPU: for the fast paths in the header, and for nobody else. */
struct unfair_reader_slot __percpu *unfair_reader_slots;
EXPORT_SYMBOL_FSCOMMIT(unfair_reader_slots);

/* In a region on one CPU: many where there are few CPUs. */
static unsigned int slots_per_cpu __ro_after_init;

static unsigned long biased(const struct unfair_rwsem *sem)
{
	return (unsigned long)sem | UNFAIR_SLOT_BIASED;
}

static bool is_of(unsigned long v, const struct unfair_rwsem *sem)
{
	return (v & ~UNFAIR_SLOT_BIASED) == (unsigned long)sem;
}

static struct unfair_reader_slot *slots_on(const struct unfair_rwsem *sem, int cpu)
{
	return per_cpu_ptr(__unfair_slot(sem), cpu);
}

/* Of the CPU we are on; preemption is disabled. */
static struct unfair_reader_slot *free_slot(const struct unfair_rwsem *sem)
{
	struct unfair_reader_slot *s = raw_cpu_ptr(__unfair_slot(sem));
	unsigned int i;

	for (i = 0; i < slots_per_cpu; i++, s++)
		if (!READ_ONCE(s->sem))
			return s;
	return NULL;
}

static struct unfair_reader_slot *own_slot_on(const struct unfair_rwsem *sem, int cpu)
{
	struct unfair_reader_slot *s = slots_on(sem, cpu);
	unsigned int i;

	for (i = 0; i < slots_per_cpu; i++, s++)
		/* pairs with A: not the pid of who had the slot before */
		if (is_of(smp_load_acquire(&s->sem), sem) && READ_ONCE(s->pid) == current->pid)
			return s;
	return NULL;
}

/* Where it filled it, which may be another CPU than this one. */
static struct unfair_reader_slot *own_slot(const struct unfair_rwsem *sem)
{
	int cpu, here = raw_smp_processor_id();
	struct unfair_reader_slot *s = own_slot_on(sem, here);

	if (s)
		return s;
	for_each_possible_cpu(cpu) {
		s = cpu == here ? NULL : own_slot_on(sem, cpu);
		if (s)
			return s;
	}
	return NULL;
}

/**
 * publish_reader() - show that the caller, counted in the word, holds @sem
 * @sem: the semaphore
 *
 * Context: preemption disabled.
 */
void publish_reader(struct unfair_rwsem *sem)
{
	struct unfair_reader_slot *s = free_slot(sem);

	if (!s) {
		count_event(sem, EV_UNSEEN);
		return;
	}
	__unfair_fill_slot(s, sem);	/* A */
}

/* Returns whether the caller holds it now. If not, BIAS is gone, or no slot is free. */
static bool read_biased(struct unfair_rwsem *sem)
{
	struct unfair_reader_slot *s = free_slot(sem);
	unsigned long v = biased(sem);

	if (!s)
		return false;
	__unfair_name_reader(s);
	/*
	 * A: pairs with slot_task(). B: pairs with C: either we see here that BIAS is
	 * gone, or the writer that takes it off sees the slot. A full barrier with the
	 * store in it is the cheapest one. What is seen here is also the lock's ACQUIRE:
	 * since the first look a writer may have come and gone, and BIAS be set anew.
	 */
	xchg(&s->sem, v);
	if (likely(is_biased(atomic_long_read_acquire(&sem->word))))
		return true;
	if (try_cmpxchg(&s->sem, &v, 0UL))
		return false;
	/* revoked, and the writer has counted us meanwhile: we do hold it; also of B */
	smp_acquire__after_ctrl_dep();
	return true;
}

/* A reader that found others in. */
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

/**
 * __unfair_read_contended() - read lock where the word is not 0, or the slot not free
 * @sem: the semaphore
 *
 * Context: preemption disabled.
 * Return: true with the semaphore held; false if a writer holds it or waits.
 */
bool __unfair_read_contended(struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);

	if (is_biased(word)) {
		if (likely(read_biased(sem)))
			return true;
		word = atomic_long_read(&sem->word);
	}
	for (;;) {
		if (word & (UNFAIR_RWSEM_WRITER | UNFAIR_RWSEM_WWAIT | UNFAIR_RWSEM_SPIN))
			return false;
		/* with BIAS, too, where no slot is free */
		if (atomic_long_try_cmpxchg_acquire(&sem->word, &word,
						    word + UNFAIR_RWSEM_READER))
			break;
	}
	publish_reader(sem);
	if (!is_biased(word) && counted_readers(word))
		consider_bias(sem, word);
	return true;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_read_contended);

/**
 * __unfair_up_read_elsewhere() - read unlock where the first slot is not the caller's
 * @sem: the semaphore
 *
 * Context: preemption disabled; enables it.
 */
void __unfair_up_read_elsewhere(struct unfair_rwsem *sem)
{
	struct unfair_reader_slot *s = raw_cpu_ptr(__unfair_slot(sem));
	unsigned long v = biased(sem);

	if (likely(READ_ONCE(s->sem) == v && READ_ONCE(s->pid) == current->pid &&
		   try_cmpxchg_release(&s->sem, &v, 0UL))) {
		preempt_enable();
		return;
	}
	s = own_slot(sem);
	v = biased(sem);
	/* not the order of the two tests: a revocation may come in between */
	if (s && READ_ONCE(s->sem) == v && try_cmpxchg_release(&s->sem, &v, 0UL)) {
		preempt_enable();
		return;
	}
	if (s)
		WRITE_ONCE(s->sem, 0);
	__unfair_up_read_counted(sem);
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_up_read_elsewhere);

/**
 * revoke_bias() - count all readers in the word
 * @sem: the semaphore
 *
 * Context: under wait_lock.
 */
void revoke_bias(struct unfair_rwsem *sem)
{
	long word = atomic_long_read(&sem->word);
	unsigned int i;
	int cpu;

	/* C: pairs with B. Counts one more, so that it is not free in between. */
	do {
		if (!is_biased(word))
			return;
	} while (!atomic_long_try_cmpxchg(&sem->word, &word,
					  (word & ~UNFAIR_RWSEM_BIAS) + UNFAIR_RWSEM_READER));
	for_each_possible_cpu(cpu) {
		struct unfair_reader_slot *s = slots_on(sem, cpu);

		for (i = 0; i < slots_per_cpu; i++, s++) {
			unsigned long v = biased(sem);

			if (READ_ONCE(s->sem) != v)
				continue;
			/* counted first: it may leave as soon as its slot says so */
			atomic_long_add(UNFAIR_RWSEM_READER, &sem->word);
			if (!try_cmpxchg(&s->sem, &v, (unsigned long)sem))
				atomic_long_sub(UNFAIR_RWSEM_READER, &sem->word);
		}
	}
	/* D: after the slots that were found empty; pairs with their release */
	smp_mb();
	atomic_long_sub(UNFAIR_RWSEM_READER, &sem->word);
	WRITE_ONCE(sem->bias_wait, BIAS_AGAIN);
	count_event(sem, EV_REVOKED);
}

/*
 * NULL: it is not in use for @sem, or its task is no more. RCU is held. The slot may be
 * given up and claimed meanwhile: the pid is that of a reader of @sem if both were the
 * same before and after. A biased one may not hold it yet, and never do so.
 */
static struct task_struct *slot_task(const struct unfair_reader_slot *s,
				     const struct unfair_rwsem *sem)
{
	/* pairs with A */
	unsigned long v = smp_load_acquire(&s->sem);
	pid_t pid = READ_ONCE(s->pid);

	if (v != (unsigned long)sem)
		return NULL;
	smp_rmb();	/* the pid first, then once more the semaphore, then the pid */
	if (READ_ONCE(s->sem) != v)
		return NULL;
	smp_rmb();	/* see above */
	if (READ_ONCE(s->pid) != pid)
		return NULL;
	return pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_PID);
}

/**
 * for_each_reader() - look at those that hold @sem for reading
 * @sem: the semaphore; readers of a biased one are not seen
 * @fn: called for each of them, with RCU held, until it returns false
 * @arg: for @fn
 *
 * Context: any but hard interrupts.
 */
void for_each_reader(const struct unfair_rwsem *sem,
		     bool (*fn)(struct task_struct *task, u32 since, void *arg), void *arg)
{
	struct task_struct *task;
	unsigned int i;
	int cpu;

	rcu_read_lock();
	for_each_possible_cpu(cpu) {
		struct unfair_reader_slot *s = slots_on(sem, cpu);

		for (i = 0; i < slots_per_cpu; i++, s++) {
			task = slot_task(s, sem);
			if (task && !fn(task, READ_ONCE(s->since), arg))
				goto out;
		}
	}
out:
	rcu_read_unlock();
}

struct seen {
	unsigned long	nr;
	bool		all_run;
};

static bool see_reader(struct task_struct *task, u32 since, void *arg)
{
	struct seen *seen = arg;

	seen->nr++;
	seen->all_run = compat_on_cpu(task);
	return seen->all_run;
}

/**
 * see_readers() - do all of them run?
 * @sem: the semaphore
 * @counted: how many there are
 *
 * Context: any but hard interrupts.
 * Return: that one is off its CPU, else that not all of @counted were seen, else that all run.
 */
enum holders_seen see_readers(const struct unfair_rwsem *sem, unsigned long counted)
{
	struct seen seen = { .all_run = true };

	for_each_reader(sem, see_reader, &seen);
	if (!seen.all_run)
		return HOLDERS_OFF_CPU;
	return seen.nr < counted ? HOLDERS_UNSEEN : HOLDERS_RUN;
}

/**
 * __unfair_has_readers() - is a biased semaphore held for reading?
 * @sem: the semaphore
 *
 * Context: any.
 * Return: true if it is; the answer may be old when it arrives.
 */
bool __unfair_has_readers(const struct unfair_rwsem *sem)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct unfair_reader_slot *s = slots_on(sem, cpu);

		for (i = 0; i < slots_per_cpu; i++, s++)
			if (is_of(READ_ONCE(s->sem), sem))
				return true;
	}
	return false;
}
EXPORT_SYMBOL_FSCOMMIT(__unfair_has_readers);

/* For a new lock: the regions in turn. Locks of different regions share no slots. */
u16 next_reader_slots(void)
{
	static atomic_t next;
	unsigned int region = slots_per_cpu * sizeof(struct unfair_reader_slot);

	return (unsigned int)atomic_inc_return(&next) * region % TABLE_SIZE;
}

int __init init_reader_slots(void)
{
	/* a power of two of them: else the last region goes past the end of the table */
	BUILD_BUG_ON(TABLE_SIZE % (MAX_SLOTS * sizeof(struct unfair_reader_slot)));
	slots_per_cpu = clamp(256U / roundup_pow_of_two(num_possible_cpus()), MIN_SLOTS,
			      MAX_SLOTS);
	unfair_reader_slots = __alloc_percpu(TABLE_SIZE, L1_CACHE_BYTES);
	return unfair_reader_slots ? 0 : -ENOMEM;
}

void exit_reader_slots(void)
{
	free_percpu(unfair_reader_slots);
}
