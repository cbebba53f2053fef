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
#include <sys/mman.h>
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

#define MAX_READERS	1024
#define WRITERS		2
#define BUSY		4	/* tasks at nice 0 */
#define MAX_SAMPLES	(1 << 18)
#define CGROUP		"/sys/fs/cgroup/csumbench"

static const struct variant {
	const char *name;
	unsigned int search, lock;
	bool readers;
} variants[] = {
	{ "no readers", ROOT_TEST_COMMIT_ROOT, LOCK_TEST_UNFAIR, false },
	{ "live tree, rw_semaphore", ROOT_TEST_LIVE, LOCK_TEST_RWSEM, true },
	{ "live tree, unfair_rwsem", ROOT_TEST_LIVE, LOCK_TEST_UNFAIR, true },
	{ "committed, rw_semaphore", ROOT_TEST_BEHIND_RWSEM, LOCK_TEST_RWSEM, true },
	{ "commit-root search", ROOT_TEST_COMMIT_ROOT, LOCK_TEST_UNFAIR, true },
};

#define NR_VARIANTS	(sizeof(variants) / sizeof(variants[0]))

static struct {
	long readers, extents, cpu_max, rounds;
	double duration;
} opt = { .readers = 256, .extents = 65536, .cpu_max = 20, .rounds = 3, .duration = 4 };

static struct shared {
	atomic_int ready, go, stop;
	atomic_ulong reads, writes, bad;
} *shared;

static struct result {
	struct samples commit;
	unsigned long reads, writes;
	double seconds;
} results[NR_VARIANTS];

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fatal("%zu bytes of shared memory: %s", size, strerror(errno));
	return p;
}

static void throttle(void)
{
	char text[32];

	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		fatal("%s: %s (no cgroup v2 with the cpu controller?)", CGROUP, strerror(errno));
	snprintf(text, sizeof(text), "%ld 100000", opt.cpu_max * 1000);
	if (!put(CGROUP "/cpu.max", text))
		fatal("%s/cpu.max: %s (CONFIG_CFS_BANDWIDTH?)", CGROUP, strerror(errno));
}

static int open_fs(const struct variant *v)
{
	struct root_test_setup setup = {
		.search = v->search, .lock_type = v->lock, .extents = opt.extents, .rewrite = 16,
	};
	int fd = open("/dev/commit_root_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/commit_root_test: %s (load commit_root_test.ko)", strerror(errno));
	if (ioctl(fd, ROOT_TEST_SETUP, &setup))
		fatal("a tree of %ld extents: %s", opt.extents, strerror(errno));
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
			.first = random() % (opt.extents / ROOT_TEST_GROUP) * ROOT_TEST_GROUP,
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
		uint32_t extent = random() % opt.extents;

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

static void commits(int fd, struct result *r)
{
	double start = now();

	while (now() < start + opt.duration) {
		struct root_test_commit c = { };

		if (ioctl(fd, ROOT_TEST_COMMIT, &c))
			fatal("commit: %s", strerror(errno));
		samples_add(&r->commit, c.ns);
		usleep(20000);
	}
	r->seconds += now() - start;
}

static void run(const struct variant *v, struct result *r)
{
	int fd = open_fs(v), i, n = WRITERS + BUSY + (v->readers ? opt.readers : 0);

	throttle();
	memset(shared, 0, sizeof(*shared));
	for (i = 0; i < n; i++)
		spawn(i < WRITERS ? writer : i < WRITERS + BUSY ? busy : reader, fd);
	while (atomic_load(&shared->ready) < n)
		usleep(1000);
	setpriority(PRIO_PROCESS, 0, -20);
	atomic_store(&shared->go, 1);
	commits(fd, r);
	r->reads += atomic_load(&shared->reads);
	r->writes += atomic_load(&shared->writes);
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
}

static void print_table(void)
{
	unsigned int v;

	printf("\n%-26s %8s %8s %9s %8s %9s %9s\n", "commits (ms)", "p50", "p99", "max", "count",
	       "reads/s", "writes/s");
	for (v = 0; v < NR_VARIANTS; v++) {
		struct result *r = &results[v];

		samples_sort(&r->commit);
		printf("%-26s %8.3f %8.3f %9.3f %8llu %9.0f %9.0f\n", variants[v].name,
		       samples_percentile(&r->commit, 50) / 1e6,
		       samples_percentile(&r->commit, 99) / 1e6, r->commit.max / 1e6,
		       (unsigned long long)r->commit.count, r->reads / r->seconds,
		       r->writes / r->seconds);
	}
	printf("%ld readers at nice 19 with %ld %% of a CPU, %d writers, %d busy tasks, %ld keys\n",
	       opt.readers, opt.cpu_max, WRITERS, BUSY, opt.extents * ROOT_TEST_EXTENT_BLOCKS);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: csumbench [OPTIONS]\n"
"  -t NUM   --threads=NUM    reader tasks, 1 to 1024                 [256]\n"
"  -e NUM   --extents=NUM    extents of 16 keys, 1000 to 1000000     [65536]\n"
"  -c NUM   --cpu-max=NUM    percent of a CPU for all readers, 1 to 10000  [20]\n"
"  -D TIME  --duration=TIME  of one round of one variant             [4s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16        [3]\n"
"           --help\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", 1, NULL, 't' }, { "extents", 1, NULL, 'e' },
		{ "cpu-max", 1, NULL, 'c' }, { "duration", 1, NULL, 'D' },
		{ "rounds", 1, NULL, 'r' }, { "help", 0, NULL, 'h' }, { }
	};
	const struct number_option numbers[] = {
		{ 't', "--threads", &opt.readers, 1, MAX_READERS },
		{ 'e', "--extents", &opt.extents, 1000, ROOT_TEST_MAX_EXTENTS },
		{ 'c', "--cpu-max", &opt.cpu_max, 1, 10000 },
		{ 'r', "--rounds", &opt.rounds, 1, 16 }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "t:e:c:D:r:", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		if (c == 'D') {
			opt.duration = duration(optarg, 3600);
			continue;
		}
		usage(c == 'h' ? stdout : stderr);
		exit(c != 'h');
	}
	if (optind != argc) {
		usage(stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned int v, turn;
	int round;

	parse(argc, argv);
	shared = share(sizeof(*shared));
	for (v = 0; v < NR_VARIANTS; v++)
		samples_init(&results[v].commit, share(samples_size(MAX_SAMPLES)), MAX_SAMPLES);
	for (round = 0; round < opt.rounds; round++)
		for (turn = 0; turn < NR_VARIANTS; turn++) {
			v = (turn + round) % NR_VARIANTS;
			run(&variants[v], &results[v]);
		}
	rmdir(CGROUP);
	print_table();
	return 0;
}
