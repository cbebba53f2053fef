// SPDX-License-Identifier: GPL-2.0
/*
 * Commit roots for btrfs, see commit_pins.h.
 *
 *  reader	Pins the newest commit where it called down_read(&fs_info->commit_root_sem),
 *		and unpins it where it called up_read(). In between, the reader sees the
 *		roots of that commit, even after later commits. It also holds commit_root_sem
 *		for reading. No task acquires that for writing: it shows the reader to lockdep,
 *		and to tasks that wait for space, which lend to it.
 *
 *  committer	Publishes the roots of all trees by one switch, without waiting. The
 *		extents that the transaction freed return to the allocator when no older
 *		pin is left, in the order of the transactions: by the committer, or by the
 *		work of the set that has seen the last unpin. The committer waits for neither.
 *
 *  first root	btrfs reads a tree on demand, so a pin may be older than the tree's entry
 *		in the set. The tree has not changed since that pin, or btrfs would have
 *		read it earlier. So the root that btrfs read is right for all pins older
 *		than the tree's first publication.
 */
#include <linux/hash.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "bio.h"
#include "btrfs_inode.h"
#include "ctree.h"
#include "disk-io.h"
#include "extent-tree.h"
#include "extent_io.h"
#include "fs.h"
#include "space-info.h"
#include "transaction.h"
#include "volumes.h"

/* --- pins by task ---------------------------------------------------------- */

#define PIN_BITS	6

static struct pin_bucket {
	spinlock_t		lock;		/* protects @pins */
	struct hlist_head	pins;
} ____cacheline_aligned_in_smp pin_buckets[1 << PIN_BITS] = {
	[0 ... (1 << PIN_BITS) - 1] = { .lock = __SPIN_LOCK_UNLOCKED(pin_buckets.lock) },
};

static struct pin_bucket *my_bucket(void)
{
	return &pin_buckets[hash_ptr(current, PIN_BITS)];
}

/* The pin of this task, on its stack or in its work item: no other task frees it. */
static struct btrfs_pin *find_pin(const struct btrfs_fs_info *fs_info)
{
	struct pin_bucket *bucket = my_bucket();
	struct btrfs_pin *p;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(p, &bucket->pins, node)
		if (p->task == current && p->fs_info == fs_info)
			break;
	spin_unlock(&bucket->lock);
	return p;
}

static bool has_pin(const struct btrfs_fs_info *fs_info)
{
	struct btrfs_pin *p = find_pin(fs_info);

	return p && commit_root_is_pinned(&p->pin);
}

/*
 * A task with a transaction handle uses btrfs's own commit roots: the transaction cannot end
 * meanwhile. With quota groups these may come from a switch within the transaction.
 */
static bool in_transaction(const struct btrfs_fs_info *fs_info)
{
	const struct btrfs_trans_handle *trans = current->journal_info;

	/* On some kernels, send stores a small number there. */
	return (unsigned long)trans >= PAGE_SIZE && trans->fs_info == fs_info;
}

static void pin_commit(struct btrfs_fs_info *fs_info, struct btrfs_pin *p)
{
	struct pin_bucket *bucket = my_bucket();
	bool has_fst;

	*p = (struct btrfs_pin){ .task = current, .fs_info = fs_info };
	/*
	 * btrfs sets the flag before it creates the tree, and clears it after the switch that
	 * makes the tree trustworthy. So if there is a tree, and then the flag is clear, the pin
	 * below has the roots of that switch.
	 */
	has_fst = btrfs_fs_compat_ro(fs_info, FREE_SPACE_TREE);
	smp_rmb();	/* is there a tree, then the flag: in the order of their stores */
	p->fst_untrusted = !has_fst ||
			   test_bit(BTRFS_FS_FREE_SPACE_TREE_UNTRUSTED, &fs_info->flags);
	if (fs_info->commit_pins.started && !in_transaction(fs_info))
		WARN_ON_ONCE(!commit_root_pin(&fs_info->commit_pins.set, &p->pin));
	spin_lock(&bucket->lock);
	hlist_add_head(&p->node, &bucket->pins);
	spin_unlock(&bucket->lock);
}

/**
 * btrfs_pin_commit() - pin the newest commit
 * @fs_info: the filesystem
 * @p: memory of the pin, until this task calls btrfs_unpin_commit()
 *
 * Does not wait and allocates nothing. A task has one pin of a filesystem at a time.
 */
