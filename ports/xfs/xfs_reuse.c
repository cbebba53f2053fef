// SPDX-License-Identifier: GPL-2.0
/*
 * A freed inode is not reused before its grace period has passed: a path walk under RCU does not
 * find another file in it. Nothing waits for the grace period. See docs/rcu_reuse.rst.
 *
 * evict	Stamp the inode before it is marked for inactivation or reclaim.
 * allocate	Skip the free inodes in the cache whose grace period has not passed, unless they can
 *		be replaced. An AG allocates its inodes in turn, so the next one was usually freed
 *		first. If none is found, allocate a chunk of inodes; without space for it, try the
 *		next AG. Only if no AG has an inode, take one early, as stock does.
 * iget		Replace a free inode whose grace period has not passed: remove it from the cache as
 *		memory reclaim does, which frees it after the grace period, and use other memory for
 *		the inode number. Only a clean inode can be replaced, and none that is sick. Inodes
 *		of a freed chunk are clean before its blocks are allocated again: both follow the
 *		commit of the log.
 *
 * A lookup of an evicted file recycles its inode at once, as stock does. A path walk that still
 * uses it has a dentry that died before the eviction. The walk reads the same file, or the fields
 * that xfs_reinit_inode() resets for an instant; d_seq of the dentry then rejects what it has read.
 * But pick_link() calls ->get_link of a symbolic link without another check, and for that instant
 * there is none. So a symbolic link is replaced, too, if it is clean.
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
#include "xfs_trans.h"
#include "xfs_bit.h"
#include "xfs_mount.h"
#include "xfs_inode.h"
#include "xfs_inode_item.h"
#include "xfs_ag.h"
#include "xfs_btree.h"
#include "xfs_ialloc.h"
#include "xfs_ialloc_btree.h"

/* Records of the free inode btree that one allocation searches, and questions in each. */
#define REUSE_RECORDS	16
#define REUSE_QUESTIONS	4

static bool reuse = true;
module_param(reuse, bool, 0600);
MODULE_PARM_DESC(reuse, "reuse inodes after their grace period; N: as stock, but count [Y]");

static uint reuse_hold;
module_param(reuse_hold, uint, 0600);
MODULE_PARM_DESC(reuse_hold, "tests: a path walk stays at a symlink for so many allocations [0]");

static int counter_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%ld\n", atomic_long_read((atomic_long_t *)kp->arg));
}

static const struct kernel_param_ops counter_ops = { .get = counter_get };

