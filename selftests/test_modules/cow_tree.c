// SPDX-License-Identifier: GPL-2.0
/*
 * A copy-on-write B+tree: see cow_tree.h.
 *
 * Blocks are found by number. One is changed in place if it was made in the running
 * generation, has one parent and was not written out; else a copy takes its place, and the
 * parent is changed, up to the root. A block counts its parents: several trees may share
 * it. One that nobody has any more is pending until no committed root reaches it, and is
 * poisoned when it is reused, so that who still reads it finds out.
 *
 * Live, each block has a lock. All go down from the root, and take the lock of a child
 * before they leave that of its parent. Who writes makes sure on the way that what he
 * leaves behind need not change again: full blocks are split, and nearly empty ones are
 * filled or merged, before he enters them.
 *
 * From a committed root nothing is locked.
 */
#include "cow_tree.h"

#define COW_MAGIC	0xc0373ee5f5c03317ULL
#define COW_POISON	0x6b
/* Blocks that one change may need: two on a level, and a new root. */
#define MAX_RESERVE	(3 * COW_MAX_LEVELS + 3)

struct cow_item {
	u64	key, value;
};

struct cow_ptr {
	u64	key;			/* lowest below it, but for the first */
	u64	generation;
	u32	block, unused;
};

struct cow_block {
	u64	magic, generation;
	u32	self;
	u16	level, nr;
	u64	unused;
	union {
		struct cow_item	item[(COW_BLOCK_SIZE - 32) / sizeof(struct cow_item)];
		struct cow_ptr	ptr[(COW_BLOCK_SIZE - 32) / sizeof(struct cow_ptr)];
	};
};

struct cow_buf {
	struct cow_block	*data;
	/* the rest under blocks_lock */
	u32			refs;		/* parents, and roots; 0: free or pending */
	u32			next;		/* of those */
	u64			freed;		/* generation that did it */
	u64			written;	/* in that rewrite: to be copied */
	/* its lock follows */
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
	u64			generation;	/* running; changed with nobody in */
	u64			rewrite;	/* the same */
	union test_lock		*gate;		/* read: a transaction; write: a commit */
	spinlock_t		blocks_lock;
	struct cow_buf		**buf;		/* from 1 on */
	u32			nr_blocks;
	u32			free;		/* list */
	u32			pending, last_pending;	/* by the generation that freed them */
	unsigned int		nr_free, nr_pending;
	unsigned long		stale, cowed;
	struct cow_later	*later;		/* under blocks_lock */
};

/* --- blocks -------------------------------------------------------------- */

static struct cow_buf *buf_of(const struct cow_fs *fs, u32 block)
{
	return READ_ONCE(fs->buf[block]);
}

static struct cow_block *data_of(const struct cow_fs *fs, u32 block)
{
	return buf_of(fs, block)->data;
}

static union test_lock *lock_of(struct cow_buf *buf)
{
	return (union test_lock *)(buf + 1);
}

static void lock_block(struct cow_fs *fs, u32 block, bool write)
{
	cow_lock(lock_of(buf_of(fs, block)), fs->params.lock_type, write);
}

static void unlock_block(struct cow_fs *fs, u32 block, bool write)
{
	cow_unlock(lock_of(buf_of(fs, block)), fs->params.lock_type, write);
}

static unsigned int capacity(const struct cow_fs *fs, const struct cow_block *b)
{
	return b->level ? fs->params.node_items : fs->params.leaf_items;
}

static void make_free(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];

	memset(buf->data, COW_POISON, COW_BLOCK_SIZE);
	buf->next = fs->free;
	fs->free = block;
	fs->nr_free++;
}

/* blocks_lock is held. */
static void poll_pending(struct cow_fs *fs)
{
	u64 reusable = fs->ops->reusable(fs->private);

	while (fs->pending && fs->buf[fs->pending]->freed <= reusable) {
		u32 block = fs->pending;

		fs->pending = fs->buf[block]->next;
		fs->nr_pending--;
		make_free(fs, block);
	}
}

