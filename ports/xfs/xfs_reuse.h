/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A freed inode is not reused before its grace period has passed. Linked into the ported XFS.
 */
#ifndef __XFS_REUSE_H__
#define __XFS_REUSE_H__

#include <linux/rcu_reuse.h>

struct dentry;
struct inode;
struct xfs_btree_cur;
struct xfs_inobt_rec_incore;
struct xfs_inode;
struct xfs_perag;

void xfs_reuse_evicted(struct xfs_inode *ip);
bool xfs_reuse_replace(struct xfs_inode *ip);
void xfs_reuse_recycled(struct xfs_inode *ip);
int xfs_reuse_choose(struct xfs_perag *pag, struct xfs_btree_cur *cur,
		     struct xfs_inobt_rec_incore *rec, bool any, int *offset);
void xfs_reuse_walk(struct dentry *dentry, struct inode *inode);

#endif /* __XFS_REUSE_H__ */
