// SPDX-License-Identifier: GPL-2.0
/*
 * csumbench - what readers of a checksum tree cost the commit that changes it
 *
 * Many throttled readers look up checksums of extents in a copy-on-write B+tree. Writers
 * overwrite extents. One task commits in a loop; a commit deletes the checksums of the
 * overwritten extents. The readers search the live tree, the committed tree behind an
 * rw_semaphore as in btrfs, or use commit-root search. The rounds are interleaved.
 *
 *	csumbench commits	duration of the commits
 *	csumbench pins		cost of a pin, on one CPU and on two
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
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
#include "json.h"

#define MAX_ROUNDS	16
#define MAX_TASKS	1024
#define MAX_SAMPLES	(1 << 18)
#define CGROUP		"/sys/fs/cgroup/csumbench"

static const struct variant {
	const char *option, *shown;
	unsigned int search, lock;
	bool readers, writers;
} variants[] = {
	{ "alone", "no readers", ROOT_TEST_COMMIT_ROOT, LOCK_TEST_UNFAIR, false, true },
	/* the load of the readers alone */
	{ "live-still", "live tree, no writers", ROOT_TEST_LIVE, LOCK_TEST_RWSEM, true, false },
	{ "live-rwsem", "live tree, rw_semaphore", ROOT_TEST_LIVE, LOCK_TEST_RWSEM, true, true },
	{ "live-unfair", "live tree, unfair_rwsem", ROOT_TEST_LIVE, LOCK_TEST_UNFAIR, true, true },
	{ "behind-rwsem", "committed, rw_semaphore", ROOT_TEST_BEHIND_RWSEM, LOCK_TEST_RWSEM,
	  true, true },
	{ "commit-root", "commit-root search", ROOT_TEST_COMMIT_ROOT, LOCK_TEST_UNFAIR,
	  true, true },
};

#define NR_VARIANTS	(sizeof(variants) / sizeof(variants[0]))
#define ALONE		0
#define OURS		(NR_VARIANTS - 1)

static struct {
	int readers, writers, busy, rounds, extents, interval, cpu_max, memory_high, nice, rewrite;
	double duration;
	const char *json;
	bool quiet;
	unsigned long pairs;
} opt = {
	.readers = 256, .writers = 2, .busy = 4, .rounds = 3, .extents = 65536, .interval = 20,
	.cpu_max = 20, .nice = 19, .rewrite = 16, .duration = 4, .pairs = 1000000,
};

static struct shared {
	atomic_int ready, go, stop;
	atomic_ulong reads, writes, committed, missed, live, bad;
} *shared;

static struct result {
	struct samples commit;
	uint64_t round_max[MAX_ROUNDS];
	unsigned long reads, writes, committed, missed, live;
	unsigned long over_high;	/* memory.events */
	unsigned int pending;		/* blocks, maximum */
	double seconds;
} results[NR_VARIANTS];

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fatal("%zu bytes of shared memory: %s", size, strerror(errno));
	return p;
}

static void setup_cgroup(void)
{
	char text[32];

	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (opt.memory_high)
		put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		fatal("%s: %s (no cgroup v2 with the cpu controller?)", CGROUP, strerror(errno));
	snprintf(text, sizeof(text), "%d 100000", opt.cpu_max * 1000);
	if (!put(CGROUP "/cpu.max", text))
		fatal("%s/cpu.max: %s (CONFIG_CFS_BANDWIDTH?)", CGROUP, strerror(errno));
	snprintf(text, sizeof(text), "%dM", opt.memory_high);
	if (opt.memory_high && !put(CGROUP "/memory.high", text))
		fatal("%s/memory.high: %s", CGROUP, strerror(errno));
}

/* How often the readers exceeded memory.high since the last call. */
static unsigned long memory_events(void)
{
	FILE *f = fopen(CGROUP "/memory.events", "r");
	static unsigned long last;
	unsigned long n, high = 0;
	char name[32];

	while (f && fscanf(f, "%31s %lu", name, &n) == 2)
		if (!strcmp(name, "high"))
			high = n;
	if (f)
		fclose(f);
	n = high - last;
	last = high;
	return n;
}

