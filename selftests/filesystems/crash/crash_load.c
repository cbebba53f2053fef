// SPDX-License-Identifier: GPL-2.0
/*
 * crash_load - workload on dm-log-writes, with a mark in its log for each promise
 *
 *	crash_load DIR DM LOG HISTORY SECONDS SEED [WORD,...]
 *
 * Runs in DIR, on the log-writes device DM, and writes the history of all operations to HISTORY.
 * Workers of different priority, each in two folders of its own, create, link, rename, exchange
 * and unlink files, symbolic links and folders, write to files and set attributes. They fsync
 * files and folders after each few operations. One task calls syncfs. Busy tasks compete for the
 * CPUs. After each fsync or syncfs, the caller writes a mark "w<worker>.<operation>" to the log.
 * Any disk with the log up to this mark must hold all that the call promises. The words:
 *
 *	share		clone ranges of files
 *	names		links, symbolic links, folders that move
 *	extended	exchange names, link files without a name, fallocate, set attributes
 *	mmap		write by mmap(), too
 *	loose		do not fsync the folders after each rename
 *	no-fsync	mark calls that are omitted
 *
 * Without "loose", f2fs may lose a renamed file when another one gets its old name and is fsynced:
 * recovery knows only the other file, and takes the name from the renamed one. A new link is
 * fsynced for the same reason.
 *
 * dm-log-writes logs a write after a later flush, or the write's own FUA, has completed, and
 * before the filesystem learns of the completion. So the mark follows all writes that the call
 * made durable.
 */
#define _GNU_SOURCE
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define PROGRAM "crash_load"
#include "history.h"

#define BUSY		3
#define FULL		85	/* percent of the log */

static const char *dir, *dm;
static uint32_t seed;
static bool share_files, names, extended, map_files, loose, no_fsync;

static struct history *history;
static _Atomic int *stop;

/* A file, as its worker sees it. */
struct file {
	uint32_t serial, blocks;
	enum file_type type;
	int fd, names;
};

struct task {
	uint32_t id, random, next_file;
	struct worker *log;
	int dir[3], control;		/* the third holds the other two */
	uint32_t place[2];
	struct file *files[NR_NAMES];
};

static int dm_control(void)
{
	int fd = open("/dev/mapper/control", O_RDWR);

	if (fd < 0)
		fatal("/dev/mapper/control: %s (no device mapper?)", strerror(errno));
	return fd;
}

static union dm_buffer {
	struct dm_ioctl head;
	char bytes[4096];
} buffer;

static void dm_begin(void)
{
	memset(&buffer, 0, sizeof(buffer));
	buffer.head.version[0] = DM_VERSION_MAJOR;
	buffer.head.data_size = sizeof(buffer);
	buffer.head.data_start = sizeof(struct dm_ioctl);
	snprintf(buffer.head.name, sizeof(buffer.head.name), "%s", dm);
}

__attribute__((format(printf, 2, 3)))
static void mark(int control, const char *fmt, ...)
{
	struct dm_target_msg *msg;
	va_list ap;
	int n;

	dm_begin();
	msg = (void *)(buffer.bytes + sizeof(struct dm_ioctl));
	n = sprintf(msg->message, "mark ");
	va_start(ap, fmt);
	vsnprintf(msg->message + n, 64, fmt, ap);
	va_end(ap);
	if (ioctl(control, DM_TARGET_MSG, &buffer))
		fatal("mark in the log of %s: %s", dm, strerror(errno));
}

/* Returns the sectors of the log in use; an overflown log is fatal. */
static unsigned long long log_used(int control)
{
	struct dm_target_spec *spec;
	unsigned long long entries, sector;
	const char *status;

	dm_begin();
	if (ioctl(control, DM_TABLE_STATUS, &buffer))
		fatal("status of %s: %s", dm, strerror(errno));
	spec = (void *)(buffer.bytes + buffer.head.data_start);
	status = (char *)(spec + 1);
	if (sscanf(status, "%llu %llu", &entries, &sector) != 2 ||
	    strcmp(spec->target_type, "log-writes"))
		fatal("%s is no log-writes device", dm);
	if (strstr(status, "logging_disabled"))
		fatal("the log of %s is full, or failed", dm);
	return sector;
}

