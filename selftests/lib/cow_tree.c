// SPDX-License-Identifier: GPL-2.0
/*
 * A copy-on-write B+tree: see cow_tree.h.
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
#include "cow_blocks.h"

static void set_ptr(struct cow_fs *fs, struct cow_ptr *p, u32 block)
{
	p->block = block;
	p->generation = data_of(fs, block)->generation;
}

static size_t entry_size(const struct cow_block *b)
{
	return b->level ? sizeof(struct cow_ptr) : sizeof(struct cow_item);
}

static void *entry(struct cow_block *b, unsigned int i)
{
	return b->level ? (void *)&b->ptr[i] : (void *)&b->item[i];
}

static u64 first_key(const struct cow_block *b)
{
	return b->level ? b->ptr[0].key : b->item[0].key;
}

/* Move @nr entries: the first of @from to the end of @to, or the last to the start. */
static void move_entries(struct cow_block *to, struct cow_block *from, unsigned int nr,
			 bool to_end)
{
	size_t size = entry_size(from);

	if (to_end) {
		memcpy(entry(to, to->nr), entry(from, 0), nr * size);
		memmove(entry(from, 0), entry(from, nr), (from->nr - nr) * size);
	} else {
		memmove(entry(to, nr), entry(to, 0), to->nr * size);
		memcpy(entry(to, 0), entry(from, from->nr - nr), nr * size);
	}
	to->nr += nr;
	from->nr -= nr;
}

static void insert_ptr(struct cow_fs *fs, struct cow_block *parent, unsigned int at, u64 key,
		       u32 block)
{
	memmove(&parent->ptr[at + 1], &parent->ptr[at],
		(parent->nr - at) * sizeof(struct cow_ptr));
	parent->ptr[at] = (struct cow_ptr){ .key = key };
	set_ptr(fs, &parent->ptr[at], block);
	parent->nr++;
}

static void remove_ptr(struct cow_block *parent, unsigned int at)
{
	parent->nr--;
	memmove(&parent->ptr[at], &parent->ptr[at + 1],
		(parent->nr - at) * sizeof(struct cow_ptr));
}

