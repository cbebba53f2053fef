// SPDX-License-Identifier: GPL-2.0
/*
 * syncbench - measure sync latency beside many low-priority readers
 *
 * Low-priority readers, optionally in a cgroup with little memory and few CPUs, read old files
 * that are not in the page cache, so that each read looks up checksums. Writers overwrite some of
 * these files, so that each commit deletes and inserts checksums. Busy tasks spin. A task of nice
 * -20 syncs in a loop and is timed. A sync that is unfinished at the end counts with its full time.
 * For a cgroup, the report has the time that its tasks were stalled for memory and for I/O.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stats.h"
#include "workload.h"

#define PROGRAM "syncbench"
#include "options.h"
#include "json.h"

#define MAX_TASKS	1024
#define MAX_SAMPLES	(1 << 16)
#define GRACE		120	/* seconds to end after the run; longer is a hang */
#define CHUNK		(64 << 10)
#define CGROUP		"/sys/fs/cgroup/syncbench"

static struct {
	long nr_readers, nr_writers, nr_busy, nr_files, file_kb, memory_high, cpu_max;
	bool idle, drop;
	double duration;
	const char *json, *title, *variant, *cpuset;
} opt = {
	.nr_readers = 64, .nr_writers = 2, .nr_busy = 4, .nr_files = 64, .file_kb = 1024,
	.idle = true, .duration = 10, .title = "sync beside low-priority readers", .variant = "",
};

static struct shared {
	_Atomic bool go, stop;
	_Atomic uint64_t ready, errors, reads, writes, since;
	/* pressure of the cgroup, in us */
	uint64_t memory_some, memory_full, io_some, io_full;
	struct samples sync;
} *shared;

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "%s: %s: %s: %s\n", PROGRAM, path, what, strerror(errno));
	atomic_fetch_add(&shared->errors, 1);
	exit(1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fatal("%s: cannot write '%s': %s", path, text, strerror(errno));
	close(fd);
}

static int open_file(uint64_t n, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "old-%llu", (unsigned long long)n);
	fd = open(path, flags, 0600);
	if (fd < 0)
		fail("open", path);
	return fd;
}

/* The writers split these files into small extents; each commit adds a few. */
static void make_files(void)
{
	static char data[CHUNK];
	uint64_t seed = 1, at;
	int n, fd;

	for (at = 0; at < sizeof(data); at += 8)
		memcpy(data + at, &(uint64_t){ scramble(&seed) }, 8);
	for (n = 0; n < opt.nr_files; n++) {
		fd = open_file(n, O_CREAT | O_WRONLY | O_TRUNC);
		for (at = 0; at < opt.file_kb * 1024ULL; at += CHUNK)
			if (pwrite(fd, data, CHUNK, at) != CHUNK)
				fail("write", "old");
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	sync();
}

/* Make readers read old files and their checksums' tree blocks from the disk. */
static void dropper(int n)
{
	(void)n;
	while (!shared->stop) {
		put("/proc/sys/vm/drop_caches", "1");
		usleep(100000);
	}
}

static void wait_for_go(void)
{
	atomic_fetch_add(&shared->ready, 1);
	while (!shared->go)
		usleep(1000);
}

static bool has_cgroup(void)
{
	return opt.memory_high || opt.cpu_max || opt.cpuset;
}

static void reader(int n)
{
	struct sched_param param = { };
	static char data[CHUNK];
	uint64_t seed = n + 1;

	if (has_cgroup())
		put(CGROUP "/cgroup.procs", "0");
	if (opt.idle && sched_setscheduler(0, SCHED_IDLE, &param))
		fatal("SCHED_IDLE: %s", strerror(errno));
	wait_for_go();
	while (!shared->stop) {
		int fd = open_file(scramble(&seed) % opt.nr_files, O_RDONLY);
		off_t at = scramble(&seed) % (opt.file_kb / 64) * CHUNK;

		if (pread(fd, data, CHUNK, at) != CHUNK)
			fail("read", "old");
		/* With a limit, the data stays in the page cache until the limit removes it. */
		if (!opt.memory_high)
			posix_fadvise(fd, at, CHUNK, POSIX_FADV_DONTNEED);
		close(fd);
		atomic_fetch_add(&shared->reads, 1);
	}
}

static void writer(int n)
{
	static char data[4096];
	uint64_t seed = 1000 + n;

	memset(data, n, sizeof(data));
	wait_for_go();
	while (!shared->stop) {
		int fd = open_file(scramble(&seed) % opt.nr_files, O_WRONLY);
		off_t at = scramble(&seed) % (opt.file_kb / 4) * 4096;

		if (pwrite(fd, data, sizeof(data), at) != sizeof(data))
			fail("write", "old");
		close(fd);
		atomic_fetch_add(&shared->writes, 1);
		usleep(500);
	}
}

static void syncer(int n)
{
	int fd = open("synced", O_CREAT | O_RDWR, 0600);

	if (fd < 0 || setpriority(PRIO_PROCESS, 0, -20))
		fail("setpriority", ".");
	wait_for_go();
	while (!shared->stop) {
		/* Each sync must have something to commit. */
		if (pwrite(fd, &n, sizeof(n), 0) != sizeof(n))
			fail("write", "synced");
		n++;
		shared->since = now_ns();
		if (syncfs(fd))
			fail("syncfs", ".");
		samples_add(&shared->sync, now_ns() - shared->since);
		shared->since = 0;
		usleep(20000);
	}
}

static void spin(int n)
{
	(void)n;
	wait_for_go();
	while (!shared->stop)
		;
}

static void start(const char *name, void (*run)(int), int n)
{
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	run(n);
	exit(0);
}

static void make_cgroup(void)
{
	char text[32];

	if (!has_cgroup())
		return;
	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (opt.memory_high)
		put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (opt.cpuset)
		put("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
	if (mkdir(CGROUP, 0700) && errno != EEXIST)
		fatal("%s: %s", CGROUP, strerror(errno));
	snprintf(text, sizeof(text), "%ldM", opt.memory_high);
	if (opt.memory_high)
		put(CGROUP "/memory.high", text);
	snprintf(text, sizeof(text), "%ld 100000", opt.cpu_max * 1000);
	if (opt.cpu_max)
		put(CGROUP "/cpu.max", text);
	if (opt.cpuset)
		put(CGROUP "/cpuset.cpus", opt.cpuset);
}

/* The cgroup's stall times in us, until now; 0 without a cgroup or without CONFIG_PSI. */
static void read_pressure(const char *what, uint64_t *some, uint64_t *full)
{
	unsigned long long some_us = 0, full_us = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), CGROUP "/%s.pressure", what);
	f = fopen(path, "r");
	if (f && fscanf(f, "some %*s %*s %*s total=%llu full %*s %*s %*s total=%llu", &some_us,
			&full_us) != 2)
		fatal("%s: not a pressure file", path);
	if (f)
		fclose(f);
	*some = some_us - *some;
	*full = full_us - *full;
}

