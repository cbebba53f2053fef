// SPDX-License-Identifier: GPL-2.0
/*
 * A copy-on-write B+tree as a module, shared by the test modules: see cow_tree.h.
 *
 * Blocks have numbers. A block is changed in place if it belongs to the running generation, has
 * one parent, and has not been written out. Otherwise a copy replaces it, and its parent is
 * changed in the same way, up to the root. A block counts its parents, as trees may share it. A
 * block without parents is pending until no committed root reaches it. It is poisoned when it
 * becomes free, so that a reader that still uses it notices.
 *
 * In the live tree each block has a lock. All tasks descend from the root and lock a child before
 * they unlock its parent. A writer ensures on the way that it need not change a block again after
 * unlocking it: it splits full blocks, and refills or merges nearly empty ones, before it
 * enters them.
 *
 * Searches from a committed root take no locks.
 */
#include "cow_tree.h"
#include "test_locks.h"

#define COW_MAGIC	0xc0373ee5f5c03317ULL
#define COW_POISON	0x6b
#define BLOCK_FLAGS	(GFP_NOFS | __GFP_ZERO | __GFP_NOFAIL)
/* Blocks that must be left when a change begins: enough for all tasks that change at once. */
#define SPARE_BLOCKS	1000U

struct cow_buf {
	struct cow_block	*data;
	union test_lock		lock;
	/* protected by blocks_lock: */
	u32			refs;		/* parents and roots; 0: free or pending */
	u32			next;		/* in the free or pending list */
	u64			freed;		/* generation that freed it */
	u64			written;	/* fs->rewrite at its creation */
};

struct cow_later {
	struct cow_later	*next;
	struct cow_tree		*tree;
	u64			key;
};

struct cow_fs {
	struct cow_params	params;
	const struct cow_ops	*ops;
	void			*private;
	u64			generation;	/* running; the gate protects it */
	u64			rewrite;	/* likewise */
	union test_lock		gate;		/* read: transaction; write: commit */
	spinlock_t		blocks_lock;
	struct cow_buf		**buf;		/* index 0 is unused */
	u32			nr_blocks;
	u32			free;		/* list head */
	u32			pending, last_pending;	/* list in order of freeing generation */
	unsigned int		nr_free;
	atomic_long_t		stale;
	struct cow_later	*later;		/* under blocks_lock */
};

/* --- blocks -------------------------------------------------------------- */

u32 cow_nr_blocks(const struct cow_fs *fs)
{
	return READ_ONCE(fs->nr_blocks);
}
EXPORT_SYMBOL_GPL(cow_nr_blocks);

static struct cow_buf *buf_of(const struct cow_fs *fs, u32 block)
{
	return READ_ONCE(fs->buf[block]);
}

struct cow_block *cow_block(const struct cow_fs *fs, u32 block)
{
	return buf_of(fs, block)->data;
}
EXPORT_SYMBOL_GPL(cow_block);

static void lock(const struct cow_fs *fs, union test_lock *l, bool write)
{
	test_locks[fs->params.lock_type].lock(l, write, LOCK_TEST_PLAIN, 0, 0);
}

static void unlock(const struct cow_fs *fs, union test_lock *l, bool write)
{
	test_locks[fs->params.lock_type].unlock(l, write);
}

static void lock_block(struct cow_fs *fs, u32 block, bool write)
{
	lock(fs, &buf_of(fs, block)->lock, write);
}

static void unlock_block(struct cow_fs *fs, u32 block, bool write)
{
	unlock(fs, &buf_of(fs, block)->lock, write);
}

static unsigned int capacity(const struct cow_fs *fs, const struct cow_block *b)
{
	return b->level ? fs->params.node_items : fs->params.leaf_items;
}

static void make_free(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];

	memset(buf->data, COW_POISON, sizeof(*buf->data));
	buf->next = fs->free;
	fs->free = block;
	fs->nr_free++;
}

