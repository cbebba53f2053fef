// SPDX-License-Identifier: GPL-2.0
/*
 * The file: two superblocks, written in turn, then places of one block each. A superblock has the
 * place of each block of its generation. It is written when all of these blocks are on the disk,
 * so one of the two is always intact. The later intact superblock is the state of the cache at
 * its last checkpoint.
 *
 * A toy: the superblock has a checksum, the blocks have none.
 */
#include <linux/err.h>
#include <linux/jhash.h>
#include <linux/slab.h>

#include "ckpt_cache.h"

#define SUPER_MAGIC	0x6363686563616368ULL

struct super {
	__le64	magic;
	__le64	generation;
	__le32	place[NR_BLOCKS];	/* 0: zeros */
	__le32	sum;			/* of the fields above */
	u8	unused[CACHE_BLOCK - 20 - 4 * NR_BLOCKS];
};

static u32 sum_of(const struct super *s)
{
	return jhash(s, offsetof(struct super, sum), 0);
}

static int read_at(struct cache *c, u32 place, void *data)
{
	loff_t pos = (loff_t)place * CACHE_BLOCK;
	ssize_t ret = kernel_read(c->file, data, CACHE_BLOCK, &pos);

	if (ret < 0)
		return ret;
	memset(data + ret, 0, CACHE_BLOCK - ret);	/* past the end of the file */
	return 0;
}

static int write_at(struct cache *c, u32 place, const void *data)
{
	loff_t pos = (loff_t)place * CACHE_BLOCK;
	ssize_t ret = kernel_write(c->file, data, CACHE_BLOCK, &pos);

	if (ret < 0)
		return ret;
	return ret == CACHE_BLOCK ? 0 : -EIO;
}

static bool is_whole(const struct super *s)
{
	return le64_to_cpu(s->magic) == SUPER_MAGIC && le32_to_cpu(s->sum) == sum_of(s) &&
	       fs_generation_known(le64_to_cpu(s->generation));
}

static bool is_later(const struct super *a, const struct super *b)
{
	return fs_generation_after(le64_to_cpu(a->generation), le64_to_cpu(b->generation));
}

static int load_blocks(struct cache *c, const struct super *s, struct table *table)
{
	unsigned int i;
	int ret = 0;

	table->generation = le64_to_cpu(s->generation);
	for (i = 0; !ret && i < NR_BLOCKS; i++) {
		u32 place = le32_to_cpu(s->place[i]);
		struct block *b;

		if (!place)
			continue;
		b = block_load(c, table->generation, place);
		if (IS_ERR(b))
			return PTR_ERR(b);
		table->block[i] = b;
		ret = read_at(c, place, b->data);
	}
	return ret;
}

/*
 * Writes a table that no longer changes: the blocks that are newer than the last checkpoint, then
 * the superblock. The caller holds checkpoint_lock only, so operations continue in the next
 * generation.
 */
int store_write(struct cache *c, const struct table *table)
{
	struct super *s = kzalloc(sizeof(*s), GFP_KERNEL);
	unsigned int i;
	int ret = 0;

	if (!s)
		return -ENOMEM;
	s->magic = cpu_to_le64(SUPER_MAGIC);
	s->generation = cpu_to_le64(table->generation);
	for (i = 0; !ret && i < NR_BLOCKS; i++) {
		const struct block *b = table->block[i];

		if (!b)
			continue;
		s->place[i] = cpu_to_le32(b->place);
		if (fs_generation_after(b->generation, c->committed))
			ret = write_at(c, b->place, b->data);
	}
	s->sum = cpu_to_le32(sum_of(s));
	if (!ret)
		ret = vfs_fsync(c->file, 1);
	/* overwrite the older superblock: a crash during this leaves the other intact */
	if (!ret)
		ret = write_at(c, !c->super, s);
	if (!ret)
		ret = vfs_fsync(c->file, 1);
	if (!ret)
		c->super = !c->super;
	kfree(s);
	return ret;
}

/*
 * Opens the file and reads its last checkpoint into @table, which has no blocks. For an empty file
 * the table is empty, with generation 1, and is written immediately: otherwise a crash in the first
 * checkpoint would leave blocks without a superblock, which look like a foreign file. After an
 * error the caller frees the blocks that were read.
 */
int store_load(struct cache *c, const char *path, struct table *table)
{
	struct super *s = kcalloc(2, sizeof(*s), GFP_KERNEL);
	struct file *file;
	int ret, i, newest = -1;

	BUILD_BUG_ON(sizeof(*s) != CACHE_BLOCK);
	if (!s)
		return -ENOMEM;
	file = filp_open(path, O_RDWR | O_CREAT | O_LARGEFILE, 0600);
	ret = PTR_ERR_OR_ZERO(file);
	if (ret)
		goto out;
	c->file = file;
	for (i = 0; i < 2; i++) {
		ret = read_at(c, i, &s[i]);
		if (ret)
			goto out;
		if (is_whole(&s[i]) && (newest < 0 || is_later(&s[i], &s[newest])))
			newest = i;
	}
	if (newest >= 0) {
		c->super = newest;
		ret = load_blocks(c, &s[newest], table);
	} else if (i_size_read(file_inode(file))) {
		/* a foreign file, or both superblocks are damaged: do not overwrite it */
		ret = -EUCLEAN;
	} else {
		table->generation = 1;
		c->super = 1;
		ret = store_write(c, table);
	}
out:
	kfree(s);
	return ret;
}
