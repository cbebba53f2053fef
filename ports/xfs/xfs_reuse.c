// SPDX-License-Identifier: GPL-2.0
/*
 * An evicted inode is not reused before its grace period has passed. See docs/rcu_reuse.rst.
 *
 * evict	Stamp the inode before it is marked for inactivation or reclaim.
 * allocate	Skip the free inodes whose grace period has not passed. An AG allocates them in
 *		turn, so the next one was usually freed first. If none is found, allocate a chunk
 *		of new inodes; if there is no space for it, the first inode is chosen and the
 *		lookup waits.
 * free		Stock frees a chunk with its last inode, and may allocate the same blocks again for
 *		the next chunk, whose inodes then still wait. Up to reuse_keep free inodes of an AG,
 *		the chunk is kept.
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

/* Records of the free inode btree that one allocation searches, and questions in each. */
#define REUSE_RECORDS	16
#define REUSE_QUESTIONS	4

enum { REUSE_COUNT, REUSE_WAIT, REUSE_STAMPS };

static int reuse = REUSE_STAMPS;
module_param(reuse, int, 0600);
MODULE_PARM_DESC(reuse, "0: as stock, but count; 1: the allocator waits; 2: stamps [2]");

static uint reuse_keep = 4096;
module_param(reuse_keep, uint, 0600);
MODULE_PARM_DESC(reuse_keep, "keep chunks up to so many free inodes of an AG [4096]");

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

COUNTER(recycled, "inodes recycled");
COUNTER(early, "inodes recycled before their grace period has passed");
COUNTER(skipped, "inodes that allocations skipped");
COUNTER(waits, "times that a lookup or an allocation waited");
COUNTER(stale_waits, "those for an inode whose chunk was freed meanwhile");
COUNTER(chunks, "allocations that found no inode and ask for a chunk");
COUNTER(kept, "chunks kept when their last inode was freed");
COUNTER(walks, "path walks that stayed for reuse_hold allocations");
COUNTER(walks_reused, "path walks whose inode was recycled meanwhile");

static atomic_long_t chosen;
static struct rcu_reuse_clock reuse_clock;

void xfs_reuse_new(struct xfs_inode *ip)
{
	ip->i_reuse.stamp = get_completed_synchronize_rcu();
	ip->i_reuse.cookie = ip->i_reuse.stamp;
	ip->i_reuse.generation = 0;
}

/* Path walks no longer find the inode. The flags that the caller sets afterwards publish this. */
void xfs_reuse_evicted(struct xfs_inode *ip)
{
	ip->i_reuse.cookie = get_state_synchronize_rcu();
	if (reuse == REUSE_STAMPS)
		ip->i_reuse.stamp = rcu_reuse_stamp(&reuse_clock);
}