/* Split the full child @at. Return the half for @key, locked. The caller holds both locks. */
static u32 split(struct cow_fs *fs, struct cow_reserve *r, struct cow_block *parent,
		 unsigned int at, u64 key)
{
	struct cow_block *left = data_of(fs, parent->ptr[at].block), *right;
	u32 block = cow_new_block(fs, r, left->level);
	unsigned int nr = left->nr / 2;
	bool goes_right;

	right = data_of(fs, block);
	move_entries(right, left, nr, false);
	insert_ptr(fs, parent, at + 1, first_key(right), block);
	goes_right = key >= first_key(right);
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
static u32 refill(struct cow_fs *fs, struct cow_reserve *r, struct cow_block *parent,
		  unsigned int at, u64 key)
{
	bool with_right = at + 1 < parent->nr;
	unsigned int l = with_right ? at : at - 1, nr;
	struct cow_block *left, *right, *stays, *goes;
	u32 neighbour = parent->ptr[with_right ? at + 1 : at - 1].block;

	lock_block(fs, neighbour, true);
	neighbour = cow_copy_child(fs, r, neighbour);
	set_ptr(fs, &parent->ptr[with_right ? at + 1 : at - 1], neighbour);
	left = data_of(fs, parent->ptr[l].block);
	right = data_of(fs, parent->ptr[l + 1].block);
	if (left->level) {
		/* the first key of a node is not maintained: use the parent's */
		left->ptr[0].key = parent->ptr[l].key;
		right->ptr[0].key = parent->ptr[l + 1].key;
	}
	if (left->nr + right->nr <= capacity(fs, left) * 3 / 4) {
		move_entries(left, right, right->nr, true);
		remove_ptr(parent, l + 1);
		unlock_block(fs, right->self, true);
		cow_put_block(fs, right->self);
		return left->self;
	}
	nr = (left->nr + right->nr) / 2;
	if (left->nr < nr)
		move_entries(left, right, nr - left->nr, true);
	else
		move_entries(right, left, left->nr - nr, false);
	parent->ptr[l + 1].key = first_key(right);
	stays = key >= first_key(right) ? right : left;
	goes = stays == right ? left : right;
	unlock_block(fs, goes->self, true);
	return stays->self;
}

/* --- changes ------------------------------------------------------------- */

static u32 cow_root(struct cow_tree *tree, struct cow_reserve *r)
{
	u32 old = cow_lock_root(tree, true);
	u32 root = cow_copy_block(tree->fs, r, old);

	/* before the old root is unlocked */
	WRITE_ONCE(tree->root, root);
	cow_leave_original(tree->fs, old, root);
	return root;
}

/*
 * Descend to the leaf for @key. All blocks on the path belong to the running generation, and the
 * leaf has room for an insert or enough items for a delete. Only the leaf is returned locked.
 */
static u32 leaf_to_change(struct cow_tree *tree, struct cow_reserve *r, u64 key, bool insert)
{
	struct cow_fs *fs = tree->fs;
	u32 block = cow_root(tree, r);
	struct cow_block *b = data_of(fs, block);

	if (insert && is_full(fs, b)) {
		u32 top = cow_new_block(fs, r, b->level + 1);
		struct cow_block *t = data_of(fs, top);

		insert_ptr(fs, t, 0, 0, block);
		WRITE_ONCE(tree->root, top);
		block = split(fs, r, t, 0, key);
		unlock_block(fs, top, true);
		b = data_of(fs, block);
	}
	while (b->level) {
		unsigned int at = cow_child_for(b, key);
		u32 child = b->ptr[at].block;

		lock_block(fs, child, true);
		child = cow_copy_child(fs, r, child);
		set_ptr(fs, &b->ptr[at], child);
		if (insert && is_full(fs, data_of(fs, child)))
			child = split(fs, r, b, at, key);
		else if (!insert && is_low(fs, data_of(fs, child)) && b->nr > 1)
			child = refill(fs, r, b, at, key);
		if (b->nr == 1 && READ_ONCE(tree->root) == block) {
			/* remove a level */
			WRITE_ONCE(tree->root, child);
			cow_get_block(fs, child);
			unlock_block(fs, block, true);
			cow_put_block(fs, block);
		} else {
			unlock_block(fs, block, true);
		}
		block = child;
		b = data_of(fs, block);
	}
	return block;
}

static int reserve_change(struct cow_tree *tree, struct cow_reserve *r)
{
	struct cow_fs *fs = tree->fs;
	/* for the current height plus two; the block that we read may no longer be the root */
	unsigned int level = min(data_of(fs, READ_ONCE(tree->root))->level,
				 (u16)(COW_MAX_LEVELS - 2));

	return cow_reserve(fs, r, 3 * (level + 2) + 2);
}

static void remove_item(struct cow_block *b, unsigned int at)
{
	b->nr--;
	memmove(&b->item[at], &b->item[at + 1], (b->nr - at) * sizeof(struct cow_item));
}

static int change(struct cow_tree *tree, u64 key, u64 value, bool insert)
{
	struct cow_fs *fs = tree->fs;
	struct cow_block *b;
	struct cow_reserve r;
	unsigned int at;
	u32 leaf;
	int ret = reserve_change(tree, &r);

	if (ret)
		return ret;
	leaf = leaf_to_change(tree, &r, key, insert);
	b = data_of(fs, leaf);
	at = cow_item_for(b, key);
	if (at < b->nr && b->item[at].key == key) {
		if (insert)
			b->item[at].value = value;
		else
			remove_item(b, at);
	} else if (insert) {
		memmove(&b->item[at + 1], &b->item[at], (b->nr - at) * sizeof(struct cow_item));
		b->item[at] = (struct cow_item){ key, value };
		b->nr++;
	} else {
		ret = -ENOENT;
	}
	unlock_block(fs, leaf, true);
	cow_unreserve(fs, &r);
	return ret;
}

int cow_insert(struct cow_tree *tree, u64 key, u64 value)
{
	return change(tree, key, value, true);
}

int cow_delete(struct cow_tree *tree, u64 key)
{
	return change(tree, key, 0, false);
}

int cow_delete_last(struct cow_tree *tree, u64 first, u64 last, u64 *key, u64 *value)
{
	struct cow_fs *fs = tree->fs;
	struct cow_block *b;
	struct cow_reserve r;
	unsigned int at;
	u32 leaf;
	int ret = reserve_change(tree, &r);

	if (ret)
		return ret;
	leaf = leaf_to_change(tree, &r, last, false);
	b = data_of(fs, leaf);
	at = cow_item_for(b, last);
	if (at == b->nr || b->item[at].key != last) {
		if (at)
			at--;
		else
			ret = -EAGAIN;
	}
	if (!ret && b->item[at].key < first)
		ret = -ENOENT;
	if (!ret) {
		*key = b->item[at].key;
		*value = b->item[at].value;
		remove_item(b, at);
	}
	unlock_block(fs, leaf, true);
	cow_unreserve(fs, &r);
	return ret;
}

int cow_delete_later(struct cow_tree *tree, u64 key)
{
	struct cow_later *l = cow_alloc(sizeof(*l));

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

/* --- transactions and commits -------------------------------------------- */

void cow_begin(struct cow_fs *fs)
{
	cow_lock(fs->gate, fs->params.lock_type, false);
}

void cow_end(struct cow_fs *fs)
{
	cow_unlock(fs->gate, fs->params.lock_type, false);
}

u64 cow_running(const struct cow_fs *fs)
{
	return READ_ONCE(fs->generation);
}

int cow_commit(struct cow_fs *fs, unsigned int rewrite)
{
	struct cow_later *l;
	unsigned int n = 0;
	int ret = 0;

	cow_lock(fs->gate, fs->params.lock_type, true);
	while (fs->later) {
		int err;

		l = fs->later;
		err = cow_delete(l->tree, l->key);
		if (err && err != -ENOENT) {
			/* no memory: leave the rest to the next commit */
			ret = err;
			break;
		}
		fs->later = l->next;
		cow_free(l);
		if (rewrite && !(++n % rewrite))
			fs->rewrite++;
	}
	fs->ops->publish(fs->private, fs->generation);
	WRITE_ONCE(fs->generation, fs->generation + 1);
	cow_unlock(fs->gate, fs->params.lock_type, true);
	return ret;
}

/* --- trees --------------------------------------------------------------- */

int cow_tree_create(struct cow_tree *tree, struct cow_fs *fs)
{
	struct cow_reserve r;
	int ret = cow_reserve(fs, &r, 1);

	if (ret)
		return ret;
	tree->fs = fs;
	tree->root = cow_new_block(fs, &r, 0);
	unlock_block(fs, tree->root, true);
	return 0;
}

/* The caller excludes live searches. */
void cow_tree_drop(struct cow_tree *tree)
{
	cow_put_block(tree->fs, tree->root);
	tree->root = COW_NO_BLOCK;
}

/* The caller excludes changes of @tree: call within publish() or without transactions. */
void cow_snapshot(struct cow_tree *snapshot, const struct cow_tree *tree)
{
	*snapshot = *tree;
	cow_get_block(tree->fs, tree->root);
}
