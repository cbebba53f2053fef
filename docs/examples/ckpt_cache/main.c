// SPDX-License-Identifier: GPL-2.0
/*
 * A block cache that is checkpointed into a file: the operations, the checkpoint, and the
 * two devices. See README.rst.
 *
 *  lock order	checkpoint_lock, cp_sem, block_lock[] (one at a time), place_lock
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ckpt_cache.h"

static char *path;
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "the file; created if it does not exist");

static struct cache *cache;

/* --- operations ---------------------------------------------------------- */

/*
 * The largest operation, which no checkpoint divides. Data is copied from and to userspace through
 * a buffer and with no lock held: a page fault may wait for anything.
 */
#define OPERATION_MAX	(4 * CACHE_BLOCK)

/* How many of @len bytes from @pos on are in the same block. */
static size_t in_block(loff_t pos, size_t len)
{
	return min_t(size_t, len, CACHE_BLOCK - pos % CACHE_BLOCK);
}

static size_t in_device(loff_t pos, size_t len)
{
	loff_t end = (loff_t)NR_BLOCKS * CACHE_BLOCK;

	return pos < 0 || pos >= end ? 0 : min_t(u64, min_t(u64, len, OPERATION_MAX), end - pos);
}

/* Returns the version of block @i that may be changed now. */
static struct block *writable(struct cache *c, unsigned int i)
{
	struct table *live = c->live;
	struct block *old = live->block[i], *b;

	if (old && old->generation == live->generation)
		return old;
	b = block_new(c, live->generation, old);
	if (IS_ERR(b))
		return b;
	live->block[i] = b;
	if (old)
		block_drop(c, old, live->generation);
	return b;
}

/* On an error a part may have been written, as on any block device. */
static int cache_write_blocks(struct cache *c, loff_t pos, const char *buf, size_t len)
{
	size_t done, n;
	int ret = 0;

	/* the live table cannot be replaced until the end */
	guard(unfair_rwsem_read)(&c->cp_sem);
	for (done = 0; !ret && done < len; done += n) {
		unsigned int i = (pos + done) / CACHE_BLOCK;
		struct mutex *lock = &c->block_lock[i % NR_BLOCK_LOCKS];
		struct block *b;

		n = in_block(pos + done, len - done);
		mutex_lock(lock);
		b = writable(c, i);
		if (IS_ERR(b))
			ret = PTR_ERR(b);
		else
			memcpy(b->data + (pos + done) % CACHE_BLOCK, buf + done, n);
		mutex_unlock(lock);
	}
	return ret;
}

static void cache_read_blocks(struct cache *c, loff_t pos, char *buf, size_t len)
{
	size_t done, n;

	guard(unfair_rwsem_read)(&c->cp_sem);
	for (done = 0; done < len; done += n) {
		unsigned int i = (pos + done) / CACHE_BLOCK;
		struct mutex *lock = &c->block_lock[i % NR_BLOCK_LOCKS];
		struct block *b;

		n = in_block(pos + done, len - done);
		mutex_lock(lock);
		b = c->live->block[i];
		if (b)
			memcpy(buf + done, b->data + (pos + done) % CACHE_BLOCK, n);
		else
			memset(buf + done, 0, n);
		mutex_unlock(lock);
	}
}

/* --- the checkpoint ------------------------------------------------------ */

/* Makes @live a copy of the live table and installs it. Returns the old table to the caller. */
static struct table *exchange_live(struct cache *c, struct table *live)
{
	struct table *table;

	guard(unfair_rwsem_write)(&c->cp_sem);
	table = c->live;
	memcpy(live, table, sizeof(*live));
	live->generation++;
	c->live = live;
	return table;
}

/*
 * When this returns 0, the file has all data written before the call. It excludes operations only
 * while it exchanges the live table; they continue while it writes. The caller holds
 * checkpoint_lock.
 */