static void read_pressures(void)
{
	read_pressure("memory", &shared->memory_some, &shared->memory_full);
	read_pressure("io", &shared->io_some, &shared->io_full);
}

static void measure(void)
{
	static const struct sched_param top = { .sched_priority = 90 };
	int i, tasks = opt.nr_readers + opt.nr_writers + opt.nr_busy + 1;
	int left = tasks + opt.drop;
	uint64_t reads, writes;
	double end;

	for (i = 0; i < opt.nr_readers; i++)
		start("reader", reader, i);
	for (i = 0; i < opt.nr_writers; i++)
		start("writer", writer, i);
	for (i = 0; i < opt.nr_busy; i++)
		start("busy", spin, i);
	start("syncer", syncer, 0);
	if (opt.drop)
		start("dropper", dropper, 0);
	if (sched_setscheduler(0, SCHED_FIFO, &top))
		fatal("SCHED_FIFO: %s", strerror(errno));
	while (shared->ready < (uint64_t)tasks) {
		if (shared->errors)
			exit(1);
		usleep(10000);
	}
	read_pressures();
	shared->go = true;
	usleep(opt.duration * 1e6);
	read_pressures();
	reads = shared->reads;
	writes = shared->writes;
	shared->stop = true;
	/* The running sync may finish and counts with its full time. */
	for (end = now() + GRACE; left && now() < end; usleep(1000))
		while (left && waitpid(-1, NULL, WNOHANG) > 0)
			left--;
	if (left || shared->errors)
		fatal("%d tasks did not end, %llu errors", left,
		      (unsigned long long)shared->errors);
	shared->reads = reads;
	shared->writes = writes;
}

