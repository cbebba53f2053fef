// SPDX-License-Identifier: GPL-2.0
/*
 * ckptlat - measure how long a checkpoint writer waits for its lock
 *
 * Low-priority readers and one important writer contend for each lock type of
 * /dev/fscommit_test, beside busy tasks, in interleaved rounds. All of them are userspace tasks.
 * Options that cyclictest also has keep its names.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../selftests/unfair_rwsem/module/fscommit_test.h"
#include "../selftests/lib/stats.h"

#define PROGRAM "ckptlat"
#define VERSION "1.0"
#include "../selftests/lib/options.h"
#include "../selftests/lib/json.h"

#define EXIT_THRESHOLD	2	/* a latency was too long; like cyclictest and rtla */
#define MAX_READERS	256
#define MAX_BUSY	64
#define MAX_SAMPLES	(1 << 20)
#define CGROUP		"/sys/fs/cgroup/ckptlat"

static const struct lock_name {
	const char *option, *shown;
	unsigned int type;
} lock_names[] = {
	{ "rwsem", "rw_semaphore", LOCK_TEST_RWSEM },
	{ "percpu", "percpu_rw_semaphore", LOCK_TEST_PERCPU },
	{ "f2fs", "f2fs-style unfair", LOCK_TEST_F2FS },
	{ "unfair", "unfair_rwsem", LOCK_TEST_UNFAIR },
};

#define NR_LOCKS	(sizeof(lock_names) / sizeof(lock_names[0]))
#define OURS		(NR_LOCKS - 1)

static struct {
	bool lock[NR_LOCKS];
	long readers, rounds, busy;
	double duration;
	long interval, section, slice, reader_interval, reader_section;
	int policy, reader_policy;
	long prio, nice, reader_nice;
	long cpu_max, cpu_weight;
	long threshold, histogram, bound;
	bool quiet, hackbench;
	const char *json, *title;
} opt = {
	.lock = { true, true, true, true },
	.readers = 8, .rounds = 3, .busy = 4, .duration = 4,
	.interval = 1000, .section = 1000, .reader_interval = 500, .reader_section = 20,
	.policy = SCHED_OTHER, .nice = -20, .reader_policy = SCHED_OTHER, .reader_nice = 19,
	.bound = -1,
};

/* Results of a lock type over all rounds; shared with the children. */
struct result {
	struct samples writer;
	struct samples reader;
	uint64_t reads;
	uint64_t round_max[64];
};

struct shared {
	atomic_int ready, go, stop;
	atomic_ulong reads;
	atomic_ulong errors;
};

static struct shared *shared;
static struct result *results[NR_LOCKS];

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("ckptlat: mmap");
		exit(1);
	}
	return p;
}

static void sleep_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void set_priority(int policy, int prio, int nice)
{
	struct sched_param p = { .sched_priority = prio };

	if (policy == SCHED_OTHER || policy == SCHED_BATCH) {
		if (setpriority(PRIO_PROCESS, 0, nice))
			fatal("nice %d: %s", nice, strerror(errno));
		p.sched_priority = 0;
	}
	if (policy == SCHED_IDLE)
		p.sched_priority = 0;
	if (sched_setscheduler(0, policy, &p))
		fatal("policy %d, priority %d: %s", policy, p.sched_priority, strerror(errno));
}

/* A woken task with a shorter slice preempts tasks with a longer slice. */
static void set_slice(int nice, long us)
{
	/* struct sched_attr: its header conflicts with the C library's */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .nice = nice, .runtime = us * 1000 };

	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		fatal("slice of %ld us: %s", us, strerror(errno));
}

static bool write_file(const char *path, const char *fmt, ...)
{
	FILE *f = fopen(path, "w");
	va_list ap;
	bool ok;

	if (!f)
		return false;
	va_start(ap, fmt);
	ok = vfprintf(f, fmt, ap) >= 0;
	va_end(ap);
	return !fclose(f) && ok;
}

static bool want_cgroup(void)
{
	return opt.cpu_max || opt.cpu_weight;
}