static int cache_checkpoint(struct cache *c)
{
	struct commit_roots *next;
	struct table *table, *live;
	int ret;

	/*
	 * Until this returns, operations that hold cp_sem and do not run get this task's level:
	 * it may wait for cp_sem, or for memory or a lock of the file that one of them holds.
	 */
	guard(unfair_rwsem_expedite)(&c->cp_sem);

	blocks_reclaim(c);
	live = kvmalloc(sizeof(*live), GFP_KERNEL);
	if (!live)
		return -ENOMEM;
	/* only this task replaces the live table */
	next = commit_root_prepare(&c->roots, c->live->generation, GFP_KERNEL);
	if (IS_ERR(next)) {
		kvfree(live);
		return PTR_ERR(next);
	}
	/* operations no longer change the table: they make their own versions in live */
	table = exchange_live(c, live);
	ret = store_write(c, table) ?: commit_root_update(next, &c->tree, table);
	if (ret) {
		commit_root_cancel(next);
		/* the live table has all of it, and the next checkpoint writes it again */
		kvfree(table);
		return ret;
	}
	/* release_table() gets the table when the next checkpoint has replaced it */
	commit_root_switch(next);
	c->committed = table->generation;
	return 0;
}

/* Neither a pin nor a later checkpoint has this table any more. */
static void release_table(void *private, void *root, u64 generation)
{
	kvfree(root);
}

static const struct commit_root_ops root_ops = { .release = release_table };

/* --- /dev/ckpt_cache ----------------------------------------------------- */

static ssize_t live_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	size_t n = in_device(*pos, len);
	char *buf;
	int ret;

	if (!len)
		return 0;
	if (!n)
		return -ENOSPC;
	buf = memdup_user(from, n);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	ret = cache_write_blocks(cache, *pos, buf, n);
	kfree(buf);
	if (ret)
		return ret;
	*pos += n;
	return n;
}

static ssize_t live_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	size_t n = in_device(*pos, len);
	char *buf;

	if (!n)
		return 0;
	buf = kmalloc(n, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	cache_read_blocks(cache, *pos, buf, n);
	if (copy_to_user(to, buf, n))
		n = 0;
	kfree(buf);
	*pos += n;
	return n ?: -EFAULT;
}

static int live_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	int ret;

	mutex_lock(&cache->checkpoint_lock);
	ret = cache_checkpoint(cache);
	mutex_unlock(&cache->checkpoint_lock);
	return ret;
}

static loff_t cache_llseek(struct file *file, loff_t offset, int whence)
{
	return fixed_size_llseek(file, offset, whence, (loff_t)NR_BLOCKS * CACHE_BLOCK);
}

static const struct file_operations live_fops = {
	.owner = THIS_MODULE,
	.read = live_read,
	.write = live_write,
	.fsync = live_fsync,
	.llseek = cache_llseek,
};

static struct miscdevice live_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ckpt_cache",
	.fops = &live_fops,
	.mode = 0600,
};

/* --- /dev/ckpt_cache_committed ------------------------------------------- */

/* An open file sees the last checkpoint at that time, whatever is committed later. */
static int committed_open(struct inode *inode, struct file *file)
{
	struct commit_pin *pin = kmalloc(sizeof(*pin), GFP_KERNEL);

	if (!pin)
		return -ENOMEM;
	if (!commit_root_pin(&cache->roots, pin)) {
		kfree(pin);
		return -ENODATA;
	}
	/* the last task that has the file drops it */
	file->private_data = pin;
	return 0;
}

/* Takes no lock: a checkpoint does not wait, however long the copy takes. */
static ssize_t committed_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	size_t n = in_block(*pos, in_device(*pos, len));
	struct commit_pin *pin = file->private_data;
	const struct table *table;
	const struct block *b;
	unsigned long left;

	if (!n)
		return 0;
	/* space is short and this pin keeps some: the reader must open a later checkpoint */
	if (commit_root_wanted(pin))
		return -ESTALE;
	table = commit_root_of(pin, &cache->tree, NULL);
	b = table->block[*pos / CACHE_BLOCK];
	if (b)
		left = copy_to_user(to, b->data + *pos % CACHE_BLOCK, n);
	else
		left = clear_user(to, n);
	*pos += n - left;
	return n - left ?: -EFAULT;
}

static int committed_release(struct inode *inode, struct file *file)
{
	struct commit_pin *pin = file->private_data;

	commit_root_unpin(pin);
	kfree(pin);
	return 0;
}