static int open_fs(const struct variant *v, unsigned int extents)
{
	struct root_test_setup setup = {
		.search = v->search, .lock_type = v->lock, .extents = extents,
		.rewrite = opt.rewrite,
	};
	int fd = open("/dev/commit_root_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/commit_root_test: %s (load commit_root_test.ko)", strerror(errno));
	if (ioctl(fd, ROOT_TEST_SETUP, &setup))
		fatal("a tree of %u extents: %s", extents, strerror(errno));
	return fd;
}

static void child_start(const char *name)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	srandom(getpid());
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		usleep(2000);
}

/* All readers together map 5 % more than memory.high and refault one page at each call. */
static void use_memory(void)
{
	static size_t pages, next;
	static char *p;

	if (!opt.memory_high)
		return;
	if (!p) {
		pages = ((size_t)opt.memory_high << 20) / 4096 / opt.readers * 21 / 20 + 1;
		p = share(pages * 4096);
		memset(p, 1, pages * 4096);
	}
	madvise(p + next * 4096, 4096, MADV_REMOVE);
	p[next * 4096] = 1;
	next = (next + 1) % pages;
}

static void reader(int fd)
{
	if (!put(CGROUP "/cgroup.procs", "0"))
		fatal("%s/cgroup.procs: %s", CGROUP, strerror(errno));
	use_memory();
	child_start("reader");
	setpriority(PRIO_PROCESS, 0, opt.nice);
	while (!atomic_load(&shared->stop)) {
		struct root_test_request r = {
			.first = random() % (opt.extents / ROOT_TEST_GROUP) * ROOT_TEST_GROUP,
			.nr = ROOT_TEST_GROUP,
		};

		use_memory();
		if (ioctl(fd, ROOT_TEST_READ, &r))
			r.wrong = 1;
		atomic_fetch_add(&shared->reads, 1);
		atomic_fetch_add(&shared->committed, r.committed);
		atomic_fetch_add(&shared->missed, r.missed);
		atomic_fetch_add(&shared->live, r.live);
		atomic_fetch_add(&shared->bad, r.wrong + r.lost + r.mixed);
	}
	_exit(0);
}

static void writer(int fd)
{
	child_start("writer");
	while (!atomic_load(&shared->stop)) {
		uint32_t extent = random() % opt.extents;

		/* ENOSPC: pins still hold the free blocks; try again later */
		if (ioctl(fd, ROOT_TEST_WRITE, &extent) && errno != ENOSPC)
			atomic_fetch_add(&shared->bad, 1);
		else
			atomic_fetch_add(&shared->writes, 1);
		usleep(200);
	}
	_exit(0);
}

static void busy(__attribute__((unused)) int fd)
{
	volatile unsigned long n = 0;

	child_start("busy");
	while (!atomic_load(&shared->stop))
		n++;
	_exit(0);
}

static pid_t spawn(void (*what)(int), int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (!pid)
		what(fd);
	return pid;
}

static void commits(int fd, struct result *r, int round)
{
	double end = now() + opt.duration;

	while (now() < end) {
		struct root_test_commit c = { };
		struct root_test_state s = { };

		if (ioctl(fd, ROOT_TEST_COMMIT, &c))
			fatal("commit: %s", strerror(errno));
		samples_add(&r->commit, c.ns);
		if (c.ns > r->round_max[round])
			r->round_max[round] = c.ns;
		ioctl(fd, ROOT_TEST_STATE, &s);
		if (s.pending > r->pending)
			r->pending = s.pending;
		usleep(opt.interval * 1000);
	}
}

