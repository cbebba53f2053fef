// SPDX-License-Identifier: GPL-2.0
/*
 * csumbench - what readers of a checksum tree cost the commit that changes it
 *
 * Many throttled readers look up checksums of extents in a copy-on-write B+tree. Writers
 * overwrite extents. One task commits in a loop; a commit deletes the checksums of the
 * overwritten extents. The readers search the live tree under its locks, the committed tree behind
 * an rw_semaphore as in btrfs, or use commit-root search. The rounds are interleaved.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "put.h"
#include "commit_root_test.h"
#include "fscommit_test.h"
#include "stats.h"

#define PROGRAM "csumbench"
#include "options.h"

#define READERS		256	/* at nice 19, with 20 % of a CPU */
#define EXTENTS		16384	/* of 16 keys */
#define WRITERS		2
#define BUSY		4	/* tasks at nice 0 */
#define MAX_SAMPLES	(1 << 18)
#define CGROUP		"/sys/fs/cgroup/csumbench"

static const struct variant {
	const char *name;
	unsigned int search, lock;
	bool readers;
} variants[] = {
	{ "no_readers", ROOT_TEST_COMMIT_ROOT, LOCK_TEST_UNFAIR, false },
	{ "live,rw_semaphore", ROOT_TEST_LIVE, LOCK_TEST_RWSEM, true },
	{ "live,unfair_rwsem", ROOT_TEST_LIVE, LOCK_TEST_UNFAIR, true },
	{ "committed,rw_semaphore", ROOT_TEST_BEHIND_RWSEM, LOCK_TEST_RWSEM, true },
	{ "commit_root", ROOT_TEST_COMMIT_ROOT, LOCK_TEST_UNFAIR, true },
};

#define NR_VARIANTS	(sizeof(variants) / sizeof(variants[0]))

static struct {
	long rounds;
	double duration;
} opt = { .rounds = 3, .duration = 4 };

static struct shared {
	atomic_int ready, go, stop;
	atomic_ulong reads, writes, bad;
} *shared;

static struct samples samples;	/* of a round */

static void throttle(void)
{
	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		fatal("%s: %s (no cgroup v2 with the cpu controller?)", CGROUP, strerror(errno));
	if (!put(CGROUP "/cpu.max", "20000 100000"))
		fatal("%s/cpu.max: %s (CONFIG_CFS_BANDWIDTH?)", CGROUP, strerror(errno));
}

static int open_fs(const struct variant *v)
{
	struct root_test_setup setup = {
		.search = v->search, .lock_type = v->lock, .extents = EXTENTS, .rewrite = 16,
	};
	int fd = open("/dev/commit_root_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/commit_root_test: %s (load commit_root_test.ko)", strerror(errno));
	if (ioctl(fd, ROOT_TEST_SETUP, &setup))
		fatal("a tree of %d extents: %s", EXTENTS, strerror(errno));
	return fd;
}

/* --- tasks --------------------------------------------------------------- */

static void wait_for_go(void)
{
	srandom(getpid());
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		usleep(2000);
}

static void reader(int fd)
{
	if (!put(CGROUP "/cgroup.procs", "0"))
		fatal("%s/cgroup.procs: %s", CGROUP, strerror(errno));
	wait_for_go();
	setpriority(PRIO_PROCESS, 0, 19);
	while (!atomic_load(&shared->stop)) {
		struct root_test_request r = {
			.first = random() % (EXTENTS / ROOT_TEST_GROUP) * ROOT_TEST_GROUP,
			.nr = ROOT_TEST_GROUP,
		};

		if (ioctl(fd, ROOT_TEST_READ, &r))
			r.bad = 1;
		atomic_fetch_add(&shared->reads, 1);
		atomic_fetch_add(&shared->bad, r.bad + r.mixed);
	}
}