/* Under i_flags_lock, which orders this after xfs_reuse_evicted(). */
bool xfs_reuse_may_recycle(struct xfs_inode *ip)
{
	if (reuse == REUSE_STAMPS &&
	    !rcu_reuse_passed(&reuse_clock, READ_ONCE(ip->i_reuse.stamp))) {
		atomic_long_inc(&waits);
		if (ip->i_flags & XFS_ISTALE)
			atomic_long_inc(&stale_waits);
		return false;
	}
	WRITE_ONCE(ip->i_reuse.generation, ip->i_reuse.generation + 1);
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
		passed = rcu_reuse_passed(&reuse_clock, READ_ONCE(ip->i_reuse.stamp));
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

/* One search of the free inode btree, under the AGI's lock. */
struct search {
	struct xfs_perag		*pag;
	struct xfs_btree_cur		*cur;
	struct xfs_inobt_rec_incore	*rec;
	int				questions;	/* in each record */
	int				records;	/* still to search */
	int				offset;		/* of the inode in the record, or -1 */
};

/* Set the offset of an inode of the record that may be reused, beginning with the next in turn. */
static bool look_at(struct search *s)
{
	u32 first = s->pag->pag_reuse_next - s->rec->ir_startino;
	xfs_inofree_t left = free_inodes(s->rec), ahead = left;
	int n;

	s->offset = -1;
	if (reuse == REUSE_STAMPS && first < XFS_INODES_PER_CHUNK)
		ahead &= ~0ULL << first;
	for (n = 0; left && n < s->questions; n++) {
		int offset = xfs_lowbit64(ahead ?: left);

		if (reuse != REUSE_STAMPS ||
		    may_allocate(s->pag, s->rec->ir_startino + offset)) {
			s->offset = offset;
			return true;
		}
		left &= ~XFS_INOBT_MASK(offset);
		ahead &= ~XFS_INOBT_MASK(offset);
	}
	return false;
}

/* Search from a record onwards. */
static int search_from(struct search *s, xfs_agino_t from, xfs_lookup_t dir)
{
	int error, found;

	error = xfs_inobt_lookup(s->cur, from, dir, &found);
	while (!error && found && s->records-- > 0) {
		error = xfs_inobt_get_rec(s->cur, s->rec, &found);
		if (error || !found || look_at(s))
			break;
		error = xfs_btree_increment(s->cur, 0, &found);
	}
	return error;
}

/* Search from the next inode in turn, then from the start. */
static int search(struct search *s)
{
	int error;

	s->records = REUSE_RECORDS;
	error = search_from(s, s->pag->pag_reuse_next, XFS_LOOKUP_LE);
	if (!error && s->offset < 0)
		error = search_from(s, 0, XFS_LOOKUP_GE);
	return error;
}

/* No inode may be reused: return to the record that XFS has chosen. */
static int first_of(struct search *s, xfs_agino_t startino)
{
	int error, found;

	error = xfs_inobt_lookup(s->cur, startino, XFS_LOOKUP_EQ, &found);
	if (!error && found)
		error = xfs_inobt_get_rec(s->cur, s->rec, &found);
	if (!error && !found)
		error = -EFSCORRUPTED;
	if (!error)
		s->offset = xfs_lowbit64(free_inodes(s->rec));
	return error;
}

/*
 * @rec is the record that XFS has chosen, and @cur points to it. Set @offset to an inode of it, or
 * choose another record. If no inode may be reused, return -EBUSY, or the first inode if @any:
 * then the caller has allocated a chunk, or there is no space for one.
 */
int xfs_reuse_choose(struct xfs_perag *pag, struct xfs_btree_cur *cur,
		     struct xfs_inobt_rec_incore *rec, bool any, int *offset)
{
	struct xfs_agi *agi = cur->bc_ag.agbp->b_addr;
	struct search s = {
		.pag = pag, .cur = cur, .rec = rec, .questions = REUSE_QUESTIONS, .offset = -1,
	};
	xfs_agino_t first = rec->ir_startino;
	int error = 0;

	if (any) {
		s.questions = XFS_INODES_PER_CHUNK;
		if (agi->agi_newino != cpu_to_be32(NULLAGINO))
			pag->pag_reuse_next = be32_to_cpu(agi->agi_newino);
	}
	if (any || !look_at(&s))
		error = search(&s);
	if (!error && s.offset < 0) {
		if (!any) {
			atomic_long_inc(&chunks);
			return -EBUSY;
		}
		error = first_of(&s, first);
	}
	if (error)
		return error;
	*offset = s.offset;
	pag->pag_reuse_next = rec->ir_startino + s.offset + 1;
	atomic_long_inc(&chosen);
	if (reuse == REUSE_WAIT)
		wait_for_inode(pag, rec->ir_startino + s.offset);
	return 0;
}

/*
 * Whether to keep a chunk whose last inode is freed: its inodes were evicted lately, and the next
 * allocation may need them.
 */
bool xfs_reuse_keep(struct xfs_perag *pag)
{
	pag->pag_reuse_kept = reuse == REUSE_STAMPS && pag->pagi_freecount < reuse_keep;
	if (pag->pag_reuse_kept)
		atomic_long_inc(&kept);
	return pag->pag_reuse_kept;
}

/* The same answer for the free inode btree, whose caller has changed the number of free inodes. */
bool xfs_reuse_kept(struct xfs_perag *pag)
{
	return pag->pag_reuse_kept;
}

/*
 * For tests: a path walk under RCU stays at this symlink for @reuse_hold allocations. A reader
 * stops after 200 ms, since the allocator of reuse=1 waits for it.
 */
void xfs_reuse_walk(struct inode *inode)
{
	struct xfs_reuse *r = &XFS_I(inode)->i_reuse;
	unsigned int generation = READ_ONCE(r->generation);
	long hold = READ_ONCE(reuse_hold), from = atomic_long_read(&chosen);
	unsigned long end = jiffies + HZ / 5;

	if (!hold)
		return;
	while (READ_ONCE(r->generation) == generation) {
		if (atomic_long_read(&chosen) - from >= hold) {
			atomic_long_inc(&walks);
			return;
		}
		if (time_after(jiffies, end))
			return;
		cpu_relax();
	}
	atomic_long_inc(&walks_reused);
}
