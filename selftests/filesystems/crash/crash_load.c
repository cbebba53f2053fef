// SPDX-License-Identifier: GPL-2.0
/*
 * crash_load - workload on dm-log-writes, with a mark in its log for each promise
 *
 *	crash_load DIR DM LOG HISTORY SECONDS SEED [share|no-fsync]
 *
 * Runs in DIR, on the log-writes device DM, and writes the history of all operations to HISTORY.
 * Workers of different priority create, write, overwrite, append to, rename and unlink files, each
 * in its own directory, and fsync files and directory. With "share" they also clone ranges of
 * files. One task calls syncfs. Busy tasks compete for the CPUs. After each fsync or syncfs, the
 * caller writes a mark "w<worker>.<operation>" to the log. Any disk with the log up to this mark
 * must hold all that the call promises. With "no-fsync" the workload marks calls that it omits.
 *
 * A rename is followed by an fsync of the directory. Without that, f2fs may lose the file when
 * another one gets its old name and is fsynced: recovery knows only the other file, and takes the
 * name from the renamed one.
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
#include <sys/wait.h>

#define PROGRAM "crash_load"
#include "history.h"

#define BUSY		3
#define FULL		85	/* percent of the log */

static const char *dir, *dm;
static uint32_t seed;
static bool share_files, no_fsync;

static struct history *history;
static _Atomic int *stop;

/* A file with a name, as its worker sees it. */
struct file {
	uint32_t serial;	/* 0: none */
	uint32_t blocks;
	int fd;
};

struct task {
	uint32_t id, random, next_file;
	struct worker *log;
	int dir, control;
	struct file files[NR_NAMES];
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

static const char *name_of(int name)
{
	static char names[2][8];
	static int n;

	n = !n;
	snprintf(names[n], sizeof(names[n]), "n%02d", name);
	return names[n];
}

/* Make a call that promises durability, then mark it. */
static void make_durable(struct task *t, struct op op, int fd, bool data_only)
{
	uint32_t n = begin(t, op);

	if (!no_fsync &&
	    (op.kind == OP_SYNC ? syncfs(fd) : data_only ? fdatasync(fd) : fsync(fd)))
		failed("fsync");
	done(t);
	mark(t->control, "w%u.%u", t->id, n);
	atomic_fetch_add(&history->promises, 1);
}

static void forget(struct file *f)
{
	if (f->serial)
		close(f->fd);
	f->serial = 0;
}

static void write_blocks(struct task *t, struct file *f, uint32_t from, uint32_t nr)
{
	static struct block blocks[MAX_BLOCKS];
	uint32_t n, i;

	n = begin(t, (struct op){ .kind = OP_WRITE, .file = f->serial, .block = from, .nr = nr });
	for (i = 0; i < nr; i++)
		block_fill(&blocks[i], t->id, f->serial, from + i, n);
	if (pwrite(f->fd, blocks, nr * BLOCK, (off_t)from * BLOCK) != nr * BLOCK)
		failed("write");
	if (f->blocks < from + nr)
		f->blocks = from + nr;
	done(t);
}

static void create(struct task *t, int name)
{
	static const uint32_t sizes[] = { 1, 2, 3, 8, 16, 40, 64 };
	struct file *f = &t->files[name];

	f->serial = ++t->next_file;
	f->blocks = 0;
	begin(t, (struct op){ .kind = OP_CREATE, .file = f->serial, .name = name });
	f->fd = openat(t->dir, name_of(name), O_RDWR | O_CREAT | O_EXCL, 0644);
	if (f->fd < 0)
		failed("create");
	done(t);
	write_blocks(t, f, 0, sizes[pick(t, sizeof(sizes) / sizeof(sizes[0]))]);
}

static void rename_file(struct task *t, int from, int to)
{
	struct file *f = &t->files[from];

	if (from == to)
		return;
	begin(t, (struct op){ .kind = OP_RENAME, .file = f->serial, .name = from, .name2 = to });
	if (renameat(t->dir, name_of(from), t->dir, name_of(to)))
		failed("rename");
	done(t);
	forget(&t->files[to]);
	t->files[to] = *f;
	f->serial = 0;
	make_durable(t, (struct op){ .kind = OP_FSYNC_DIR }, t->dir, false);
}

static void unlink_file(struct task *t, int name)
{
	struct file *f = &t->files[name];

	begin(t, (struct op){ .kind = OP_UNLINK, .file = f->serial, .name = name });
	if (unlinkat(t->dir, name_of(name), 0))
		failed("unlink");
	done(t);
	forget(f);
}

static void change(struct task *t, struct file *f)
{
	uint32_t from = f->blocks, nr = pick(t, 24) + 1;

	if (pick(t, 2) && from + nr <= MAX_BLOCKS) {
		write_blocks(t, f, from, nr);
		return;
	}
	from = pick(t, f->blocks);
	write_blocks(t, f, from, pick(t, f->blocks - from < 16 ? f->blocks - from : 16) + 1);
}

static void make_file_durable(struct task *t, struct file *f)
{
	make_durable(t, (struct op){ .kind = OP_FSYNC, .file = f->serial }, f->fd, pick(t, 2));
}

/*
 * Share whole pages of a file with another one. The first page stays, since it names the file. The
 * log then has checksums of a part of an extent, and often of the whole.
 */
static void share(struct task *t, struct file *to, struct file *from)
{
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
		write_blocks(t, from, 0, from->blocks);
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
		make_file_durable(t, to);
	if (pick(t, 4))
		make_file_durable(t, from);
}

static void step(struct task *t)
{
	int name = pick(t, NR_NAMES);
	struct file *f = &t->files[name], *other = &t->files[pick(t, NR_NAMES)];

	if (!f->serial) {
		create(t, name);
		if (pick(t, 2))
			make_file_durable(t, f);
		return;
	}
	if (share_files && pick(t, 4) == 0) {
		if (other->serial)
			share(t, f, other);
		return;
	}
	switch (pick(t, 16)) {
	case 0:
		unlink_file(t, name);
		break;
	case 1: case 2:
		rename_file(t, name, other - t->files);
		break;
	case 3:
		make_durable(t, (struct op){ .kind = OP_FSYNC_DIR }, t->dir, false);
		break;
	case 4: case 5: case 6:
		make_file_durable(t, f);
		break;
	default:
		change(t, f);
		if (pick(t, 2))
			make_file_durable(t, f);
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

	snprintf(path, sizeof(path), "%s/w%02u", dir, id);
	t.dir = open(path, O_RDONLY | O_DIRECTORY);
	if (t.dir < 0)
		failed(path);
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
		make_durable(&t, (struct op){ .kind = OP_SYNC, .block = n }, fs, false);
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

/* Returns the descriptor of the directory that holds those of the workers. */
static int make_dirs(void)
{
	int fs = open(dir, O_RDONLY | O_DIRECTORY), i;

	if (fs < 0)
		failed(dir);
	for (i = 0; i < WORKERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "w%02d", i);
		if (mkdirat(fs, name, 0755))
			failed(name);
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
	uint64_t sectors;
	double end;

	if (argc < 7)
		fatal("usage: crash_load DIR DM LOG HISTORY SECONDS SEED [share|no-fsync]");
	dir = argv[1];
	dm = argv[2];
	sectors = sectors_of(argv[3]);
	history = history_map(argv[4], true);
	end = duration(argv[5], 3600);
	seed = number("SEED", argv[6], 1, INT32_MAX);
	share_files = !strcmp(how, "share");
	no_fsync = !strcmp(how, "no-fsync");
	stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
