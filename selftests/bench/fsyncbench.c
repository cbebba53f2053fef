// SPDX-License-Identifier: GPL-2.0
/*
 * fsyncbench - measure the latency of fsync or sync beside low-priority tasks
 *
 * Low-priority tasks create, write and unlink small files. One timed task writes and syncs a
 * folder and a file in turn. In the last fifth of the run it syncs the whole filesystem.
 *
 * With --readers, the low-priority tasks read old files that are not in the page cache, so that
 * each read looks up checksums on a filesystem that has them. Two tasks at nice 0 overwrite some
 * of these files, so that each commit deletes and inserts checksums. The timed task only syncs the
 * filesystem.
 *
 * Busy tasks at nice 0 spin. An operation that is unfinished at the end counts with its full time.
 * Prints lines `FIGURE NAME VALUE UNIT`.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "put.h"
#include "stats.h"

#define PROGRAM "fsyncbench"
#include "options.h"

#define MAX_LOW		1024
#define MAX_BUSY	64
#define MAX_SAMPLES	(1 << 17)
#define MAX_FILE	(1 << 20)
/* Seconds that tasks may take to end after the run. Longer is a hang. */
#define GRACE		120
/* Files that a low-priority task keeps; it unlinks older ones. */
#define LOW_FILES	16
#define KEPT_FILES	64
/* Pauses of the timed task without --period, in us. */
#define PAUSE		1000
#define READERS_PAUSE	20000
/*
 * The last part of a run, in which the timed task syncs the whole filesystem. That writes the
 * data of all tasks: during the whole run it would leave time for little else.
 */
#define LATE		0.2
/* The files that --readers reads. */
#define OLD_FILES	64
#define OLD_SIZE	(1 << 20)
#define CHUNK		(64 << 10)
#define WRITERS		2

enum { OP_FSYNC, OP_WRITE, OP_SYNC, NR_OPS };
static const char * const op_names[NR_OPS] = { "fsync", "write", "sync" };

struct class {
	int policy, nice, rt_priority;
	const char *cgroup;
};

static struct {
	struct class low, timed;
	bool low_fsync, readers;
	int min_size, max_size;
	long nr_low, nr_busy, period;
	double duration;
} opt = {
	.low = { .nice = 19 }, .timed = { .nice = -20 },
	.nr_low = 8, .nr_busy = 4, .min_size = 4, .max_size = 64, .duration = 5,
};

static struct shared {
	_Atomic bool go, late, stop;
	_Atomic uint64_t ready, errors, low_done, writes;
	/* Only the timed task writes these. */
	struct samples took[NR_OPS];
	uint64_t since;
} *shared;

/* --- helpers ------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* The next random number (xorshift, G. Marsaglia); a seed of 0 stays 0. */
static uint64_t scramble(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "%s: %s: %s: %s\n", PROGRAM, path, what, strerror(errno));
	atomic_fetch_add(&shared->errors, 1);
	exit(1);
}

static void fill(void *to, size_t size, uint64_t seed)
{
	uint64_t *word = to;
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++)
		word[i] = scramble(&seed);
}

static size_t random_size(uint64_t *seed)
{
	return (opt.min_size + scramble(seed) % (opt.max_size - opt.min_size + 1)) * 1024;
}

static void write_all(int fd, const char *path, const char *from, size_t size)
{
	while (size) {
		ssize_t n = write(fd, from, size);

		if (n <= 0)
			fail("write", path);
		from += n;
		size -= n;
	}
}

static void set_class(const struct class *c)
{
	struct sched_param param = { .sched_priority = c->rt_priority };

	if (c->cgroup && !put(c->cgroup, "0"))
		fatal("%s: %s", c->cgroup, strerror(errno));
	if (c->policy != SCHED_OTHER && sched_setscheduler(0, c->policy, &param))
		fatal("sched_setscheduler: %s", strerror(errno));
	if (c->nice && setpriority(PRIO_PROCESS, 0, c->nice))
		fatal("setpriority: %s", strerror(errno));
}

static void wait_for_go(void)
{
	atomic_fetch_add(&shared->ready, 1);
	while (!shared->go)
		usleep(1000);
}

/* --- low-priority tasks -------------------------------------------------- */

