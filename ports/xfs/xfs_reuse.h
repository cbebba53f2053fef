/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An evicted inode is not reused before its grace period has passed. Linked into the ported XFS.
 */
#ifndef __XFS_REUSE_H__
#define __XFS_REUSE_H__

#include <linux/rcu_reuse.h>

struct inode;
struct xfs_btree_cur;
struct xfs_inobt_rec_incore;
struct xfs_inode;
struct xfs_perag;

struct xfs_reuse {
	unsigned long		stamp;		/* of the last eviction */
	unsigned long		cookie;		/* the same for the counters; 0: none */
	unsigned int		generation;	/* how often the inode was recycled */
};

void xfs_reuse_new(struct xfs_inode *ip);
void xfs_reuse_evicted(struct xfs_inode *ip);
bool xfs_reuse_may_recycle(struct xfs_inode *ip);
int xfs_reuse_choose(struct xfs_perag *pag, struct xfs_btree_cur *cur,
		     struct xfs_inobt_rec_incore *rec, bool any, int *offset);
bool xfs_reuse_keep(struct xfs_perag *pag);
bool xfs_reuse_kept(struct xfs_perag *pag);
void xfs_reuse_walk(struct inode *inode);

#endif /* __XFS_REUSE_H__ */
