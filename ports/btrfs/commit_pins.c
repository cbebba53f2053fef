// SPDX-License-Identifier: GPL-2.0
/*
 * btrfs on commit_root.h: see commit_pins.h.
 *
 *  reader	what was down_read(&fs_info->commit_root_sem) pins the newest commit for
 *		the task, up_read() unpins it. In between, the committed root of a tree
 *		is the one that this commit has, also when others have followed.
 *
 *  committer	publishes the roots of all trees by one switch, which waits for nobody.
 *		What the transaction has freed is given back to the allocator when no
 *		pin is left from before it: at once, or by a work, in the order of the
 *		transactions. The committer neither waits for that nor for the work.
 *
 *  first	btrfs reads a tree in when somebody asks for it, so a pin may be older
 *		than what the set knows of it. Such a tree did not change since the pin,
 *		or it would have been read in: the root that it was read in with is right
 *		for all pins from before it was first published.
 */
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ctree.h"
#include "disk-io.h"
#include "extent-tree.h"
#include "extent_io.h"
#include "fs.h"
#include "transaction.h"
#include "volumes.h"

/* --- which task has which pin ---------------------------------------------- */

struct task_pin {
	struct hlist_node	node;
	struct rcu_head		rcu;
	struct task_struct	*task;
	struct btrfs_fs_info	*fs_info;
	struct commit_pin	pin;		/* of nothing in a transaction, or early */
	bool			fst_untrusted;	/* as it was before the pin */
};

#define PIN_BITS	6

static struct pin_bucket {
	spinlock_t		lock;		/* for those that change @pins */
	struct hlist_head	pins;
} ____cacheline_aligned_in_smp pin_buckets[1 << PIN_BITS] = {
	[0 ... (1 << PIN_BITS) - 1] = { .lock = __SPIN_LOCK_UNLOCKED(pin_buckets.lock) },
};

static struct pin_bucket *my_bucket(void)
{
	return &pin_buckets[hash_ptr(current, PIN_BITS)];
}

/* A task finds its own pins only: they are not freed meanwhile, others of the list may be. */
static struct task_pin *find_pin(const struct btrfs_fs_info *fs_info)
{
	struct task_pin *p, *found = NULL;

