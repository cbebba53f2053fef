// SPDX-License-Identifier: GPL-2.0
/*
 * An evicted inode is not reused before its grace period has passed. See docs/rcu_reuse.rst.
 *
 * evict	Stamp the inode before it is marked for inactivation or reclaim.
 * allocate	Skip the free inodes whose grace period has not passed. If there are no others in
 *		the records searched, allocate a chunk of new inodes; if there is no space for
 *		it, the first inode is chosen and the lookup waits.
 * lookup	A reclaimable inode whose grace period has not passed is not recycled: xfs_iget()
 *		tries again after a jiffy, as for an inode that is being reclaimed.
 */
#if __has_include("xfs_platform.h")
#include "xfs_platform.h"
#else
#include "xfs.h"
#endif
#include "xfs_fs.h"
#include "xfs_shared.h"
#include "xfs_format.h"
#include "xfs_log_format.h"
#include "xfs_trans_resv.h"
#include "xfs_bit.h"
#include "xfs_mount.h"
#include "xfs_inode.h"
#include "xfs_ag.h"
#include "xfs_btree.h"
#include "xfs_ialloc.h"
#include "xfs_ialloc_btree.h"

/* Records of the free inode btree that one allocation searches. */
#define REUSE_RECORDS	16

enum { REUSE_COUNT, REUSE_WAIT, REUSE_STAMPS };

static int reuse = REUSE_STAMPS;
module_param(reuse, int, 0600);
MODULE_PARM_DESC(reuse, "0: as stock, but count; 1: the allocator waits; 2: stamps [2]");

static atomic_long_t recycled, early, skipped, waits;

static int counter_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%ld\n", atomic_long_read((atomic_long_t *)kp->arg));
}

static const struct kernel_param_ops counter_ops = { .get = counter_get };

module_param_cb(reuse_recycled, &counter_ops, &recycled, 0400);
MODULE_PARM_DESC(reuse_recycled, "inodes recycled");
module_param_cb(reuse_early, &counter_ops, &early, 0400);
MODULE_PARM_DESC(reuse_early, "inodes recycled before their grace period has passed");
module_param_cb(reuse_skipped, &counter_ops, &skipped, 0400);
MODULE_PARM_DESC(reuse_skipped, "inodes that allocations skipped");
module_param_cb(reuse_waits, &counter_ops, &waits, 0400);
MODULE_PARM_DESC(reuse_waits, "times that a lookup or an allocation waited");

static struct rcu_reuse_clock reuse_clock;

void xfs_reuse_init(void)
{
	rcu_reuse_clock_init(&reuse_clock, NULL);
}

void xfs_reuse_exit(void)
{
	rcu_reuse_clock_destroy(&reuse_clock);
}

void xfs_reuse_new(struct xfs_inode *ip)
{
	rcu_reuse_stamp_init(&ip->i_reuse.stamp);
	ip->i_reuse.cookie = get_completed_synchronize_rcu();
}

/* Path walks no longer find the inode. The flags that the caller sets afterwards publish this. */
void xfs_reuse_evicted(struct xfs_inode *ip)
{
	ip->i_reuse.cookie = get_state_synchronize_rcu();
	if (reuse == REUSE_STAMPS)
		rcu_reuse_stamp(&reuse_clock, &ip->i_reuse.stamp);
}

/* Under i_flags_lock, which orders this after xfs_reuse_evicted(). */
bool xfs_reuse_may_recycle(struct xfs_inode *ip)
{
	if (reuse == REUSE_STAMPS && !rcu_reuse_passed(&reuse_clock, &ip->i_reuse.stamp)) {
		atomic_long_inc(&waits);
		return false;
	}
	atomic_long_inc(&recycled);
	if (!poll_state_synchronize_rcu(ip->i_reuse.cookie))
		atomic_long_inc(&early);
	return true;
}

/* Inodes of the record that are free and exist on disk. */
static xfs_inofree_t free_inodes(const struct xfs_inobt_rec_incore *rec)
{
	if (!xfs_inobt_issparse(rec->ir_holemask))
		return rec->ir_free;
	return rec->ir_free & xfs_inobt_irec_to_allocmask(rec);
}

/*
 * The AGI is locked, so an inode that is free on disk has been stamped before. The inode may be on
 * its way to memory reclaim: then it is not recycled.
 */
