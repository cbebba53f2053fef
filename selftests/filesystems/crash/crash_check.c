// SPDX-License-Identifier: GPL-2.0
/*
 * crash_check - check that a disk holds all that was promised before the crash
 *
 *	crash_check DIR HISTORY MARKS [strict]
 *
 * Replays each worker's history once. The last promise before the crash fixes the state of
 * the file or the names that it covers; the disk may or may not hold later operations. So:
 *
 *	names		After fsync of the directory or a sync, a name belongs to the same
 *			file, or to a file that got the name later.
 *	reachable	A file that was fsynced or had a promised name, and was not removed
 *			later, has exactly one of the names that it has had since.
 *	size		At least the promised size: no operation makes a file smaller.
 *	contents	Each promised block has the promised version or a later one. If its page
 *			was rewritten later, the block may also be torn, except on a filesystem
 *			that never overwrites data and verifies checksums ("strict").
 *
 * POSIX does not require that fsync of a new or renamed file keeps its name. Linux filesystems
 * do so, and programs rely on it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdbool.h>

#define PROGRAM "crash_check"
#include "history.h"

#define NONE	UINT32_MAX
#define PAGES	(MAX_BLOCKS / PAGE_BLOCKS)

/* Who wrote a block: an operation on this file, or on the one that it is shared from. */
struct content {
	uint32_t file, version;
};

/* One operation OP_SHARE. */
struct share {
	struct share *older;
	uint32_t op, block, nr;
	struct content content[];
};

/* One file of a worker. */
struct file {
	struct content content[MAX_BLOCKS];
	struct share *shares;		/* newest first */
	uint32_t blocks, version[MAX_BLOCKS];
	int name;			/* -1: removed */
	bool promised, named;		/* its contents, its name */
	/* since the last promise: */
	uint32_t promised_blocks, promised_version[MAX_BLOCKS];
	bool removed, written[PAGES];
	uint32_t names;			/* bitmap */
	int found;
};

/* The files that may have a name since the last promise of all names. */
struct allowed {
	uint32_t *file, nr, room;
	bool any;
};

struct model {
	uint32_t worker, synced;	/* operations done before the last promised sync */
	const struct worker *log;
	const uint32_t *promised;	/* by operation: log entry of its mark, or 0 */
	struct file **file;		/* by serial number */
	uint32_t files, bound[NR_NAMES];
	struct allowed allowed[NR_NAMES];
};

static bool strict;
static unsigned long failures, torn, strangers;
static unsigned long checked_blocks, checked_names, checked_files;