static void run(unsigned int v, int round)
{
	struct result *r = &results[v];
	int fd = open_fs(&variants[v], opt.extents), i, n = 0;
	static pid_t pid[MAX_TASKS + 128];
	double start;

	memset(shared, 0, sizeof(*shared));
	for (i = 0; variants[v].writers && i < opt.writers; i++)
		pid[n++] = spawn(writer, fd);
	for (i = 0; i < opt.busy; i++)
		pid[n++] = spawn(busy, fd);
	for (i = 0; variants[v].readers && i < opt.readers; i++)
		pid[n++] = spawn(reader, fd);
	while (atomic_load(&shared->ready) < n)
		usleep(1000);
	setpriority(PRIO_PROCESS, 0, -20);
	atomic_store(&shared->go, 1);
	start = now();
	commits(fd, r, round);
	r->seconds += now() - start;
	r->reads += atomic_load(&shared->reads);
	r->writes += atomic_load(&shared->writes);
	r->committed += atomic_load(&shared->committed);
	r->missed += atomic_load(&shared->missed);
	r->live += atomic_load(&shared->live);
	atomic_store(&shared->stop, 1);
	r->over_high += memory_events();
	/* throttled readers would take long to see shared->stop */
	put(CGROUP "/cpu.max", "max 100000");
	put(CGROUP "/memory.high", "max");
	for (i = 0; i < n; i++)
		waitpid(pid[i], NULL, 0);
	setup_cgroup();
	if (atomic_load(&shared->bad))
		fatal("%s: %lu checksums were wrong", variants[v].shown,
		      atomic_load(&shared->bad));
	if (ioctl(fd, ROOT_TEST_CHECK))
		fatal("%s: the tree: %s", variants[v].shown, strerror(errno));
	close(fd);
	setpriority(PRIO_PROCESS, 0, 0);
}