/* Free pending blocks that are reusable now. Called with blocks_lock held. */
static void poll_pending(struct cow_fs *fs)
{
	u64 reusable = fs->ops->reusable(fs->private);

	while (fs->pending && fs->buf[fs->pending]->freed <= reusable) {
		u32 block = fs->pending;

		fs->pending = fs->buf[block]->next;
		make_free(fs, block);
	}
}

/* Before a change: -ENOSPC if it might need more blocks than there are. */
static int check_space(struct cow_fs *fs)
{
	unsigned int left;

	spin_lock(&fs->blocks_lock);
	if (fs->nr_free < SPARE_BLOCKS)
		poll_pending(fs);
	left = fs->nr_free + fs->params.max_blocks - fs->nr_blocks;
	spin_unlock(&fs->blocks_lock);
	return left < SPARE_BLOCKS ? -ENOSPC : 0;
}

static u32 add_block(struct cow_fs *fs)
{
	struct cow_buf *buf = kmalloc(sizeof(*buf), BLOCK_FLAGS);
	u32 block;

	buf->data = kmalloc(sizeof(*buf->data), BLOCK_FLAGS);
	test_lock_init(&buf->lock, fs->params.lock_type);
	/*
	 * A task locks blocks from the root down, and siblings under their parent's lock: more
	 * levels and siblings than lockdep has subclasses.
	 */
	if (fs->params.lock_type == LOCK_TEST_UNFAIR)
		lockdep_set_novalidate_class(&buf->lock.unfair);
	else
		lockdep_set_novalidate_class(&buf->lock.rwsem);
	spin_lock(&fs->blocks_lock);
	block = ++fs->nr_blocks;
	WRITE_ONCE(fs->buf[block], buf);
	spin_unlock(&fs->blocks_lock);
	return block;
}

/* The new block is returned locked for writing. */
static u32 new_block(struct cow_fs *fs, unsigned int level)
{
	struct cow_block *b;
	u32 block;

	spin_lock(&fs->blocks_lock);
	block = fs->free;
	if (block) {
		fs->free = fs->buf[block]->next;
		fs->nr_free--;
	}
	spin_unlock(&fs->blocks_lock);
	if (!block)
		block = add_block(fs);
	lock_block(fs, block, true);
	b = cow_block(fs, block);
	b->magic = COW_MAGIC;
	b->generation = fs->generation;
	b->self = block;
	b->level = level;
	b->nr = 0;
	spin_lock(&fs->blocks_lock);
	fs->buf[block]->refs = 1;
	fs->buf[block]->written = fs->rewrite;
	spin_unlock(&fs->blocks_lock);
	return block;
}

/* The last parent is gone. Called with blocks_lock held. */
static void free_block(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];

	if (buf->data->generation == fs->generation) {
		/* no committed root reaches it */
		make_free(fs, block);
		return;
	}
	buf->freed = fs->generation;
	buf->next = COW_NO_BLOCK;
	if (fs->pending)
		fs->buf[fs->last_pending]->next = block;
	else
		fs->pending = block;
	fs->last_pending = block;
}

static void get_block(struct cow_fs *fs, u32 block)
{
	spin_lock(&fs->blocks_lock);
	fs->buf[block]->refs++;
	spin_unlock(&fs->blocks_lock);
}

/* Drop one parent; with the last one free the block and drop one parent of each child. */
static void put_block(struct cow_fs *fs, u32 block)
{
	struct cow_block *b = cow_block(fs, block);
	bool last;
	unsigned int i;

	spin_lock(&fs->blocks_lock);
	last = !--fs->buf[block]->refs;
	spin_unlock(&fs->blocks_lock);
	if (!last)
		return;
	for (i = 0; b->level && i < b->nr; i++)
		put_block(fs, b->entry[i].block);
	spin_lock(&fs->blocks_lock);
	free_block(fs, block);
	spin_unlock(&fs->blocks_lock);
}

/* --- copy on write ------------------------------------------------------- */

