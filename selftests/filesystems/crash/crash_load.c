// SPDX-License-Identifier: GPL-2.0
/*
 * crash_load - workload on dm-log-writes, with a mark in its log for each promise
 *
 * Workers of different priority create, write, overwrite, truncate, rename and unlink files,
 * each in its own directory, and fsync files and directory. With --share they also clone ranges of
 * files, copy and dedupe them, and evict their inodes. One task calls syncfs. Busy tasks
 * compete for the CPUs. After each fsync or syncfs, the caller writes a mark
 * "w<worker>.<operation>" to the log. Any disk with the log up to this mark must hold all that
 * the call promises.
 *
 * dm-log-writes logs a write after a later flush, or the write's own FUA, has completed, and
 * before the filesystem learns of the completion. So the mark follows all writes that the call
 * made durable.
 */
#define _GNU_SOURCE
#include <getopt.h>
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

static struct {
	const char *dir, *dm, *history;
	long workers, busy, full, seed, min;
	double duration;
	bool mark_early, no_fsync, share;
} opt = {
	.workers = 10, .busy = 3, .seed = 1, .duration = 8, .full = 85, .min = 100,
};

#define MAX_BUSY	64

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
	snprintf(buffer.head.name, sizeof(buffer.head.name), "%s", opt.dm);
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
		fatal("mark in the log of %s: %s", opt.dm, strerror(errno));
}