static uint32_t pick(struct task *t, uint32_t n)
{
	return next_random(&t->random) % n;
}

/* Record an operation before it begins. Returns its number. */
static uint32_t begin(struct task *t, struct op op)
{
	uint32_t n = atomic_load(&t->log->begun);

	if (n >= MAX_OPS)
		_exit(0);
	t->log->ops[n] = op;
	atomic_store(&t->log->begun, n + 1);
	return n;
}

static void done(struct task *t)
{
	atomic_store(&t->log->done, atomic_load(&t->log->begun));
}

static void failed(const char *what)
{
	fatal("%s: %s", what, strerror(errno));
}

/* The last four results are valid. */
static const char *name_of(char letter, int name)
{
	static char names[4][8];
	static int n;

	n = (n + 1) % 4;
	snprintf(names[n], sizeof(names[n]), "%c%02d", letter, name);
	return names[n];
}

static int folder_of(const struct task *t, int name)
{
	return t->dir[FOLDER_OF(name)];
}

/* Make a call that promises durability, then mark it. */
static void make_durable(struct task *t, struct op op, int fd)
{
	uint32_t n = begin(t, op);

	if (!no_fsync && (op.kind == OP_SYNC ? syncfs(fd) : op.nr ? fdatasync(fd) : fsync(fd)))
		failed("fsync");
	done(t);
	mark(t->control, "w%u.%u", t->id, n);
	atomic_fetch_add(&history->promises, 1);
}

static void make_folder_durable(struct task *t, int folder)
{
	make_durable(t, (struct op){ .kind = OP_FSYNC_DIR, .name = folder }, t->dir[folder]);
}

/* A symbolic link is durable by its folder only. */
static void make_file_durable(struct task *t, int name, bool data_only)
{
	struct file *f = t->files[name];

	if (f->type == SYMLINK)
		make_folder_durable(t, FOLDER_OF(name));
	else
		make_durable(t, (struct op){ .kind = OP_FSYNC, .file = f->serial,
					     .nr = data_only }, f->fd);
}

static void make_names_durable(struct task *t, int name, int name2)
{
	make_folder_durable(t, FOLDER_OF(name));
	if (FOLDER_OF(name2) != FOLDER_OF(name))
		make_folder_durable(t, FOLDER_OF(name2));
}