__attribute__((format(printf, 2, 3)))
static void wrong(const struct model *m, const char *fmt, ...)
{
	va_list ap;

	if (failures++ >= 10)
		return;
	printf("# lost: w%02u: ", m->worker);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* For the first loss: what was done to a name and to a file, and the promises. */
static void print_history(const struct model *m, uint32_t name, uint32_t serial)
{
	static const char *const kinds[] = {
		[OP_CREATE] = "create", [OP_FSYNC] = "fsync", [OP_RENAME] = "rename",
		[OP_UNLINK] = "unlink", [OP_FSYNC_DIR] = "fsync of the directory",
	};
	const struct op *op = m->log->ops;
	uint32_t n, nr = atomic_load(&m->log->begun);

	if (failures > 1)
		return;
	printf("# %u operations, the first %u synced\n", nr, m->synced);
	for (n = 0; n < nr; n++, op++) {
		bool named = op->kind != OP_FSYNC && op->name == name;

		named |= op->kind == OP_RENAME && op->name2 == name;
		if (op->kind == OP_FSYNC_DIR || (kinds[op->kind] && (named || op->file == serial)))
			printf("#   %u %s: file %u, n%02u n%02u, promised at entry %u\n", n,
			       kinds[op->kind], op->file, op->name, op->name2, m->promised[n]);
	}
}

static struct file *file_of(struct model *m, uint32_t serial)
{
	if (serial >= m->files) {
		uint32_t n = serial + 256;

		m->file = realloc(m->file, n * sizeof(*m->file));
		if (!m->file)
			fatal("no memory");
		memset(m->file + m->files, 0, (n - m->files) * sizeof(*m->file));
		m->files = n;
	}
	if (!m->file[serial]) {
		m->file[serial] = calloc(1, sizeof(struct file));
		if (!m->file[serial])
			fatal("no memory");
		m->file[serial]->name = -1;
	}
	return m->file[serial];
}

static void allow(struct allowed *a, uint32_t serial)
{
	if (a->nr == a->room) {
		a->room = a->room * 2 + 4;
		a->file = realloc(a->file, a->room * sizeof(*a->file));
		if (!a->file)
			fatal("no memory");
	}
	a->file[a->nr++] = serial;
}

static bool is_allowed(const struct allowed *a, uint32_t serial)
{
	uint32_t i;

	for (i = 0; i < a->nr; i++)
		if (a->file[i] == serial)
			return true;
	return !a->any;
}

static void remove_file(struct model *m, uint32_t serial)
{
	struct file *f = file_of(m, serial);

	f->removed = true;
	f->name = -1;
}

static void bind_name(struct model *m, int name, uint32_t serial)
{
	m->bound[name] = serial;
	allow(&m->allowed[name], serial);
	if (serial == NONE)
		return;
	file_of(m, serial)->name = name;
	file_of(m, serial)->names |= 1u << name;
}

/* Operation @n gives each of its blocks of @f a new version. */
static void write_versions(struct file *f, uint32_t n, const struct op *op)
{
	uint32_t i;

	for (i = op->block; i < op->block + op->nr; i++) {
		f->version[i] = n;
		f->content[i] = (struct content){ op->file, n };
		f->written[i / PAGE_BLOCKS] = true;
	}
	if (f->blocks < op->block + op->nr)
		f->blocks = op->block + op->nr;
}

static void share_blocks(struct model *m, struct file *f, uint32_t n, const struct op *op)
{
	struct share *s = malloc(sizeof(*s) + op->nr * sizeof(s->content[0]));

	if (!s)
		fatal("no memory");
	*s = (struct share){ f->shares, n, op->block, op->nr };
	memcpy(s->content, &file_of(m, op->from_file)->content[op->block],
	       op->nr * sizeof(s->content[0]));
	write_versions(f, n, op);
	memcpy(&f->content[op->block], s->content, op->nr * sizeof(s->content[0]));
	f->shares = s;
}

/* Find the last operation that put the contents of @b into block @i; false if there is none. */
static bool find_version(const struct model *m, uint32_t serial, uint32_t i,
			 const struct block *b, uint32_t *version)
{
	const struct share *s;

	if (!block_valid(b) || b->worker != m->worker || b->index != i)
		return false;
	for (s = m->file[serial]->shares; s; s = s->older) {
		const struct content *c;

		if (i < s->block || i >= s->block + s->nr)
			continue;
		c = &s->content[i - s->block];
		if (b->file == c->file && b->version == c->version) {
			*version = s->op;
			return true;
		}
	}
	*version = b->version;
	return b->file == serial;
}

static void apply(struct model *m, uint32_t n, const struct op *op)
{
	struct file *f = op->file ? file_of(m, op->file) : NULL;

	switch (op->kind) {
	case OP_CREATE:
		bind_name(m, op->name, op->file);
		break;
	case OP_WRITE:
		write_versions(f, n, op);
		break;
	case OP_SHARE:
		share_blocks(m, f, n, op);
		break;
	case OP_RENAME:
		if (m->bound[op->name2] != NONE)
			remove_file(m, m->bound[op->name2]);
		bind_name(m, op->name, NONE);
		bind_name(m, op->name2, op->file);
		break;
	case OP_UNLINK:
		bind_name(m, op->name, NONE);
		remove_file(m, op->file);
		break;
	}
}

/* A removed file has no name to lose. */
static void promise_name(struct file *f)
{
	if (f->name < 0)
		return;
	f->named = true;
	f->removed = false;
	f->names = 1u << f->name;
}

static void promise_file(struct file *f)
{
	f->promised = true;
	f->promised_blocks = f->blocks;
	memcpy(f->promised_version, f->version, sizeof(f->version));
	memset(f->written, 0, sizeof(f->written));
	promise_name(f);
}

static void promise_names(struct model *m)
{
	int i;

	for (i = 0; i < NR_NAMES; i++) {
		m->allowed[i].nr = 0;
		m->allowed[i].any = true;
		allow(&m->allowed[i], m->bound[i]);
		if (m->bound[i] != NONE)
			promise_name(file_of(m, m->bound[i]));
	}
}

static void promise_all(struct model *m)
{
	int i;

	promise_names(m);
	for (i = 0; i < NR_NAMES; i++)
		if (m->bound[i] != NONE)
			promise_file(file_of(m, m->bound[i]));
}

static void build(struct model *m)
{
	uint32_t n, nr = atomic_load(&m->log->begun);

	if (m->synced)
		for (n = 0; n < NR_NAMES; n++)
			m->allowed[n].any = true;
	for (n = 0; n < nr; n++) {
		const struct op *op = &m->log->ops[n];

		apply(m, n, op);
		if (m->promised[n] && op->kind == OP_FSYNC)
			promise_file(file_of(m, op->file));
		if (m->promised[n] && op->kind == OP_FSYNC_DIR)
			promise_names(m);
		if (n + 1 == m->synced)
			promise_all(m);
	}
}

/* Returns the file of the first valid block, or NONE. Only the first page is never shared. */
static uint32_t owner(const struct model *m, const struct block *b, ssize_t nr)
{
	ssize_t i;

	for (i = 0; i < nr && i < PAGE_BLOCKS; i++)
		if (block_valid(&b[i]) && b[i].worker == m->worker && b[i].index == i)
			return b[i].file;
	return NONE;
}

static void check_contents(struct model *m, const char *name, uint32_t serial,
			   const struct block *b, ssize_t nr)
{
	struct file *f = file_of(m, serial);
	uint32_t i;

	checked_files++;
	if (nr < f->promised_blocks)
		wrong(m, "%s (file %u) has %zd blocks, not the promised %u", name, serial, nr,
		      f->promised_blocks);
	for (i = 0; i < f->promised_blocks && i < nr; i++) {
		uint32_t version = f->promised_version[i], found = 0;
		bool ours = find_version(m, serial, i, &b[i], &found);

		checked_blocks++;
		if (ours && found >= version &&
		    (found == version || f->written[i / PAGE_BLOCKS]))
			continue;
		/* A block may be torn, but never an older version. */
		if (f->written[i / PAGE_BLOCKS] && !ours) {
			torn++;
			if (!strict)
				continue;
		}
		wrong(m, "%s (file %u) block %u: %s %u, promised version %u", name, serial, i,
		      ours ? "version" : b[i].magic ? "garbage" : "zeroes",
		      ours ? found : 0, version);
	}
}

static void check_file(struct model *m, int dir, const char *name, int n, uint32_t *unknown)
{
	static struct block b[MAX_BLOCKS];
	int fd = openat(dir, name, O_RDONLY);
	const struct allowed *a = &m->allowed[n];
	ssize_t size = fd < 0 ? -1 : pread(fd, b, sizeof(b), 0);
	uint32_t serial, i;

	if (size < 0) {
		/* btrfs returns EIO for data with a wrong checksum. */
		wrong(m, "%s cannot be read: %s", name, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	serial = owner(m, b, size / BLOCK);
	if (serial == NONE) {
		bool ok = !a->any;

		/* Fine for a file without promised contents, or one that may be empty by now. */
		for (i = 0; i < a->nr; i++)
			if (a->file[i] != NONE) {
				struct file *f = file_of(m, a->file[i]);

				ok |= !f->promised || f->written[0];
			}
		if (!ok)
			wrong(m, "%s has no valid block, %zd bytes", name, size);
		strangers++;
		*unknown |= 1u << n;
		return;
	}
	if (serial >= m->files || !m->file[serial]) {
		wrong(m, "%s is file %u, which was never created", name, serial);
		return;
	}
	if (!is_allowed(a, serial)) {
		wrong(m, "%s is file %u, which has not had this name since the promise", name,
		      serial);
		print_history(m, n, serial);
	}
	file_of(m, serial)->found++;
	if (m->file[serial]->promised)
		check_contents(m, name, serial, b, size / BLOCK);
}

static void check_worker(struct model *m, const char *top)
{
	bool present[NR_NAMES] = { false };
	char path[256], name[8];
	uint32_t unknown = 0, i;
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/w%02u", top, m->worker);
	dir = opendir(path);
	if (!dir) {
		wrong(m, "%s: %s", path, strerror(errno));
		return;
	}
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (sscanf(d->d_name, "n%02u", &i) != 1 || i >= NR_NAMES || present[i]) {
			wrong(m, "unexpected name %s", d->d_name);
			continue;
		}
		present[i] = true;
		snprintf(name, sizeof(name), "n%02u", i % NR_NAMES);
		check_file(m, dirfd(dir), name, i, &unknown);
	}
	closedir(dir);
	for (i = 0; i < NR_NAMES; i++) {
		if (!m->allowed[i].any)
			continue;
		checked_names++;
		if (!present[i] && !is_allowed(&m->allowed[i], NONE)) {
			wrong(m, "n%02u is missing", i);
			print_history(m, i, m->bound[i]);
		}
		if (present[i] && m->allowed[i].nr == 1 && is_allowed(&m->allowed[i], NONE))
			wrong(m, "n%02u was removed, but exists", i);
	}
	for (i = 0; i < m->files; i++) {
		const struct file *f = m->file[i];

		if (!f)
			continue;
		if (f->found > 1)
			wrong(m, "file %u has %d names", i, f->found);
		if (f->named && !f->removed && !f->found && !(unknown & f->names))
			wrong(m, "file %u has none of its names", i);
	}
}

static uint32_t **read_marks(const struct history *h, const char *path, uint32_t *synced,
			     unsigned long *promises)
{
	uint32_t **promised = calloc(WORKERS + 1, sizeof(*promised));
	unsigned int w, n, i, entry;
	char line[64];
	FILE *f = fopen(path, "r");

	if (!f || !promised)
		fatal("%s: %s", path, strerror(errno));
	for (w = 0; w <= WORKERS; w++) {
		promised[w] = calloc(MAX_OPS, sizeof(**promised));
		if (!promised[w])
			fatal("no memory");
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "w%u.%u %u", &w, &n, &entry) != 3)
			continue;
		if (w > WORKERS || n >= MAX_OPS)
			fatal("mark %s: no such operation", line);
		++*promises;
		promised[w][n] = entry;
		if (w != SYNC_TASK)
			continue;
		for (i = 0; i < WORKERS; i++) {
			uint32_t d = h->syncs[h->worker[w].ops[n].block].done[i];

			if (synced[i] < d)
				synced[i] = d;
		}
	}
	fclose(f);
	return promised;
}

int main(int argc, char **argv)
{
	uint32_t synced[WORKERS] = { 0 }, w;
	unsigned long promises = 0;
	const struct history *h;
	uint32_t **promised;

	if (argc < 4)
		fatal("usage: crash_check DIR HISTORY MARKS [strict]");
	strict = argc > 4 && !strcmp(argv[4], "strict");
	h = history_map(argv[2], false);
	promised = read_marks(h, argv[3], synced, &promises);
	for (w = 0; w < WORKERS; w++) {
		struct model m = {
			.worker = w, .synced = synced[w], .log = &h->worker[w],
			.promised = promised[w],
		};
		uint32_t i;

		for (i = 0; i < NR_NAMES; i++) {
			m.bound[i] = NONE;
			allow(&m.allowed[i], NONE);
		}
		build(&m);
		check_worker(&m, argv[1]);
	}
	printf("# %lu promises before the crash; checked %lu names, %lu files, %lu blocks; "
	       "%lu torn, %lu without contents, %lu lost\n", promises, checked_names,
	       checked_files, checked_blocks, torn, strangers, failures);
	return failures ? 1 : 0;
}