static void report(int argc, char **argv, time_t began)
{
	struct samples *s = &shared->sync;
	FILE *f;

	samples_sort(s);
	printf("# %s: %llu syncs, p50 %.1f ms, p99 %.1f ms, max %.1f ms; %llu reads, %llu writes\n",
	       opt.variant, (unsigned long long)s->count, samples_percentile(s, 50) / 1e6,
	       samples_percentile(s, 99) / 1e6, s->max / 1e6,
	       (unsigned long long)shared->reads, (unsigned long long)shared->writes);
	if (has_cgroup())
		printf("# %s: stalled for memory %.1f s (all tasks %.1f s), I/O %.1f s (%.1f s)\n",
		       opt.variant, shared->memory_some / 1e6, shared->memory_full / 1e6,
		       shared->io_some / 1e6, shared->io_full / 1e6);
	if (!opt.json)
		return;
	f = json_begin(opt.json, "btrfs", argc, argv, began, "%s", opt.title);
	fprintf(f, "  \"variant\": \"%s\", \"readers\": %ld, \"writers\": %ld, \"busy\": %ld,\n",
		opt.variant, opt.nr_readers, opt.nr_writers, opt.nr_busy);
	fprintf(f, "  \"duration_s\": %.1f, \"reads\": %llu, \"writes\": %llu,\n", opt.duration,
		(unsigned long long)shared->reads, (unsigned long long)shared->writes);
	fprintf(f, "  \"memory_some_us\": %llu, \"memory_full_us\": %llu,\n",
		(unsigned long long)shared->memory_some, (unsigned long long)shared->memory_full);
	fprintf(f, "  \"io_some_us\": %llu, \"io_full_us\": %llu,\n",
		(unsigned long long)shared->io_some, (unsigned long long)shared->io_full);
	fprintf(f, "  \"sync\": { \"count\": %llu, \"p50_ns\": %llu, \"p99_ns\": %llu, ",
		(unsigned long long)s->count, (unsigned long long)samples_percentile(s, 50),
		(unsigned long long)samples_percentile(s, 99));
	fprintf(f, "\"max_ns\": %llu,\n    \"histogram\": ", (unsigned long long)s->max);
	samples_print_json(f, s);
	fprintf(f, " }");
	json_end(f, opt.json);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: syncbench [OPTIONS] DIR         DIR: on the filesystem to measure\n"
"Measure sync latency beside many low-priority readers.\n\n"
"  -r NUM   --readers=NUM     tasks that read old data, 1 to 1024      [64]\n"
"  -w NUM   --writers=NUM     tasks that overwrite it, 0 to 1024       [2]\n"
"  -b NUM   --busy=NUM        tasks that spin, 0 to 64                 [4]\n"
"  -f NUM   --files=NUM       old files, 1 to 4096                     [64]\n"
"  -k KIB   --kb=KIB          size of each file, 64 to 65536           [1024]\n"
"  -n       --normal          run readers at nice 0, not SCHED_IDLE\n"
"  -m MIB   --memory-high=MIB  memory.high of the readers' cgroup, 1 to 65536\n"
"  -c NUM   --cpu-max=NUM     CPU quota of the readers' cgroup, 1 to 100 percent of a CPU\n"
"  -C CPUS  --cpuset=CPUS     CPUs of the readers' cgroup, for example 0 or 0-3\n"
"  -d       --drop            drop the page cache ten times a second\n"
"  -D TIME  --duration=TIME   0.1s to 600s; suffix s, m or h           [10s]\n"
"  -v TEXT  --variant=TEXT    name of the driver in the report\n"
"           --json=FILE       results with the histogram; -: stdout\n"
"           --title=TEXT      title of the JSON report\n"
"           --help\n\n"
"Exit status: 0; 1 on an error.\n");
}

static const struct number_option numbers[] = {
	{ 'r', "--readers", &opt.nr_readers, 1, MAX_TASKS },
	{ 'w', "--writers", &opt.nr_writers, 0, MAX_TASKS },
	{ 'b', "--busy", &opt.nr_busy, 0, 64 },
	{ 'f', "--files", &opt.nr_files, 1, 4096 },
	{ 'k', "--kb", &opt.file_kb, 64, 65536 },
	{ 'm', "--memory-high", &opt.memory_high, 1, 65536 },
	{ 'c', "--cpu-max", &opt.cpu_max, 1, 100 }, { }
};

static void options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "readers", 1, NULL, 'r' }, { "writers", 1, NULL, 'w' }, { "busy", 1, NULL, 'b' },
		{ "files", 1, NULL, 'f' }, { "kb", 1, NULL, 'k' }, { "normal", 0, NULL, 'n' },
		{ "memory-high", 1, NULL, 'm' }, { "cpu-max", 1, NULL, 'c' },
		{ "cpuset", 1, NULL, 'C' },
		{ "duration", 1, NULL, 'D' }, { "drop", 0, NULL, 'd' }, { "variant", 1, NULL, 'v' },
		{ "json", 1, NULL, 'j' }, { "title", 1, NULL, 't' },
		{ "help", 0, NULL, 'h' }, { },
	};
	int c;

	while ((c = getopt_long(argc, argv, "r:w:b:f:k:nm:c:C:dD:v:", longs, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		switch (c) {
		case 'n':
			opt.idle = false;
			break;
		case 'C':
			opt.cpuset = optarg;
			break;
		case 'd':
			opt.drop = true;
			break;
		case 'D':
			opt.duration = duration(optarg, 600);
			break;
		case 'v':
			opt.variant = optarg;
			break;
		case 'j':
			opt.json = optarg;
			break;
		case 't':
			opt.title = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
	opt.file_kb = opt.file_kb / 64 * 64;
	if (optind != argc - 1)
		fatal("name one folder, on a mounted filesystem; --help lists the options");
	if (chdir(argv[optind]))
		fatal("%s: %s", argv[optind], strerror(errno));
}

int main(int argc, char **argv)
{
	size_t size = sizeof(*shared) + samples_size(MAX_SAMPLES);
	time_t began = time(NULL);

	options(argc, argv);
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fatal("mmap: %s", strerror(errno));
	samples_init(&shared->sync, shared + 1, MAX_SAMPLES);
	make_cgroup();
	make_files();
	measure();
	report(argc, argv, began);
	return 0;
}