static void setup_cgroup(void)
{
	if (!want_cgroup())
		return;
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		fatal("%s: %s (no cgroup v2 with the cpu controller?)", CGROUP, strerror(errno));
	/* the period of 100 ms that containers use */
	if (opt.cpu_max && !write_file(CGROUP "/cpu.max", "%ld 100000", opt.cpu_max * 1000))
		fatal("%s/cpu.max: %s", CGROUP, strerror(errno));
	if (opt.cpu_weight && !write_file(CGROUP "/cpu.weight", "%ld", opt.cpu_weight))
		fatal("%s/cpu.weight: %s", CGROUP, strerror(errno));
}

/* Each child waits for the start, and dies with its parent. */
static void child_start(const char *name)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1000UL);
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		sleep_us(500);
}

static bool lock_once(int fd, struct lock_test_op *op)
{
	if (!ioctl(fd, LOCK_TEST_LOCK, op))
		return true;
	if (errno != EINTR)
		atomic_fetch_add(&shared->errors, 1);
	return false;
}

static void reader(int fd, struct result *r)
{
	struct lock_test_op op = {
		.mode = LOCK_TEST_READ, .how = LOCK_TEST_PLAIN, .hold = LOCK_TEST_BUSY,
		.hold_us = opt.reader_section,
	};

	if (want_cgroup() && !write_file(CGROUP "/cgroup.procs", "0"))
		fatal("%s/cgroup.procs: %s", CGROUP, strerror(errno));
	set_priority(opt.reader_policy, 0, opt.reader_nice);
	child_start("reader");
	while (!atomic_load(&shared->stop)) {
		if (!lock_once(fd, &op))
			break;
		samples_add(&r->reader, op.wait_ns);
		atomic_fetch_add(&shared->reads, 1);
		sleep_us(opt.reader_interval);
	}
	_exit(0);
}

static void writer(int fd, struct result *r, int round)
{
	struct lock_test_op op = {
		.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_PLAIN, .hold = LOCK_TEST_BUSY,
		.hold_us = opt.section,
	};

	set_priority(opt.policy, opt.prio, opt.nice);
	if (opt.slice && opt.policy == SCHED_OTHER)
		set_slice(opt.nice, opt.slice);
	child_start("checkpoint");
	while (!atomic_load(&shared->stop)) {
		if (!lock_once(fd, &op))
			break;
		samples_add(&r->writer, op.wait_ns);
		if (op.wait_ns > r->round_max[round])
			r->round_max[round] = op.wait_ns;
		sleep_us(opt.interval);
	}
	_exit(0);
}

static void busy(void)
{
	volatile unsigned long n = 0;

	child_start("busy");
	while (!atomic_load(&shared->stop))
		n++;
	_exit(0);
}

static pid_t spawn_hackbench(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!freopen("/dev/null", "w", stdout))
		_exit(126);
	execlp("hackbench", "hackbench", "-g", "2", "-l", "1000000", NULL);
	fprintf(stderr, "ckptlat: hackbench: %s (package rt-tests)\n", strerror(errno));
	_exit(127);
}