static bool is_ours(struct cow_fs *fs, const struct cow_buf *buf)
{
	return buf->refs == 1 && buf->data->generation == fs->generation &&
	       buf->written == fs->rewrite;
}

/*
 * The caller has locked @block for writing. Return @block if it can be changed in place, else a
 * copy that is also locked for writing.
 */
static u32 copy_block(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];
	struct cow_block *old = buf->data, *b;
	bool in_place;
	u32 copy;

	spin_lock(&fs->blocks_lock);
	in_place = is_ours(fs, buf);
	spin_unlock(&fs->blocks_lock);
	if (in_place)
		return block;
	copy = new_block(fs, old->level);
	b = cow_block(fs, copy);
	memcpy(b->entry, old->entry, sizeof(b->entry));
	b->nr = old->nr;
	return copy;
}

/* The copy has replaced @block: drop a parent of @block; its children may gain a parent. */
static void leave_original(struct cow_fs *fs, u32 block, u32 copy)
{
	struct cow_buf *buf = fs->buf[block];
	const struct cow_block *b = cow_block(fs, copy);
	unsigned int i;
	bool shared;

	if (block == copy)
		return;
	spin_lock(&fs->blocks_lock);
	shared = buf->refs > 1;
	if (!shared)
		buf->refs = 0;
	spin_unlock(&fs->blocks_lock);
	if (shared)
		for (i = 0; b->level && i < b->nr; i++)
			get_block(fs, b->entry[i].block);
	unlock_block(fs, block, true);
	if (shared) {
		put_block(fs, block);
		return;
	}
	/* a task that waits for its lock re-reads the root */
	spin_lock(&fs->blocks_lock);
	free_block(fs, block);
	spin_unlock(&fs->blocks_lock);
}

/* Copy a child of a write-locked parent; no other task waits for the child's lock. */
static u32 copy_child(struct cow_fs *fs, u32 block)
{
	u32 copy = copy_block(fs, block);

	leave_original(fs, block, copy);
	return copy;
}

/* --- searches ------------------------------------------------------------ */

/* The last entry with a key <= @key, or the first entry. */
static unsigned int entry_for(const struct cow_block *b, u64 key)
{
	unsigned int from = 0, to = b->nr;

	while (to - from > 1) {
		unsigned int mid = (from + to) / 2;

		if (b->entry[mid].key <= key)
			from = mid;
		else
			to = mid;
	}
	return from;
}

/* The first item of a leaf with a key >= @key, or nr. */
static unsigned int item_for(const struct cow_block *b, u64 key)
{
	unsigned int at = entry_for(b, key);

	return at + (at < b->nr && b->entry[at].key < key);
}

/* Lock the live root, which may be replaced during the wait. */
static u32 lock_root(struct cow_tree *tree, bool write)
{
	for (;;) {
		u32 root = READ_ONCE(tree->root);

		lock_block(tree->fs, root, write);
		if (READ_ONCE(tree->root) == root)
			return root;
		unlock_block(tree->fs, root, write);
	}
}

/* Copy the items of @leaf with keys from @from to @end - 1. */
static void take_items(const struct cow_block *leaf, struct cow_range *range, u64 from, u64 end)
{
	unsigned int i;

	for (i = item_for(leaf, from); i < leaf->nr && leaf->entry[i].key < end; i++) {
		unsigned int at = leaf->entry[i].key - range->first;

		if (test_bit(at, range->found))
			continue;
		range->value[at] = leaf->entry[i].value;
		__set_bit(at, range->found);
	}
}

/* The first key >= @from that has not been found; the end of the range if none. */
static u64 first_missing(const struct cow_range *range, u64 from)
{
	while (from < range->first + range->nr && test_bit(from - range->first, range->found))
		from++;
	return from;
}

static int all_found(const struct cow_range *range)
{
	return first_missing(range, range->first) == range->first + range->nr ? 0 : -ENOENT;
}