static bool may_allocate(struct xfs_perag *pag, xfs_agino_t agino)
{
	struct xfs_inode *ip;
	bool passed = true;

	rcu_read_lock();
	ip = radix_tree_lookup(&pag->pag_ici_root, agino);
	if (ip)
		passed = rcu_reuse_passed(&reuse_clock, &ip->i_reuse.stamp);
	rcu_read_unlock();
	if (!passed)
		atomic_long_inc(&skipped);
	return passed;
}

/* The synchronous alternative, for comparison. */
static void wait_for_inode(struct xfs_perag *pag, xfs_agino_t agino)
{
	unsigned long cookie = get_completed_synchronize_rcu();
	struct xfs_inode *ip;

	rcu_read_lock();
	ip = radix_tree_lookup(&pag->pag_ici_root, agino);
	if (ip)
		cookie = READ_ONCE(ip->i_reuse.cookie);
	rcu_read_unlock();
	if (!poll_state_synchronize_rcu(cookie)) {
		atomic_long_inc(&waits);
		cond_synchronize_rcu(cookie);
	}
}

/* Return the offset of the first inode that may be reused; -1 if there is none. */
static int first_reusable(struct xfs_perag *pag, const struct xfs_inobt_rec_incore *rec)
{
	xfs_inofree_t left = free_inodes(rec);

	while (left) {
		int offset = xfs_lowbit64(left);

		if (reuse != REUSE_STAMPS || may_allocate(pag, rec->ir_startino + offset))
			return offset;
		left &= ~XFS_INOBT_MASK(offset);
	}
	return -1;
}

/* The offset in a record that xfs_reuse_choose() returned. */
int xfs_reuse_offset(struct xfs_perag *pag, struct xfs_inobt_rec_incore *rec)
{
	int offset = first_reusable(pag, rec);

	if (offset < 0)
		offset = xfs_lowbit64(free_inodes(rec));
	if (reuse == REUSE_WAIT)
		wait_for_inode(pag, rec->ir_startino + offset);
	return offset;
}

/* Move to the record; return 1 if it has an inode that may be reused, 0 if not, or an error. */
static int look_at(struct xfs_perag *pag, struct xfs_btree_cur *cur,
		   struct xfs_inobt_rec_incore *rec)
{
	int error, found;

	error = xfs_inobt_get_rec(cur, rec, &found);
	if (error)
		return error;
	return found && first_reusable(pag, rec) >= 0;
}

/* The chunk that was allocated last, then the records from the start. */
static int search(struct xfs_perag *pag, struct xfs_agi *agi, struct xfs_btree_cur *cur,
		  struct xfs_inobt_rec_incore *rec)
{
	int ret, i, n;

	if (agi->agi_newino != cpu_to_be32(NULLAGINO)) {
		ret = xfs_inobt_lookup(cur, be32_to_cpu(agi->agi_newino), XFS_LOOKUP_EQ, &i);
		if (!ret && i)
			ret = look_at(pag, cur, rec);
		if (ret)
			return ret;
	}
	ret = xfs_inobt_lookup(cur, 0, XFS_LOOKUP_GE, &i);
	for (n = 0; !ret && i && n < REUSE_RECORDS; n++) {
		ret = look_at(pag, cur, rec);
		if (!ret)
			ret = xfs_btree_increment(cur, 0, &i);
	}
	return ret;
}

/*
 * @rec is the record that XFS has chosen, and @cur points to it. If none of its inodes may be
 * reused, choose another record. If there is none, return -EBUSY, or keep the record if @any.
 */
int xfs_reuse_choose(struct xfs_perag *pag, struct xfs_agi *agi, struct xfs_btree_cur *cur,
		     struct xfs_inobt_rec_incore *rec, bool any)
{
	xfs_agino_t first = rec->ir_startino;
	int ret, i;

	if (first_reusable(pag, rec) >= 0)
		return 0;
	ret = search(pag, agi, cur, rec);
	if (ret)
		return ret > 0 ? 0 : ret;
	if (!any)
		return -EBUSY;
	ret = xfs_inobt_lookup(cur, first, XFS_LOOKUP_EQ, &i);
	if (!ret)
		ret = xfs_inobt_get_rec(cur, rec, &i);
	return ret ?: i ? 0 : -EFSCORRUPTED;
}