static void run(unsigned int l, int round)
{
	pid_t pids[MAX_READERS + MAX_BUSY + 1], noise = 0;
	__u32 type = lock_names[l].type, bound = opt.bound;
	int n = 0, i, fd, status;

	fd = open("/dev/fscommit_test", O_RDWR);
	if (fd < 0)
		fatal("/dev/fscommit_test: %s (insmod fscommit_test.ko; root only)",
		      strerror(errno));
	if (ioctl(fd, LOCK_TEST_CREATE, &type))
		fatal("cannot create %s: %s", lock_names[l].shown, strerror(errno));
	if (l == OURS && opt.bound >= 0 && ioctl(fd, LOCK_TEST_SET_BOUND, &bound))
		fatal("bound of %ld us: %s", opt.bound, strerror(errno));
	atomic_store(&shared->ready, 0);
	atomic_store(&shared->go, 0);
	atomic_store(&shared->stop, 0);
	atomic_store(&shared->reads, 0);
	fflush(NULL);
	for (i = 0; i < opt.readers; i++) {
		pids[n] = fork();
		if (!pids[n++])
			reader(fd, results[l]);
	}
	pids[n] = fork();
	if (!pids[n++])
		writer(fd, results[l], round);
	for (i = 0; i < opt.busy; i++) {
		pids[n] = fork();
		if (!pids[n++])
			busy();
	}
	for (i = 0; i < n; i++)
		if (pids[i] < 0)
			fatal("fork: %s", strerror(errno));
	/* until all children are ready, or one has failed */
	while (atomic_load(&shared->ready) < n) {
		if (waitpid(-1, &status, WNOHANG) > 0) {
			kill(0, SIGTERM);
			exit(1);
		}
		sleep_us(1000);
	}
	if (opt.hackbench)
		noise = spawn_hackbench();
	atomic_store(&shared->go, 1);
	sleep_us(opt.duration * 1e6);
	atomic_store(&shared->stop, 1);
	if (noise > 0) {
		kill(-noise, SIGKILL);
		if (waitpid(noise, &status, 0) == noise && WIFEXITED(status) &&
		    WEXITSTATUS(status) >= 126)
			fatal("no background load");
	}
	for (i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
	results[l]->reads += atomic_load(&shared->reads);
	close(fd);
}

/* A percentile of fewer samples is the maximum, and the number of samples depends on the lock. */
#define MIN_SAMPLES	100

static void print_ratios(const struct result *r, const struct result *ours)
{
	if (r->writer.count >= MIN_SAMPLES && ours->writer.count >= MIN_SAMPLES)
		printf("  %8.1fx", (double)samples_percentile(&r->writer, 99) /
		       (samples_percentile(&ours->writer, 99) ?: 1));
	else
		printf("  %9s", "-");
	printf(" %8.1fx", (double)r->writer.max / (ours->writer.max ?: 1));
}

static void print_table(void)
{
	const struct result *ours = opt.lock[OURS] ? results[OURS] : NULL;
	unsigned int l;

	printf("\n%-20s %9s %9s %9s %8s %8s %9s", "writer's wait (ms)", "p99", "p99.9", "max",
	       "writes", "reads", "rd max");
	printf(ours ? "   p99/ours  max/ours\n" : "\n");
	for (l = 0; l < NR_LOCKS; l++) {
		struct result *r = results[l];

		if (!opt.lock[l])
			continue;
		printf("%-20s %9.3f %9.3f %9.3f %8llu %8llu %9.1f", lock_names[l].shown,
		       samples_percentile(&r->writer, 99) / 1e6,
		       samples_percentile(&r->writer, 99.9) / 1e6, r->writer.max / 1e6,
		       (unsigned long long)r->writer.count, (unsigned long long)r->reads,
		       r->reader.max / 1e6);
		if (ours && l != OURS)
			print_ratios(r, ours);
		printf("\n");
	}
	fflush(stdout);
}

/* Like cyclictest: a line per microsecond, a column per lock type, then the overflows. */
static void print_histogram(void)
{
	unsigned int l;
	long us;

	printf("# Histogram of the writer's wait, in us\n# us");
	for (l = 0; l < NR_LOCKS; l++)
		if (opt.lock[l])
			printf(" %s", lock_names[l].option);
	printf("\n");
	for (us = 0; us < opt.histogram; us++) {
		printf("%06ld", us);
		for (l = 0; l < NR_LOCKS; l++)
			if (opt.lock[l])
				printf(" %06llu", (unsigned long long)
				       samples_between(&results[l]->writer, us * 1000,
						       us * 1000 + 1000));
		printf("\n");
	}
	printf("# Overflows:");
	for (l = 0; l < NR_LOCKS; l++)
		if (opt.lock[l])
			printf(" %06llu", (unsigned long long)
			       samples_between(&results[l]->writer, opt.histogram * 1000,
					       UINT64_MAX));
	printf("\n");
}

static void print_json(int argc, char **argv, time_t start, int ret)
{
	FILE *f = json_begin(opt.json, NULL, argc, argv, start, "%s", opt.title ?: "");
	unsigned int l;
	int i, first = 1;

	fprintf(f, "  \"return_code\": %d,\n", ret);
	fprintf(f, "  \"unit\": \"ns\",\n  \"locks\": {");
	for (l = 0; l < NR_LOCKS; l++) {
		struct result *r = results[l];

		if (!opt.lock[l])
			continue;
		fprintf(f, "%s\n    \"%s\": {\n", first ? "" : ",", lock_names[l].option);
		first = 0;
		fprintf(f, "      \"writes\": %llu, \"reads\": %llu,\n",
			(unsigned long long)r->writer.count, (unsigned long long)r->reads);
		fprintf(f, "      \"writer_wait\": { \"p50\": %llu, \"p99\": %llu, \"p99.9\": %llu, \"max\": %llu },\n",
			(unsigned long long)samples_percentile(&r->writer, 50),
			(unsigned long long)samples_percentile(&r->writer, 99),
			(unsigned long long)samples_percentile(&r->writer, 99.9),
			(unsigned long long)r->writer.max);
		fprintf(f, "      \"reader_wait\": { \"p50\": %llu, \"p99\": %llu, \"max\": %llu },\n",
			(unsigned long long)samples_percentile(&r->reader, 50),
			(unsigned long long)samples_percentile(&r->reader, 99),
			(unsigned long long)r->reader.max);
		fprintf(f, "      \"writer_max_of_rounds\": [");
		for (i = 0; i < opt.rounds; i++)
			fprintf(f, "%s%llu", i ? ", " : "", (unsigned long long)r->round_max[i]);
		fprintf(f, "],\n      \"writer_histogram\": ");
		samples_print_json(f, &r->writer);
		fprintf(f, "\n    }");
	}
	fprintf(f, "\n  }");
	json_end(f, opt.json);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: ckptlat [OPTIONS]\n"
"Measure how long a checkpoint writer waits for its lock, for several lock types.\n\n"
"  -l LIST  --lock=LIST       rwsem, percpu, f2fs, unfair, or all      [all]\n"
"  -t NUM   --threads=NUM     reader tasks, 0 to 256                   [8]\n"
"  -D TIME  --duration=TIME   of a round of one lock; s, m, h          [4s]\n"
"  -r NUM   --rounds=NUM      rounds, order rotated, 1 to 64           [3]\n"
"  -i US    --interval=US     the writer's pause                       [1000]\n"
"  -s US    --section=US      the writer's section                     [1000]\n"
"  -p PRIO  --priority=PRIO   the writer's real-time priority, 1 to 99\n"
"           --policy=NAME     of the writer: other, fifo, rr           [other]\n"
"           --nice=NUM        of the writer                            [-20]\n"
"           --slice=US        the writer's slice, 100 to 100000; 6.12 and later\n"
"  -B NUM   --busy=NUM        busy tasks at nice 0, 0 to 64            [4]\n"
"           --hackbench       hackbench of rt-tests as additional load\n"
"           --reader-interval=US, --reader-section=US                  [500, 20]\n"
"           --reader-policy=NAME  other, batch, idle                   [other]\n"
"           --reader-nice=NUM                                          [19]\n"
"           --reader-cpu-max=PERCENT   readers in a cgroup limited to PERCENT of a CPU\n"
"           --reader-cpu-weight=NUM    readers in a cgroup of this weight\n"
"           --bound=US        reader bound of unfair_rwsem, 0: off     [module's]\n"
"  -b US    --breaktrace=US   exit 2 if a writer of unfair_rwsem waits longer\n"
"  -h US    --histogram=US    print a histogram up to US, and overflows\n"
"           --json=FILE       results with all histograms; -: stdout\n"
"           --title=TEXT      for the report\n"
"  -q       --quiet           only the table\n"
"  -V       --version\n"
"           --help\n\n"
"Exit status: 0; 1 on an error; 2 when a wait was longer than --breaktrace.\n");
}