/* Child @at holds all keys below the returned bound. */
static u64 end_of_child(const struct cow_block *b, unsigned int at, u64 end)
{
	return at + 1 < b->nr ? min(end, b->entry[at + 1].key) : end;
}

int cow_search_live(struct cow_tree *tree, struct cow_range *range)
{
	struct cow_fs *fs = tree->fs;
	u64 key = first_missing(range, range->first);

	while (key < range->first + range->nr) {
		u64 end = range->first + range->nr;
		u32 block = lock_root(tree, false);
		struct cow_block *b = cow_block(fs, block);

		while (b->level) {
			unsigned int at = entry_for(b, key);
			u32 child = b->entry[at].block;

			end = end_of_child(b, at, end);
			lock_block(fs, child, false);
			unlock_block(fs, block, false);
			block = child;
			b = cow_block(fs, block);
		}
		take_items(b, range, key, end);
		unlock_block(fs, block, false);
		key = first_missing(range, end);
	}
	return all_found(range);
}
EXPORT_SYMBOL_GPL(cow_search_live);

static bool is_expected(struct cow_fs *fs, const struct cow_block *b, u32 block, u64 generation,
			unsigned int level)
{
	if (b->magic == COW_MAGIC && b->self == block && b->generation == generation &&
	    b->level == level)
		return true;
	atomic_long_inc(&fs->stale);
	return false;
}

int cow_search_root(struct cow_fs *fs, u32 root, struct cow_range *range)
{
	u64 key = first_missing(range, range->first);

	while (key < range->first + range->nr) {
		u64 end = range->first + range->nr;
		const struct cow_block *b = cow_block(fs, root);
		u64 generation = b->generation;
		unsigned int level = b->level;
		u32 block = root;

		for (;;) {
			unsigned int at;

			b = cow_block(fs, block);
			if (!is_expected(fs, b, block, generation, level))
				return -EUCLEAN;
			if (!b->level)
				break;
			at = entry_for(b, key);
			end = end_of_child(b, at, end);
			block = b->entry[at].block;
			generation = b->entry[at].generation;
			level--;
			/* check before using it as an index */
			if (!block || block > cow_nr_blocks(fs))
				return -EUCLEAN;
		}
		take_items(b, range, key, end);
		/* re-check after the copy: the block was not reused meanwhile */
		if (!is_expected(fs, b, block, generation, level))
			return -EUCLEAN;
		key = first_missing(range, end);
	}
	return all_found(range);
}
EXPORT_SYMBOL_GPL(cow_search_root);

/* --- changes ------------------------------------------------------------- */

static void set_ptr(struct cow_fs *fs, struct cow_block *parent, unsigned int at, u32 block)
{
	parent->entry[at].block = block;
	parent->entry[at].generation = cow_block(fs, block)->generation;
}

/* Move @nr entries: the first of @from to the end of @to, or the last to the start. */
static void move_entries(struct cow_block *to, struct cow_block *from, unsigned int nr,
			 bool to_end)
{
	const size_t size = sizeof(struct cow_entry);

	if (to_end) {
		memcpy(&to->entry[to->nr], from->entry, nr * size);
		memmove(from->entry, &from->entry[nr], (from->nr - nr) * size);
	} else {
		memmove(&to->entry[nr], to->entry, to->nr * size);
		memcpy(to->entry, &from->entry[from->nr - nr], nr * size);
	}
	to->nr += nr;
	from->nr -= nr;
}

static void insert_entry(struct cow_block *b, unsigned int at, u64 key)
{
	memmove(&b->entry[at + 1], &b->entry[at], (b->nr - at) * sizeof(struct cow_entry));
	b->entry[at] = (struct cow_entry){ .key = key };
	b->nr++;
}

static void remove_entry(struct cow_block *b, unsigned int at)
{
	b->nr--;
	memmove(&b->entry[at], &b->entry[at + 1], (b->nr - at) * sizeof(struct cow_entry));
}