void btrfs_pin_commit(struct btrfs_fs_info *fs_info, struct btrfs_pin *p)
{
	unfair_down_read(&fs_info->commit_root_sem);
	pin_commit(fs_info, p);
}

bool btrfs_try_pin_commit(struct btrfs_fs_info *fs_info, struct btrfs_pin *p)
{
	if (!unfair_down_read_trylock(&fs_info->commit_root_sem))
		return false;
	pin_commit(fs_info, p);
	return true;
}

void btrfs_unpin_commit(struct btrfs_pin *p)
{
	struct pin_bucket *bucket = my_bucket();

	spin_lock(&bucket->lock);
	hlist_del(&p->node);
	spin_unlock(&bucket->lock);
	if (commit_root_is_pinned(&p->pin))
		commit_root_unpin(&p->pin);
	unfair_up_read(&p->fs_info->commit_root_sem);
}

bool btrfs_pin_wanted(struct btrfs_fs_info *fs_info)
{
	struct btrfs_pin *p = find_pin(fs_info);

	return p && commit_root_wanted(&p->pin);
}

/* The commit root of @root: from the pin of this task, or the newest if it has none. */
struct extent_buffer *btrfs_pinned_root(struct btrfs_root *root)
{
	struct btrfs_pin *p = find_pin(root->fs_info);
	void *eb;

	if (!p || !commit_root_is_pinned(&p->pin))
		return root->commit_root;
	eb = commit_root_of(&p->pin, &root->pins.tree, NULL);
	return IS_ERR(eb) ? root->pins.first : eb;
}

/*
 * The pin may be older than the last relocation. Limit the result to the generation of the
 * pin: the caller may then start over once more than needed, but never once too few.
 */
u64 btrfs_pinned_reloc_trans(struct btrfs_fs_info *fs_info)
{
	struct btrfs_pin *p = find_pin(fs_info);
	u64 last = READ_ONCE(fs_info->last_reloc_trans);

	if (p && commit_root_is_pinned(&p->pin))
		last = min(last, commit_root_generation(&p->pin));
	return last;
}

bool btrfs_pinned_fst_untrusted(struct btrfs_fs_info *fs_info)
{
	struct btrfs_pin *p = find_pin(fs_info);

	return WARN_ON_ONCE(!p) || p->fst_untrusted;
}

/* --- checksums of old extents ------------------------------------------------ */

/**
 * btrfs_search_old_sums() - search the committed tree for the checksums of a bio
 * @gen: the generations of its extents
 * @bbio: the bio, with room for checksums
 * @path: empty; for @search
 * @search: search_csum_tree()
 *
 * Return: the number of bytes, from the first one, whose checksums were found. The caller searches
 * the live tree for the remainder, since it handles errors and holes.
 */
u32 btrfs_search_old_sums(const struct commit_gen *gen, struct btrfs_bio *bbio,
			  struct btrfs_path *path, btrfs_search_sums_t *search)
{
	struct btrfs_fs_info *fs_info = bbio->inode->root->fs_info;
	u64 start = bbio->bio.bi_iter.bi_sector << SECTOR_SHIFT;
	u32 len = bbio->bio.bi_iter.bi_size, found = 0, sector;
	struct btrfs_pin pin;
	int n;

	/* The caller may search committed trees anyway. */
	if (!fs_info->commit_pins.started || path->search_commit_root || find_pin(fs_info) ||
	    !commit_root_eligible(&fs_info->commit_pins.set, gen))
		return 0;
	btrfs_pin_commit(fs_info, &pin);
	path->search_commit_root = true;
	path->skip_locking = true;
	/* Not in a transaction, where the pin is empty and covers nothing. */
	while (found < len && commit_root_covers(&pin.pin, gen)) {
		sector = found >> fs_info->sectorsize_bits;
		n = search(fs_info, path, start + found, len - found,
			   bbio->csum + sector * fs_info->csum_size);
		if (n <= 0)
			break;
		found += n << fs_info->sectorsize_bits;
	}
	btrfs_release_path(path);
	path->search_commit_root = false;
	path->skip_locking = false;
	btrfs_unpin_commit(&pin);
	return found;
}

/* --- first roots ----------------------------------------------------------- */

static void add_tree(struct btrfs_root *root)
{
	unsigned int nofs = memalloc_nofs_save();

	INIT_LIST_HEAD(&root->pins.first_node);
	commit_tree_init(&root->pins.tree, &root->fs_info->commit_pins.set);
	memalloc_nofs_restore(nofs);
}

