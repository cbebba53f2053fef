/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The toy filesystem of /dev/commit_root_test: see commit_root_test.h.
 */
#ifndef COMMIT_ROOT_TEST_INTERNAL_H
#define COMMIT_ROOT_TEST_INTERNAL_H

#include <linux/commit_root.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/unfair_rwsem.h>

#include "commit_root_test.h"
#include "cow_tree.h"

#define GROUP_LOCKS	1024

struct extent {
	u64	place;		/* of its first block */
	u64	generation;	/* of the last write */
};

struct root_test {
	struct root_test_setup	setup;
	struct rw_semaphore	life;		/* written by setup; outermost */
	struct mutex		lock;		/* commits, pins by id */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		csums;
	struct extent		*extent;
	struct unfair_rwsem	group[GROUP_LOCKS];	/* excluded from what is measured */
	atomic64_t		nr_places;
	char			name[24];
	struct commit_root_set	roots;
	struct commit_tree	tree;
	struct commit_roots	*next;
	struct commit_pin	pin[ROOT_TEST_MAX_PINS];
	/* for ROOT_TEST_BEHIND_RWSEM */
	struct rw_semaphore	commit_sem;
	u32			committed_root;
	u64			committed;
};

static inline u64 root_test_csum(u64 block)
{
	return hash_64(block, 64);
}

static inline struct unfair_rwsem *root_test_group_of(struct root_test *c, u32 extent)
{
	return &c->group[extent / ROOT_TEST_GROUP % GROUP_LOCKS];
}

static inline bool root_test_breaks(const struct root_test *c, u32 rule)
{
	return c->setup.broken & rule;
}

/* commit_root_test_read.c */
int root_test_read_extents(struct root_test *c, struct root_test_request *req);

/* commit_root_test_contract.c */
int root_test_contract(u32 which);

/* commit_root_test_misuse.c */
int root_test_misuse(struct root_test *c, u32 which);

#endif /* COMMIT_ROOT_TEST_INTERNAL_H */