/* Split the full child @at. Return the half for @key, locked. The caller holds both locks. */
static u32 split(struct cow_fs *fs, struct cow_block *parent, unsigned int at, u64 key)
{
	struct cow_block *left = cow_block(fs, parent->entry[at].block), *right;
	u32 block = new_block(fs, left->level);
	unsigned int nr = left->nr / 2;
	bool goes_right;

	right = cow_block(fs, block);
	move_entries(right, left, nr, false);
	insert_entry(parent, at + 1, right->entry[0].key);
	set_ptr(fs, parent, at + 1, block);
	goes_right = key >= right->entry[0].key;
	unlock_block(fs, goes_right ? left->self : block, true);
	return goes_right ? block : left->self;
}

static bool is_full(const struct cow_fs *fs, const struct cow_block *b)
{
	return b->nr == capacity(fs, b);
}

static bool is_low(const struct cow_fs *fs, const struct cow_block *b)
{
	return b->nr <= max(1U, capacity(fs, b) / 4);
}

/*
 * Refill the nearly empty child @at from a sibling, or merge the two. Return the block that now
 * covers @key, locked. The caller holds the locks of parent and child.
 */
static u32 refill(struct cow_fs *fs, struct cow_block *parent, unsigned int at, u64 key)
{
	unsigned int other = at + 1 < parent->nr ? at + 1 : at - 1, l = min(at, other), nr;
	struct cow_block *left, *right, *stays, *goes;

	lock_block(fs, parent->entry[other].block, true);
	set_ptr(fs, parent, other, copy_child(fs, parent->entry[other].block));
	left = cow_block(fs, parent->entry[l].block);
	right = cow_block(fs, parent->entry[l + 1].block);
	if (left->level) {
		/* the first key of a node is not maintained: use the parent's */
		left->entry[0].key = parent->entry[l].key;
		right->entry[0].key = parent->entry[l + 1].key;
	}
	if (left->nr + right->nr <= capacity(fs, left) * 3 / 4) {
		move_entries(left, right, right->nr, true);
		remove_entry(parent, l + 1);
		unlock_block(fs, right->self, true);
		put_block(fs, right->self);
		return left->self;
	}
	nr = (left->nr + right->nr) / 2;
	if (left->nr < nr)
		move_entries(left, right, nr - left->nr, true);
	else
		move_entries(right, left, left->nr - nr, false);
	parent->entry[l + 1].key = right->entry[0].key;
	stays = key >= right->entry[0].key ? right : left;
	goes = stays == right ? left : right;
	unlock_block(fs, goes->self, true);
	return stays->self;
}

static u32 cow_root(struct cow_tree *tree)
{
	u32 old = lock_root(tree, true);
	u32 root = copy_block(tree->fs, old);

	/* before the old root is unlocked */
	WRITE_ONCE(tree->root, root);
	leave_original(tree->fs, old, root);
	return root;
}

/*
 * Descend to the leaf for @key. All blocks on the path belong to the running generation, and the
 * leaf has room for an insert or enough items for a delete. Only the leaf is returned locked.
 */
static u32 leaf_to_change(struct cow_tree *tree, u64 key, bool insert)
{
	struct cow_fs *fs = tree->fs;
	u32 block = cow_root(tree);
	struct cow_block *b = cow_block(fs, block);

	if (insert && is_full(fs, b)) {
		u32 top = new_block(fs, b->level + 1);
		struct cow_block *t = cow_block(fs, top);

		insert_entry(t, 0, 0);
		set_ptr(fs, t, 0, block);
		WRITE_ONCE(tree->root, top);
		block = split(fs, t, 0, key);
		unlock_block(fs, top, true);
		b = cow_block(fs, block);
	}
	while (b->level) {
		unsigned int at = entry_for(b, key);
		u32 child = b->entry[at].block;

		lock_block(fs, child, true);
		child = copy_child(fs, child);
		set_ptr(fs, b, at, child);
		if (insert && is_full(fs, cow_block(fs, child)))
			child = split(fs, b, at, key);
		else if (!insert && is_low(fs, cow_block(fs, child)) && b->nr > 1)
			child = refill(fs, b, at, key);
		if (b->nr == 1 && READ_ONCE(tree->root) == block) {
			/* remove a level */
			WRITE_ONCE(tree->root, child);
			get_block(fs, child);
			unlock_block(fs, block, true);
			put_block(fs, block);
		} else {
			unlock_block(fs, block, true);
		}
		block = child;
		b = cow_block(fs, block);
	}
	return block;
}

