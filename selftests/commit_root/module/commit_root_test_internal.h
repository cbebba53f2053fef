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
	u64	version;
	u64	generation;	/* of the last write; 0: unknown */
};

struct place {
	u64	start;
	u64	freed;		/* generation */
};

struct root_test {
	struct root_test_setup	setup;
	struct rw_semaphore	life;		/* written by setup and destroy; outermost */
	struct mutex		lock;		/* commits, pins by id */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		csums, snapshot;
	bool			has_snapshot, want_snapshot;
	struct extent		*extent;
	struct unfair_rwsem	*group;		/* excluded from what is measured */
	/* free places, a ring in the order in which they were freed */
	spinlock_t		places_lock;
	struct place		*places;
	unsigned int		nr_places, first_place, last_place;
	u64			last_version;
	char			name[24];
	struct commit_root_set	roots;
	struct commit_tree	tree;
	struct commit_roots	*next;
	struct commit_pin	pin[ROOT_TEST_MAX_PINS];
	u64			pinned[ROOT_TEST_MAX_PINS];	/* generation of its root, or 0 */
	/* for ROOT_TEST_BEHIND_RWSEM */
	struct rw_semaphore	commit_sem;
	u32			committed_root;
	u64			committed;
	atomic64_t		released, released_in_use;
};

static inline u64 root_test_csum(u64 place, u64 version)
{
	return hash_64(place ^ version << 32, 64);
}

static inline struct unfair_rwsem *root_test_group_of(struct root_test *c, u32 extent)
{
	return &c->group[extent / ROOT_TEST_GROUP % GROUP_LOCKS];
}

/* commit_root_test_fs.c */
extern const struct commit_root_ops root_test_root_ops;
int root_test_set_up(struct root_test *c, const struct root_test_setup *s);
int root_test_tear_down(struct root_test *c, bool unpin_all);
int root_test_do_commit(struct root_test *c, struct root_test_commit *result);
int root_test_change_extent(struct root_test *c, u32 n, bool move);
void root_test_get_state(struct root_test *c, struct root_test_state *state);
int root_test_check(struct root_test *c);

/* commit_root_test_read.c */
int root_test_read_extents(struct root_test *c, struct root_test_request *req);

/* commit_root_test_contract.c */
int root_test_contract(u32 which);

/* commit_root_test_pins.c */
int root_test_take_pin(struct root_test *c, struct root_test_pin *p);
int root_test_drop_pin(struct root_test *c, u32 id);
int root_test_look_up_pinned(struct root_test *c, struct root_test_lookup *l);
int root_test_pin_loop(struct root_test *c, struct root_test_loop *loop);
int root_test_misuse(struct root_test *c, u32 which);

#endif /* COMMIT_ROOT_TEST_INTERNAL_H */