/* A counter, which the parameter reuse_NAME shows. */
#define COUNTER(name, text)						\
	static atomic_long_t name;					\
	module_param_cb(reuse_##name, &counter_ops, &name, 0400);	\
	MODULE_PARM_DESC(reuse_##name, text)

COUNTER(recycled, "free inodes recycled for another file");
COUNTER(early, "those recycled before their grace period has passed");
COUNTER(replaced, "inodes replaced within their grace period");
COUNTER(skipped, "inodes that allocations skipped");
COUNTER(walks, "path walks that reuse_hold has stopped");
COUNTER(walks_late, "those that went on after 15 seconds, or were killed");
COUNTER(walks_reused, "those whose inode became another file");

static atomic_long_t chosen;
static struct rcu_reuse_clock reuse_clock;

/* Path walks no longer find the inode. The flags that the caller sets afterwards publish this. */
void xfs_reuse_evicted(struct xfs_inode *ip)
{
	WRITE_ONCE(ip->i_reuse, rcu_reuse_stamp(&reuse_clock));
}

static bool passed(struct xfs_inode *ip)
{
	return rcu_reuse_passed(&reuse_clock, READ_ONCE(ip->i_reuse));
}

/* Whether xfs_reclaim_inode() will succeed. It checks the same again, under the inode's locks. */
static bool may_replace(struct xfs_inode *ip)
{
	return (READ_ONCE(ip->i_flags) & (XFS_IRECLAIMABLE | XFS_IRECLAIM | XFS_IFLUSHING)) ==
		XFS_IRECLAIMABLE && !READ_ONCE(ip->i_sick) &&
		xfs_inode_clean(ip) && !xfs_ipincount(ip) && !rwsem_is_locked(&ip->i_lock);
}

/* The inode is reclaimable. i_flags_lock orders this after xfs_reuse_evicted(). */
bool xfs_reuse_replace(struct xfs_inode *ip)
{
	umode_t mode = VFS_I(ip)->i_mode;

	if (!reuse || (mode && !S_ISLNK(mode)) || passed(ip) || !may_replace(ip))
		return false;
	atomic_long_inc(&replaced);
	return true;
}

void xfs_reuse_recycled(struct xfs_inode *ip)
{
	if (VFS_I(ip)->i_mode)
		return;
	atomic_long_inc(&recycled);
	if (!passed(ip))
		atomic_long_inc(&early);
}

/* The AGI is locked, so an inode that is free on disk has been stamped before. */
static bool may_allocate(struct xfs_perag *pag, xfs_agino_t agino)
{
	struct xfs_inode *ip;
	bool may;

	rcu_read_lock();
	ip = radix_tree_lookup(&pag->pag_ici_root, agino);
	may = !ip || passed(ip) || may_replace(ip);
	rcu_read_unlock();
	if (!may)
		atomic_long_inc(&skipped);
	return may;
}

/* Inodes of the record that are free and exist on disk. */
static xfs_inofree_t free_inodes(const struct xfs_inobt_rec_incore *rec)
{
	if (!xfs_inobt_issparse(rec->ir_holemask))
		return rec->ir_free;
	return rec->ir_free & xfs_inobt_irec_to_allocmask(rec);
}

/*
 * Return the offset of an inode of the record that may be allocated, beginning with the next in
 * turn, or -1.
 */
static int look_at(struct xfs_perag *pag, const struct xfs_inobt_rec_incore *rec, int questions)
{
	u32 first = pag->pag_reuse_next - rec->ir_startino;
	xfs_inofree_t left = free_inodes(rec), ahead = left;

	if (first < XFS_INODES_PER_CHUNK)
		ahead &= ~0ULL << first;
	while (left && questions--) {
		int offset = xfs_lowbit64(ahead ?: left);

		if (may_allocate(pag, rec->ir_startino + offset))
			return offset;
		left &= ~XFS_INOBT_MASK(offset);
		ahead &= ~XFS_INOBT_MASK(offset);
	}
	return -1;
}

/* Search the free inode btree from the next inode in turn, and from the start after its end. */
static int search(struct xfs_perag *pag, struct xfs_btree_cur *cur,
		  struct xfs_inobt_rec_incore *rec, int questions, int *offset)
{
	int error, found, n;

	error = xfs_inobt_lookup(cur, pag->pag_reuse_next, XFS_LOOKUP_LE, &found);
	for (n = 0; !error && *offset < 0 && n < REUSE_RECORDS; n++) {
		if (!found)
			error = xfs_inobt_lookup(cur, 0, XFS_LOOKUP_GE, &found);
		if (!error && found)
			error = xfs_inobt_get_rec(cur, rec, &found);
		if (error || !found)
			break;
		*offset = look_at(pag, rec, questions);
		if (*offset < 0)
			error = xfs_btree_increment(cur, 0, &found);
	}
	return error;
}

/* No inode may be reused: return to the record that XFS has chosen. */
static int return_to(struct xfs_btree_cur *cur, xfs_agino_t startino,
		     struct xfs_inobt_rec_incore *rec)
{
	int error, found;

	error = xfs_inobt_lookup(cur, startino, XFS_LOOKUP_EQ, &found);
	if (!error && found)
		error = xfs_inobt_get_rec(cur, rec, &found);
	return error ?: found ? 0 : -EFSCORRUPTED;
}

/*
 * @rec is the record that XFS has chosen, and @cur points to it. Set @offset to an inode of it, or
 * choose another record. If all inodes wait, return -EBUSY, or the first inode if @any: then the
 * caller has allocated a chunk, or found no AG with space for one.
 */
int xfs_reuse_choose(struct xfs_perag *pag, struct xfs_btree_cur *cur,
		     struct xfs_inobt_rec_incore *rec, bool any, int *offset)
{
	struct xfs_agi *agi = cur->bc_ag.agbp->b_addr;
	int questions = any ? XFS_INODES_PER_CHUNK : REUSE_QUESTIONS;
	xfs_agino_t first = rec->ir_startino;
	int error = 0;

	if (any && agi->agi_newino != cpu_to_be32(NULLAGINO))
		pag->pag_reuse_next = be32_to_cpu(agi->agi_newino);
	*offset = reuse ? look_at(pag, rec, questions) : xfs_lowbit64(free_inodes(rec));
	if (*offset < 0)
		error = search(pag, cur, rec, questions, offset);
	if (!error && *offset < 0) {
		error = any ? return_to(cur, first, rec) : -EBUSY;
		*offset = xfs_lowbit64(free_inodes(rec));
	}
	if (error)
		return error;
	pag->pag_reuse_next = rec->ir_startino + *offset + 1;
	atomic_long_inc(&chosen);
	return 0;
}

/*
 * For tests: a path walk under RCU stays at this symlink for @reuse_hold allocations, or until
 * @reuse_hold is 0, but not until RCU reports a stall. It must not see its inode freed and
 * allocated again.
 */
void xfs_reuse_walk(struct dentry *dentry, struct inode *inode)
{
	long hold = READ_ONCE(reuse_hold), from = atomic_long_read(&chosen);
	u32 generation = READ_ONCE(inode->i_generation);
	unsigned long end = jiffies + 15 * HZ;
	bool freed = !READ_ONCE(inode->i_mode);

	if (dentry || !hold)
		return;
	atomic_long_inc(&walks);
	while (READ_ONCE(reuse_hold) && atomic_long_read(&chosen) - from < hold) {
		freed |= READ_ONCE(inode->i_generation) != generation;
		if (freed && READ_ONCE(inode->i_mode)) {
			atomic_long_inc(&walks_reused);
			return;
		}
		if (time_after(jiffies, end) || fatal_signal_pending(current)) {
			atomic_long_inc(&walks_late);
			return;
		}
		cpu_relax();
	}
}
