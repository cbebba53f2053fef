/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The history of each worker and the contents of file blocks, for crash_load and crash_check.
 *
 * The history is outside the filesystem under test. A worker records an operation before it
 * begins, so that the history covers all that the disk may hold; @done counts operations that
 * returned. Only the worker changes its directory and files, in the order of its history.
 */
#ifndef CRASH_HISTORY_H
#define CRASH_HISTORY_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"

#define WORKERS		10
#define SYNC_TASK	WORKERS
#define MAX_OPS		(1 << 18)
#define MAX_SYNCS	(1 << 14)
#define NR_NAMES	16	/* in two folders, half in each */
#define NO_NAME		NR_NAMES
#define NR_PLACES	3	/* names of the folders */
#define FOLDER_OF(name)	((name) / (NR_NAMES / 2))
#define FOLDER_MODE(file) ((file) & 01777)
#define XATTR		"user.version"

/*
 * A quarter of a page: files of one or two blocks fit into the inode, and a write to one block
 * rewrites its neighbours' page.
 */
#define BLOCK		1024
#define PAGE_BLOCKS	4
#define MAX_BLOCKS	256

enum op_kind {
	OP_CREATE = 1,	/* file, of type nr, name or NO_NAME */
	OP_LINK,	/* file, name */
	OP_WRITE,	/* file; nr blocks from block on get this op as their version */
	OP_SHARE,	/* file; nr blocks from block on get what from_file has, 0: zeroes */
	OP_XATTR,	/* file; its attribute gets this op as its version */
	OP_FSYNC,	/* file; nr: data only */
	OP_RENAME,	/* file, from name to name2, which it may replace */
	OP_EXCHANGE,	/* the files of name and name2 */
	OP_UNLINK,	/* file, name */
	OP_MOVE_DIR,	/* folder name, to place name2, where the other folder may be */
	OP_FSYNC_DIR,	/* folder name; 2: the folder that holds both */
	OP_SYNC,	/* syncs[block]; by the sync task, which has no directory */
};

enum file_type { REGULAR, SYMLINK, FOLDER };

struct op {
	uint16_t kind, name, name2, nr;
	uint32_t file, block, from_file;
};

/* The attribute is this, and a tail of any length. */
struct attribute {
	uint32_t worker, file, version, sum;
};

/* The operations that each worker had done when a sync began. The sync promises these. */
struct sync {
	uint32_t done[WORKERS];
};

struct worker {
	_Atomic uint32_t begun, done;
	struct op ops[MAX_OPS];
};

struct history {
	_Atomic uint32_t promises;
	struct sync syncs[MAX_SYNCS];
	struct worker worker[WORKERS + 1];	/* the last is the sync task */
};

struct block {
	uint32_t magic, worker, file, index, version, sum;
	unsigned char data[BLOCK - 6 * sizeof(uint32_t)];
};

#define BLOCK_MAGIC	0x6b636c62

static inline struct history *history_map(const char *path, bool create)
{
	int fd = open(path, create ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0600);
	struct history *h;

	if (fd < 0 || (create && ftruncate(fd, sizeof(*h))))
		fatal("%s: %s", path, strerror(errno));
	h = mmap(NULL, sizeof(*h), create ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		fatal("%s: %s", path, strerror(errno));
	close(fd);
	return h;
}

static inline uint32_t next_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

/* FNV-1a */
static inline uint32_t checksum(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint32_t sum = 0x811c9dc5;

	while (size--)
		sum = (sum ^ *p++) * 0x01000193;
	return sum;
}

static inline uint32_t attribute_sum(const struct attribute *a)
{
	return checksum(a, offsetof(struct attribute, sum));
}

static inline uint32_t block_sum(const struct block *b)
{
	struct block copy = *b;

	copy.sum = 0;
	return checksum(&copy, sizeof(copy));
}

static inline void block_fill(struct block *b, uint32_t worker, uint32_t file, uint32_t index,
			      uint32_t version)
{
	uint32_t state = (worker + 1) * 2654435761u ^ file * 40503u ^ index << 20 ^ version;
	size_t i;

	b->magic = BLOCK_MAGIC;
	b->worker = worker;
	b->file = file;
	b->index = index;
	b->version = version;
	b->sum = 0;
	if (!state)
		state = 1;
	for (i = 0; i + 4 <= sizeof(b->data); i += 4) {
		uint32_t r = next_random(&state);

		memcpy(b->data + i, &r, 4);
	}
	b->sum = block_sum(b);
}

static inline bool block_valid(const struct block *b)
{
	return b->magic == BLOCK_MAGIC && b->sum == block_sum(b);
}

#endif /* CRASH_HISTORY_H */
