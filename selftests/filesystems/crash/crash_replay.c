// SPDX-License-Identifier: GPL-2.0
/*
 * crash_replay - make disks as a crash may leave them, from the log of dm-log-writes
 *
 *	crash_replay LOG BASE DISK MARKS POINTS SEED COMMAND
 *
 * Chooses crash points, in order. For each of them, it makes DISK, writes the marks before the
 * point with their entries to MARKS, and runs COMMAND with the words: number, entry, how. Drops
 * random writes before the points with LOSE=PERMILLE in the environment, like a device that ignores
 * flushes: a test of the verifier.
 *
 * The log has the order in which writes became durable. Cached writes follow in one group once
 * a later flush has completed, then that flush. FUA writes and marks stand alone. So a disk
 * after a crash is one of these:
 *
 *	cut	all writes up to an entry
 *	mix	all writes up to the last flush before an entry, later FUA writes, and a random
 *		subset of the other writes up to the next flush, which were in the cache
 *
 * BASE holds the log up to the last flush before the point. A discarded range is filled with
 * garbage.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PROGRAM "crash_replay"
#include "options.h"

#define LOG_MAGIC	0x6a736677736872ULL
#define LOG_VERSION	1
#define LOG_FLUSH	(1 << 0)
#define LOG_FUA		(1 << 1)
#define LOG_DISCARD	(1 << 2)
#define LOG_MARK	(1 << 3)

#define GARBAGE		0xd5
#define CHUNK		(1 << 20)

/* On-disk format of the log, little endian; each takes a whole sector. */
struct log_super {
	uint64_t magic, version, nr_entries;
	uint32_t sectorsize;
};

struct log_entry {
	uint64_t sector, nr_sectors, flags, data_len;
};

struct entry {
	uint64_t offset;		/* of the data in the log, in bytes */
	uint64_t sector, nr_sectors;
	uint32_t flags;
	char mark[32];
};

static struct entry *entries;
static uint64_t nr_entries, first, last;	/* entries after the marks "begin" and "end" */
static uint32_t sectorsize;
static char *data;

static int open_device(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECT);

	if (fd < 0)
		fatal("%s: %s", path, strerror(errno));
	return fd;
}

static uint64_t device_size(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);

	if (size <= 0)
		fatal("cannot get the size of a device");
	return size;
}

static void get(int fd, void *to, size_t size, uint64_t offset)
{
	if (pread(fd, to, size, offset) != (ssize_t)size)
		fatal("cannot read %zu bytes at %llu: %s", size, (unsigned long long)offset,
		      strerror(errno));
}

static void put(int fd, const void *from, size_t size, uint64_t offset)
{
	if (pwrite(fd, from, size, offset) != (ssize_t)size)
		fatal("cannot write %zu bytes at %llu: %s", size, (unsigned long long)offset,
		      strerror(errno));
}

static void read_log(int fd)
{
	struct log_super super;
	uint64_t at, n;

	get(fd, data, 4096, 0);
	memcpy(&super, data, sizeof(super));
	if (super.magic != LOG_MAGIC || super.version != LOG_VERSION || !super.sectorsize)
		fatal("not a log of dm-log-writes, version %d", LOG_VERSION);
	sectorsize = super.sectorsize;
	nr_entries = super.nr_entries;
	entries = calloc(nr_entries, sizeof(*entries));
	if (!entries)
		fatal("no memory");
	for (at = sectorsize, n = 0; n < nr_entries; n++) {
		struct entry *entry = &entries[n];
		struct log_entry e;

		get(fd, data, sectorsize, at);
		memcpy(&e, data, sizeof(e));
		at += sectorsize;
		entry->offset = at;
		entry->sector = e.sector;
		entry->nr_sectors = e.nr_sectors;
		entry->flags = e.flags;
		if (e.flags & LOG_MARK) {
			memcpy(entry->mark, data + sizeof(e), e.data_len < sizeof(entry->mark) ?
			       e.data_len : sizeof(entry->mark) - 1);
			if (!strcmp(entry->mark, "begin"))
				first = n + 1;
			if (!strcmp(entry->mark, "end"))
				last = n + 1;
		} else if (!(e.flags & LOG_DISCARD)) {
			at += e.nr_sectors * sectorsize;
		}
	}
	if (!first || !last)
		fatal("the log is incomplete: no mark \"begin\" or \"end\"");
}

/* True for a write that is only in the cache until the next flush. */
static bool cached(const struct entry *e)
{
	return !(e->flags & (LOG_FLUSH | LOG_FUA | LOG_MARK));
}