static int policy(const char *option, const char *s, const char *allowed)
{
	static const struct { const char *name; int policy; } p[] = {
		{ "other", SCHED_OTHER }, { "fifo", SCHED_FIFO }, { "rr", SCHED_RR },
		{ "batch", SCHED_BATCH }, { "idle", SCHED_IDLE },
	};
	unsigned int i;

	for (i = 0; i < sizeof(p) / sizeof(p[0]); i++)
		if (!strcmp(s, p[i].name) && strstr(allowed, s))
			return p[i].policy;
	fatal("%s=%s: must be one of %s", option, s, allowed);
}

static void choose_locks(char *list)
{
	char *name;
	unsigned int l;

	memset(opt.lock, 0, sizeof(opt.lock));
	for (name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		bool all = !strcmp(name, "all"), found = all;

		for (l = 0; l < NR_LOCKS; l++)
			if (all || !strcmp(name, lock_names[l].option)) {
				opt.lock[l] = true;
				found = true;
			}
		if (!found)
			fatal("--lock=%s: must be rwsem, percpu, f2fs, unfair or all", name);
	}
	for (l = 0; l < NR_LOCKS; l++)
		if (opt.lock[l])
			return;
	fatal("--lock: names no lock; must be rwsem, percpu, f2fs, unfair or all");
}