static void forget(struct task *t, int name)
{
	struct file *f = t->files[name];

	t->files[name] = NULL;
	if (!f || --f->names)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

enum write_kind { BUFFERED, DIRECT, MAPPED };

static bool put_blocks(struct file *f, const void *blocks, size_t size, off_t at,
		       enum write_kind how)
{
	char *map;
	int flags;
	bool ok;

	if (how == MAPPED) {
		map = mmap(NULL, at + size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
		if (map == MAP_FAILED)
			return false;
		memcpy(map + at, blocks, size);
		ok = !msync(map, at + size, MS_ASYNC);
		return !munmap(map, at + size) && ok;
	}
	flags = fcntl(f->fd, F_GETFL);
	if (how == DIRECT && fcntl(f->fd, F_SETFL, flags | O_DIRECT))
		return false;
	ok = pwrite(f->fd, blocks, size, at) == (ssize_t)size;
	return !fcntl(f->fd, F_SETFL, flags) && ok;
}

static void write_blocks(struct task *t, struct file *f, uint32_t from, uint32_t nr,
			 enum write_kind how)
{
	static struct block blocks[MAX_BLOCKS] __attribute__((aligned(4096)));
	uint32_t n, i;

	n = begin(t, (struct op){ .kind = OP_WRITE, .file = f->serial, .block = from, .nr = nr });
	for (i = 0; i < nr; i++)
		block_fill(&blocks[i], t->id, f->serial, from + i, n);
	if (!put_blocks(f, blocks, nr * BLOCK, (off_t)from * BLOCK, how))
		failed(how == DIRECT ? "direct write" : how == MAPPED ? "mmap" : "write");
	if (f->blocks < from + nr)
		f->blocks = from + nr;
	done(t);
}

static struct file *new_file(struct task *t, enum file_type type, int name)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		fatal("no memory");
	*f = (struct file){ .serial = ++t->next_file, .type = type, .fd = -1, .names = 1 };
	begin(t, (struct op){ .kind = OP_CREATE, .file = f->serial, .name = name, .nr = type });
	return f;
}

static void write_new(struct task *t, struct file *f)
{
	static const uint32_t sizes[] = { 1, 2, 3, 8, 16, 40, 64 };

	write_blocks(t, f, 0, sizes[pick(t, sizeof(sizes) / sizeof(sizes[0]))], BUFFERED);
}

static void create(struct task *t, int name)
{
	struct file *f = new_file(t, REGULAR, name);

	f->fd = openat(folder_of(t, name), name_of('n', name), O_RDWR | O_CREAT | O_EXCL, 0644);
	if (f->fd < 0)
		failed("create");
	done(t);
	t->files[name] = f;
	write_new(t, f);
}

/* The mode of a folder identifies it. */
static void create_other(struct task *t, int name, enum file_type type)
{
	struct file *f = new_file(t, type, name);
	const char *s = name_of('n', name);
	char target[16];
	int dir = folder_of(t, name);

	snprintf(target, sizeof(target), "s%u", f->serial);
	if (type == SYMLINK ? symlinkat(target, dir, s) : mkdirat(dir, s, FOLDER_MODE(f->serial)))
		failed(type == SYMLINK ? "symlink" : "mkdir");
	if (type == FOLDER) {
		f->fd = openat(dir, s, O_RDONLY | O_DIRECTORY);
		if (f->fd < 0)
			failed("open");
	}
	done(t);
	t->files[name] = f;
}

/* Programs replace a file so: write one without a name, link it, and fsync it or the folder. */
static void create_unnamed(struct task *t, int name)
{
	struct file *f = new_file(t, REGULAR, NO_NAME);
	char path[32];

	f->fd = openat(folder_of(t, name), ".", O_RDWR | O_TMPFILE, 0644);
	if (f->fd < 0)
		failed("O_TMPFILE");
	done(t);
	write_new(t, f);
	if (pick(t, 2))
		make_durable(t, (struct op){ .kind = OP_FSYNC, .file = f->serial }, f->fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	begin(t, (struct op){ .kind = OP_LINK, .file = f->serial, .name = name });
	if (linkat(AT_FDCWD, path, folder_of(t, name), name_of('n', name), AT_SYMLINK_FOLLOW))
		failed("link of a file without a name");
	done(t);
	t->files[name] = f;
}

static void link_file(struct task *t, int old, int name)
{
	struct file *f = t->files[old];

	begin(t, (struct op){ .kind = OP_LINK, .file = f->serial, .name = name });
	if (linkat(folder_of(t, old), name_of('n', old), folder_of(t, name), name_of('n', name), 0))
		failed("link");
	done(t);
	f->names++;
	t->files[name] = f;
}

static void rename_file(struct task *t, int from, int to)
{
	struct file *f = t->files[from], *g = t->files[to];
	bool exchange = extended && g && pick(t, 2);

	/* rename() between two names of one file does nothing, nor can it replace any by any. */
	if (f == g || (!exchange && g && (f->type == FOLDER || g->type == FOLDER)))
		return;
	begin(t, (struct op){ .kind = exchange ? OP_EXCHANGE : OP_RENAME, .file = f->serial,
			      .name = from, .name2 = to });
	if (renameat2(folder_of(t, from), name_of('n', from), folder_of(t, to), name_of('n', to),
		      exchange ? RENAME_EXCHANGE : 0))
		failed("rename");
	done(t);
	if (!exchange)
		forget(t, to);
	t->files[from] = exchange ? g : NULL;
	t->files[to] = f;
	if (!loose || pick(t, 2))
		make_names_durable(t, from, to);
}

/* Rename one of the two folders with all files in it, or exchange them. */
static void move_folder(struct task *t)
{
	int n = pick(t, 2), to = pick(t, NR_PLACES), from = t->place[n];
	bool exchange = t->place[!n] == (uint32_t)to;

	if (from == to || (exchange && !extended))
		return;
	begin(t, (struct op){ .kind = OP_MOVE_DIR, .name = n, .name2 = to });
	if (renameat2(t->dir[2], name_of('d', from), t->dir[2], name_of('d', to),
		      exchange ? RENAME_EXCHANGE : 0))
		failed("rename of a folder");
	done(t);
	if (exchange)
		t->place[!n] = from;
	t->place[n] = to;
	if (!loose || pick(t, 2))
		make_folder_durable(t, 2);
}

static void unlink_file(struct task *t, int name)
{
	struct file *f = t->files[name];

	begin(t, (struct op){ .kind = OP_UNLINK, .file = f->serial, .name = name });
	if (unlinkat(folder_of(t, name), name_of('n', name), f->type == FOLDER ? AT_REMOVEDIR : 0))
		failed("unlink");
	done(t);
	forget(t, name);
}

static void set_attribute(struct task *t, struct file *f)
{
	union {
		struct attribute a;
		char bytes[512];
	} value = { .a = { t->id, f->serial } };

	value.a.version = begin(t, (struct op){ .kind = OP_XATTR, .file = f->serial });
	value.a.sum = attribute_sum(&value.a);
	if (fsetxattr(f->fd, XATTR, &value, sizeof(value.a) + pick(t, 400), 0))
		failed("setxattr");
	done(t);
}

/*
 * Punch, zero or append. The first page stays, since it names the file. Blocks beyond the end
 * belong to no file's history.
 */
static void allocate(struct task *t, struct file *f)
{
	static const int modes[] = { FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE, 0, FALLOC_FL_KEEP_SIZE };
	uint32_t pages = f->blocks / PAGE_BLOCKS, from = f->blocks, nr = pick(t, 40) + 1;
	int mode = modes[pick(t, 4)];

	if (mode & ~FALLOC_FL_KEEP_SIZE) {
		if (pages < 2)
			return;
		from = 1 + pick(t, pages - 1);
		nr = (1 + pick(t, pages - from)) * PAGE_BLOCKS;
		from *= PAGE_BLOCKS;
	} else if (from + nr > MAX_BLOCKS) {
		return;
	}
	if (mode != FALLOC_FL_KEEP_SIZE)
		begin(t, (struct op){ .kind = OP_SHARE, .file = f->serial, .block = from,
				      .nr = nr });
	if (fallocate(f->fd, mode, (off_t)from * BLOCK, (off_t)nr * BLOCK))
		failed("fallocate");
	if (mode != FALLOC_FL_KEEP_SIZE && f->blocks < from + nr)
		f->blocks = from + nr;
	done(t);
}

static void change(struct task *t, struct file *f)
{
	uint32_t from = f->blocks, nr = pick(t, 24) + 1, how = pick(t, 8);

	if (how < 2 && extended) {
		how ? set_attribute(t, f) : allocate(t, f);
		return;
	}
	if (!pick(t, 2) || from + nr > MAX_BLOCKS) {
		from = pick(t, f->blocks);
		nr = pick(t, f->blocks - from < 16 ? f->blocks - from : 16) + 1;
	}
	if (how == 2) {
		from -= from % PAGE_BLOCKS;
		nr = (nr + PAGE_BLOCKS - 1) / PAGE_BLOCKS * PAGE_BLOCKS;
	}
	write_blocks(t, f, from, nr, how == 2 ? DIRECT :
		     how == 3 && map_files && from + nr <= f->blocks ? MAPPED : BUFFERED);
}

/*
 * Share whole pages of a file with another one. The first page stays, since it names the file. The
 * log then has checksums of a part of an extent, and often of the whole.
 */
static void share(struct task *t, int to_name, int from_name)
{
	struct file *to = t->files[to_name], *from = t->files[from_name];
	uint32_t pages = from->blocks / PAGE_BLOCKS, room = to->blocks / PAGE_BLOCKS, first, nr;
	struct file_clone_range range = { .src_fd = from->fd };

	if (room >= pages)
		room = pages - 1;
	if (to == from || pages < 2 || !room)
		return;
	first = 1 + pick(t, room);
	nr = 1 + pick(t, pages - first);
	/* Often the extent is of this transaction. */
	if (pick(t, 4))
		write_blocks(t, from, 0, from->blocks, BUFFERED);
	range.src_offset = (uint64_t)first * PAGE_BLOCKS * BLOCK;
	range.dest_offset = range.src_offset;
	range.src_length = (uint64_t)nr * PAGE_BLOCKS * BLOCK;
	begin(t, (struct op){ .kind = OP_SHARE, .file = to->serial, .block = first * PAGE_BLOCKS,
			      .nr = nr * PAGE_BLOCKS, .from_file = from->serial });
	if (to->blocks < (first + nr) * PAGE_BLOCKS)
		to->blocks = (first + nr) * PAGE_BLOCKS;
	if (ioctl(to->fd, FICLONERANGE, &range))
		failed("clone");
	done(t);
	if (pick(t, 4))
		make_file_durable(t, to_name, pick(t, 2));
	if (pick(t, 4))
		make_file_durable(t, from_name, pick(t, 2));
}

static void fill_name(struct task *t, int name, int other)
{
	uint32_t how = names ? pick(t, 8) : 8;

	if (how == 0 && t->files[other] && t->files[other]->type == REGULAR) {
		link_file(t, other, name);
		if (pick(t, 2))
			make_folder_durable(t, FOLDER_OF(name));
		else
			make_file_durable(t, name, false);
		return;
	}
	if (how == 1)
		create_other(t, name, SYMLINK);
	else if (how == 2)
		create_other(t, name, FOLDER);
	else if (how == 3 && extended)
		create_unnamed(t, name);
	else
		create(t, name);
	if (pick(t, 2))
		make_file_durable(t, name, how > 3 && pick(t, 2));
}

static void step(struct task *t)
{
	int name = pick(t, NR_NAMES), other = pick(t, NR_NAMES);
	struct file *f = t->files[name], *g = t->files[other];

	if (!f) {
		fill_name(t, name, other);
		return;
	}
	if (share_files && f->type == REGULAR && pick(t, 4) == 0) {
		if (g && g->type == REGULAR)
			share(t, name, other);
		return;
	}
	switch (pick(t, 16)) {
	case 0:
		unlink_file(t, name);
		break;
	case 1: case 2:
		rename_file(t, name, other);
		break;
	case 3:
		make_folder_durable(t, pick(t, 3));
		break;
	case 4: case 5:
		make_file_durable(t, name, pick(t, 2));
		break;
	case 6:
		if (names)
			move_folder(t);
		break;
	default:
		if (f->type == REGULAR)
			change(t, f);
		else if (f->type == FOLDER && extended)
			set_attribute(t, f);
		else if (f->type == SYMLINK)
			unlink_file(t, name);
		if (t->files[name] && pick(t, 2))
			make_file_durable(t, name, pick(t, 2));
	}
}

/* Worker 0 has nice -20, worker 1 SCHED_FIFO; the others nice 0, nice 19 or SCHED_IDLE. */
static void take_priority(uint32_t id)
{
	struct sched_param param = { 0 };
	int policy = SCHED_OTHER, nice = 0;

	switch (id) {
	case 0:
		nice = -20;
		break;
	case 1:
		policy = SCHED_FIFO;
		param.sched_priority = 1;
		break;
	default:
		if (id % 3 == 0)
			policy = SCHED_IDLE;
		else if (id % 3 == 1)
			nice = 19;
	}
	if (sched_setscheduler(0, policy, &param) || setpriority(PRIO_PROCESS, 0, nice))
		failed("priority");
}

static void work(uint32_t id)
{
	struct task t = {
		.id = id, .log = &history->worker[id], .control = dm_control(),
		.random = seed * 2654435761u + id * 97 + 1,
	};
	char path[256];
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), i < 2 ? "%s/w%02u/d%02d" : "%s/w%02u", dir, id, i);
		t.dir[i] = open(path, O_RDONLY | O_DIRECTORY);
		if (t.dir[i] < 0)
			failed(path);
	}
	t.place[1] = 1;
	take_priority(id);
	while (!atomic_load(stop)) {
		step(&t);
		/* These two would starve the others. */
		if (id < 2)
			usleep(500);
	}
	_exit(0);
}