static void writer(int fd)
{
	wait_for_go();
	while (!atomic_load(&shared->stop)) {
		uint32_t extent = random() % EXTENTS;

		/* ENOSPC: pins still hold the free blocks; try again later */
		if (!ioctl(fd, ROOT_TEST_WRITE, &extent))
			atomic_fetch_add(&shared->writes, 1);
		else if (errno != ENOSPC)
			atomic_fetch_add(&shared->bad, 1);
		usleep(200);
	}
}

static void busy(__attribute__((unused)) int fd)
{
	wait_for_go();
	while (!atomic_load(&shared->stop))
		;
}

static void spawn(void (*what)(int), int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	what(fd);
	_exit(0);
}

/* --- a round ------------------------------------------------------------- */

/* Returns how long it took. */
static double commits(int fd)
{
	double start = now();

	samples.count = 0;
	samples.max = 0;
	while (now() < start + opt.duration) {
		struct root_test_commit c = { };

		if (ioctl(fd, ROOT_TEST_COMMIT, &c))
			fatal("commit: %s", strerror(errno));
		samples_add(&samples, c.ns);
		usleep(20000);
	}
	return now() - start;
}

static void run(const struct variant *v)
{
	unsigned long reads, writes;
	double seconds;
	int fd = open_fs(v), i, n = WRITERS + BUSY + (v->readers ? READERS : 0);

	throttle();
	memset(shared, 0, sizeof(*shared));
	for (i = 0; i < n; i++)
		spawn(i < WRITERS ? writer : i < WRITERS + BUSY ? busy : reader, fd);
	while (atomic_load(&shared->ready) < n)
		usleep(1000);
	setpriority(PRIO_PROCESS, 0, -20);
	atomic_store(&shared->go, 1);
	seconds = commits(fd);
	reads = atomic_load(&shared->reads);
	writes = atomic_load(&shared->writes);
	atomic_store(&shared->stop, 1);
	/* throttled readers would take long to see shared->stop */
	put(CGROUP "/cpu.max", "max 100000");
	while (n--)
		wait(NULL);
	if (atomic_load(&shared->bad))
		fatal("%s: %lu checksums were wrong", v->name, atomic_load(&shared->bad));
	if (ioctl(fd, ROOT_TEST_CHECK))
		fatal("%s: the tree: %s", v->name, strerror(errno));
	close(fd);
	setpriority(PRIO_PROCESS, 0, 0);
	samples_sort(&samples);
	print_figure("p50", samples_percentile(&samples, 50) / 1e6, "ms", "commits", v->name);
	print_figure("p99", samples_percentile(&samples, 99) / 1e6, "ms", "commits", v->name);
	print_figure("max", samples.max / 1e6, "ms", "commits", v->name);
	print_figure("count", samples.count, "commits", "commits", v->name);
	print_figure("reads", reads / seconds, "1/s", "commits", v->name);
	print_figure("writes", writes / seconds, "1/s", "commits", v->name);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: csumbench [OPTIONS]\n"
"  -D TIME  --duration=TIME  of one round of one variant             [4s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16        [3]\n"
"           --help\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "duration", 1, NULL, 'D' }, { "rounds", 1, NULL, 'r' },
		{ "help", 0, NULL, 'h' }, { }
	};
	const struct number_option numbers[] = {
		{ 'r', "--rounds", &opt.rounds, 1, 16 }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "D:r:", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		if (c != 'D')
			show_usage(usage, c == 'h');
		opt.duration = duration(optarg, 3600);
	}
	if (optind != argc)
		show_usage(usage, false);
}

int main(int argc, char **argv)
{
	unsigned int turn;
	int round;

	parse(argc, argv);
	shared = shared_memory(sizeof(*shared));
	samples_init(&samples, shared_memory(samples_size(MAX_SAMPLES)), MAX_SAMPLES);
	for (round = 0; round < opt.rounds; round++)
		for (turn = 0; turn < NR_VARIANTS; turn++)
			run(&variants[(turn + round) % NR_VARIANTS]);
	rmdir(CGROUP);
	return 0;
}