enum {
	OPT_POLICY = 256, OPT_NICE, OPT_HACKBENCH, OPT_RINTERVAL, OPT_RSECTION, OPT_RPOLICY,
	OPT_RNICE, OPT_SLICE, OPT_RMAX, OPT_RWEIGHT, OPT_BOUND, OPT_JSON, OPT_TITLE, OPT_HELP,
};

static const struct option options[] = {
	{ "lock", 1, NULL, 'l' }, { "threads", 1, NULL, 't' }, { "duration", 1, NULL, 'D' },
	{ "rounds", 1, NULL, 'r' }, { "interval", 1, NULL, 'i' }, { "section", 1, NULL, 's' },
	{ "priority", 1, NULL, 'p' }, { "policy", 1, NULL, OPT_POLICY },
	{ "nice", 1, NULL, OPT_NICE }, { "slice", 1, NULL, OPT_SLICE }, { "busy", 1, NULL, 'B' },
	{ "hackbench", 0, NULL, OPT_HACKBENCH }, { "reader-interval", 1, NULL, OPT_RINTERVAL },
	{ "reader-section", 1, NULL, OPT_RSECTION }, { "reader-policy", 1, NULL, OPT_RPOLICY },
	{ "reader-nice", 1, NULL, OPT_RNICE }, { "reader-cpu-max", 1, NULL, OPT_RMAX },
	{ "reader-cpu-weight", 1, NULL, OPT_RWEIGHT }, { "bound", 1, NULL, OPT_BOUND },
	{ "breaktrace", 1, NULL, 'b' }, { "histogram", 1, NULL, 'h' },
	{ "json", 1, NULL, OPT_JSON }, { "title", 1, NULL, OPT_TITLE },
	{ "quiet", 0, NULL, 'q' }, { "version", 0, NULL, 'V' }, { "help", 0, NULL, OPT_HELP }, { }
};