/* btrfs has read or created @root. No other task can use it yet, or it is a reloc root. */
void btrfs_root_has_first(struct btrfs_root *root)
{
	struct btrfs_commit_pins *pins = &root->fs_info->commit_pins;

	if (root->pins.replaced)
		return;
	if (root->pins.first)
		free_extent_buffer(root->pins.first);
	else if (pins->started)
		add_tree(root);
	else
		list_add(&root->pins.first_node, &pins->firsts);
	root->pins.first = btrfs_root_node(root);
}

/* No pin needs the first roots that were replaced up to @reusable. Drop them. */
static void drop_firsts(struct btrfs_commit_pins *pins, u64 reusable)
{
	struct btrfs_root_pins *r, *next;
	struct extent_buffer *eb;

	for (;;) {
		eb = NULL;
		spin_lock(&pins->lock);
		list_for_each_entry_safe(r, next, &pins->firsts, first_node) {
			if (r->replaced <= reusable) {
				list_del_init(&r->first_node);
				eb = r->first;
				r->first = NULL;
				break;
			}
		}
		spin_unlock(&pins->lock);
		if (!eb)
			return;
		free_extent_buffer(eb);
	}
}

/* The last reference to @root is gone, or unmount frees the trees. */
void btrfs_root_goes(struct btrfs_root *root)
{
	struct btrfs_commit_pins *pins = &root->fs_info->commit_pins;

	/* It has gone before, or is a log tree. */
	if (!root->pins.replaced && !root->pins.first)
		return;
	spin_lock(&pins->lock);
	list_del_init(&root->pins.first_node);
	spin_unlock(&pins->lock);
	free_extent_buffer(root->pins.first);
	/* btrfs_stop_pins() destroys the remaining trees with the set. */
	if (pins->started)
		commit_tree_destroy(&root->pins.tree);
	root->pins.first = NULL;
	root->pins.replaced = 0;
}

/* --- freed extents ----------------------------------------------------------- */

/* The oldest transaction whose freed extents wait, or 0. */
static u64 oldest_delayed(struct btrfs_commit_pins *pins)
{
	struct btrfs_transaction *t;
	u64 transid;

	spin_lock(&pins->lock);
	t = list_first_entry_or_null(&pins->delayed, struct btrfs_transaction, delayed);
	transid = t ? t->transid : 0;
	spin_unlock(&pins->lock);
	return transid;
}

static bool may_unpin(struct btrfs_commit_pins *pins)
{
	u64 transid = oldest_delayed(pins);

	return transid && transid <= commit_root_reusable(&pins->set);
}

/* Caller holds @unpinning: only its owner removes transactions from the list. */
static void unpin_oldest(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;
	struct btrfs_transaction *t = list_first_entry(&pins->delayed, struct btrfs_transaction,
						       delayed);
	/* All fields that btrfs_finish_extent_commit() uses. */
	struct btrfs_trans_handle trans = {
		.transid = t->transid,
		.transaction = t,
		.fs_info = fs_info,
	};
	int ret;

	/* Else a pin could still reach extents that @t freed. */
	WARN_ON_ONCE(t->transid > commit_root_reusable(&pins->set));
	ret = btrfs_finish_extent_commit(&trans);
	if (ret)
		btrfs_handle_fs_error(fs_info, ret, "Failed to unpin freed extents");
	/* its block groups have just returned their space: the commit cleared this too early */
	if (test_bit(BTRFS_TRANS_HAVE_FREE_BGS, &t->flags))
		btrfs_clear_space_info_full(fs_info);
	spin_lock(&pins->lock);
	list_del_init(&t->delayed);
	spin_unlock(&pins->lock);
	btrfs_put_transaction(t);
}

/*
 * Unpin all that no pin reaches. Does not wait: if another task holds @unpinning, it looks again
 * after it has released that. may_unpin() takes @lock before trylock and after unlock, so either
 * that task sees what this one saw, or this one finds @unpinning free.
 */
static void unpin_unreachable(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	while (may_unpin(pins) && mutex_trylock(&pins->unpinning)) {
		while (may_unpin(pins)) {
			drop_firsts(pins, commit_root_reusable(&pins->set));
			unpin_oldest(fs_info);
			wake_up_all(&pins->unpin_wait);
		}
		mutex_unlock(&pins->unpinning);
	}
}

