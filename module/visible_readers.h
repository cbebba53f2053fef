/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which tasks hold a reader-unfair rwsem for reading. For the lock's own files only.
 */
#ifndef _FSCOMMIT_VISIBLE_READERS_H
#define _FSCOMMIT_VISIBLE_READERS_H

#include <linux/unfair_rwsem.h>

/*
 * The readers of a lock are looked up in steps: the region of the table where most of
 * them are, then the biased slots, then the regions into which they overflow. A step
 * visits UNFAIR_REGION_SLOTS slots, so that a caller can let others run in between.
 */
#define VISIBLE_READERS_REGIONS	32U
#define VISIBLE_READERS_STEPS	(VISIBLE_READERS_REGIONS + 1)

enum holders_seen {
	HOLDERS_RUN,		/* all of them, each on a CPU */
	HOLDERS_OFF_CPU,	/* at least one of them is not on a CPU */
	HOLDERS_UNSEEN,		/* those that are visible run; others are not visible */
};

void visible_readers_publish(struct unfair_rwsem *sem);
enum holders_seen visible_readers_state(const struct unfair_rwsem *sem, unsigned long counted);
void visible_readers_revoke_bias(struct unfair_rwsem *sem);

struct task_struct *visible_reader(const struct unfair_rwsem *sem, unsigned int step,
				   unsigned int i);

/* Each visible reader of one step, as @task, which RCU keeps; the caller holds RCU. */
#define for_each_visible_reader(sem, step, i, task)			\
	for ((i) = 0; (i) < UNFAIR_REGION_SLOTS; (i)++)			\
		if (((task) = visible_reader(sem, step, i)))

/* The region of a new lock. */
static inline unsigned long *visible_readers_region(const struct unfair_rwsem *sem)
{
	return unfair_reader_slots + hash_ptr(sem, ilog2(UNFAIR_REGIONS)) * UNFAIR_REGION_SLOTS;
}

static __always_inline bool is_biased(long word)
{
	return word & UNFAIR_RWSEM_BIAS && !(word & UNFAIR_RWSEM_WRITER);
}

/* How many readers are counted in the word, which is not write-locked. */
static inline unsigned long counted_readers(long word)
{
	return (word & ~UNFAIR_RWSEM_BIAS) / UNFAIR_RWSEM_READER;
}

#endif /* _FSCOMMIT_VISIBLE_READERS_H */
