/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of commit-root search share. For them, and main.c.
 */
#ifndef _FSCOMMIT_COMMIT_ROOTS_H
#define _FSCOMMIT_COMMIT_ROOTS_H

#include <linux/commit_root.h>

struct dentry;

struct tree_root {
	u64	tree;		/* its number; 0: none */
	u64	generation;	/* that brought it */
	void	*root;
	bool	gone;		/* not in the next commit; under lock */
};

struct commit_roots {
	struct commit_root_set	*set;
	u64			generation;
	struct rcu_head		head;
	/* one for all pins of SRCU, until they have left; one each for the others */
	atomic_t		users;
	bool			wanted;
	bool			unpinned;	/* for good; under lock */
	unsigned long		replaced;	/* jiffies; 0: they are current */
	struct list_head	node;		/* under lock */
	unsigned int		capacity;
	struct tree_root	tree[];
};

static inline void count(const struct commit_root_set *set, enum commit_root_event event)
{
	this_cpu_inc(set->counts->nr[event]);
}

unsigned long sum_of(const struct commit_root_set *set, enum commit_root_event event);

#define misused(set, fmt, ...)							\
do {										\
	count(set, COMMIT_ROOT_MISUSE);							\
	WARN_ONCE(1, "fscommit: commit roots of %s: " fmt "\n", (set)->name,	\
		  ##__VA_ARGS__);						\
} while (0)

/* Under the lock of @set. */
static inline struct commit_roots *oldest_roots(struct commit_root_set *set)
{
	lockdep_assert_held(&set->lock);
	return list_first_entry_or_null(&set->all, struct commit_roots, node);
}

/* A user of roots less: the last one has them released. */
void put_roots(struct commit_roots *roots);

/* For debugfs. */
void list_set(struct commit_root_set *set);
void unlist_set(struct commit_root_set *set);
void init_commit_roots_debugfs(struct dentry *dir);

int init_commit_roots(struct dentry *debugfs);
void exit_commit_roots(void);

#endif /* _FSCOMMIT_COMMIT_ROOTS_H */