/**
 * btrfs_unpin_extents() - unpin the freed extents of a commit once no pin reaches them
 * @trans: handle of the commit, whose super blocks are on the disk
 *
 * Replaces btrfs_finish_extent_commit() in the committer. Does not wait for readers.
 *
 * Return: 0, or an error of btrfs_finish_extent_commit() before the set exists.
 */
int btrfs_unpin_extents(struct btrfs_trans_handle *trans)
{
	struct btrfs_commit_pins *pins = &trans->fs_info->commit_pins;
	struct btrfs_transaction *t = trans->transaction, *pos;

	if (!pins->started)
		return btrfs_finish_extent_commit(trans);
	refcount_inc(&t->use_count);
	spin_lock(&pins->lock);
	/* The next commit may have queued itself first. */
	list_for_each_entry_reverse(pos, &pins->delayed, delayed)
		if (pos->transid < t->transid)
			break;
	list_add(&t->delayed, &pos->delayed);
	spin_unlock(&pins->lock);
	commit_root_want_space(&pins->set);
	/* Not what earlier commits left behind: tasks wait for this one. set_is_reusable() does. */
	if (oldest_delayed(pins) == t->transid)
		unpin_unreachable(trans->fs_info);
	return 0;
}

static bool is_unpinned(struct btrfs_commit_pins *pins, u64 transid)
{
	u64 oldest = oldest_delayed(pins);

	return !oldest || oldest > transid;
}

/**
 * btrfs_settle_pins() - wait until all extents freed so far are unpinned
 * @fs_info: the filesystem
 *
 * For a task that needs the space or removes a block group. It waits for readers, as a commit of
 * the kernel's driver does, and lends to those that have no CPU. A committer must not call this.
 */
void btrfs_settle_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;
	struct btrfs_transaction *t;
	u64 transid = 0;

	if (!pins->started)
		return;
	/* It would wait for itself. */
	if (WARN_ON_ONCE(has_pin(fs_info)))
		return;
	might_lock(&fs_info->commit_root_sem);
	spin_lock(&pins->lock);
	if (!list_empty(&pins->delayed)) {
		t = list_last_entry(&pins->delayed, struct btrfs_transaction, delayed);
		transid = t->transid;
	}
	spin_unlock(&pins->lock);
	if (!transid)
		return;
	commit_root_want_space(&pins->set);
	guard(unfair_rwsem_expedite)(&fs_info->commit_root_sem);
	wait_event(pins->unpin_wait, is_unpinned(pins, transid));
}

/* --- the switch -------------------------------------------------------------- */

/*
 * With quota groups, btrfs also switches roots within the transaction, for its own use.
 * Readers must not see these roots before the commit is complete: note them for later.
 */
void btrfs_note_switched(struct btrfs_trans_handle *trans, struct btrfs_root *root)
{
	struct btrfs_commit_pins *pins = &trans->fs_info->commit_pins;

	if (root->pins.noted || root->pins.published == trans->transid)
		return;
	root->pins.noted = true;
	btrfs_grab_root(root);
	spin_lock(&pins->lock);
	list_add_tail(&root->pins.switched_node, &pins->switched);
	spin_unlock(&pins->lock);
}

static void update(struct commit_roots *next, struct btrfs_root *root, u64 transid)
{
	struct extent_buffer *eb;

	if (root->pins.published == transid)
		return;
	eb = btrfs_root_node(root);
	if (WARN_ON_ONCE(commit_root_update(next, &root->pins.tree, eb)))
		free_extent_buffer(eb);
	root->pins.published = transid;
}

/* The set now has a root of this tree. Only older pins need the first root. */
static void replace_first(struct btrfs_commit_pins *pins, struct btrfs_root *root, u64 transid)
{
	if (root->pins.replaced || !root->pins.first)
		return;
	spin_lock(&pins->lock);
	root->pins.replaced = transid;
	list_add_tail(&root->pins.first_node, &pins->firsts);
	spin_unlock(&pins->lock);
}

static void put_switched(struct btrfs_commit_pins *pins)
{
	struct btrfs_root *root, *next;

	list_for_each_entry_safe(root, next, &pins->switched, pins.switched_node) {
		list_del_init(&root->pins.switched_node);
		root->pins.noted = false;
		btrfs_put_root(root);
	}
}

/**
 * btrfs_prepare_pins() - allocate all that the switch of a commit needs
 * @trans: handle of the commit
 *
 * Called by the only task that commits, after the switch of the previous commit, and while other
 * tasks may still join the transaction, though not start one. Waits until there is memory. Any
 * other error aborts the transaction, which btrfs_commit_transaction() checks before it publishes.
 */
