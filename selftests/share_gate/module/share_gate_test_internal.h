/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The toy filesystem of /dev/share_gate_test: see share_gate_test.h.
 */
#ifndef SHARE_GATE_TEST_INTERNAL_H
#define SHARE_GATE_TEST_INTERNAL_H

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/share_gate.h>

#include "cow_tree.h"
#include "share_gate_test.h"

#define GATE_TEST_RANGES	4096

/* A part of an extent; nr == 0: an empty slot. */
struct slot {
	u64	place;		/* of the first block of the part */
	u32	nr;
	bool	logged;		/* its current content is logged or committed */
	u64	generation;	/* in which the extent was written */
};

struct test_file {
	struct mutex		lock;		/* excludes shares and sections */
	struct share_gate	gate;
	u64			last_transaction;
	u64			logged_in;	/* generation */
	struct slot		slot[GATE_TEST_SLOTS];
	struct slot		logged[GATE_TEST_SLOTS];
	struct slot		committed[GATE_TEST_SLOTS];
};

struct gate_test {
	struct gate_test_setup	setup;
	struct rw_semaphore	life;		/* written by setup and a crash; outermost */
	struct mutex		lock;		/* commits */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		log, next_log;
	struct mutex		range_lock[GATE_TEST_RANGES];	/* of extents, by place */
	struct test_file	*file;
	atomic64_t		next_place;
	atomic64_t		skipped, locked, deleted;
};

/* share_gate_test_log.c */
int gate_test_log_slot(struct gate_test *s, struct share_gate *gate, const struct slot *slot);
bool gate_test_has_csum(struct gate_test *s, u64 block);

/* share_gate_test_fs.c */
int gate_test_set_up(struct gate_test *s, const struct gate_test_setup *setup);
void gate_test_tear_down(struct gate_test *s);
int gate_test_write(struct gate_test *s, const struct gate_test_slot *at, bool fsync);
int gate_test_clone(struct gate_test *s, const struct gate_test_clone *c);
int gate_test_fsync(struct gate_test *s, u32 file);
int gate_test_full(struct gate_test *s, u32 file, bool evict);
int gate_test_commit(struct gate_test *s);
int gate_test_crash(struct gate_test *s, struct gate_test_crash *crash);

/* share_gate_test_contract.c */
int gate_test_contract(u32 which);
int gate_test_misuse(u32 which);

#endif /* SHARE_GATE_TEST_INTERNAL_H */
