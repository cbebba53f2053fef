// SPDX-License-Identifier: GPL-2.0
/*
 * ckptlat - measure how long a checkpoint writer waits for its lock
 *
 * Low-priority readers and one important writer contend for each lock type of
 * /dev/fscommit_test, beside busy tasks, in interleaved rounds. All of them are userspace tasks.
 * Options that cyclictest also has keep its names. `gcc -O2 -static` builds it on any machine; it
 * needs no other file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/types.h>
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
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "ckptlat"
#define VERSION "1.1"

#define EXIT_THRESHOLD	2	/* a latency was too long; like cyclictest and rtla */
#define MAX_READERS	256
#define MAX_BUSY	64
#define MAX_SAMPLES	(1 << 20)

/*
 * The part of the device's interface that this program uses. Each open file is one lock: CREATE
 * chooses its type. LOCK acquires it, holds it for hold_us on the CPU, and releases it.
 */
enum { TYPE_RWSEM, TYPE_F2FS, TYPE_PERCPU, TYPE_UNFAIR };
enum { MODE_READ, MODE_WRITE };

struct lock_op {
	__u32 mode;
	__u32 how, hold;	/* 0: uninterruptible, on the CPU */
	__u32 hold_us;
	__u32 unused[4];
	__u64 wait_ns;		/* output: how long the acquisition took */
	__u64 order;
	__u32 pad[4];
};

#define LOCK_CREATE	_IOW('F', 1, __u32)
#define LOCK_LOCK	_IOWR('F', 2, struct lock_op)
#define LOCK_SET_BOUND	_IOW('F', 5, __u32)
#define MAX_HOLD_US	10000000

static const struct lock_name {
	const char *option, *shown;
	unsigned int type;
} lock_names[] = {
	{ "rwsem", "rw_semaphore", TYPE_RWSEM },
	{ "percpu", "percpu_rw_semaphore", TYPE_PERCPU },
	{ "f2fs", "f2fs-style unfair", TYPE_F2FS },
	{ "unfair", "unfair_rwsem", TYPE_UNFAIR },
};

#define NR_LOCKS	(sizeof(lock_names) / sizeof(lock_names[0]))
#define OURS		(NR_LOCKS - 1)

static struct {
	bool lock[NR_LOCKS];
	long readers, rounds, busy;
	double duration;
	long interval, hold, reader_interval, reader_hold;
	int reader_policy;
	long prio, nice, reader_nice;
	long cpu_max, cpu_weight;
	long threshold, bound;
	bool quiet;
	const char *json;
} opt = {
	.lock = { true, true, true, true },
	.readers = 8, .rounds = 3, .busy = 4, .duration = 4,
	.interval = 1000, .hold = 1000, .reader_interval = 500, .reader_hold = 20,
	.nice = -20, .reader_policy = SCHED_OTHER, .reader_nice = 19,
	.bound = -1,
};

/*
 * Latencies. The first MAX_SAMPLES are kept, so a percentile is a measured value. The maximum is
 * that of all.
 */
struct samples {
	_Atomic uint64_t count, max;
	uint32_t *at;		/* in units of 8 ns: up to 34 s */
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
static char cgroup[64];		/* of the readers, or "" */
static pid_t parent;
static volatile sig_atomic_t interrupted;
static struct result *results[NR_LOCKS];

__attribute__((format(printf, 1, 2), noreturn))
static void fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, PROGRAM ": ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Several tasks may call this at once. */
static void samples_add(struct samples *s, uint64_t ns)
{
	uint64_t i = atomic_fetch_add(&s->count, 1), max = atomic_load(&s->max);

	if (i < MAX_SAMPLES)
		s->at[i] = ns / 8 > UINT32_MAX ? UINT32_MAX : ns / 8;
	while (ns > max && !atomic_compare_exchange_weak(&s->max, &max, ns))
		;
}

static uint64_t samples_kept(const struct samples *s)
{
	return s->count < MAX_SAMPLES ? s->count : MAX_SAMPLES;
}

static int samples_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void samples_sort(struct samples *s)
{
	qsort(s->at, samples_kept(s), sizeof(*s->at), samples_compare);
}

/* The samples must be sorted. */
static unsigned long long samples_percentile(const struct samples *s, double percent)
{
	uint64_t n = samples_kept(s), i = n * percent / 100;

	return n ? s->at[i < n ? i : n - 1] * 8ULL : 0;
}

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fatal("mmap: %s", strerror(errno));
	return p;
}