	rcu_read_lock();
	hlist_for_each_entry_rcu(p, &my_bucket()->pins, node) {
		if (p->task == current && p->fs_info == fs_info) {
			found = p;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/*
 * With a handle of its transaction, which cannot end meanwhile, a task sees what btrfs has as
 * committed roots: with quota groups, those of the switch within the transaction.
 */
static bool in_transaction(const struct btrfs_fs_info *fs_info)
{
	const struct btrfs_trans_handle *trans = current->journal_info;

	/* send has a number there, on some kernels */
	return (unsigned long)trans >= PAGE_SIZE && trans->fs_info == fs_info;
}

static bool pin_commit(struct btrfs_fs_info *fs_info, gfp_t gfp)
{
	struct pin_bucket *bucket = my_bucket();
	struct task_pin *p;

	/* as a second down_read(): a bug of the caller */
	WARN_ON_ONCE(find_pin(fs_info));
	p = kzalloc(sizeof(*p), gfp);
	if (!p)
		return false;
	p->task = current;
	p->fs_info = fs_info;
	/* cleared after the switch that makes it so: a pin after that look has those roots */
	p->fst_untrusted = test_bit(BTRFS_FS_FREE_SPACE_TREE_UNTRUSTED, &fs_info->flags);
	if (fs_info->commit_pins.started && !in_transaction(fs_info))
		WARN_ON_ONCE(commit_root_pin(&fs_info->commit_pins.set, &p->pin));
	spin_lock(&bucket->lock);
	hlist_add_head_rcu(&p->node, &bucket->pins);
	spin_unlock(&bucket->lock);
	return true;
}

void btrfs_pin_commit(struct btrfs_fs_info *fs_info)
{
	might_sleep();
	pin_commit(fs_info, GFP_NOFS | __GFP_NOFAIL);
}

bool btrfs_try_pin_commit(struct btrfs_fs_info *fs_info)
{
	return pin_commit(fs_info, GFP_NOWAIT | __GFP_NOWARN);
}

void btrfs_unpin_commit(struct btrfs_fs_info *fs_info)
{
	struct task_pin *p = find_pin(fs_info);
	struct pin_bucket *bucket = my_bucket();

	if (WARN_ON_ONCE(!p))
		return;
	spin_lock(&bucket->lock);
	hlist_del_rcu(&p->node);
	spin_unlock(&bucket->lock);
	if (p->pin.roots)
		commit_root_unpin(&p->pin);
	kfree_rcu(p, rcu);
}

bool btrfs_pin_wanted(struct btrfs_fs_info *fs_info)
{
	struct task_pin *p = find_pin(fs_info);

	return p && commit_root_wanted(&p->pin);
}

void btrfs_assert_pinned(const struct btrfs_fs_info *fs_info, bool pinned)
{
	if (IS_ENABLED(CONFIG_BTRFS_ASSERT))
		WARN_ON_ONCE(!find_pin(fs_info) == pinned);
}

/* The committed root of @root for this task: that of its pin, the newest without one. */
struct extent_buffer *btrfs_pinned_root(struct btrfs_root *root)
{
	struct task_pin *p = find_pin(root->fs_info);
	void *eb;

	if (!p || !p->pin.roots)
		return root->commit_root;
	/* pairs with the release in add_tree() */
	if (smp_load_acquire(&root->pins.in_set)) {
		eb = commit_root_of(&p->pin, &root->pins.tree, NULL);
		if (!IS_ERR(eb))
			return eb;
	}
	return root->pins.first ?: root->commit_root;
}

/*
 * A pin may be older than the last commit of a relocation. Then its roots are from
 * before that commit; taking them for as new as they can be makes the caller start over
 * once more than needed, and never once less.
 */
u64 btrfs_pinned_reloc_trans(struct btrfs_fs_info *fs_info)
{
	struct task_pin *p = find_pin(fs_info);
	u64 last = READ_ONCE(fs_info->last_reloc_trans);

	return p && p->pin.roots ? min(last, commit_root_generation(&p->pin)) : last;
}

bool btrfs_pinned_fst_untrusted(struct btrfs_fs_info *fs_info)
{
	struct task_pin *p = find_pin(fs_info);

	return WARN_ON_ONCE(!p) || p->fst_untrusted;
}

/*
 * For searches that are for the live tree, where that need not be: @path searches the
 * committed one if all of a request is in it. A miss is to be searched live, after
 * btrfs_unpin_old().
 */
bool btrfs_pin_old(struct btrfs_fs_info *fs_info, const struct commit_gen *gen,
		   struct btrfs_path *path)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	if (!pins->started || !commit_root_eligible(&pins->set, gen))
		return false;
	if (in_transaction(fs_info))
		return false;
	btrfs_pin_commit(fs_info);
	if (!commit_root_covers(&find_pin(fs_info)->pin, gen)) {
		btrfs_unpin_commit(fs_info);
		return false;
	}
	path->search_commit_root = true;
	path->skip_locking = true;
	return true;
}

void btrfs_unpin_old(struct btrfs_fs_info *fs_info, struct btrfs_path *path)
{
	btrfs_release_path(path);
	path->search_commit_root = false;
	path->skip_locking = false;
	btrfs_unpin_commit(fs_info);
}

/* --- first roots ----------------------------------------------------------- */

/* @root was read in or made: nobody else knows it yet, or it is one of relocation. */
void btrfs_root_has_first(struct btrfs_root *root)
{
	if (root->pins.replaced)
		return;
	free_extent_buffer(root->pins.first);
	root->pins.first = btrfs_root_node(root);
}

static void drop_first(struct btrfs_root *root)
{
	struct extent_buffer *eb = root->pins.first;

	root->pins.first = NULL;
	free_extent_buffer(eb);
}

/* Pins that need the first roots of these are gone, up to @reusable. */
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

/* The last reference of @root is gone, or its trees are given up at unmount. */
void btrfs_root_goes(struct btrfs_root *root)
{
	struct btrfs_commit_pins *pins = &root->fs_info->commit_pins;

	if (root->pins.replaced) {
		spin_lock(&pins->lock);
		list_del_init(&root->pins.first_node);
		spin_unlock(&pins->lock);
	}
	drop_first(root);
	/* trees that are still there when the set goes go with it */
	if (root->pins.in_set && pins->started)
		commit_tree_destroy(&root->pins.tree);
	root->pins.in_set = false;
}

/* --- freed extents ----------------------------------------------------------- */

/* The first transaction whose freed extents wait; 0: none. */
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

/* Under the mutex, without which nothing leaves the list. */
static void unpin_oldest(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;
	struct btrfs_transaction *t = list_first_entry(&pins->delayed, struct btrfs_transaction,
						       delayed);
	/* all that btrfs_finish_extent_commit() looks at */
	struct btrfs_trans_handle trans = {
		.transid = t->transid,
		.transaction = t,
		.fs_info = fs_info,
	};
	int ret;

	/* a pin may still reach what it has freed */
	WARN_ON_ONCE(t->transid > commit_root_reusable(&pins->set));
	ret = btrfs_finish_extent_commit(&trans);
	if (ret)
		btrfs_handle_fs_error(fs_info, ret, "Failed to unpin freed extents");
	spin_lock(&pins->lock);
	list_del_init(&t->delayed);
	spin_unlock(&pins->lock);
	btrfs_put_transaction(t);
}

/* What no pin reaches any more. Who has the mutex does the rest, or the work does. */
static void unpin_what_may(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	while (may_unpin(pins) && mutex_trylock(&pins->unpinning)) {
		drop_firsts(pins, commit_root_reusable(&pins->set));
		while (may_unpin(pins))
			unpin_oldest(fs_info);
		mutex_unlock(&pins->unpinning);
	}
	wake_up_all(&pins->settled);
	if (oldest_delayed(pins))
		queue_delayed_work(pins->wq, &pins->work, max(HZ / 20, 1));
}

static void unpin_work(struct work_struct *work)
{
	struct btrfs_commit_pins *pins = container_of(to_delayed_work(work),
						      struct btrfs_commit_pins, work);

	unpin_what_may(container_of(pins, struct btrfs_fs_info, commit_pins));
}

/**
 * btrfs_unpin_extents() - in place of btrfs_finish_extent_commit(), for the committer
 * @trans: of the commit; its super blocks are written
 */
int btrfs_unpin_extents(struct btrfs_trans_handle *trans)
{
	struct btrfs_commit_pins *pins = &trans->fs_info->commit_pins;
	struct btrfs_transaction *t = trans->transaction, *pos;

	if (!pins->started)
		return btrfs_finish_extent_commit(trans);
	refcount_inc(&t->use_count);
	spin_lock(&pins->lock);
	/* the next commit may be here first */
	list_for_each_entry_reverse(pos, &pins->delayed, delayed)
		if (pos->transid < t->transid)
			break;
	list_add(&t->delayed, &pos->delayed);
	spin_unlock(&pins->lock);
	commit_root_want_space(&pins->set);
	unpin_what_may(trans->fs_info);
	return 0;
}

static bool settled(struct btrfs_commit_pins *pins, u64 transid)
{
	u64 oldest = oldest_delayed(pins);

	return !oldest || oldest > transid;
}

/**
 * btrfs_settle_pins() - wait until what was freed so far is free
 * @fs_info: the filesystem
 * @timeout: in jiffies; MAX_SCHEDULE_TIMEOUT for no bound
 *
 * For who needs the space, or takes a block group away; never for a committer: it
 * waits for readers.
 */
void btrfs_settle_pins(struct btrfs_fs_info *fs_info, long timeout)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;
	struct btrfs_transaction *t;
	u64 transid = 0;

	if (!pins->started)
		return;
	spin_lock(&pins->lock);
	if (!list_empty(&pins->delayed)) {
		t = list_last_entry(&pins->delayed, struct btrfs_transaction, delayed);
		transid = t->transid;
	}
	spin_unlock(&pins->lock);
	if (!transid)
		return;
	commit_root_want_space(&pins->set);
	mod_delayed_work(pins->wq, &pins->work, 0);
	wait_event_timeout(pins->settled, settled(pins, transid), timeout);
}

/* --- the switch -------------------------------------------------------------- */

/*
 * With quota groups, btrfs switches once more within the transaction, for itself: what
 * readers see of it must not change before the commit is whole.
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

static int add_tree(struct btrfs_commit_pins *pins, struct btrfs_root *root)
{
	unsigned int nofs;
	int ret;

	if (root->pins.in_set)
		return 0;
	nofs = memalloc_nofs_save();
	ret = commit_tree_init(&root->pins.tree, &pins->set);
	memalloc_nofs_restore(nofs);
	if (!ret)
		/* pairs with the acquire in btrfs_pinned_root() */
		smp_store_release(&root->pins.in_set, true);
	return ret;
}