/* With clones, less often: a commit removes the log, which is what a shared extent can spoil. */
static void sync_all(int fs)
{
	struct task t = {
		.id = SYNC_TASK, .log = &history->worker[SYNC_TASK],
		.control = dm_control(), .random = seed,
	};
	uint32_t n, w;

	for (n = 0; n < MAX_SYNCS && !atomic_load(stop); n++) {
		for (w = 0; w < WORKERS; w++)
			history->syncs[n].done[w] = atomic_load(&history->worker[w].done);
		make_durable(&t, (struct op){ .kind = OP_SYNC, .block = n }, fs);
		usleep((share_files ? 10 : 1) * (50000 + pick(&t, 200) * 1000));
	}
	_exit(0);
}

static void burn(void)
{
	volatile unsigned long n = 0;

	while (!atomic_load(stop))
		n++;
	_exit(0);
}

static uint64_t sectors_of(const char *log)
{
	int fd = open(log, O_RDONLY);
	uint64_t sectors;

	if (fd < 0)
		failed(log);
	sectors = lseek(fd, 0, SEEK_END) / 512;
	close(fd);
	return sectors;
}

/*
 * Make the folders of the workers, with an empty file in each that tells which one it is. Returns
 * the descriptor of the directory that holds them.
 */
static int make_dirs(void)
{
	int fs = open(dir, O_RDONLY | O_DIRECTORY), i, k;
	char name[32];

	if (fs < 0)
		failed(dir);
	umask(0);
	for (i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "w%02d", i);
		if (mkdirat(fs, name, 0755))
			failed(name);
		for (k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), "w%02d/d%02d", i, k);
			if (mkdirat(fs, name, 0755))
				failed(name);
			snprintf(name, sizeof(name), "w%02d/d%02d/is%d", i, k, k);
			if (mknodat(fs, name, S_IFREG | 0644, 0))
				failed(name);
		}
	}
	if (syncfs(fs))
		failed("syncfs");
	return fs;
}