static u32 take_free(struct cow_fs *fs)
{
	u32 block;

	if (!fs->free)
		poll_pending(fs);
	block = fs->free;
	if (block) {
		fs->free = fs->buf[block]->next;
		fs->nr_free--;
	}
	return block;
}

static void free_buf(struct cow_fs *fs, struct cow_buf *buf)
{
	if (!buf)
		return;
	cow_lock_destroy(lock_of(buf), fs->params.lock_type);
	cow_free(buf->data);
	cow_free(buf);
}

static struct cow_buf *new_buf(struct cow_fs *fs)
{
	struct cow_buf *buf = cow_alloc(sizeof(*buf) + cow_lock_size());

	if (!buf)
		return NULL;
	if (cow_lock_init(lock_of(buf), fs->params.lock_type, true)) {
		cow_free(buf);
		return NULL;
	}
	buf->data = cow_alloc(COW_BLOCK_SIZE);
	if (buf->data)
		return buf;
	free_buf(fs, buf);
	return NULL;
}

struct reserve {
	u32		block[MAX_RESERVE];
	unsigned int	nr;
};

static void give_rest_back(struct cow_fs *fs, struct reserve *r)
{
	spin_lock(&fs->blocks_lock);
	while (r->nr) {
		u32 block = r->block[--r->nr];

		fs->buf[block]->next = fs->free;
		fs->free = block;
		fs->nr_free++;
	}
	spin_unlock(&fs->blocks_lock);
}

static u32 add_block(struct cow_fs *fs)
{
	struct cow_buf *buf = new_buf(fs);
	u32 block = COW_NO_BLOCK;

	if (!buf)
		return COW_NO_BLOCK;
	spin_lock(&fs->blocks_lock);
	if (fs->nr_blocks < fs->params.max_blocks) {
		block = ++fs->nr_blocks;
		WRITE_ONCE(fs->buf[block], buf);
	}
	spin_unlock(&fs->blocks_lock);
	if (!block)
		free_buf(fs, buf);
	return block;
}

/* All that a change may need, before it begins. */
static int reserve(struct cow_fs *fs, struct reserve *r, unsigned int nr)
{
	u32 block;

	r->nr = 0;
	spin_lock(&fs->blocks_lock);
	while (r->nr < nr && (block = take_free(fs)))
		r->block[r->nr++] = block;
	spin_unlock(&fs->blocks_lock);
	while (r->nr < nr) {
		block = add_block(fs);
		if (!block) {
			give_rest_back(fs, r);
			return fs->nr_blocks < fs->params.max_blocks ? -ENOMEM : -ENOSPC;
		}
		r->block[r->nr++] = block;
	}
	return 0;
}

/* Comes locked for writing: nobody else knows it. */
static u32 new_block(struct cow_fs *fs, struct reserve *r, unsigned int level)
{
	u32 block = r->block[--r->nr];
	struct cow_buf *buf = fs->buf[block];
	struct cow_block *b = buf->data;

	cow_lock(lock_of(buf), fs->params.lock_type, true);
	b->magic = COW_MAGIC;
	b->generation = fs->generation;
	b->self = block;
	b->level = level;
	b->nr = 0;
	spin_lock(&fs->blocks_lock);
	buf->refs = 1;
	buf->freed = 0;
	buf->written = fs->rewrite;
	spin_unlock(&fs->blocks_lock);
	return block;
}

