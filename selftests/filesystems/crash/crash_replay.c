// SPDX-License-Identifier: GPL-2.0
/*
 * crash_replay - make a disk as a crash may leave it, from the log of dm-log-writes
 *
 *	crash_replay index LOG INDEX		index the log
 *	crash_replay pick INDEX POINTS SEED	choose crash points, in order: ENTRY HOW SEED
 *	crash_replay run --log=LOG --index=INDEX --base=DEVICE --disk=DEVICE --from=ENTRY
 *		--to=ENTRY [--how=cut|mix] [--seed=NUM] [--lose=PERMILLE] --marks=FILE
 *
 * The log has the order in which writes became durable. Cached writes follow in one group once
 * a later flush has completed, then that flush. FUA writes and marks stand alone. So a disk
 * after a crash is one of these:
 *
 *	cut	all writes up to an entry
 *	mix	all writes up to the last flush before an entry, later FUA writes, and a random
 *		subset of the other writes up to the next flush, which were in the cache
 *
 * BASE holds the log up to --from. The program brings it to the last flush before --to, for the
 * next point, then copies it to DISK and adds the rest. FILE gets the marks before the point,
 * with their entries. A discarded range is filled with garbage.
 *
 * --lose drops random writes before the point, like a device that ignores flushes. It is for
 * the test of the verifier.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
	uint32_t flags, data_len;
	char mark[32];
};

struct index {
	uint64_t nr;
	uint64_t first, last;		/* entries after the marks "begin" and "end" */
	uint32_t sectorsize, marks, flushes, fuas;
	struct entry entry[];
};

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

static int make_index(const char *log, const char *path)
{
	int fd = open_device(log, O_RDONLY), out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct index head = { 0 };
	struct log_super super;
	uint64_t at;

	if (out < 0)
		fatal("%s: %s", path, strerror(errno));
	get(fd, data, 4096, 0);
	memcpy(&super, data, sizeof(super));
	if (super.magic != LOG_MAGIC || super.version != LOG_VERSION || !super.sectorsize)
		fatal("%s: not a log of dm-log-writes, version %d", log, LOG_VERSION);
	head.sectorsize = super.sectorsize;
	lseek(out, sizeof(head), SEEK_SET);
	for (at = super.sectorsize; head.nr < super.nr_entries; head.nr++) {
		struct log_entry e;
		struct entry entry = { 0 };

		get(fd, data, super.sectorsize, at);
		memcpy(&e, data, sizeof(e));
		at += super.sectorsize;
		entry.offset = at;
		entry.sector = e.sector;
		entry.nr_sectors = e.nr_sectors;
		entry.flags = e.flags;
		if (e.flags & LOG_MARK) {
			size_t n = e.data_len < sizeof(entry.mark) ? e.data_len :
				   sizeof(entry.mark) - 1;

			memcpy(entry.mark, data + sizeof(e), n);
			head.marks++;
			if (!strcmp(entry.mark, "begin"))
				head.first = head.nr + 1;
			if (!strcmp(entry.mark, "end"))
				head.last = head.nr + 1;
		} else if (!(e.flags & LOG_DISCARD)) {
			at += e.nr_sectors * super.sectorsize;
		}
		head.flushes += !!(e.flags & LOG_FLUSH);
		head.fuas += !!(e.flags & LOG_FUA);
		if (write(out, &entry, sizeof(entry)) != sizeof(entry))
			fatal("%s: %s", path, strerror(errno));
	}
	if (!head.first || !head.last)
		fatal("%s: the log is incomplete: no mark \"begin\" or \"end\"", log);
	put(out, &head, sizeof(head), 0);
	printf("# %llu entries, %u flushes, %u FUA, %u marks; workload from %llu to %llu\n",
	       (unsigned long long)head.nr, head.flushes, head.fuas, head.marks,
	       (unsigned long long)head.first, (unsigned long long)head.last);
	return close(out);
}

static const struct index *map_index(const char *path)
{
	int fd = open(path, O_RDONLY);
	const struct index *index;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fatal("%s: %s", path, strerror(errno));
	index = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (index == MAP_FAILED)
		fatal("%s: %s", path, strerror(errno));
	return index;
}

/* True for a write that is only in the cache until the next flush. */
static bool cached(const struct entry *e)
{
	return !(e->flags & (LOG_FLUSH | LOG_FUA | LOG_MARK));
}