static void low_writer(int n)
{
	static char data[MAX_FILE];
	uint64_t seed = n + 1, i;
	char path[64];

	snprintf(path, sizeof(path), "low-%d", n);
	if (mkdir(path, 0700))
		fail("mkdir", path);
	fill(data, sizeof(data), seed);
	wait_for_go();
	for (i = 0; !shared->stop; i++) {
		int fd;

		snprintf(path, sizeof(path), "low-%d/%llu", n, (unsigned long long)i);
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
		if (fd < 0)
			fail("create", path);
		write_all(fd, path, data, random_size(&seed));
		if (opt.low_fsync && fsync(fd))
			fail("fsync", path);
		close(fd);
		if (i >= LOW_FILES) {
			snprintf(path, sizeof(path), "low-%d/%llu", n,
				 (unsigned long long)i - LOW_FILES);
			if (unlink(path))
				fail("unlink", path);
		}
		atomic_fetch_add(&shared->low_done, 1);
	}
}

static int open_old(uint64_t n, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "old-%llu", (unsigned long long)n);
	fd = open(path, flags, 0600);
	if (fd < 0)
		fail("open", path);
	return fd;
}

static void make_old_files(void)
{
	static char data[CHUNK];
	int n, at, fd;

	fill(data, sizeof(data), 1);
	for (n = 0; n < OLD_FILES; n++) {
		fd = open_old(n, O_CREAT | O_WRONLY | O_TRUNC);
		for (at = 0; at < OLD_SIZE; at += CHUNK)
			write_all(fd, "old", data, CHUNK);
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	sync();
}

static void low_reader(int n)
{
	static char data[CHUNK];
	uint64_t seed = n + 1;

	wait_for_go();
	while (!shared->stop) {
		int fd = open_old(scramble(&seed) % OLD_FILES, O_RDONLY);
		off_t at = scramble(&seed) % (OLD_SIZE / CHUNK) * CHUNK;

		if (pread(fd, data, CHUNK, at) != CHUNK)
			fail("read", "old");
		posix_fadvise(fd, at, CHUNK, POSIX_FADV_DONTNEED);
		close(fd);
		atomic_fetch_add(&shared->low_done, 1);
	}
}

/* The writers split the old files into small extents; each commit adds a few. */
static void overwriter(int n)
{
	static char data[4096];
	uint64_t seed = 1000 + n;

	memset(data, n, sizeof(data));
	wait_for_go();
	while (!shared->stop) {
		int fd = open_old(scramble(&seed) % OLD_FILES, O_WRONLY);

		if (pwrite(fd, data, sizeof(data), scramble(&seed) % (OLD_SIZE / 4096) * 4096) !=
		    sizeof(data))
			fail("write", "old");
		close(fd);
		atomic_fetch_add(&shared->writes, 1);
		usleep(500);
	}
}

/* Make readers read old files and their checksums' tree blocks from the disk. */
static void dropper(__attribute__((unused)) int n)
{
	wait_for_go();
	while (!shared->stop) {
		if (!put("/proc/sys/vm/drop_caches", "1"))
			fatal("/proc/sys/vm/drop_caches: %s", strerror(errno));
		usleep(100000);
	}
}

static void spin(__attribute__((unused)) int n)
{
	wait_for_go();
	while (!shared->stop)
		;
}

/* --- the timed task ------------------------------------------------------ */

static void begin_op(void)
{
	shared->since = now_ns();
}

static void end_op(int op)
{
	samples_add(&shared->took[op], now_ns() - shared->since);
}

/* Create a file first, so that the folder's fsync has something to write. */
static void sync_folder(int folder, uint64_t i)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "timed/new-%llu", (unsigned long long)i % KEPT_FILES);
	begin_op();
	unlink(path);
	file = open(path, O_CREAT | O_WRONLY, 0600);
	if (file < 0)
		fail("create", path);
	close(file);
	end_op(OP_WRITE);
	begin_op();
	if (fsync(folder))
		fail("fsync", "timed");
	end_op(OP_FSYNC);
}

static void sync_file(uint64_t i, uint64_t *seed)
{
	static char data[MAX_FILE];
	char path[64];
	int fd;

	fill(data, sizeof(data), scramble(seed));
	snprintf(path, sizeof(path), "timed/kept-%llu", (unsigned long long)i % KEPT_FILES);
	begin_op();
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		fail("create", path);
	write_all(fd, path, data, random_size(seed));
	end_op(OP_WRITE);
	begin_op();
	if (fsync(fd))
		fail("fsync", path);
	end_op(OP_FSYNC);
	close(fd);
}

static void sync_filesystem(int folder, uint64_t i)
{
	int fd = openat(folder, "synced", O_CREAT | O_WRONLY, 0600);

	/* Each sync must have something to write. */
	if (fd < 0 || pwrite(fd, &i, sizeof(i), 0) != sizeof(i))
		fail("write", "synced");
	begin_op();
	if (syncfs(fd))
		fail("syncfs", "timed");
	end_op(OP_SYNC);
	close(fd);
}

