// SPDX-License-Identifier: GPL-2.0
// An evicted inode is not reused before its grace period has passed: see xfs_reuse.c.

@header@
@@
 struct xfs_inode {
	...
+	struct xfs_reuse i_reuse;
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
+	xfs_reuse_new(IP);
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
identifier IP;
@@
 xfs_iget_cache_hit(..., struct xfs_inode *IP, ...)
 {
	<...
	if (IP->i_flags & XFS_IRECLAIMABLE) {
+		if (!xfs_reuse_may_recycle(IP))
+			goto out_skip;
		...
	} else { ... }
	...>
 }

@@
@@
 struct xfs_perag {
	...
+	uint32_t pag_reuse_next;
+	bool pag_reuse_kept;
	struct radix_tree_root pag_ici_root;
	...
 };

@@
identifier D, I;
@@
 xfs_vn_get_link(struct dentry *D, struct inode *I, ...)
 {
	...
-	if (!D)
+	if (!D) {
+		xfs_reuse_walk(I);
		return ERR_PTR(-ECHILD);
+	}
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
identifier PAG, TPP;
@@
 xfs_dialloc_try_ag(struct xfs_perag *PAG, struct xfs_trans **TPP, ...)
 {
	...
	int error;
+	/* the transaction has reserved the blocks of one chunk */
+	bool any;
	...
+	any = !PAG->pagi_freecount;
	if (!PAG->pagi_freecount) {
		...
	}
	...
-	error = xfs_dialloc_ag(PAG, *TPP, agbp, parent, &ino);
+	error = xfs_dialloc_ag(PAG, *TPP, agbp, parent, &ino, any);
+	if (error == -EBUSY) {
+		/* every free inode waits: allocate more inodes, if there is space */
+		error = ok_alloc ? xfs_ialloc_ag_alloc(PAG, *TPP, agbp) : -EAGAIN;
+		if (error && error != -EAGAIN && error != -ENOSPC)
+			goto out_release;
+		if (!error) {
+			error = xfs_dialloc_roll(TPP, agbp);
+			if (error)
+				goto out_release;
+		}
+		error = xfs_dialloc_ag(PAG, *TPP, agbp, parent, &ino, true);
+	}
	...
 }

// The two btrees must agree.
@@
identifier PAG;
expression REC;
@@
 xfs_difree_inobt(struct xfs_perag *PAG, ...)
 {
	<...
-	REC.ir_free == XFS_INOBT_ALL_FREE
+	REC.ir_free == XFS_INOBT_ALL_FREE && !xfs_reuse_keep(PAG)
	...>
 }

@@
identifier PAG;
expression REC;
@@
 xfs_difree_finobt(struct xfs_perag *PAG, ...)
 {
	<...
-	REC.ir_free == XFS_INOBT_ALL_FREE
+	REC.ir_free == XFS_INOBT_ALL_FREE && !xfs_reuse_kept(PAG)
	...>
 }