static const struct number_option numbers[] = {
	{ 't', "--threads", &opt.readers, 0, MAX_READERS },
	{ 'r', "--rounds", &opt.rounds, 1, 64 },
	{ 'i', "--interval", &opt.interval, 0, 10000000 },
	{ 's', "--section", &opt.section, 0, LOCK_TEST_MAX_HOLD_US },
	{ 'p', "--priority", &opt.prio, 1, 99 },
	{ OPT_NICE, "--nice", &opt.nice, -20, 19 },
	{ OPT_SLICE, "--slice", &opt.slice, 100, 100000 },
	{ 'B', "--busy", &opt.busy, 0, MAX_BUSY },
	{ OPT_RINTERVAL, "--reader-interval", &opt.reader_interval, 0, 10000000 },
	{ OPT_RSECTION, "--reader-section", &opt.reader_section, 0, LOCK_TEST_MAX_HOLD_US },
	{ OPT_RNICE, "--reader-nice", &opt.reader_nice, -20, 19 },
	{ OPT_RMAX, "--reader-cpu-max", &opt.cpu_max, 1, 10000 },
	{ OPT_RWEIGHT, "--reader-cpu-weight", &opt.cpu_weight, 1, 10000 },
	{ OPT_BOUND, "--bound", &opt.bound, 0, 10000000 },
	{ 'b', "--breaktrace", &opt.threshold, 1, LONG_MAX / 1000 },
	{ 'h', "--histogram", &opt.histogram, 1, 1000000 }, { }
};

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "l:t:D:r:i:s:p:B:b:h:qV", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg)) {
			if (c == 'p' && opt.policy == SCHED_OTHER)
				opt.policy = SCHED_FIFO;
			continue;
		}
		switch (c) {
		case 'l':
			choose_locks(optarg);
			break;
		case 'D':
			opt.duration = duration(optarg, 3600);
			break;
		case OPT_POLICY:
			opt.policy = policy("--policy", optarg, "other, fifo, rr");
			break;
		case OPT_HACKBENCH:
			opt.hackbench = true;
			break;
		case OPT_RPOLICY:
			opt.reader_policy = policy("--reader-policy", optarg, "other, batch, idle");
			break;
		case OPT_JSON:
			opt.json = optarg;
			break;
		case OPT_TITLE:
			opt.title = optarg;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'V':
			puts(PROGRAM " " VERSION);
			exit(0);
		case OPT_HELP:
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
	if (optind < argc)
		fatal("unexpected argument '%s'", argv[optind]);
	if (opt.policy != SCHED_OTHER && !opt.prio)
		opt.prio = 50;
}

int main(int argc, char **argv)
{
	unsigned int l, turn, locks = 0;
	time_t start = time(NULL);
	double t0 = now();
	int round, ret = 0;

	parse(argc, argv);
	shared = share(sizeof(*shared));
	for (l = 0; l < NR_LOCKS; l++) {
		locks += opt.lock[l];
		results[l] = share(sizeof(struct result));
		samples_init(&results[l]->writer, share(samples_size(MAX_SAMPLES)), MAX_SAMPLES);
		samples_init(&results[l]->reader, share(samples_size(MAX_SAMPLES)), MAX_SAMPLES);
	}
	setup_cgroup();
	if (opt.title && !opt.quiet)
		printf("%s\n", opt.title);
	for (round = 0; round < opt.rounds; round++) {
		for (turn = 0; turn < NR_LOCKS; turn++) {
			l = (turn + round) % NR_LOCKS;
			if (!opt.lock[l])
				continue;
			if (!opt.quiet) {
				printf("round %d of %ld: %-20s", round + 1, opt.rounds,
				       lock_names[l].shown);
				fflush(stdout);
			}
			run(l, round);
			if (!opt.quiet) {
				printf(" max %9.3f ms  (%.0f s of about %.0f)\n",
				       results[l]->round_max[round] / 1e6, now() - t0,
				       opt.rounds * locks * (opt.duration + 0.3));
				fflush(stdout);
			}
		}
	}
	if (want_cgroup())
		rmdir(CGROUP);
	if (atomic_load(&shared->errors))
		fatal("%lu lock operations failed", atomic_load(&shared->errors));
	for (l = 0; l < NR_LOCKS; l++) {
		samples_sort(&results[l]->writer);
		samples_sort(&results[l]->reader);
		if (opt.lock[l] && !results[l]->writer.count)
			fatal("%s: the writer never got the lock", lock_names[l].shown);
	}
	print_table();
	if (opt.histogram)
		print_histogram();
	if (opt.threshold && opt.lock[OURS] &&
	    results[OURS]->writer.max > (uint64_t)opt.threshold * 1000) {
		printf("unfair_rwsem: a writer waited %.3f ms, more than the %.3f ms of --breaktrace\n",
		       results[OURS]->writer.max / 1e6, opt.threshold / 1e3);
		ret = EXIT_THRESHOLD;
	}
	if (opt.json)
		print_json(argc, argv, start, ret);
	return ret;
}