/* Returns the sectors of the log in use; an overflown log is fatal. */
static unsigned long long log_used(int control, uint64_t *nr_entries)
{
	struct dm_target_spec *spec;
	unsigned long long entries, sector;
	const char *status;

	dm_begin();
	if (ioctl(control, DM_TABLE_STATUS, &buffer))
		fatal("status of %s: %s", opt.dm, strerror(errno));
	spec = (void *)(buffer.bytes + buffer.head.data_start);
	status = (char *)(spec + 1);
	if (sscanf(status, "%llu %llu", &entries, &sector) != 2 ||
	    strcmp(spec->target_type, "log-writes"))
		fatal("%s is no log-writes device", opt.dm);
	if (strstr(status, "logging_disabled"))
		fatal("the log of %s is full, or failed", opt.dm);
	if (nr_entries)
		*nr_entries = entries;
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

static void promise(struct task *t, uint32_t op)
{
	mark(t->control, "w%u.%u", t->id, op);
	atomic_fetch_add(&history->promises, 1);
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

/*
 * Make a call that promises durability, then mark it. To test the verifier, --mark-early marks
 * it before the call, and --no-fsync omits the call.
 */
static void make_durable(struct task *t, struct op op, int fd, bool data_only)
{
	uint32_t n = begin(t, op);

	if (opt.mark_early)
		promise(t, n);
	if (opt.no_fsync)
		;
	else if (op.kind == OP_SYNC ? syncfs(fd) : data_only ? fdatasync(fd) : fsync(fd))
		failed("fsync");
	t->log->ops[n].returned = now();
	done(t);
	if (!opt.mark_early)
		promise(t, n);
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
	uint32_t from, nr;

	switch (pick(t, 8)) {
	case 0:
		nr = pick(t, f->blocks) + 1;
		begin(t, (struct op){ .kind = OP_TRUNCATE, .file = f->serial, .nr = nr });
		if (ftruncate(f->fd, (off_t)nr * BLOCK))
			failed("truncate");
		f->blocks = nr;
		done(t);
		break;
	case 1: case 2: case 3:		/* append */
		nr = pick(t, 24) + 1;
		if (f->blocks + nr <= MAX_BLOCKS)
			write_blocks(t, f, f->blocks, nr);
		break;
	default:
		from = pick(t, f->blocks);
		nr = pick(t, f->blocks - from < 16 ? f->blocks - from : 16) + 1;
		write_blocks(t, f, from, nr);
	}
}

static void make_file_durable(struct task *t, struct file *f)
{
	make_durable(t, (struct op){ .kind = OP_FSYNC, .file = f->serial }, f->fd, pick(t, 2));
}

/* Copy the range, then let the kernel share what is the same. */
static void copy_and_dedupe(struct task *t, struct file *to, const struct file *from,
			    const struct file_clone_range *range)
{
	static char data[MAX_BLOCKS * BLOCK];
	struct {
		struct file_dedupe_range head;
		struct file_dedupe_range_info info;
	} dedupe = {
		.head = { range->src_offset, range->src_length, .dest_count = 1 },
		.info = { .dest_fd = to->fd, .dest_offset = range->dest_offset },
	};
	ssize_t size = range->src_length;

	if (pread(from->fd, data, size, range->src_offset) != size ||
	    pwrite(to->fd, data, size, range->dest_offset) != size)
		failed("copy");
	if (pick(t, 2))
		make_file_durable(t, to);
	if (ioctl(from->fd, FIDEDUPERANGE, &dedupe) || dedupe.info.status)
		failed("dedupe");
}

/*
 * Share whole pages of a file with another one, by a clone or by a dedupe. The first page stays,
 * since it names the file. The log then has checksums of a part of an extent, and often of the
 * whole.
 */
static void share(struct task *t, struct file *to, struct file *from)
{
	uint32_t pages = from->blocks / PAGE_BLOCKS, room = to->blocks / PAGE_BLOCKS, at, first, nr;
	struct file_clone_range range = { .src_fd = from->fd };

	if (to == from || !pages || !room)
		return;
	at = 1 + pick(t, room);
	first = pick(t, pages);
	nr = 1 + pick(t, pages - first);
	if (at + nr > MAX_BLOCKS / PAGE_BLOCKS)
		return;
	/* Often the extent is of this transaction. */
	if (pick(t, 4))
		write_blocks(t, from, 0, from->blocks);
	range.src_offset = (uint64_t)first * PAGE_BLOCKS * BLOCK;
	range.src_length = (uint64_t)nr * PAGE_BLOCKS * BLOCK;
	range.dest_offset = (uint64_t)at * PAGE_BLOCKS * BLOCK;
	begin(t, (struct op){ .kind = OP_SHARE, .file = to->serial, .block = at * PAGE_BLOCKS,
			      .nr = nr * PAGE_BLOCKS, .from_file = from->serial,
			      .from_block = first * PAGE_BLOCKS });
	if (to->blocks < (at + nr) * PAGE_BLOCKS)
		to->blocks = (at + nr) * PAGE_BLOCKS;
	if (pick(t, 3) == 0)
		copy_and_dedupe(t, to, from, &range);
	else if (ioctl(to->fd, FICLONERANGE, &range))
		failed("clone");
	done(t);
	if (pick(t, 4))
		make_file_durable(t, to);
	if (pick(t, 4))
		make_file_durable(t, from);
}

/*
 * The kernel evicts clean inodes that no task uses, and must read them in again. It keeps names and
 * inodes that were used since the last time, hence the repetition.
 */
static void evict(struct task *t)
{
	int caches = open("/proc/sys/vm/drop_caches", O_WRONLY), i;

	for (i = 0; i < NR_NAMES; i++)
		if (t->files[i].serial)
			close(t->files[i].fd);
	for (i = 0; i < 4; i++)
		if (caches < 0 || pwrite(caches, "3", 1, 0) != 1)
			failed("drop_caches");
	close(caches);
	for (i = 0; i < NR_NAMES; i++) {
		if (!t->files[i].serial)
			continue;
		t->files[i].fd = openat(t->dir, name_of(i), O_RDWR);
		if (t->files[i].fd < 0)
			failed("open");
	}
}

static void step(struct task *t)
{
	int name = pick(t, NR_NAMES);
	struct file *f = &t->files[name];
	struct op sync_file = { .kind = OP_FSYNC, .file = f->serial };

	if (!f->serial) {
		create(t, name);
		if (pick(t, 2))
			make_durable(t, (struct op){ .kind = OP_FSYNC, .file = f->serial },
				     f->fd, false);
		return;
	}
	if (opt.share && pick(t, 4) == 0) {
		struct file *from = &t->files[pick(t, NR_NAMES)];

		if (from->serial)
			share(t, f, from);
		if (pick(t, 16) == 0)
			evict(t);
		return;
	}
	switch (pick(t, 16)) {
	case 0:
		unlink_file(t, name);
		break;
	case 1: case 2:
		rename_file(t, name, pick(t, NR_NAMES));
		break;
	case 3:
		make_durable(t, (struct op){ .kind = OP_FSYNC_DIR }, t->dir, false);
		break;
	case 4: case 5: case 6:
		make_durable(t, sync_file, f->fd, pick(t, 2));
		break;
	default:
		change(t, f);
		if (pick(t, 2))
			make_durable(t, sync_file, f->fd, pick(t, 2));
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
		.random = opt.seed * 2654435761u + id * 97 + 1,
	};
	char path[256];

	snprintf(path, sizeof(path), "%s/w%02u", opt.dir, id);
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

/* With --share, less often: a commit removes the log, which is what a shared extent can spoil. */
static void sync_all(int fs)
{
	struct task t = {
		.id = history->sync_task, .log = &history->worker[history->sync_task],
		.control = dm_control(), .random = opt.seed,
	};
	uint32_t n, w;

	for (n = 0; n < MAX_SYNCS && !atomic_load(stop); n++) {
		for (w = 0; w < history->workers; w++)
			history->syncs[n].done[w] = atomic_load(&history->worker[w].done);
		make_durable(&t, (struct op){ .kind = OP_SYNC, .block = n }, fs, false);
		usleep((opt.share ? 10 : 1) * (50000 + pick(&t, 200) * 1000));
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

static void usage(FILE *f)
{
	fprintf(f,
"Usage: crash_load --dir=DIR --dm=NAME --log=DEVICE --history=FILE [OPTIONS]\n"
"Run a workload in DIR. Mark each fsync and syncfs in the log of dm-log-writes device NAME.\n"
"Write the history of all operations to FILE.\n\n"
"  --duration=TIME      [8s]    --seed=NUM          [1]\n"
"  --workers=NUM        [10]    --busy=NUM          [3]\n"
"  --full=PERCENT       stop when this much of the log is used          [85]\n"
"  --min=NUM            fail with fewer promises                        [100]\n"
"  --share              clone, dedupe, evict inodes: for filesystems that share blocks\n"
"  --mark-early, --no-fsync   break promises, to test the verifier\n");
}

static const struct number_option numbers[] = {
	{ 's', "--seed", &opt.seed, 1, INT32_MAX },
	{ 'w', "--workers", &opt.workers, 1, MAX_WORKERS },
	{ 'b', "--busy", &opt.busy, 0, MAX_BUSY },
	{ 'f', "--full", &opt.full, 1, 95 },
	{ 'n', "--min", &opt.min, 0, 1 << 30 }, { }
};

static void parse(int argc, char **argv, const char **log)
{
	static const struct option options[] = {
		{ "dir", 1, NULL, 'd' }, { "dm", 1, NULL, 'm' }, { "log", 1, NULL, 'l' },
		{ "history", 1, NULL, 'h' }, { "duration", 1, NULL, 'D' },
		{ "seed", 1, NULL, 's' }, { "workers", 1, NULL, 'w' }, { "busy", 1, NULL, 'b' },
		{ "full", 1, NULL, 'f' }, { "min", 1, NULL, 'n' },
		{ "mark-early", 0, NULL, 'e' }, { "no-fsync", 0, NULL, 'x' },
		{ "share", 0, NULL, 'S' },
		{ "help", 0, NULL, '?' }, { NULL },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		switch (c) {
		case 'd':
			opt.dir = optarg;
			break;
		case 'm':
			opt.dm = optarg;
			break;
		case 'l':
			*log = optarg;
			break;
		case 'h':
			opt.history = optarg;
			break;
		case 'D':
			opt.duration = duration(optarg, 3600);
			break;
		case 'e':
			opt.mark_early = true;
			break;
		case 'x':
			opt.no_fsync = true;
			break;
		case 'S':
			opt.share = true;
			break;
		default:
			usage(optopt ? stderr : stdout);
			exit(optopt ? 1 : 0);
		}
	}
	if (!opt.dir || !opt.dm || !opt.history || !*log || optind < argc) {
		usage(stderr);
		exit(1);
	}
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
	int fs = open(opt.dir, O_RDONLY | O_DIRECTORY), i;

	if (fs < 0)
		failed(opt.dir);
	for (i = 0; i < opt.workers; i++) {
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
		if (i < opt.workers)
			work(i);
		if (i == opt.workers)
			sync_all(fs);
		burn();
	}
}

int main(int argc, char **argv)
{
	const char *log = NULL, *why = "time is up";
	pid_t pids[MAX_WORKERS + 1 + MAX_BUSY];
	int n, i, fs, control, status, bad = 0;
	uint64_t sectors, entries;
	double end;

	parse(argc, argv, &log);
	sectors = sectors_of(log);
	history = history_map(opt.history, true);
	history->workers = opt.workers;
	history->sync_task = MAX_WORKERS;
	history->shares = opt.share;
	stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	n = opt.workers + 1 + opt.busy;
	fs = make_dirs();
	control = dm_control();
	mark(control, "begin");
	start_tasks(pids, n, fs);
	/* This task must run beside the busy tasks, to stop before the log is full. */
	setpriority(PRIO_PROCESS, 0, -20);
	for (end = now() + opt.duration; now() < end; usleep(20000)) {
		if (log_used(control, NULL) > sectors / 100 * opt.full) {
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
	sectors = log_used(control, &entries);
	printf("# %s: %u promises; the log has %llu entries, %llu MiB\n", why, history->promises,
	       (unsigned long long)entries, (unsigned long long)sectors >> 11);
	if (bad)
		fatal("a task failed");
	if (history->promises < opt.min)
		fatal("only %u promises, too few to prove anything", history->promises);
	return 0;
}
