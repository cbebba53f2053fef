/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who holds a reader-unfair rwsem for reading. For the lock's own files alone.
 */
#ifndef _FSCOMMIT_VISIBLE_READERS_H
#define _FSCOMMIT_VISIBLE_READERS_H

#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/unfair_rwsem.h>

enum holders_seen {
	HOLDERS_RUN,		/* all of them, each on a CPU */
	HOLDERS_OFF_CPU,	/* one of them is not on a CPU */
	HOLDERS_UNSEEN,		/* some have no slot, the others run */
};

int init_reader_slots(void);
void exit_reader_slots(void);
u16 next_reader_slots(void);

void publish_reader(struct unfair_rwsem *sem);
enum holders_seen see_readers(const struct unfair_rwsem *sem, unsigned long counted);
void revoke_bias(struct unfair_rwsem *sem);

/*
 * For each visible reader of @sem, as a task that stays while RCU is held: calls @fn
 * until it returns false; @since in jiffies. Whether it still holds @sem is for @fn to know.
 */
void for_each_reader(const struct unfair_rwsem *sem,
		     bool (*fn)(struct task_struct *task, u32 since, void *arg), void *arg);

static inline bool is_biased(long word)
{
	return word & UNFAIR_RWSEM_BIAS && !(word & UNFAIR_RWSEM_WRITER);
}

/* How many are counted in the word, which is not write-locked. */
static inline unsigned long counted_readers(long word)
{
	return (word & ~UNFAIR_RWSEM_BIAS) / UNFAIR_RWSEM_READER;
}

#endif /* _FSCOMMIT_VISIBLE_READERS_H */