static void print_table(void)
{
	double ours = results[OURS].commit.max / 1e6;
	unsigned int v;

	printf("\n%-26s %8s %8s %9s %8s %9s %9s %7s %8s %9s %9s\n", "commits (ms)", "p50", "p99",
	       "max", "commits", "reads/s", "writes/s", "miss %", "pending", "max/ours",
	       "over high");
	for (v = 0; v < NR_VARIANTS; v++) {
		struct result *r = &results[v];

		if (!r->commit.count)
			continue;
		printf("%-26s %8.3f %8.3f %9.3f %8llu %9.0f %9.0f %7.2f %8u %8.2fx %9lu\n",
		       variants[v].shown, samples_percentile(&r->commit, 50) / 1e6,
		       samples_percentile(&r->commit, 99) / 1e6, r->commit.max / 1e6,
		       (unsigned long long)r->commit.count, r->reads / r->seconds,
		       r->writes / r->seconds,
		       r->committed ? 100.0 * r->missed / r->committed : 0.0, r->pending,
		       ours ? r->commit.max / 1e6 / ours : 0.0, r->over_high);
	}
	printf("%d readers at nice %d with %d %% of a CPU, ", opt.readers, opt.nice, opt.cpu_max);
	if (opt.memory_high)
		printf("memory.high %d MiB, ", opt.memory_high);
	printf("%d writers, %d busy tasks, %d keys, a commit every %d ms\n", opt.writers, opt.busy,
	       opt.extents * (int)ROOT_TEST_EXTENT_BLOCKS, opt.interval);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_variant(FILE *f, unsigned int v)
{
	struct result *r = &results[v];

	/* round_max becomes minimum, median, maximum */
	qsort(r->round_max, opt.rounds, sizeof(uint64_t), compare_u64);
	fprintf(f, "\n    \"%s\": {\n", variants[v].option);
	fprintf(f, "      \"round_max\": { \"min\": %llu, \"median\": %llu, \"max\": %llu },\n",
		(unsigned long long)r->round_max[0],
		(unsigned long long)r->round_max[opt.rounds / 2],
		(unsigned long long)r->round_max[opt.rounds - 1]);
	fprintf(f, "      \"commits\": %llu, \"p50\": %llu, \"p99\": %llu, \"max\": %llu,\n",
		(unsigned long long)r->commit.count,
		(unsigned long long)samples_percentile(&r->commit, 50),
		(unsigned long long)samples_percentile(&r->commit, 99),
		(unsigned long long)r->commit.max);
	fprintf(f, "      \"reads_per_s\": %.1f, \"writes_per_s\": %.1f,\n",
		r->reads / r->seconds, r->writes / r->seconds);
	fprintf(f, "      \"committed\": %lu, \"missed\": %lu, \"live\": %lu, \"pending\": %u,\n"
		"      \"over_memory_high\": %lu\n    }",
		r->committed, r->missed, r->live, r->pending, r->over_high);
}

static void print_json(int argc, char **argv, time_t start)
{
	FILE *f = json_begin(opt.json, "csum", argc, argv, start,
			     "commits against %d throttled readers of checksums%s", opt.readers,
			     opt.memory_high ? ", short of memory" : "");
	unsigned int v;

	fprintf(f, "  \"unit\": \"ns\",\n  \"locks\": {");
	for (v = 0; v < NR_VARIANTS; v++) {
		print_variant(f, v);
		if (v < OURS)
			fputc(',', f);
	}
	fprintf(f, "\n  }");
	json_end(f, opt.json);
}

/* --- pins ---------------------------------------------------------------- */

static double pairs_per_second(int fd, int tasks)
{
	atomic_ullong *ns = share(4096);
	double sum = 0;
	int i;

	atomic_store(&shared->go, 0);
	atomic_store(&shared->ready, 0);
	for (i = 0; i < tasks; i++) {
		struct root_test_loop loop = { .count = opt.pairs };
		cpu_set_t set;

		if (fork())
			continue;
		CPU_ZERO(&set);
		CPU_SET(i, &set);
		sched_setaffinity(0, sizeof(set), &set);
		child_start("pins");
		if (ioctl(fd, ROOT_TEST_PIN_LOOP, &loop))
			_exit(1);
		atomic_store(&ns[i], loop.ns);
		_exit(0);
	}
	while (atomic_load(&shared->ready) < tasks)
		usleep(1000);
	atomic_store(&shared->go, 1);
	for (i = 0; i < tasks; i++)
		wait(NULL);
	for (i = 0; i < tasks; i++) {
		if (!atomic_load(&ns[i]))
			fatal("pin: %s", "refused");
		sum += opt.pairs * 1e9 / atomic_load(&ns[i]);
	}
	munmap(ns, 4096);
	return sum;
}

static void pins(void)
{
	int fd = open_fs(&variants[OURS], 1000), i, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double best = 0, sum = 0;

	for (i = 0; i < opt.rounds; i++) {
		double one = pairs_per_second(fd, 1), two = cpus > 1 ? pairs_per_second(fd, 2) : 0;

		best = one > best ? one : best;
		sum += two / one;
		printf("round %d of %d: one CPU %.2f, two CPUs %.2f million pairs a second\n",
		       i + 1, opt.rounds, one / 1e6, two / 1e6);
	}
	printf("pin and unpin: %.2f ns with the loop; two CPUs %.2f times one CPU (mean)\n",
	       1e9 / best, sum / opt.rounds);
	close(fd);
}

/* --- options ------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: csumbench commits|pins [OPTIONS]\n"
"  -t NUM   --threads=NUM    reader tasks, 1 to 1024                  [256]\n"
"  -w NUM   --writers=NUM    writer tasks, 0 to 64                    [2]\n"
"  -B NUM   --busy=NUM       busy tasks at nice 0, 0 to 64            [4]\n"
"  -e NUM   --extents=NUM    extents of 16 keys, 1000 to 1000000      [65536]\n"
"  -i MS    --interval=MS    pause between commits, 0 to 10000        [20]\n"
"  -D TIME  --duration=TIME  of one round of one variant              [4s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16         [3]\n"
"           --cpu-max=PERCENT  of a CPU, for all readers, 1 to 10000  [20]\n"
"           --memory-high=MIB  for all readers, 1 to 100000           [off]\n"
"           --nice=NUM       of the readers                           [19]\n"
"           --rewrite=NUM    deletes until blocks count as written, 0: never [16]\n"
"  -n NUM   --pairs=NUM      pins in one loop                         [1000000]\n"
"           --json=FILE      results of csumbench commits; -: stdout\n"
"  -q       --quiet          print only the table\n"
"           --help\n");
}

enum { OPT_CPU_MAX = 256, OPT_MEMORY, OPT_NICE, OPT_REWRITE, OPT_JSON, OPT_HELP };

static const struct option options[] = {
	{ "threads", 1, NULL, 't' }, { "writers", 1, NULL, 'w' },
	{ "busy", 1, NULL, 'B' }, { "extents", 1, NULL, 'e' }, { "interval", 1, NULL, 'i' },
	{ "duration", 1, NULL, 'D' }, { "rounds", 1, NULL, 'r' },
	{ "cpu-max", 1, NULL, OPT_CPU_MAX }, { "memory-high", 1, NULL, OPT_MEMORY },
	{ "nice", 1, NULL, OPT_NICE }, { "rewrite", 1, NULL, OPT_REWRITE },
	{ "pairs", 1, NULL, 'n' }, { "json", 1, NULL, OPT_JSON },
	{ "quiet", 0, NULL, 'q' }, { "help", 0, NULL, OPT_HELP }, { }
};

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "t:w:B:e:i:D:r:n:q", options, NULL)) != -1) {
		switch (c) {
		case 't':
			opt.readers = number("--threads", optarg, 1, MAX_TASKS);
			break;
		case 'w':
			opt.writers = number("--writers", optarg, 0, 64);
			break;
		case 'B':
			opt.busy = number("--busy", optarg, 0, 64);
			break;
		case 'e':
			opt.extents = number("--extents", optarg, 1000, ROOT_TEST_MAX_EXTENTS);
			break;
		case 'i':
			opt.interval = number("--interval", optarg, 0, 10000);
			break;
		case 'D':
			opt.duration = duration(optarg, 3600);
			break;
		case 'r':
			opt.rounds = number("--rounds", optarg, 1, MAX_ROUNDS);
			break;
		case 'n':
			opt.pairs = number("--pairs", optarg, 1000, 100000000);
			break;
		case OPT_CPU_MAX:
			opt.cpu_max = number("--cpu-max", optarg, 1, 10000);
			break;
		case OPT_MEMORY:
			opt.memory_high = number("--memory-high", optarg, 1, 100000);
			break;
		case OPT_NICE:
			opt.nice = number("--nice", optarg, -20, 19);
			break;
		case OPT_REWRITE:
			opt.rewrite = number("--rewrite", optarg, 0, 1000000);
			break;
		case OPT_JSON:
			opt.json = optarg;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case OPT_HELP:
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int v, turn;
	time_t start = time(NULL);
	double t0 = now();
	int round;

	parse(argc, argv);
	shared = share(sizeof(*shared));
	if (optind + 1 != argc) {
		usage(stderr);
		return 1;
	}
	if (!strcmp(argv[optind], "pins")) {
		pins();
		return 0;
	}
	if (strcmp(argv[optind], "commits"))
		fatal("'%s': must be commits or pins", argv[optind]);
	for (v = 0; v < NR_VARIANTS; v++)
		samples_init(&results[v].commit, share(samples_size(MAX_SAMPLES)), MAX_SAMPLES);
	setup_cgroup();
	for (round = 0; round < opt.rounds; round++) {
		for (turn = 0; turn < NR_VARIANTS; turn++) {
			v = (turn + round) % NR_VARIANTS;
			run(v, round);
			if (opt.quiet)
				continue;
			printf("round %d of %d: %-26s max %9.3f ms  (%.0f s)\n", round + 1,
			       opt.rounds, variants[v].shown,
			       results[v].round_max[round] / 1e6, now() - t0);
			fflush(stdout);
		}
	}
	rmdir(CGROUP);
	for (v = 0; v < NR_VARIANTS; v++)
		samples_sort(&results[v].commit);
	print_table();
	if (opt.json)
		print_json(argc, argv, start);
	return 0;
}
