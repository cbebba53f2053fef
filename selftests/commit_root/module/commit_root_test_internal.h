/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The toy filesystem of /dev/commit_root_test: see commit_root_test.h. For its files alone.
 */
#ifndef FSCOMMIT_CRT_H
#define FSCOMMIT_CRT_H

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
	u64	generation;	/* in which it was written; 0: not known */
};

struct place {
	u64	start;
	u64	freed;		/* generation */
};

struct crt {
	struct crt_setup	setup;
	struct rw_semaphore	life;		/* written by setup and destroy; outermost */
	struct mutex		lock;		/* commits, pins by id */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		csums, snapshot;
	bool			has_snapshot, want_snapshot;
	struct extent		*extent;
	struct unfair_rwsem	*group;	/* those who hold them are not what is measured */
	/* places that are free, in the order in which they became so */
	spinlock_t		places_lock;
	struct place		*places;
	unsigned int		nr_places, first_place, last_place;
	u64			last_version;
	char			name[24];
	struct commit_root_set	roots;
	struct commit_tree	tree;
	struct commit_roots	*next;
	struct commit_pin	pin[CRT_MAX_PINS];
	bool			pinned[CRT_MAX_PINS];
	/* as btrfs has it */
	struct rw_semaphore	commit_sem;
	u32			committed_root;
	u64			committed;
	atomic64_t		released, out_of_order, last_released;
};

static inline u64 crt_csum(u64 place, u64 version)
{
	return hash_64(place ^ version << 32, 64);
}

static inline struct unfair_rwsem *crt_group_of(struct crt *c, u32 extent)
{
	return &c->group[extent / CRT_GROUP % GROUP_LOCKS];
}

/* crt_fs.c */
extern const struct commit_root_ops crt_root_ops;
int crt_set_up(struct crt *c, const struct crt_setup *s);
int crt_tear_down(struct crt *c, bool unpin_all);
int crt_do_commit(struct crt *c, struct crt_commit *result);
int crt_change_extent(struct crt *c, u32 n, bool move);
void crt_get_state(struct crt *c, struct crt_state *state);
int crt_check(struct crt *c);

/* crt_read.c */
int crt_read_extents(struct crt *c, struct crt_request *req);

/* crt_contract.c */
int crt_contract(u32 which);

/* crt_pins.c */
int crt_take_pin(struct crt *c, struct crt_pin *p);
int crt_give_pin(struct crt *c, u32 id);
int crt_look_up_pinned(struct crt *c, struct crt_lookup *l);
int crt_pin_loop(struct crt *c, struct crt_loop *loop);
int crt_misuse(struct crt *c, u32 which);

#endif /* FSCOMMIT_CRT_H */