int cow_insert(struct cow_tree *tree, u64 key, u64 value)
{
	struct cow_fs *fs = tree->fs;
	struct cow_block *b;
	unsigned int at;
	int ret = check_space(fs);

	if (ret)
		return ret;
	b = cow_block(fs, leaf_to_change(tree, key, true));
	at = item_for(b, key);
	if (at == b->nr || b->entry[at].key != key)
		insert_entry(b, at, key);
	b->entry[at].value = value;
	unlock_block(fs, b->self, true);
	return 0;
}
EXPORT_SYMBOL_GPL(cow_insert);

int cow_delete(struct cow_tree *tree, u64 key)
{
	struct cow_fs *fs = tree->fs;
	struct cow_block *b;
	unsigned int at;
	int ret = check_space(fs);

	if (ret)
		return ret;
	b = cow_block(fs, leaf_to_change(tree, key, false));
	at = item_for(b, key);
	if (at < b->nr && b->entry[at].key == key)
		remove_entry(b, at);
	else
		ret = -ENOENT;
	unlock_block(fs, b->self, true);
	return ret;
}
EXPORT_SYMBOL_GPL(cow_delete);

int cow_delete_later(struct cow_tree *tree, u64 key)
{
	struct cow_later *l = kzalloc(sizeof(*l), GFP_NOFS);

	if (!l)
		return -ENOMEM;
	l->tree = tree;
	l->key = key;
	spin_lock(&tree->fs->blocks_lock);
	l->next = tree->fs->later;
	tree->fs->later = l;
	spin_unlock(&tree->fs->blocks_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(cow_delete_later);

/* --- transactions and commits -------------------------------------------- */

void cow_begin(struct cow_fs *fs)
{
	lock(fs, &fs->gate, false);
}
EXPORT_SYMBOL_GPL(cow_begin);

void cow_end(struct cow_fs *fs)
{
	unlock(fs, &fs->gate, false);
}
EXPORT_SYMBOL_GPL(cow_end);

u64 cow_running(const struct cow_fs *fs)
{
	return READ_ONCE(fs->generation);
}
EXPORT_SYMBOL_GPL(cow_running);

int cow_commit(struct cow_fs *fs, unsigned int rewrite)
{
	struct cow_later *l;
	unsigned int n = 0;
	int ret = 0;

	lock(fs, &fs->gate, true);
	while (fs->later) {
		int err;

		l = fs->later;
		err = cow_delete(l->tree, l->key);
		if (err && err != -ENOENT) {
			/* no space: leave the rest to the next commit */
			ret = err;
			break;
		}
		fs->later = l->next;
		kfree(l);
		if (rewrite && !(++n % rewrite))
			fs->rewrite++;
	}
	fs->ops->publish(fs->private, fs->generation);
	WRITE_ONCE(fs->generation, fs->generation + 1);
	unlock(fs, &fs->gate, true);
	return ret;
}
EXPORT_SYMBOL_GPL(cow_commit);

/* --- trees and filesystems ----------------------------------------------- */

int cow_tree_create(struct cow_tree *tree, struct cow_fs *fs)
{
	int ret = check_space(fs);

	if (ret)
		return ret;
	tree->fs = fs;
	tree->root = new_block(fs, 0);
	unlock_block(fs, tree->root, true);
	return 0;
}
EXPORT_SYMBOL_GPL(cow_tree_create);

void cow_tree_drop(struct cow_tree *tree)
{
	put_block(tree->fs, tree->root);
	tree->root = COW_NO_BLOCK;
}
EXPORT_SYMBOL_GPL(cow_tree_drop);

void cow_snapshot(struct cow_tree *snapshot, const struct cow_tree *tree)
{
	*snapshot = *tree;
	get_block(tree->fs, tree->root);
}
EXPORT_SYMBOL_GPL(cow_snapshot);

unsigned long cow_stale(const struct cow_fs *fs)
{
	return atomic_long_read(&fs->stale);
}
EXPORT_SYMBOL_GPL(cow_stale);

int cow_fs_create(struct cow_fs **fsp, const struct cow_params *params,
		  const struct cow_ops *ops, void *private)
{
	struct cow_fs *fs = kzalloc(sizeof(*fs), GFP_KERNEL);

	if (!fs)
		return -ENOMEM;
	fs->params = *params;
	if (!fs->params.leaf_items)
		fs->params.leaf_items = COW_ENTRIES;
	if (!fs->params.node_items)
		fs->params.node_items = COW_ENTRIES;
	fs->ops = ops;
	fs->private = private;
	fs->generation = 1;
	spin_lock_init(&fs->blocks_lock);
	test_lock_init(&fs->gate, params->lock_type);
	fs->buf = kvcalloc(params->max_blocks + 1, sizeof(*fs->buf), GFP_KERNEL);
	if (!fs->buf) {
		kfree(fs);
		return -ENOMEM;
	}
	*fsp = fs;
	return 0;
}
EXPORT_SYMBOL_GPL(cow_fs_create);

void cow_fs_destroy(struct cow_fs *fs)
{
	struct cow_later *l;
	u32 i;

	while ((l = fs->later)) {
		fs->later = l->next;
		kfree(l);
	}
	for (i = 1; i <= fs->nr_blocks; i++) {
		test_lock_destroy(&fs->buf[i]->lock, fs->params.lock_type);
		kfree(fs->buf[i]->data);
		kfree(fs->buf[i]);
	}
	test_lock_destroy(&fs->gate, fs->params.lock_type);
	kvfree(fs->buf);
	kfree(fs);
}
EXPORT_SYMBOL_GPL(cow_fs_destroy);

/* --- consistency --------------------------------------------------------- */

/* Return the number of items below block @p, whose keys must be @low to @high. */
static long check_block(struct cow_fs *fs, const struct cow_entry *p, unsigned int level, u64 low,
			u64 high)
{
	const struct cow_block *b;
	unsigned int i;
	long sum = 0;

	if (!p->block || p->block > fs->nr_blocks)
		return -EUCLEAN;
	b = cow_block(fs, p->block);
	if (b->magic != COW_MAGIC || b->self != p->block || b->generation != p->generation ||
	    b->level != level || b->nr > capacity(fs, b) || (level && !b->nr))
		return -EUCLEAN;
	for (i = 0; i < b->nr; i++) {
		/* the first key of a node may be stale */
		u64 key = level && !i ? low : b->entry[i].key;
		u64 end = i + 1 < b->nr ? b->entry[i + 1].key - 1 : high;
		long n = 1;

		if (key < low || key > end || end > high)
			return -EUCLEAN;
		if (level)
			n = check_block(fs, &b->entry[i], level - 1, key, end);
		if (n < 0)
			return n;
		sum += n;
	}
	return sum;
}

long cow_check_tree(struct cow_fs *fs, u32 root)
{
	const struct cow_block *b = cow_block(fs, root);
	const struct cow_entry p = { .block = root, .generation = b->generation };

	return check_block(fs, &p, b->level, 0, ~0ULL);
}
EXPORT_SYMBOL_GPL(cow_check_tree);

MODULE_DESCRIPTION("A copy-on-write B+tree for tests");
MODULE_LICENSE("GPL");
