/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tasks that hold a reader-unfair rwsem for reading. Private to the lock.
 */
#ifndef _FSCOMMIT_VISIBLE_READERS_H
#define _FSCOMMIT_VISIBLE_READERS_H

#include <linux/unfair_rwsem.h>

/*
 * A scan for the readers of a lock proceeds in steps of UNFAIR_REGION_SLOTS slots, so that its
 * caller can drop locks in between: first the lock's own region, which most readers use, then the
 * biased slots, then the regions into which readers overflow.
 */
#define VISIBLE_READERS_REGIONS	32U
#define VISIBLE_READERS_STEPS	(VISIBLE_READERS_REGIONS + 1)

enum holders_state {
	HOLDERS_RUN,		/* all holders are on a CPU */
	HOLDERS_OFF_CPU,	/* at least one holder is off its CPU */
	HOLDERS_UNSEEN,		/* visible holders run, others are not visible */
};

void visible_readers_publish(struct unfair_rwsem *sem);
enum holders_state visible_readers_state(const struct unfair_rwsem *sem, unsigned long counted);
void visible_readers_revoke_bias(struct unfair_rwsem *sem);

struct task_struct *visible_readers_at(const struct unfair_rwsem *sem, unsigned int step,
				       unsigned int i);

/* Iterates over the visible readers of one step. The caller holds rcu_read_lock(). */
#define for_each_visible_reader(sem, step, i, task)			\
	for ((i) = 0; (i) < UNFAIR_REGION_SLOTS; (i)++)			\
		if (((task) = visible_readers_at(sem, step, i)))

static __always_inline bool is_biased(long word)
{
	return word & UNFAIR_RWSEM_BIAS && !(word & UNFAIR_RWSEM_WRITER);
}

/* Number of readers counted in a word without WRITER. */
static inline unsigned long counted_readers(long word)
{
	return (word & ~UNFAIR_RWSEM_BIAS) / UNFAIR_RWSEM_READER;
}

#endif /* _FSCOMMIT_VISIBLE_READERS_H */