static void sleep_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void on_signal(int signal)
{
	interrupted = signal;
}

static void set_priority(int policy, int prio, int nice)
{
	struct sched_param p = { .sched_priority = prio };

	if (policy == SCHED_OTHER && setpriority(PRIO_PROCESS, 0, nice))
		fatal("nice %d: %s", nice, strerror(errno));
	if (sched_setscheduler(0, policy, &p))
		fatal("policy %d, priority %d: %s", policy, prio, strerror(errno));
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

static void write_cgroup(const char *file, long value, const char *more)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	if (!write_file(path, "%ld%s", value, more))
		fatal("%s: %s", path, strerror(errno));
}

static void remove_cgroup(void)
{
	if (getpid() == parent)
		rmdir(cgroup);
}

static void setup_cgroup(void)
{
	if (!opt.cpu_max && !opt.cpu_weight)
		return;
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/ckptlat.%d", parent);
	if (mkdir(cgroup, 0755))
		fatal("%s: %s (no cgroup v2 with the cpu controller?)", cgroup, strerror(errno));
	atexit(remove_cgroup);
	/* the period of 100 ms that containers use */
	if (opt.cpu_max)
		write_cgroup("cpu.max", opt.cpu_max * 1000, " 100000");
	if (opt.cpu_weight)
		write_cgroup("cpu.weight", opt.cpu_weight, "");
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

static bool lock_once(int fd, struct lock_op *op)
{
	if (!ioctl(fd, LOCK_LOCK, op))
		return true;
	if (errno != EINTR)
		atomic_fetch_add(&shared->errors, 1);
	return false;
}

static void reader(int fd, struct result *r)
{
	struct lock_op op = {
		.mode = MODE_READ, .hold_us = opt.reader_hold,
	};

	if (*cgroup)
		write_cgroup("cgroup.procs", 0, "");
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
	struct lock_op op = {
		.mode = MODE_WRITE, .hold_us = opt.hold,
	};

	set_priority(opt.prio ? SCHED_FIFO : SCHED_OTHER, opt.prio, opt.nice);
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

static void run(unsigned int l, int round)
{
	pid_t pids[MAX_READERS + MAX_BUSY + 1];
	__u32 type = lock_names[l].type, bound = opt.bound;
	bool failed = false;
	int n = 0, i, fd;

	fd = open("/dev/fscommit_test", O_RDWR);
	if (fd < 0)
		fatal("/dev/fscommit_test: %s (insmod fscommit_test.ko; root only)",
		      strerror(errno));
	if (ioctl(fd, LOCK_CREATE, &type))
		fatal("cannot create %s: %s", lock_names[l].shown, strerror(errno));
	if (l == OURS && opt.bound >= 0 && ioctl(fd, LOCK_SET_BOUND, &bound))
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
	/* until all children are ready, or one has failed: fork() or the child itself */
	while (!failed && !interrupted && atomic_load(&shared->ready) < n) {
		for (i = 0; i < n; i++)
			failed |= pids[i] < 0;
		failed |= waitpid(-1, NULL, WNOHANG) > 0;
		sleep_us(1000);
	}
	atomic_store(&shared->go, 1);
	if (!failed && !interrupted)
		sleep_us(opt.duration * 1e6);
	atomic_store(&shared->stop, 1);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	if (failed || interrupted)
		fatal(failed ? "a task did not start" : "interrupted");
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

/* Prints the inside of a JSON string. */
static void print_escaped(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", *s);
		else
			fputc(*s, f);
	}
}

static void print_json_waits(FILE *f, const char *name, const struct samples *s)
{
	fprintf(f, "      \"%s\": { \"p50\": %llu, \"p99\": %llu, \"p99.9\": %llu, \"max\": %llu },\n",
		name, samples_percentile(s, 50), samples_percentile(s, 99),
		samples_percentile(s, 99.9), (unsigned long long)s->max);
}

static void print_json_lock(FILE *f, const struct result *r)
{
	int i;

	fprintf(f, "      \"writes\": %llu, \"reads\": %llu,\n",
		(unsigned long long)r->writer.count, (unsigned long long)r->reads);
	print_json_waits(f, "writer_wait", &r->writer);
	print_json_waits(f, "reader_wait", &r->reader);
	fprintf(f, "      \"writer_max_of_rounds\": [");
	for (i = 0; i < opt.rounds; i++)
		fprintf(f, "%s%llu", i ? ", " : "", (unsigned long long)r->round_max[i]);
	fprintf(f, "]\n    }");
}

/* The members up to sysinfo are those of cyclictest. */
static void print_json(int argc, char **argv, time_t start, int ret)
{
	FILE *f = strcmp(opt.json, "-") ? fopen(opt.json, "w") : stdout;
	const char *comma = "";
	struct utsname u;
	unsigned int l;
	int i;

	if (!f)
		fatal("%s: %s", opt.json, strerror(errno));
	uname(&u);
	fprintf(f, "{\n  \"file_version\": 1,\n  \"cmdline\": \"");
	for (i = 0; i < argc; i++) {
		fputs(i ? " " : "", f);
		print_escaped(f, argv[i]);
	}
	fprintf(f, "\",\n  \"start_time\": %lld,\n  \"end_time\": %lld,\n",
		(long long)start, (long long)time(NULL));
	fprintf(f, "  \"sysinfo\": { \"release\": \"%s\", \"version\": \"%s\", \"machine\": \"%s\", \"cpus\": %ld },\n",
		u.release, u.version, u.machine, sysconf(_SC_NPROCESSORS_ONLN));
	fprintf(f, "  \"return_code\": %d,\n  \"unit\": \"ns\",\n  \"locks\": {", ret);
	for (l = 0; l < NR_LOCKS; l++) {
		if (!opt.lock[l])
			continue;
		fprintf(f, "%s\n    \"%s\": {\n", comma, lock_names[l].option);
		print_json_lock(f, results[l]);
		comma = ",";
	}
	fprintf(f, "\n  }\n}\n");
	if (ferror(f) | (f != stdout ? fclose(f) : fflush(f)))
		fatal("%s: write failed", opt.json);
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
"  -H US    --hold=US         how long the writer holds the lock       [1000]\n"
"  -p PRIO  --priority=PRIO   the writer is SCHED_FIFO, 1 to 99\n"
"           --nice=NUM        of the writer                            [-20]\n"
"  -B NUM   --busy=NUM        busy tasks at nice 0, 0 to 64            [4]\n"
"           --reader-interval=US, --reader-hold=US                     [500, 20]\n"
"           --reader-policy=NAME  other, idle                          [other]\n"
"           --reader-nice=NUM                                          [19]\n"
"           --reader-cpu-max=PERCENT   readers in a cgroup limited to PERCENT of a CPU\n"
"           --reader-cpu-weight=NUM    readers in a cgroup of this weight\n"
"           --bound=US        reader bound of unfair_rwsem, 0: off     [module's]\n"
"  -b US    --breaktrace=US   exit 2 if a writer of unfair_rwsem waits longer\n"
"           --json=FILE       the results; -: standard output\n"
"  -q       --quiet           only the table\n"
"  -V       --version\n"
"  -h       --help\n\n"
"Exit status: 0; 1 on an error; 2 when a wait was longer than --breaktrace.\n");
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
	OPT_NICE = 256, OPT_RINTERVAL, OPT_RHOLD, OPT_RPOLICY, OPT_RNICE, OPT_RMAX, OPT_RWEIGHT,
	 OPT_BOUND, OPT_JSON,
};

static const struct option options[] = {
	{ "lock", 1, NULL, 'l' }, { "threads", 1, NULL, 't' }, { "duration", 1, NULL, 'D' },
	{ "rounds", 1, NULL, 'r' }, { "interval", 1, NULL, 'i' }, { "hold", 1, NULL, 'H' },
	{ "priority", 1, NULL, 'p' }, { "nice", 1, NULL, OPT_NICE }, { "busy", 1, NULL, 'B' },
	{ "reader-interval", 1, NULL, OPT_RINTERVAL },
	{ "reader-hold", 1, NULL, OPT_RHOLD }, { "reader-policy", 1, NULL, OPT_RPOLICY },
	{ "reader-nice", 1, NULL, OPT_RNICE }, { "reader-cpu-max", 1, NULL, OPT_RMAX },
	{ "reader-cpu-weight", 1, NULL, OPT_RWEIGHT }, { "bound", 1, NULL, OPT_BOUND },
	{ "breaktrace", 1, NULL, 'b' },
	{ "json", 1, NULL, OPT_JSON },
	{ "quiet", 0, NULL, 'q' }, { "version", 0, NULL, 'V' }, { "help", 0, NULL, 'h' }, { }
};

/* The options whose argument is a number. @c is what getopt_long() returns. */
static const struct number_option {
	int c;
	const char *name;
	long *value, min, max;
} numbers[] = {
	{ 't', "--threads", &opt.readers, 0, MAX_READERS },
	{ 'r', "--rounds", &opt.rounds, 1, 64 },
	{ 'i', "--interval", &opt.interval, 0, 10000000 },
	{ 'H', "--hold", &opt.hold, 0, MAX_HOLD_US },
	{ 'p', "--priority", &opt.prio, 1, 99 },
	{ OPT_NICE, "--nice", &opt.nice, -20, 19 },
	{ 'B', "--busy", &opt.busy, 0, MAX_BUSY },
	{ OPT_RINTERVAL, "--reader-interval", &opt.reader_interval, 0, 10000000 },
	{ OPT_RHOLD, "--reader-hold", &opt.reader_hold, 0, MAX_HOLD_US },
	{ OPT_RNICE, "--reader-nice", &opt.reader_nice, -20, 19 },
	{ OPT_RMAX, "--reader-cpu-max", &opt.cpu_max, 1, 10000 },
	{ OPT_RWEIGHT, "--reader-cpu-weight", &opt.cpu_weight, 1, 10000 },
	{ OPT_BOUND, "--bound", &opt.bound, 0, 10000000 },
	{ 'b', "--breaktrace", &opt.threshold, 1, LONG_MAX / 1000 }, { }
};

/* Returns false if option @c is none of numbers[]. */
static bool set_number(int c, const char *arg)
{
	const struct number_option *o = numbers;
	char *end;
	long v;

	while (o->c && o->c != c)
		o++;
	if (!o->c)
		return false;
	errno = 0;
	v = strtol(arg, &end, 10);
	if (errno || end == arg || *end || v < o->min || v > o->max)
		fatal("%s=%s: must be a number from %ld to %ld", o->name, arg, o->min, o->max);
	*o->value = v;
	return true;
}

/* Returns seconds. */
static double duration(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (*end == 'm')
		v *= 60, end++;
	else if (*end == 'h')
		v *= 3600, end++;
	else if (*end == 's')
		end++;
	if (end == s || *end || !(v >= 0.1 && v <= 3600))
		fatal("--duration=%s: must be from 0.1s to 1h", s);
	return v;
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "l:t:D:r:i:H:p:B:b:qVh", options, NULL)) != -1) {
		if (set_number(c, optarg))
			continue;
		switch (c) {
		case 'l':
			choose_locks(optarg);
			break;
		case 'D':
			opt.duration = duration(optarg);
			break;
		case OPT_RPOLICY:
			if (strcmp(optarg, "other") && strcmp(optarg, "idle"))
				fatal("--reader-policy=%s: must be other or idle", optarg);
			opt.reader_policy = strcmp(optarg, "idle") ? SCHED_OTHER : SCHED_IDLE;
			break;
		case OPT_JSON:
			opt.json = optarg;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'V':
			puts(PROGRAM " " VERSION);
			exit(0);
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
	if (optind < argc)
		fatal("unexpected argument '%s'", argv[optind]);
}

int main(int argc, char **argv)
{
	unsigned int l, turn, locks = 0;
	time_t start = time(NULL);
	double t0 = now();
	int round, ret = 0;

	parse(argc, argv);
	parent = getpid();
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	shared = share(sizeof(*shared));
	for (l = 0; l < NR_LOCKS; l++) {
		locks += opt.lock[l];
		results[l] = share(sizeof(struct result));
		results[l]->writer.at = share(MAX_SAMPLES * sizeof(uint32_t));
		results[l]->reader.at = share(MAX_SAMPLES * sizeof(uint32_t));
	}
	setup_cgroup();
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
	if (atomic_load(&shared->errors))
		fatal("%lu lock operations failed", atomic_load(&shared->errors));
	for (l = 0; l < NR_LOCKS; l++) {
		samples_sort(&results[l]->writer);
		samples_sort(&results[l]->reader);
		if (opt.lock[l] && !results[l]->writer.count)
			fatal("%s: the writer never got the lock", lock_names[l].shown);
	}
	print_table();
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