void btrfs_prepare_pins(struct btrfs_trans_handle *trans)
{
	struct btrfs_commit_pins *pins = &trans->fs_info->commit_pins;
	struct commit_roots *next;

	if (!pins->started)
		return;
	/* of a commit that failed */
	commit_root_cancel(pins->next);
	pins->next = NULL;
	for (;;) {
		next = commit_root_prepare(&pins->set, trans->transid, GFP_NOFS | __GFP_NOFAIL);
		if (next != ERR_PTR(-ENOMEM))
			break;
		memalloc_retry_wait(GFP_NOFS);
	}
	if (IS_ERR(next))
		btrfs_abort_transaction(trans, (int)PTR_ERR(next));
	else
		pins->next = next;
}

/**
 * btrfs_publish_commit_roots() - switch the roots that readers pin
 * @trans: handle of the commit; no task can join the transaction any more
 *
 * Must run before btrfs drops its references to the previous roots. It allocates nothing and cannot
 * fail.
 */
void btrfs_publish_commit_roots(struct btrfs_trans_handle *trans)
{
	struct btrfs_commit_pins *pins = &trans->fs_info->commit_pins;
	struct list_head *switching = &trans->transaction->switch_commits;
	struct commit_roots *next = pins->next;
	struct btrfs_root *root;

	if (!pins->started || WARN_ON_ONCE(!next))
		return;
	pins->next = NULL;
	list_for_each_entry(root, switching, dirty_list)
		update(next, root, trans->transid);
	list_for_each_entry(root, &pins->switched, pins.switched_node)
		update(next, root, trans->transid);
	/* before a reader can pin the roots that a relocation has moved */
	if (test_bit(BTRFS_FS_RELOC_RUNNING, &trans->fs_info->flags))
		WRITE_ONCE(trans->fs_info->last_reloc_trans, trans->transid);
	commit_root_switch(next);
	list_for_each_entry(root, switching, dirty_list)
		replace_first(pins, root, trans->transid);
	list_for_each_entry(root, &pins->switched, pins.switched_node)
		replace_first(pins, root, trans->transid);
	put_switched(pins);
}

/* --- mount and unmount ------------------------------------------------------- */

static void release_root(void *private, void *root, u64 generation)
{
	free_extent_buffer(root);
}

/*
 * Called after commit_root_reusable() has advanced. A transaction may be queued, or become the
 * oldest one, later: then its committer, or the task that removed the previous one, looks again.
 */
static void set_is_reusable(void *private, u64 generation)
{
	unpin_unreachable(private);
}

static const struct commit_root_ops pin_ops = {
	.release = release_root,
	.reusable = set_is_reusable,
};

void btrfs_init_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	init_unfair_rwsem(&fs_info->commit_root_sem);
	spin_lock_init(&pins->lock);
	INIT_LIST_HEAD(&pins->switched);
	INIT_LIST_HEAD(&pins->firsts);
	INIT_LIST_HEAD(&pins->delayed);
	mutex_init(&pins->unpinning);
	init_waitqueue_head(&pins->unpin_wait);
}

/* Mount has read the trees and has not committed yet. Pins of this commit use the first roots. */
int btrfs_start_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;
	struct btrfs_root_pins *r, *n;
	struct commit_roots *next;
	int ret;

	snprintf(pins->name, sizeof(pins->name), "btrfs %pU", fs_info->fs_devices->fsid);
	ret = commit_root_set_init(&pins->set, pins->name, &pin_ops, fs_info);
	if (ret)
		return ret;
	next = commit_root_prepare(&pins->set, fs_info->generation, GFP_KERNEL);
	if (IS_ERR(next)) {
		commit_root_set_destroy(&pins->set);
		return PTR_ERR(next);
	}
	list_for_each_entry_safe(r, n, &pins->firsts, first_node) {
		list_del(&r->first_node);
		add_tree(container_of(r, struct btrfs_root, pins));
	}
	commit_root_switch(next);
	pins->started = true;
	return 0;
}

/* All readers have ended; commit_root.cocci waits for those that cache free space. */
void btrfs_stop_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	if (!pins->started)
		return;
	btrfs_settle_pins(fs_info);
	/* of a commit that failed */
	commit_root_cancel(pins->next);
	drop_firsts(pins, U64_MAX);
	put_switched(pins);
	commit_root_set_destroy(&pins->set);
	pins->started = false;
}
