/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The toy filesystem of /dev/share_gate_test: see share_gate_test.h. For its files alone.
 */
#ifndef FSCOMMIT_SGT_H
#define FSCOMMIT_SGT_H

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/share_gate.h>

#include "cow_tree.h"
#include "share_gate_test.h"

/* A part of an extent; nr == 0: nothing. */
struct slot {
	u64	place;		/* of its first block that is meant */
	u32	nr;
	bool	logged;		/* as it is, or committed */
	u64	generation;	/* in which the extent was written */
};

struct file_of_test {
	struct mutex		lock;		/* excludes shares and sections */
	struct share_gate	gate;
	u64			last_transaction;
	u64			logged_in;	/* generation */
	struct slot		slot[SGT_SLOTS];
	struct slot		logged[SGT_SLOTS];
	struct slot		committed[SGT_SLOTS];
};

struct sgt {
	struct sgt_setup	setup;
	struct rw_semaphore	life;		/* written by setup and a crash; outermost */
	struct mutex		lock;		/* commits */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		log, next_log;
	struct share_ranges	ranges;
	struct file_of_test	*file;
	atomic64_t		next_place;
	atomic64_t		skipped, locked, deleted;
};

/* sgt_log.c */
int sgt_log_slot(struct sgt *s, struct share_gate *gate, const struct slot *slot);
bool sgt_has_csum(struct sgt *s, u64 block);

/* sgt_fs.c */
int sgt_set_up(struct sgt *s, const struct sgt_setup *setup);
void sgt_tear_down(struct sgt *s);
int sgt_write(struct sgt *s, const struct sgt_slot *at, bool fsync);
int sgt_clone(struct sgt *s, const struct sgt_clone *c);
int sgt_fsync(struct sgt *s, u32 file);
int sgt_full(struct sgt *s, u32 file, bool evict);
int sgt_commit(struct sgt *s);
int sgt_crash(struct sgt *s, struct sgt_crash *crash);

/* sgt_contract.c */
int sgt_contract(u32 which);
int sgt_misuse(u32 which);
int sgt_range(struct sgt_range *r);
void sgt_range_state(struct sgt_range_state *state);

#endif /* FSCOMMIT_SGT_H */