/* Wait for the next turn. With a period, skip missed turns. */
static void wait_for_turn(uint64_t *begin)
{
	uint64_t period = opt.period * 1000ull, now;

	if (!period) {
		usleep(opt.readers ? READERS_PAUSE : PAUSE);
		return;
	}
	now = now_ns();
	*begin += ((now - *begin) / period + 1) * period;
	usleep((*begin - now) / 1000);
}

static void timed_task(__attribute__((unused)) int n)
{
	uint64_t seed = 1000, i, begin;
	int folder;

	if (mkdir("timed", 0700))
		fail("mkdir", "timed");
	folder = open("timed", O_RDONLY | O_DIRECTORY);
	if (folder < 0)
		fail("open", "timed");
	wait_for_go();
	begin = now_ns();
	for (i = 0; !shared->stop; i++) {
		if (opt.readers || shared->late) {
			sync_filesystem(folder, i);
		} else {
			sync_folder(folder, i);
			if (!shared->stop)
				sync_file(i, &seed);
		}
		wait_for_turn(&begin);
	}
}

/* --- the run ------------------------------------------------------------- */

static int start(const char *name, const struct class *c, void (*run)(int), int nr)
{
	int n;

	for (n = 0; n < nr; n++) {
		pid_t pid = fork();

		if (pid < 0)
			fatal("fork: %s", strerror(errno));
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		set_class(c);
		run(n);
		exit(0);
	}
	return nr;
}

/* Returns the number of tasks, once all have their priorities. */
static int start_tasks(void)
{
	static const struct class nice_0;
	int all;

	all = start("timed", &opt.timed, timed_task, 1);
	all += start("low", &opt.low, opt.readers ? low_reader : low_writer, opt.nr_low);
	if (opt.readers) {
		all += start("writer", &nice_0, overwriter, WRITERS);
		all += start("dropper", &nice_0, dropper, 1);
	}
	all += start("busy", &nice_0, spin, opt.nr_busy);
	while ((int)shared->ready < all && !shared->errors)
		usleep(1000);
	return all;
}

static void wait_for_tasks(int left)
{
	uint64_t end = now_ns() + GRACE * 1000000000ULL;

	while (left) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			if (!WIFEXITED(status) || WEXITSTATUS(status))
				fatal("a task failed (%d errors)", (int)shared->errors);
		} else if (now_ns() > end) {
			fatal("a task has not ended %d s after the run: it hangs", GRACE);
		} else {
			usleep(2000);
		}
	}
}

static void report(uint64_t low_done, uint64_t writes)
{
	int op, main_op = opt.readers ? OP_SYNC : OP_FSYNC;

	for (op = 0; op < NR_OPS; op++) {
		struct samples *s = &shared->took[op];

		if (!s->count)
			continue;
		samples_sort(s);
		if (op == main_op) {
			printf("FIGURE %ss %llu count\n", op_names[op],
			       (unsigned long long)s->count);
			printf("FIGURE %s_p50 %.3f ms\n", op_names[op],
			       samples_percentile(s, 50) / 1e6);
			printf("FIGURE %s_p99 %.3f ms\n", op_names[op],
			       samples_percentile(s, 99) / 1e6);
		}
		printf("FIGURE %s_max %.3f ms\n", op_names[op], s->max / 1e6);
	}
	printf("FIGURE low_%s %.1f 1/s\n", opt.readers ? "reads" : "files",
	       low_done / opt.duration);
	if (opt.readers)
		printf("FIGURE writes %.1f 1/s\n", writes / opt.duration);
}

static void measure(void)
{
	static const struct sched_param top = { .sched_priority = 90 };
	uint64_t low_done, writes;
	int all = start_tasks();

	/* This task must end the run in time. */
	if (sched_setscheduler(0, SCHED_FIFO, &top))
		fatal("sched_setscheduler: %s (root?)", strerror(errno));
	shared->go = true;
	usleep(opt.duration * (1 - LATE) * 1e6);
	shared->late = true;
	usleep(opt.duration * LATE * 1e6);
	/* Do not count work done after the end of the run. */
	low_done = shared->low_done;
	writes = shared->writes;
	shared->stop = true;
	wait_for_tasks(all);
	report(low_done, writes);
}

