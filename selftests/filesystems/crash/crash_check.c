// SPDX-License-Identifier: GPL-2.0
/*
 * crash_check - check that a disk holds all that was promised before the crash
 *
 *	crash_check DIR HISTORY MARKS [strict] [empty]
 *
 * Replays each worker's history once. The last promise before the crash fixes the state of
 * the file or the names that it covers; the disk may or may not hold later operations. So:
 *
 *	names		After fsync of a folder or a sync, each name in it belongs to the same
 *			file, or to a file that got the name later. After fsync of a file, each
 *			of its names does so. With PLAIN=1 a name may also be an old one: the
 *			kernel's btrfs brings some back.
 *	reachable	A file that was fsynced or had a promised name, and was not removed
 *			later, has at least one name. It never has more than it had at one time,
 *			unless "strict": the log of btrfs may have half of a rename.
 *	folders		Each worker's two folders exist, under names they have had since the last
 *			fsync of the folder above, or sync.
 *	size		At least the promised size: no operation makes a file smaller.
 *	contents	Each promised block has the promised version or a later one. If its page
 *			was rewritten later, the block may also be torn, except on a filesystem
 *			that never overwrites data and verifies checksums ("strict").
 *	attribute	It has the promised version or a later one. Data syncs promise none.
 *
 * With "empty", all files and folders can then be removed.
 *
 * POSIX does not require that fsync of a new, linked or renamed file keeps its name. Linux
 * filesystems do so, and programs rely on it. fdatasync promises only that the file is reachable:
 * XFS does not write a rename then.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/xattr.h>

#define PROGRAM "crash_check"
#include "history.h"

#define NONE	UINT32_MAX
#define PAGES	(MAX_BLOCKS / PAGE_BLOCKS)

/* Who wrote a block: an operation on this file, or on the one that it is shared from. */
struct content {
	uint32_t file, version;		/* file 0: zeroes */
};

/* One operation OP_SHARE. */
struct share {
	struct share *older;
	uint32_t op, block, nr;
	struct content content[];
};

/* One file of a worker. Names are bitmaps. */
struct file {
	struct content content[MAX_BLOCKS];
	struct share *shares;		/* newest first */
	enum file_type type;
	uint32_t blocks, version[MAX_BLOCKS], attribute, names;
	bool promised, named;		/* its contents, its name */
	int most_names;			/* since the last promise of all */
	/* since the last promise: */
	uint32_t promised_blocks, promised_version[MAX_BLOCKS], promised_attribute;
	bool removed, written[PAGES];
	uint32_t past_names;
	int found;
};

/* The files, or NONE, that a name may have since its last promise. */
struct allowed {
	uint32_t *file, nr, room;
};

struct model {
	uint32_t worker, synced;	/* operations done before the last promised sync */
	const struct worker *log;
	const uint32_t *promised;	/* by operation: log entry of its mark, or 0 */
	struct file **file;		/* by serial number */
	uint32_t files, bound[NR_NAMES];
	struct allowed allowed[NR_NAMES];
	uint32_t place[2], places[2];	/* of the folders; since the last promise, a bitmap */
};

static bool strict, old_names;
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
		[OP_CREATE] = "create", [OP_LINK] = "link", [OP_FSYNC] = "fsync",
		[OP_RENAME] = "rename", [OP_EXCHANGE] = "exchange", [OP_UNLINK] = "unlink",
		[OP_MOVE_DIR] = "move of folder", [OP_FSYNC_DIR] = "fsync of folder",
		[OP_XATTR] = "attribute",
	};
	const struct op *op = m->log->ops;
	uint32_t n, nr = atomic_load(&m->log->begun);

	if (failures > 1)
		return;
	printf("# %u operations, the first %u synced\n", nr, m->synced);
	for (n = 0; n < nr; n++, op++) {
		bool folder = op->kind == OP_MOVE_DIR || op->kind == OP_FSYNC_DIR;
		bool two = op->kind == OP_RENAME || op->kind == OP_EXCHANGE;
		bool named = op->kind != OP_FSYNC && op->kind != OP_XATTR && op->name == name;

		named |= two && op->name2 == name;
		/* A history can be long. */
		if (n + 64 < m->synced)
			continue;
		if (folder || (kinds[op->kind] && (named || op->file == serial)))
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
	return false;
}