static uint64_t flush_before(uint64_t to)
{
	while (to && !(entries[to - 1].flags & LOG_FLUSH))
		to--;
	return to;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Choose a third of the points anywhere, a third directly after a promise, before other writes
 * keep it by chance, and a third among the cached writes before a flush.
 */
static uint64_t *pick_points(long nr)
{
	uint64_t *point = calloc(nr, sizeof(*point)), n;
	long i;

	if (!point)
		fatal("no memory");
	for (i = 0; i < nr; i++) {
		point[i] = first + random() % (last - first);
		for (n = point[i]; n < last && i % 3; n++) {
			const struct entry *e = &entries[n - 1];

			if (i % 3 == 1 ? e->flags & LOG_MARK : cached(e)) {
				point[i] = n;
				break;
			}
		}
	}
	qsort(point, nr, sizeof(*point), compare);
	return point;
}

static void fill(int fd, uint64_t at, uint64_t size)
{
	memset(data, GARBAGE, CHUNK);
	while (size) {
		uint64_t n = size < CHUNK ? size : CHUNK;

		put(fd, data, n, at);
		at += n;
		size -= n;
	}
}

static void apply(uint64_t n, int log, int disk)
{
	const struct entry *e = &entries[n];
	uint64_t at = e->sector * sectorsize, size = e->nr_sectors * sectorsize;
	uint64_t from = e->offset;

	if (e->flags & LOG_MARK)
		return;
	if (e->flags & LOG_DISCARD) {
		fill(disk, at, size);
		return;
	}
	while (size) {
		uint64_t part = size < CHUNK ? size : CHUNK;

		get(log, data, part, from);
		put(disk, data, part, at);
		from += part;
		at += part;
		size -= part;
	}
}

static void copy(int from, int to)
{
	uint64_t size = device_size(from), at;

	if (device_size(to) < size)
		fatal("the disk is smaller than the base");
	for (at = 0; at < size; at += CHUNK) {
		uint64_t n = size - at < CHUNK ? size - at : CHUNK;

		get(from, data, n, at);
		put(to, data, n, at);
	}
}

static void write_marks(uint64_t to, const char *path)
{
	FILE *f = fopen(path, "w");
	uint64_t n;

	if (!f)
		fatal("%s: %s", path, strerror(errno));
	for (n = first; n < to; n++)
		if (entries[n].flags & LOG_MARK)
			fprintf(f, "%s %llu\n", entries[n].mark, (unsigned long long)n + 1);
	if (fclose(f))
		fatal("%s: %s", path, strerror(errno));
}

/* Bring @base, which has the entries before @from, to the last flush before @to; return that. */
static uint64_t advance(int log, int base, uint64_t from, uint64_t to, long lose)
{
	uint64_t durable = flush_before(to);

	for (; from < durable; from++)
		if (from < first || (entries[from].flags & LOG_MARK) || random() % 1000 >= lose)
			apply(from, log, base);
	return durable;
}

/* Make @path from @base and the entries from @durable on. */
static void make_disk(int log, int base, const char *path, uint64_t durable, uint64_t to, bool mix)
{
	int disk = open_device(path, O_RDWR);
	uint64_t n, end = to;

	copy(base, disk);
	while (mix && end < nr_entries && cached(&entries[end]))
		end++;
	for (n = durable; n < end; n++)
		if (!mix || !cached(&entries[n]) || random() % 2)
			apply(n, log, disk);
	if (fsync(disk) || close(disk))
		fatal("%s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	long i, nr, lose = getenv("LOSE") ? atol(getenv("LOSE")) : 0;
	uint64_t durable = 0, *point;
	int log, base;

	if (argc != 8)
		fatal("usage: crash_replay LOG BASE DISK MARKS POINTS SEED COMMAND");
	nr = number("POINTS", argv[5], 1, 10000);
	srandom(number("SEED", argv[6], 1, INT32_MAX));
	data = shared_memory(CHUNK);
	log = open_device(argv[1], O_RDONLY);
	base = open_device(argv[2], O_RDWR);
	read_log(log);
	point = pick_points(nr);
	fill(base, 0, device_size(base));
	for (i = 0; i < nr; i++) {
		bool mix = random() % 2;
		char command[512];

		durable = advance(log, base, durable, point[i], lose);
		make_disk(log, base, argv[3], durable, point[i], mix);
		write_marks(point[i], argv[4]);
		snprintf(command, sizeof(command), "%s %ld %llu %s", argv[7], i + 1,
			 (unsigned long long)point[i], mix ? "mix" : "cut");
		if (system(command))
			fatal("%s failed", command);
	}
	return 0;
}