static void start_tasks(pid_t *pids, int nr, int fs)
{
	int i;

	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			failed("fork");
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i < WORKERS)
			work(i);
		if (i == WORKERS)
			sync_all(fs);
		burn();
	}
}

int main(int argc, char **argv)
{
	static const int n = WORKERS + 1 + BUSY;
	const char *why = "time is up", *how = argc > 7 ? argv[7] : "";
	pid_t pids[WORKERS + 1 + BUSY];
	int i, fs, control, status, bad = 0;
	struct statvfs space;
	uint64_t sectors;
	double end;

	if (argc < 7)
		fatal("usage: crash_load DIR DM LOG HISTORY SECONDS SEED [WORD,...]");
	dir = argv[1];
	dm = argv[2];
	sectors = sectors_of(argv[3]);
	history = history_map(argv[4], true);
	end = duration(argv[5], 3600);
	seed = number("SEED", argv[6], 1, INT32_MAX);
	share_files = strstr(how, "share");
	names = strstr(how, "names");
	extended = strstr(how, "extended");
	map_files = strstr(how, "mmap");
	loose = strstr(how, "loose");
	no_fsync = strstr(how, "no-fsync");
	stop = shared_memory(sizeof(*stop));
	fs = make_dirs();
	control = dm_control();
	mark(control, "begin");
	start_tasks(pids, n, fs);
	/* This task must run beside the busy tasks, to stop before the log is full. */
	setpriority(PRIO_PROCESS, 0, -20);
	for (end += now(); now() < end; usleep(20000)) {
		if (log_used(control) > sectors / 100 * FULL) {
			why = "the log is full enough";
			break;
		}
		/* nilfs2 has no collector here. */
		if (fstatvfs(fs, &space) || space.f_bavail < space.f_blocks / 4) {
			why = "the disk is full enough";
			break;
		}
		if (waitpid(-1, &status, WNOHANG) > 0) {
			why = "a task ended";
			bad = status;
			break;
		}
	}
	atomic_store(stop, 1);
	for (i = 0; i < n; i++)
		if (waitpid(pids[i], &status, 0) == pids[i])
			bad |= status;
	mark(control, "end");
	usleep(100000);
	printf("# %s: %u promises; the log has %llu MiB\n", why, history->promises,
	       (unsigned long long)log_used(control) >> 11);
	if (bad)
		fatal("a task failed");
	/* Every driver makes far more than one in two seconds. */
	if (history->promises < atof(argv[5]) / 2)
		fatal("only %u promises, too few to prove anything", history->promises);
	return 0;
}