/* blocks_lock is held; the last parent has gone. */
static void free_block(struct cow_fs *fs, u32 block)
{
	struct cow_buf *buf = fs->buf[block];

	if (buf->data->generation == fs->generation) {
		/* in no committed root */
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
	fs->nr_pending++;
}

static void get_block(struct cow_fs *fs, u32 block)
{
	spin_lock(&fs->blocks_lock);
	fs->buf[block]->refs++;
	spin_unlock(&fs->blocks_lock);
}

/* One parent less; with the last one the block goes, and what is below it has one less. */
static void put_block(struct cow_fs *fs, u32 block)
{
	struct cow_block *b = data_of(fs, block);
	bool last;
	unsigned int i;

	spin_lock(&fs->blocks_lock);
	last = !--fs->buf[block]->refs;
	spin_unlock(&fs->blocks_lock);
	if (!last)
		return;
	for (i = 0; b->level && i < b->nr; i++)
		put_block(fs, b->ptr[i].block);
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
 * @block is locked for writing. Returns a copy, locked likewise, or itself if that may be
 * changed in place.
 */
static u32 copy_block(struct cow_fs *fs, struct reserve *r, u32 block)
{
	struct cow_buf *buf = fs->buf[block];
	struct cow_block *old = buf->data, *b;
	bool in_place;
	u32 copy;

	spin_lock(&fs->blocks_lock);
	in_place = is_ours(fs, buf);
	if (!in_place)
		fs->cowed++;
	spin_unlock(&fs->blocks_lock);
	if (in_place)
		return block;
	copy = new_block(fs, r, old->level);
	b = data_of(fs, copy);
	memcpy(b->item, old->item, sizeof(b->item));
	b->nr = old->nr;
	return copy;
}

/* The copy has taken its place: one parent less, and what is below has one more, or not. */
static void leave_original(struct cow_fs *fs, u32 block, u32 copy)
{
	struct cow_buf *buf = fs->buf[block];
	const struct cow_block *b = data_of(fs, copy);
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
			get_block(fs, b->ptr[i].block);
	unlock_block(fs, block, true);
	if (shared) {
		put_block(fs, block);
		return;
	}
	/* who waits for its lock now looks at the root again */
	spin_lock(&fs->blocks_lock);
	free_block(fs, block);
	spin_unlock(&fs->blocks_lock);
}

/* The same for a child, whose parent is locked for writing: then nobody waits for it. */
static u32 cow(struct cow_fs *fs, struct reserve *r, u32 block)
{
	u32 copy = copy_block(fs, r, block);

	leave_original(fs, block, copy);
	return copy;
}

static void set_ptr(struct cow_fs *fs, struct cow_ptr *p, u32 block)
{
	p->block = block;
	p->generation = data_of(fs, block)->generation;
}

/* The last entry whose key is not above @key; the first one if all are. */
static unsigned int child_for(const struct cow_block *b, u64 key)
{
	unsigned int from = 0, to = b->nr;

	while (to - from > 1) {
		unsigned int mid = (from + to) / 2;

		if (b->ptr[mid].key <= key)
			from = mid;
		else
			to = mid;
	}
	return from;
}

/* The first item whose key is not below @key; nr if all are. */
static unsigned int item_for(const struct cow_block *b, u64 key)
{
	unsigned int from = 0, to = b->nr;

	while (from < to) {
		unsigned int mid = (from + to) / 2;

		if (b->item[mid].key < key)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
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

/* @nr entries from the start of @from to the end of @to, or from the end to the start. */
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

/* Child @at of @parent, both locked and ours, is full. Returns the half for @key, locked. */
static u32 split(struct cow_fs *fs, struct reserve *r, struct cow_block *parent,
		 unsigned int at, u64 key)
{
	struct cow_block *left = data_of(fs, parent->ptr[at].block), *right;
	u32 block = new_block(fs, r, left->level);
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
 * Child @at of @parent, both locked and ours, is nearly empty. It takes from a neighbour, or
 * is merged with it. Returns the child in which @key is now, locked.
 */
static u32 refill(struct cow_fs *fs, struct reserve *r, struct cow_block *parent,
		  unsigned int at, u64 key)
{
	bool with_right = at + 1 < parent->nr;
	unsigned int l = with_right ? at : at - 1, nr;
	struct cow_block *left, *right, *stays, *goes;
	u32 neighbour = parent->ptr[with_right ? at + 1 : at - 1].block;

	lock_block(fs, neighbour, true);
	neighbour = cow(fs, r, neighbour);
	set_ptr(fs, &parent->ptr[with_right ? at + 1 : at - 1], neighbour);
	left = data_of(fs, parent->ptr[l].block);
	right = data_of(fs, parent->ptr[l + 1].block);
	if (left->level) {
		/* the first key of a node is not kept: its parent knows it */
		left->ptr[0].key = parent->ptr[l].key;
		right->ptr[0].key = parent->ptr[l + 1].key;
	}
	if (left->nr + right->nr <= capacity(fs, left) * 3 / 4) {
		move_entries(left, right, right->nr, true);
		remove_ptr(parent, l + 1);
		unlock_block(fs, right->self, true);
		put_block(fs, right->self);
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

/* The live root, locked: it may be replaced while we wait. */
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

static u32 cow_root(struct cow_tree *tree, struct reserve *r)
{
	u32 old = lock_root(tree, true);
	u32 root = copy_block(tree->fs, r, old);

	/* before the old one is unlocked */
	WRITE_ONCE(tree->root, root);
	leave_original(tree->fs, old, root);
	return root;
}

/*
 * Down to the leaf for @key, with all on the way in this generation, and room in it, or
 * enough left to take one away. Only the leaf is locked then.
 */
static u32 leaf_to_change(struct cow_tree *tree, struct reserve *r, u64 key, bool insert)
{
	struct cow_fs *fs = tree->fs;
	u32 block = cow_root(tree, r);
	struct cow_block *b = data_of(fs, block);

	if (insert && is_full(fs, b)) {
		u32 top = new_block(fs, r, b->level + 1);
		struct cow_block *t = data_of(fs, top);

		insert_ptr(fs, t, 0, 0, block);
		WRITE_ONCE(tree->root, top);
		block = split(fs, r, t, 0, key);
		unlock_block(fs, top, true);
		b = data_of(fs, block);
	}
	while (b->level) {
		unsigned int at = child_for(b, key);
		u32 child = b->ptr[at].block;

		lock_block(fs, child, true);
		child = cow(fs, r, child);
		set_ptr(fs, &b->ptr[at], child);
		if (insert && is_full(fs, data_of(fs, child)))
			child = split(fs, r, b, at, key);
		else if (!insert && is_low(fs, data_of(fs, child)) && b->nr > 1)
			child = refill(fs, r, b, at, key);
		if (b->nr == 1 && READ_ONCE(tree->root) == block) {
			/* a level less */
			WRITE_ONCE(tree->root, child);
			get_block(fs, child);
			unlock_block(fs, block, true);
			put_block(fs, block);
		} else {
			unlock_block(fs, block, true);
		}
		block = child;
		b = data_of(fs, block);
	}
	return block;
}

static int change(struct cow_tree *tree, u64 key, u64 value, bool insert)
{
	struct cow_fs *fs = tree->fs;
	struct cow_block *b;
	struct reserve r;
	unsigned int at, level;
	u32 leaf;
	int ret;

	/* as high as it is now, or a little more; what we read may be no root any more */
	level = min(data_of(fs, READ_ONCE(tree->root))->level, (u16)(COW_MAX_LEVELS - 2));
	ret = reserve(fs, &r, 3 * (level + 2) + 2);
	if (ret)
		return ret;
	leaf = leaf_to_change(tree, &r, key, insert);
	b = data_of(fs, leaf);
	at = item_for(b, key);
	if (at < b->nr && b->item[at].key == key) {
		if (insert) {
			b->item[at].value = value;
		} else {
			b->nr--;
			memmove(&b->item[at], &b->item[at + 1],
				(b->nr - at) * sizeof(struct cow_item));
		}
	} else if (insert) {
		memmove(&b->item[at + 1], &b->item[at], (b->nr - at) * sizeof(struct cow_item));
		b->item[at] = (struct cow_item){ key, value };
		b->nr++;
	} else {
		ret = -ENOENT;
	}
	unlock_block(fs, leaf, true);
	give_rest_back(fs, &r);
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

/* --- searches ------------------------------------------------------------ */

/* Takes what @leaf has of the keys from @from on, below @end. */
static void take_items(const struct cow_block *leaf, struct cow_range *range, u64 from, u64 end)
{
	unsigned int i;

	for (i = item_for(leaf, from); i < leaf->nr && leaf->item[i].key < end; i++) {
		unsigned int at = leaf->item[i].key - range->first;

		if (test_bit(at, range->found))
			continue;
		range->value[at] = leaf->item[i].value;
		__set_bit(at, range->found);
	}
}

/* The first key from @from on that is not there yet; the end of the range if none is. */
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

/* The keys below @end are in child @at, or nowhere. */
static u64 end_of_child(const struct cow_block *b, unsigned int at, u64 end)
{
	return at + 1 < b->nr ? min(end, b->ptr[at + 1].key) : end;
}

int cow_search_live(struct cow_tree *tree, struct cow_range *range)
{
	struct cow_fs *fs = tree->fs;
	u64 key = first_missing(range, range->first);

	while (key < range->first + range->nr) {
		u64 end = range->first + range->nr;
		u32 block = lock_root(tree, false);
		struct cow_block *b = data_of(fs, block);

		while (b->level) {
			unsigned int at = child_for(b, key);
			u32 child = b->ptr[at].block;

			end = end_of_child(b, at, end);
			lock_block(fs, child, false);
			unlock_block(fs, block, false);
			block = child;
			b = data_of(fs, block);
		}
		take_items(b, range, key, end);
		unlock_block(fs, block, false);
		key = first_missing(range, end);
	}
	return all_found(range);
}

static bool is_as_promised(struct cow_fs *fs, const struct cow_block *b, u32 block, u64 generation,
			   unsigned int level)
{
	if (b->magic == COW_MAGIC && b->self == block && b->generation == generation &&
	    b->level == level)
		return true;
	spin_lock(&fs->blocks_lock);
	fs->stale++;
	spin_unlock(&fs->blocks_lock);
	return false;
}

int cow_search_root(struct cow_fs *fs, u32 root, struct cow_range *range)
{
	u64 key = first_missing(range, range->first);

	while (key < range->first + range->nr) {
		u64 end = range->first + range->nr;
		const struct cow_block *b = data_of(fs, root);
		u64 generation = b->generation;
		unsigned int level = b->level;
		u32 block = root;

		for (;;) {
			unsigned int at;

			b = data_of(fs, block);
			if (!is_as_promised(fs, b, block, generation, level))
				return -EUCLEAN;
			if (!b->level)
				break;
			at = child_for(b, key);
			end = end_of_child(b, at, end);
			block = b->ptr[at].block;
			generation = b->ptr[at].generation;
			level--;
			/* before we believe its number */
			if (!block || block > READ_ONCE(fs->nr_blocks))
				return -EUCLEAN;
		}
		take_items(b, range, key, end);
		/* it is still what it was, so what we took is good */
		if (!is_as_promised(fs, b, block, generation, level))
			return -EUCLEAN;
		key = first_missing(range, end);
	}
	return all_found(range);
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
			/* no memory: the rest is for the next one */
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
	struct reserve r;
	int ret = reserve(fs, &r, 1);

	if (ret)
		return ret;
	tree->fs = fs;
	tree->root = new_block(fs, &r, 0);
	unlock_block(fs, tree->root, true);
	return 0;
}

/* Nobody searches it live. */
void cow_tree_drop(struct cow_tree *tree)
{
	put_block(tree->fs, tree->root);
	tree->root = COW_NO_BLOCK;
}

/* Nobody changes @tree: within publish(), or with no transaction. */
void cow_snapshot(struct cow_tree *snapshot, const struct cow_tree *tree)
{
	*snapshot = *tree;
	get_block(tree->fs, tree->root);
}

void cow_usage(struct cow_fs *fs, struct cow_usage *usage)
{
	spin_lock(&fs->blocks_lock);
	*usage = (struct cow_usage) {
		.blocks = fs->nr_blocks,
		.free = fs->nr_free,
		.pending = fs->nr_pending,
		.stale = fs->stale,
		.cowed = fs->cowed,
	};
	spin_unlock(&fs->blocks_lock);
}

int cow_fs_create(struct cow_fs **fsp, const struct cow_params *params,
		  const struct cow_ops *ops, void *private)
{
	struct cow_block *b = NULL;
	struct cow_fs *fs = cow_alloc(sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	fs->params = *params;
	if (!fs->params.leaf_items)
		fs->params.leaf_items = sizeof(b->item) / sizeof(b->item[0]);
	if (!fs->params.node_items)
		fs->params.node_items = sizeof(b->ptr) / sizeof(b->ptr[0]);
	fs->ops = ops;
	fs->private = private;
	fs->generation = 1;
	spin_lock_init(&fs->blocks_lock);
	fs->buf = cow_alloc((params->max_blocks + 1ULL) * sizeof(*fs->buf));
	fs->gate = cow_alloc(cow_lock_size());
	if (!fs->buf || !fs->gate || cow_lock_init(fs->gate, params->lock_type, false)) {
		cow_free(fs->gate);
		cow_free(fs->buf);
		cow_free(fs);
		return -ENOMEM;
	}
	*fsp = fs;
	return 0;
}

void cow_fs_destroy(struct cow_fs *fs)
{
	struct cow_later *l;
	u32 i;

	while ((l = fs->later)) {
		fs->later = l->next;
		cow_free(l);
	}
	for (i = 1; i <= fs->nr_blocks; i++)
		free_buf(fs, fs->buf[i]);
	cow_lock_destroy(fs->gate, fs->params.lock_type);
	cow_free(fs->gate);
	cow_free(fs->buf);
	cow_free(fs);
}

/* --- checks -------------------------------------------------------------- */

static long check_block(struct cow_fs *fs, u32 block, u64 generation, int level, u64 low, u64 high)
{
	const struct cow_block *b;
	unsigned int i;
	long sum = 0;

	if (!block || block > fs->nr_blocks)
		return -EUCLEAN;
	b = data_of(fs, block);
	if (b->magic != COW_MAGIC || b->self != block || b->generation != generation ||
	    b->level != level || b->nr > capacity(fs, b) || (b->level && !b->nr))
		return -EUCLEAN;
	for (i = 0; i < b->nr; i++) {
		u64 key = b->level ? b->ptr[i].key : b->item[i].key, end = high;
		long n;

		/* the first key of a node may be old */
		if (!b->level || i) {
			if (key < low || key > high)
				return -EUCLEAN;
			if (i > (b->level ? 1U : 0U) &&
			    key <= (b->level ? b->ptr[i - 1].key : b->item[i - 1].key))
				return -EUCLEAN;
		}
		if (!b->level) {
			sum++;
			continue;
		}
		if (i + 1 < b->nr)
			end = b->ptr[i + 1].key - 1;
		n = check_block(fs, b->ptr[i].block, b->ptr[i].generation, level - 1,
				i ? key : low, end);
		if (n < 0)
			return n;
		sum += n;
	}
	return sum;
}

long cow_check_tree(struct cow_fs *fs, u32 root)
{
	const struct cow_block *b = data_of(fs, root);

	return check_block(fs, root, b->generation, b->level, 0, ~0ULL);
}

static void count_parents(struct cow_fs *fs, u32 block, u32 *parents)
{
	const struct cow_block *b = data_of(fs, block);
	unsigned int i;

	/* below one that was seen already, all have been */
	if (parents[block]++)
		return;
	for (i = 0; b->level && i < b->nr; i++)
		count_parents(fs, b->ptr[i].block, parents);
}

int cow_check_blocks(struct cow_fs *fs, struct cow_tree *const *trees, unsigned int nr)
{
	u32 *parents = cow_alloc((fs->nr_blocks + 1ULL) * sizeof(*parents));
	unsigned int i, unused = 0;
	u32 block;
	int ret = 0;

	if (!parents)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		count_parents(fs, trees[i]->root, parents);
	for (block = fs->free; block; block = fs->buf[block]->next)
		unused++, ret |= parents[block];
	for (block = fs->pending; block; block = fs->buf[block]->next)
		unused++, ret |= parents[block];
	for (block = 1; block <= fs->nr_blocks; block++) {
		ret |= parents[block] != fs->buf[block]->refs;
		unused += !!parents[block];
	}
	ret |= unused != fs->nr_blocks;
	cow_free(parents);
	return ret ? -EUCLEAN : 0;
}