static uint64_t flush_before(const struct index *index, uint64_t to)
{
	while (to && !(index->entry[to - 1].flags & LOG_FLUSH))
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
static int pick_points(const struct index *index, long points, uint32_t seed)
{
	uint64_t point[10000];
	long i;

	srandom(seed);
	for (i = 0; i < points; i++) {
		uint64_t at = index->first + random() % (index->last - index->first), n;

		for (n = at; n < index->last && i % 3; n++) {
			const struct entry *e = &index->entry[n - 1];

			if (i % 3 == 1 ? e->flags & LOG_MARK : cached(e)) {
				at = n;
				break;
			}
		}
		point[i] = at;
	}
	qsort(point, points, sizeof(point[0]), compare);
	for (i = 0; i < points; i++)
		printf("%llu %s %ld\n", (unsigned long long)point[i],
		       random() % 2 ? "mix" : "cut", random() % 1000000 + 1);
	return 0;
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

static void apply(const struct index *index, uint64_t n, int log, int disk)
{
	const struct entry *e = &index->entry[n];
	uint64_t at = e->sector * index->sectorsize, size = e->nr_sectors * index->sectorsize;
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

static void write_marks(const struct index *index, uint64_t to, const char *path)
{
	FILE *f = fopen(path, "w");
	uint64_t n;

	if (!f)
		fatal("%s: %s", path, strerror(errno));
	for (n = index->first; n < to; n++)
		if (index->entry[n].flags & LOG_MARK)
			fprintf(f, "%s %llu\n", index->entry[n].mark, (unsigned long long)n + 1);
	if (fclose(f))
		fatal("%s: %s", path, strerror(errno));
}

struct run {
	const char *log, *index, *base, *disk, *marks;
	uint64_t from, to;
	uint32_t seed;
	long lose;
	bool mix;
};

static int run(const struct run *r)
{
	const struct index *index = map_index(r->index);
	int log = open_device(r->log, O_RDONLY), base = open_device(r->base, O_RDWR);
	int disk = open_device(r->disk, O_RDWR);
	uint64_t durable = flush_before(index, r->to), n, end = r->to, lost = 0;

	if (r->to > index->nr || r->from > durable)
		fatal("entries %llu to %llu: not in the log, or not in this order",
		      (unsigned long long)r->from, (unsigned long long)r->to);
	srandom(r->seed);
	if (!r->from)
		fill(base, 0, device_size(base));
	for (n = r->from; n < durable; n++) {
		if (n >= index->first && !(index->entry[n].flags & LOG_MARK) &&
		    random() % 1000 < r->lose) {
			lost++;
			continue;
		}
		apply(index, n, log, base);
	}
	copy(base, disk);
	if (r->mix)
		while (end < index->nr && cached(&index->entry[end]))
			end++;
	for (n = durable; n < end; n++)
		if ((!r->mix && n < r->to) || !cached(&index->entry[n]) || random() % 2)
			apply(index, n, log, disk);
	if (fsync(disk) || fsync(base))
		fatal("fsync: %s", strerror(errno));
	write_marks(index, r->to, r->marks);
	/* --from of the next point */
	printf("%llu\n", (unsigned long long)durable);
	if (lost)
		fprintf(stderr, "# lost %llu writes\n", (unsigned long long)lost);
	return 0;
}

static int parse_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "log", 1, NULL, 'l' }, { "index", 1, NULL, 'i' }, { "base", 1, NULL, 'b' },
		{ "disk", 1, NULL, 'd' }, { "from", 1, NULL, 'f' }, { "to", 1, NULL, 't' },
		{ "how", 1, NULL, 'h' }, { "seed", 1, NULL, 's' }, { "lose", 1, NULL, 'x' },
		{ "marks", 1, NULL, 'm' }, { NULL },
	};
	struct run r = { .seed = 1 };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'l':
			r.log = optarg;
			break;
		case 'i':
			r.index = optarg;
			break;
		case 'b':
			r.base = optarg;
			break;
		case 'd':
			r.disk = optarg;
			break;
		case 'm':
			r.marks = optarg;
			break;
		case 'f':
			r.from = number("--from", optarg, 0, INT64_MAX);
			break;
		case 't':
			r.to = number("--to", optarg, 1, INT64_MAX);
			break;
		case 's':
			r.seed = number("--seed", optarg, 1, INT32_MAX);
			break;
		case 'x':
			r.lose = number("--lose", optarg, 0, 1000);
			break;
		case 'h':
			r.mix = !strcmp(optarg, "mix");
			break;
		default: return 1;
		}
	if (!r.log || !r.index || !r.base || !r.disk || !r.marks || !r.to)
		fatal("run: an option is missing; crash_replay without arguments lists them");
	return run(&r);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	data = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		fatal("no memory");
	if (!strcmp(what, "index") && argc == 4)
		return make_index(argv[2], argv[3]);
	if (!strcmp(what, "pick") && argc == 5)
		return pick_points(map_index(argv[2]), number("POINTS", argv[3], 1, 10000),
				   number("SEED", argv[4], 1, INT32_MAX));
	if (!strcmp(what, "run"))
		return parse_run(argc - 1, argv + 1);
	fprintf(stderr,
"Usage: crash_replay index LOG INDEX\n"
"       crash_replay pick INDEX POINTS SEED\n"
"       crash_replay run --log=LOG --index=INDEX --base=DEVICE --disk=DEVICE --from=ENTRY\n"
"                        --to=ENTRY [--how=cut|mix] [--seed=NUM] [--lose=PERMILLE] --marks=FILE\n");
	return 1;
}