static int update(struct commit_roots *next, struct btrfs_root *root, u64 transid)
{
	struct extent_buffer *eb;
	int ret;

	if (root->pins.published == transid)
		return 0;
	eb = btrfs_root_node(root);
	ret = commit_root_update(next, &root->pins.tree, eb);
	if (ret)
		free_extent_buffer(eb);
	else
		root->pins.published = transid;
	return ret;
}

/* The set has the root from now on: what it was read in with is for older pins alone. */
static void replace_first(struct btrfs_commit_pins *pins, struct btrfs_root *root, u64 transid)
{
	if (root->pins.replaced || !root->pins.first)
		return;
	spin_lock(&pins->lock);
	root->pins.replaced = transid;
	list_add_tail(&root->pins.first_node, &pins->firsts);
	spin_unlock(&pins->lock);
}

/* A commit that failed: the references are ours again. */
static void take_back(struct btrfs_root *root, u64 transid)
{
	if (root->pins.published != transid)
		return;
	root->pins.published = 0;
	free_extent_buffer(root->node);
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
 * btrfs_publish_commit_roots() - the switch, as readers see it
 * @trans: of the commit, which nobody can join any more
 *
 * Before btrfs drops its own references of the roots before.
 *
 * Return: 0, or -ENOMEM with nothing changed.
 */
int btrfs_publish_commit_roots(struct btrfs_trans_handle *trans)
{
	struct btrfs_commit_pins *pins = &trans->fs_info->commit_pins;
	struct list_head *switching = &trans->transaction->switch_commits;
	struct commit_roots *next;
	struct btrfs_root *root;
	int ret = 0;

	if (!pins->started)
		return 0;
	list_for_each_entry(root, switching, dirty_list)
		ret = ret ?: add_tree(pins, root);
	list_for_each_entry(root, &pins->switched, pins.switched_node)
		ret = ret ?: add_tree(pins, root);
	if (ret)
		return ret;
	next = commit_root_prepare(&pins->set, GFP_NOFS | __GFP_NOWARN);
	if (IS_ERR(next))
		return PTR_ERR(next);
	list_for_each_entry(root, switching, dirty_list)
		ret = ret ?: update(next, root, trans->transid);
	list_for_each_entry(root, &pins->switched, pins.switched_node)
		ret = ret ?: update(next, root, trans->transid);
	ret = ret ?: commit_root_switch(next, trans->transid);
	if (ret) {
		list_for_each_entry(root, switching, dirty_list)
			take_back(root, trans->transid);
		list_for_each_entry(root, &pins->switched, pins.switched_node)
			take_back(root, trans->transid);
		commit_root_cancel(next);
		return ret;
	}
	list_for_each_entry(root, switching, dirty_list)
		replace_first(pins, root, trans->transid);
	list_for_each_entry(root, &pins->switched, pins.switched_node)
		replace_first(pins, root, trans->transid);
	put_switched(pins);
	return 0;
}

/* --- mount and unmount ------------------------------------------------------- */

static void release_root(void *private, void *root, u64 generation)
{
	struct btrfs_fs_info *fs_info = private;

	free_extent_buffer(root);
	/* what may be reused moves on after this */
	mod_delayed_work(fs_info->commit_pins.wq, &fs_info->commit_pins.work, 1);
}

static const struct commit_root_ops pin_ops = {
	.release = release_root,
};

void btrfs_init_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	spin_lock_init(&pins->lock);
	INIT_LIST_HEAD(&pins->switched);
	INIT_LIST_HEAD(&pins->firsts);
	INIT_LIST_HEAD(&pins->delayed);
	mutex_init(&pins->unpinning);
	init_waitqueue_head(&pins->settled);
	INIT_DELAYED_WORK(&pins->work, unpin_work);
}