/* --- options ------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: fsyncbench [OPTIONS] DIR        DIR: empty, on the filesystem to measure\n"
"  -n NUM   --low-tasks=NUM  low-priority tasks, 0 to 1024                 [8]\n"
"           --low=CLASS      their class: nice:N, idle or fifo:PRIO          [nice:19]\n"
"           --low-cgroup=FILE  a cgroup.procs file: they are in this cgroup\n"
"           --low-fsync      they call fsync for each file\n"
"           --readers        they read old files instead; the timed task only calls sync\n"
"  -b NUM   --busy=NUM       tasks at nice 0 that spin, 0 to 64             [4]\n"
"           --timed=CLASS    class of the timed task                        [nice:-20]\n"
"           --period=US      time between the starts of two turns of the timed task, 1000\n"
"                            to 10000000, in place of a pause\n"
"           --size=MIN-MAX   file size in KiB, 1 to 1024                   [4-64]\n"
"  -D TIME  --duration=TIME  0.1s to 600s; suffix s, m or h                 [5s]\n"
"           --help\n");
}

static void parse_class(struct class *c, const char *option, const char *text)
{
	const char *value = strchr(text, ':');
	char kind[16];

	c->policy = SCHED_OTHER;
	c->nice = 0;
	snprintf(kind, sizeof(kind), "%.*s", value ? (int)(value - text) : 15, text);
	if (!strcmp(kind, "idle") && !value)
		c->policy = SCHED_IDLE;
	else if (!strcmp(kind, "nice") && value)
		c->nice = number(option, value + 1, -20, 19);
	else if (!strcmp(kind, "fifo") && value)
		c->policy = SCHED_FIFO, c->rt_priority = number(option, value + 1, 1, 89);
	else
		fatal("%s=%s: must be nice:N, idle or fifo:N", option, text);
}

static void parse_size(const char *arg)
{
	char *list = strdup(arg), *dash = strchr(list, '-');

	if (!dash)
		fatal("--size=%s: must be MIN-MAX", arg);
	*dash = 0;
	opt.min_size = number("--size", list, 1, 1024);
	opt.max_size = number("--size", dash + 1, opt.min_size, 1024);
}

enum { OPT_LOW = 256, OPT_LOW_CGROUP, OPT_LOW_FSYNC, OPT_READERS, OPT_TIMED, OPT_PERIOD, OPT_SIZE };

static const struct number_option numbers[] = {
	{ 'n', "--low-tasks", &opt.nr_low, 0, MAX_LOW },
	{ 'b', "--busy", &opt.nr_busy, 0, MAX_BUSY },
	{ OPT_PERIOD, "--period", &opt.period, 1000, 10000000 }, { }
};

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "low-tasks", 1, NULL, 'n' }, { "low", 1, NULL, OPT_LOW },
		{ "low-cgroup", 1, NULL, OPT_LOW_CGROUP },
		{ "low-fsync", 0, NULL, OPT_LOW_FSYNC }, { "readers", 0, NULL, OPT_READERS },
		{ "busy", 1, NULL, 'b' }, { "timed", 1, NULL, OPT_TIMED },
		{ "period", 1, NULL, OPT_PERIOD }, { "size", 1, NULL, OPT_SIZE },
		{ "duration", 1, NULL, 'D' }, { "help", 0, NULL, 'h' }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "n:b:D:", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		switch (c) {
		case 'D':
			opt.duration = duration(optarg, 600);
			break;
		case OPT_LOW:
			parse_class(&opt.low, "--low", optarg);
			break;
		case OPT_LOW_CGROUP:
			opt.low.cgroup = optarg;
			break;
		case OPT_LOW_FSYNC:
			opt.low_fsync = true;
			break;
		case OPT_READERS:
			opt.readers = true;
			break;
		case OPT_TIMED:
			parse_class(&opt.timed, "--timed", optarg);
			break;
		case OPT_SIZE:
			parse_size(optarg);
			break;
		default:
			show_usage(usage, c == 'h');
		}
	}
	if (optind + 1 != argc)
		show_usage(usage, false);
}

int main(int argc, char **argv)
{
	size_t size = sizeof(*shared) + NR_OPS * samples_size(MAX_SAMPLES);
	int op;

	parse_options(argc, argv);
	if (chdir(argv[optind]))
		fatal("%s: %s", argv[optind], strerror(errno));
	shared = shared_memory(size);
	for (op = 0; op < NR_OPS; op++)
		samples_init(&shared->took[op], (char *)(shared + 1) +
			     op * samples_size(MAX_SAMPLES), MAX_SAMPLES);
	if (opt.readers)
		make_old_files();
	measure();
	return 0;
}
