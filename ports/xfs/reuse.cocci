// SPDX-License-Identifier: GPL-2.0
// An evicted inode is not reused before its grace period has passed: see xfs_reuse.c.

@header@
@@
 struct xfs_inode {
	...
+	unsigned long i_reuse;
	struct inode i_vnode;
	...
 };

@depends on header@
@@
 #include "xfs_inode_fork.h"
+#include "xfs_reuse.h"

@@
identifier IP;
@@
 xfs_inode_alloc(...)
 {
	...
	struct xfs_inode *IP;
	...
	IP->i_flags = 0;
+	IP->i_reuse = get_completed_synchronize_rcu();
	...
 }

@@
identifier IP;
@@
 xfs_inode_mark_reclaimable(struct xfs_inode *IP)
 {
	...
+	xfs_reuse_evicted(IP);
	need_inactive = xfs_inode_needs_inactive(IP);
	...
 }

@@
type T;
identifier PAG, IP;
@@
+static void xfs_reclaim_inode(struct xfs_inode *ip, struct xfs_perag *pag);
+
 T xfs_iget_cache_hit(struct xfs_perag *PAG, struct xfs_inode *IP, ...)
 {
	<...
	if (IP->i_flags & XFS_IRECLAIMABLE) {
+		if (xfs_reuse_replace(IP)) {
+			IP->i_flags |= XFS_IRECLAIM;
+			spin_unlock(&IP->i_flags_lock);
+			rcu_read_unlock();
+			xfs_reclaim_inode(IP, PAG);
+			return -ERESTART;
+		}
		...
	} else { ... }
	...>
 }

@@
expression E;
@@
 xfs_iget(...)
 {
	<...
	E = xfs_iget_cache_hit(...);
+	if (E == -ERESTART)
+		goto again;
	...>
 }

@@
identifier IP;
@@
 xfs_iget_recycle(..., struct xfs_inode *IP)
 {
	<...
+	xfs_reuse_recycled(IP);
	error = xfs_reinit_inode(...);
	...>
 }

@@
@@
 struct xfs_perag {
	...
+	uint32_t pag_reuse_next;
	struct radix_tree_root pag_ici_root;
	...
 };

@@
identifier D, I;
@@
 xfs_vn_get_link(struct dentry *D, struct inode *I, ...)
 {
	...
+	xfs_reuse_walk(D, I);
	if (!D)
		return ERR_PTR(-ECHILD);
	...
 }

@@
identifier PAG, INOP;
@@
 xfs_dialloc_ag(struct xfs_perag *PAG, struct xfs_trans *tp, struct xfs_buf *agbp,
	xfs_ino_t parent, xfs_ino_t *INOP
+	, bool any
	)
 {
	<...
-	offset = xfs_inobt_first_free_inode(&rec);
+	error = xfs_reuse_choose(PAG, cur, &rec, any, &offset);
+	if (error)
+		goto error_cur;
	...>
 }

@@
identifier PAG, TPP, OK;
@@
 xfs_dialloc_try_ag(struct xfs_perag *PAG, struct xfs_trans **TPP, xfs_ino_t parent,
	xfs_ino_t *new_ino, bool OK
+	, bool any
	)
 {
	...
	if (!PAG->pagi_freecount) {
		...
+		any = true;
	}
	...
-	error = xfs_dialloc_ag(PAG, *TPP, agbp, parent, &ino);
+	error = xfs_dialloc_ag(PAG, *TPP, agbp, parent, &ino, any);
+	if (error == -EBUSY) {
+		/* every free inode waits: allocate more, or try the next AG */
+		error = OK ? xfs_ialloc_ag_alloc(PAG, *TPP, agbp) : -EAGAIN;
+		if (error == -ENOSPC)
+			error = -EAGAIN;
+		if (!error)
+			error = xfs_dialloc_roll(TPP, agbp);
+		if (error)
+			goto out_release;
+		/* the transaction has reserved the blocks of one chunk */
+		error = xfs_dialloc_ag(PAG, *TPP, agbp, parent, &ino, true);
+	}
	...
 }

@@
identifier LOW;
@@
 xfs_dialloc(...)
 {
	...
	bool LOW = false;
+	bool any = false;
	<...
	xfs_dialloc_try_ag(...
+	, any
	)
	...>
 }

@@
@@
 xfs_dialloc(...)
 {
	<...
+	/* the last pass takes an inode that waits */
+	if (!any) {
+		any = true;
+		goto retry;
+	}
	return -ENOSPC;
	...>
 }