/* The trees are read in, and no commit was made since. */
int btrfs_start_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;
	struct commit_roots *next;
	int ret;

	snprintf(pins->name, sizeof(pins->name), "btrfs %pU", fs_info->fs_devices->fsid);
	pins->wq = alloc_workqueue("btrfs-unpin", WQ_UNBOUND | WQ_MEM_RECLAIM, 1);
	if (!pins->wq)
		return -ENOMEM;
	ret = commit_root_set_init(&pins->set, pins->name, &pin_ops, fs_info);
	if (ret)
		goto no_set;
	next = commit_root_prepare(&pins->set, GFP_KERNEL);
	if (IS_ERR(next)) {
		ret = PTR_ERR(next);
		goto no_roots;
	}
	/* no trees: all that pins of it need is in their first roots */
	ret = commit_root_switch(next, fs_info->generation);
	if (ret) {
		commit_root_cancel(next);
		goto no_roots;
	}
	pins->started = true;
	return 0;

no_roots:
	WARN_ON(commit_root_set_destroy(&pins->set));
no_set:
	destroy_workqueue(pins->wq);
	return ret;
}

/* All readers are gone; the block groups are still there. */
void btrfs_stop_pins(struct btrfs_fs_info *fs_info)
{
	struct btrfs_commit_pins *pins = &fs_info->commit_pins;

	if (!pins->started)
		return;
	btrfs_settle_pins(fs_info, MAX_SCHEDULE_TIMEOUT);
	drop_firsts(pins, U64_MAX);
	put_switched(pins);
	while (WARN_ON_ONCE(commit_root_set_destroy(&pins->set)))
		schedule_timeout_uninterruptible(HZ);
	pins->started = false;
	cancel_delayed_work_sync(&pins->work);
	destroy_workqueue(pins->wq);
}