/* Take a name from the file that has it. */
static void release_name(struct model *m, int name)
{
	struct file *f = m->bound[name] == NONE ? NULL : file_of(m, m->bound[name]);

	m->bound[name] = NONE;
	if (!f)
		return;
	f->names &= ~(1u << name);
	f->removed = !f->names;
}

static void bind_name(struct model *m, int name, uint32_t serial)
{
	struct file *f;

	release_name(m, name);
	m->bound[name] = serial;
	allow(&m->allowed[name], serial);
	if (serial == NONE)
		return;
	f = file_of(m, serial);
	f->names |= 1u << name;
	f->past_names |= 1u << name;
	f->removed = false;
	if (f->most_names < __builtin_popcount(f->names))
		f->most_names = __builtin_popcount(f->names);
}

static void move_folder(struct model *m, int folder, uint32_t to)
{
	uint32_t from = m->place[folder];
	int other = !folder;

	if (m->place[other] == to) {
		m->place[other] = from;
		m->places[other] |= 1u << from;
	}
	m->place[folder] = to;
	m->places[folder] |= 1u << to;
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
	memset(s->content, 0, op->nr * sizeof(s->content[0]));
	if (op->from_file)
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
	static const struct block zeroes;
	struct content is = { b->file, b->version };
	const struct share *s;

	if (!memcmp(b, &zeroes, sizeof(*b)))
		is.version = 0;
	else if (!block_valid(b) || b->worker != m->worker || b->index != i)
		return false;
	for (s = m->file[serial]->shares; s; s = s->older) {
		const struct content *c;

		if (i < s->block || i >= s->block + s->nr)
			continue;
		c = &s->content[i - s->block];
		if (is.file == c->file && is.version == c->version) {
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
	uint32_t other;

	switch (op->kind) {
	case OP_CREATE:
		f->type = op->nr;
		if (op->name != NO_NAME)
			bind_name(m, op->name, op->file);
		break;
	case OP_LINK:
		bind_name(m, op->name, op->file);
		break;
	case OP_WRITE:
		write_versions(f, n, op);
		break;
	case OP_SHARE:
		share_blocks(m, f, n, op);
		break;
	case OP_XATTR:
		f->attribute = n;
		break;
	case OP_RENAME:
		release_name(m, op->name);
		bind_name(m, op->name, NONE);
		bind_name(m, op->name2, op->file);
		break;
	case OP_EXCHANGE:
		other = m->bound[op->name2];
		release_name(m, op->name);
		release_name(m, op->name2);
		bind_name(m, op->name, other);
		bind_name(m, op->name2, op->file);
		break;
	case OP_UNLINK:
		bind_name(m, op->name, NONE);
		break;
	case OP_MOVE_DIR:
		move_folder(m, op->name, op->name2);
		break;
	}
}

static void promise_name(struct model *m, int name)
{
	m->allowed[name].nr = 0;
	allow(&m->allowed[name], m->bound[name]);
}

/* A removed file has no name to lose. */
static void promise_reachable(struct file *f, uint32_t names)
{
	if (!f->names)
		return;
	f->named = true;
	f->removed = false;
	f->past_names = (f->past_names & ~names) | f->names;
}

static void promise_file(struct model *m, struct file *f, bool data_only)
{
	int i;

	f->promised = true;
	f->promised_blocks = f->blocks;
	memcpy(f->promised_version, f->version, sizeof(f->version));
	memset(f->written, 0, sizeof(f->written));
	promise_reachable(f, data_only ? 0 : f->names);
	if (data_only)
		return;
	f->promised_attribute = f->attribute;
	for (i = 0; i < NR_NAMES; i++)
		if (f->names & 1u << i)
			promise_name(m, i);
}

/* Folder 2 holds the other two. */
static void promise_folder(struct model *m, int folder)
{
	uint32_t names = ((1u << NR_NAMES / 2) - 1) << folder * NR_NAMES / 2;
	int i;

	if (folder == 2) {
		m->places[0] = 1u << m->place[0];
		m->places[1] = 1u << m->place[1];
		return;
	}
	for (i = 0; i < NR_NAMES; i++) {
		if (FOLDER_OF(i) != folder)
			continue;
		promise_name(m, i);
		if (m->bound[i] != NONE)
			promise_reachable(file_of(m, m->bound[i]), names);
	}
}

static void promise_all(struct model *m)
{
	int i;

	for (i = 0; i < 3; i++)
		promise_folder(m, i);
	for (i = 0; i < NR_NAMES; i++) {
		struct file *f = m->bound[i] == NONE ? NULL : file_of(m, m->bound[i]);

		if (!f)
			continue;
		promise_file(m, f, false);
		f->most_names = __builtin_popcount(f->names);
	}
}

static void build(struct model *m)
{
	uint32_t n, nr = atomic_load(&m->log->begun);

	for (n = 0; n < nr; n++) {
		const struct op *op = &m->log->ops[n];

		apply(m, n, op);
		if (m->promised[n] && op->kind == OP_FSYNC)
			promise_file(m, file_of(m, op->file), op->nr);
		if (m->promised[n] && op->kind == OP_FSYNC_DIR)
			promise_folder(m, op->name);
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

static void check_attribute(struct model *m, const char *name, uint32_t serial, int fd)
{
	union {
		struct attribute a;
		char bytes[512];
	} value = { 0 };
	struct file *f = file_of(m, serial);

	if (!f->promised_attribute)
		return;
	if (fgetxattr(fd, XATTR, &value, sizeof(value)) < (ssize_t)sizeof(value.a) ||
	    value.a.sum != attribute_sum(&value.a) || value.a.worker != m->worker ||
	    value.a.file != serial || value.a.version < f->promised_attribute) {
		wrong(m, "%s (file %u) has the attribute of file %u, version %u, promised version %u",
		      name, serial, value.a.file, value.a.version, f->promised_attribute);
		print_history(m, NONE, serial);
	}
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

/*
 * Returns the file, or NONE if this was reported, or may have no contents. A folder's mode is its
 * number modulo 1024; a symbolic link names its file.
 */
static uint32_t identify(struct model *m, int dir, const char *name, int n, const struct stat *st,
			 const struct block *b, ssize_t size)
{
	const struct allowed *a = &m->allowed[n];
	uint32_t serial = NONE, i;
	char target[16] = "";
	bool ok = false;

	if (S_ISREG(st->st_mode))
		serial = owner(m, b, size / BLOCK);
	else if (S_ISLNK(st->st_mode) && readlinkat(dir, name, target, sizeof(target) - 1) > 0)
		sscanf(target, "s%u", &serial);
	for (i = 0; i < a->nr; i++) {
		struct file *f = a->file[i] == NONE ? NULL : file_of(m, a->file[i]);

		if (f && S_ISDIR(st->st_mode) && f->type == FOLDER &&
		    (st->st_mode & 01777) == FOLDER_MODE(a->file[i]))
			serial = a->file[i];
		/* Fine for a file without promised contents, or one that may be empty by now. */
		if (f && S_ISREG(st->st_mode) && f->type == REGULAR)
			ok |= !f->promised || f->written[0];
		if (f && S_ISLNK(st->st_mode) && f->type == SYMLINK)
			ok |= !f->named;
	}
	if (serial == NONE) {
		strangers++;
		if (!ok) {
			wrong(m, "%s, mode %o, %zd bytes, is no file of this name", name,
			      st->st_mode, size);
			print_history(m, n, m->bound[n]);
		}
	} else if (serial >= m->files || !m->file[serial]) {
		wrong(m, "%s is file %u, which was never created", name, serial);
		serial = NONE;
	}
	return serial;
}

static void check_file(struct model *m, int dir, const char *name, int n, uint32_t *unknown)
{
	static struct block b[MAX_BLOCKS];
	ssize_t size = 0;
	uint32_t serial;
	struct stat st;
	int fd = -1;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		size = -1;
	else if (!S_ISLNK(st.st_mode))
		fd = openat(dir, name, O_RDONLY);
	if (!size && S_ISREG(st.st_mode))
		size = pread(fd, b, sizeof(b), 0);
	if (size < 0 || (fd < 0 && !S_ISLNK(st.st_mode))) {
		/* btrfs returns EIO for data with a wrong checksum. */
		wrong(m, "%s cannot be read: %s", name, strerror(errno));
		goto out;
	}
	serial = identify(m, dir, name, n, &st, b, size);
	if (serial == NONE) {
		*unknown |= 1u << n;
		goto out;
	}
	if (!old_names && !is_allowed(&m->allowed[n], serial)) {
		wrong(m, "%s is file %u, which has not had this name since the promise", name,
		      serial);
		print_history(m, n, serial);
	}
	m->file[serial]->found++;
	if (m->file[serial]->promised && fd >= 0) {
		check_attribute(m, name, serial, fd);
		if (S_ISREG(st.st_mode))
			check_contents(m, name, serial, b, size / BLOCK);
	}
out:
	if (fd >= 0)
		close(fd);
}

static void check_folder(struct model *m, int dir, int folder, bool *present, uint32_t *unknown)
{
	DIR *d = fdopendir(dup(dir));
	struct dirent *e;
	uint32_t i;

	if (!d)
		fatal("opendir: %s", strerror(errno));
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || e->d_name[0] == 'i')
			continue;
		if (sscanf(e->d_name, "n%02u", &i) != 1 || i >= NR_NAMES || present[i] ||
		    FOLDER_OF(i) != (uint32_t)folder) {
			wrong(m, "unexpected name %s in folder %d", e->d_name, folder);
			continue;
		}
		present[i] = true;
		check_file(m, dir, e->d_name, i, unknown);
	}
	closedir(d);
}

/* The file "is0" or "is1" tells which of the folders has this name. */
static void check_folders(struct model *m, const char *top, bool *present, uint32_t *unknown)
{
	bool found[2] = { false };
	char path[256];
	int i, k, dir;

	for (i = 0; i < NR_PLACES; i++) {
		snprintf(path, sizeof(path), "%s/w%02u/d%02u", top, m->worker, i);
		dir = open(path, O_RDONLY | O_DIRECTORY);
		if (dir < 0)
			continue;
		k = faccessat(dir, "is0", F_OK, 0) ? 1 : 0;
		if (faccessat(dir, k ? "is1" : "is0", F_OK, 0) || found[k] ||
		    !(m->places[k] & 1u << i)) {
			wrong(m, "d%02d is not the folder of this name", i);
			print_history(m, NONE, NONE);
		}
		found[k] = true;
		check_folder(m, dir, k, present, unknown);
		close(dir);
	}
	for (k = 0; k < 2; k++)
		if (!found[k]) {
			wrong(m, "folder %d is missing", k);
			print_history(m, NONE, NONE);
		}
}

static void check_worker(struct model *m, const char *top)
{
	bool present[NR_NAMES] = { false };
	uint32_t unknown = 0, i;

	check_folders(m, top, present, &unknown);
	for (i = 0; i < NR_NAMES; i++) {
		checked_names++;
		if (!present[i] && !is_allowed(&m->allowed[i], NONE)) {
			wrong(m, "n%02u is missing", i);
			print_history(m, i, m->bound[i]);
		}
		if (!old_names && present[i] && m->allowed[i].nr == 1 &&
		    is_allowed(&m->allowed[i], NONE)) {
			wrong(m, "n%02u was removed, but exists", i);
			print_history(m, i, NONE);
		}
	}
	for (i = 0; i < m->files; i++) {
		const struct file *f = m->file[i];

		if (!f)
			continue;
		if (f->found > f->most_names && !strict) {
			wrong(m, "file %u has %d names", i, f->found);
			print_history(m, NONE, i);
		}
		if (f->named && !f->removed && !f->found && !(unknown & f->past_names)) {
			wrong(m, "file %u has none of its names", i);
			print_history(m, NONE, i);
		}
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	if (ftw->level && remove(path)) {
		failures++;
		printf("# lost: %s cannot be removed: %s\n", path, strerror(errno));
	}
	return 0;
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
		fatal("usage: crash_check DIR HISTORY MARKS [strict] [empty]");
	strict = argc > 4 && !strcmp(argv[4], "strict");
	old_names = getenv("PLAIN");
	h = history_map(argv[2], false);
	promised = read_marks(h, argv[3], synced, &promises);
	for (w = 0; w < WORKERS; w++) {
		struct model m = {
			.worker = w, .synced = synced[w], .log = &h->worker[w],
			.promised = promised[w], .place = { 0, 1 }, .places = { 1, 2 },
		};
		uint32_t i;

		for (i = 0; i < NR_NAMES; i++) {
			m.bound[i] = NONE;
			promise_name(&m, i);
		}
		build(&m);
		check_worker(&m, argv[1]);
	}
	if (!strcmp(argv[argc - 1], "empty"))
		nftw(argv[1], remove_one, 16, FTW_DEPTH | FTW_PHYS);
	printf("# %lu promises before the crash; checked %lu names, %lu files, %lu blocks; "
	       "%lu torn, %lu without contents, %lu lost\n", promises, checked_names,
	       checked_files, checked_blocks, torn, strangers, failures);
	return failures ? 1 : 0;
}