static const struct file_operations committed_fops = {
	.owner = THIS_MODULE,
	.open = committed_open,
	.read = committed_read,
	.release = committed_release,
	.llseek = cache_llseek,
};

static struct miscdevice committed_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ckpt_cache_committed",
	.fops = &committed_fops,
	.mode = 0400,
};

/* --- setup --------------------------------------------------------------- */

static void free_blocks(struct cache *c, const struct table *table)
{
	struct block *b, *next;
	unsigned int i;

	for (i = 0; i < NR_BLOCKS; i++)
		if (table->block[i])
			block_free(c, table->block[i]);
	list_for_each_entry_safe(b, next, &c->gone, node)
		block_free(c, b);
}

static void init_locks(struct cache *c)
{
	unsigned int i;

	init_unfair_rwsem(&c->cp_sem);
	mutex_init(&c->checkpoint_lock);
	for (i = 0; i < NR_BLOCK_LOCKS; i++)
		mutex_init(&c->block_lock[i]);
	spin_lock_init(&c->place_lock);
	INIT_LIST_HEAD(&c->gone);
}

static struct cache *cache_open(const char *file)
{
	struct cache *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	struct table *table = kvzalloc(sizeof(*table), GFP_KERNEL);
	struct commit_roots *next;
	int ret = -ENOMEM;

	if (!c || !table)
		goto free;
	init_locks(c);
	c->live = kvmalloc(sizeof(*c->live), GFP_KERNEL);
	if (!c->live)
		goto free;
	ret = commit_root_set_init(&c->roots, "ckpt_cache", &root_ops, c);
	if (ret)
		goto free;
	commit_tree_init(&c->tree, &c->roots);
	ret = store_load(c, file, table);
	if (ret)
		goto unload;
	c->committed = table->generation;
	memcpy(c->live, table, sizeof(*table));
	c->live->generation++;
	/* the table in the file becomes the first commit */
	next = commit_root_prepare(&c->roots, table->generation, GFP_KERNEL);
	ret = IS_ERR(next) ? PTR_ERR(next) : commit_root_update(next, &c->tree, table);
	if (ret) {
		commit_root_cancel(next);
		goto unload;
	}
	commit_root_switch(next);
	return c;
unload:
	free_blocks(c, table);
	if (c->file)
		filp_close(c->file, NULL);
	commit_root_set_destroy(&c->roots);
free:
	if (c)
		kvfree(c->live);
	kvfree(table);
	kvfree(c);
	return ERR_PTR(ret);
}

/* No device is open. Data that was not checkpointed is lost, as in a crash. */
static void cache_close(struct cache *c)
{
	/* nothing is pinned, so this waits only for the last release_table() */
	commit_root_set_destroy(&c->roots);
	free_blocks(c, c->live);
	filp_close(c->file, NULL);
	kvfree(c->live);
	kvfree(c);
}

static int __init ckpt_cache_init(void)
{
	int ret;

	if (!path || !*path) {
		pr_err("ckpt_cache: path= is missing or empty\n");
		return -EINVAL;
	}
	cache = cache_open(path);
	if (IS_ERR(cache)) {
		pr_err("ckpt_cache: cannot use %s: error %ld\n", path, PTR_ERR(cache));
		return PTR_ERR(cache);
	}
	ret = misc_register(&live_device);
	if (ret)
		goto close;
	ret = misc_register(&committed_device);
	if (ret)
		goto deregister;
	return 0;
deregister:
	misc_deregister(&live_device);
close:
	cache_close(cache);
	return ret;
}

static void __exit ckpt_cache_exit(void)
{
	misc_deregister(&committed_device);
	misc_deregister(&live_device);
	cache_close(cache);
}

module_init(ckpt_cache_init);
module_exit(ckpt_cache_exit);

MODULE_DESCRIPTION("Example driver on fscommit: a block cache with checkpoints into a file");
MODULE_LICENSE("GPL");
/* 6.13: MODULE_IMPORT_NS() takes a string. */
MODULE_INFO(import_ns, "FSCOMMIT");
