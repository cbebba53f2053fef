// SPDX-License-Identifier: GPL-2.0
/*
 * lockbench - measure the cost of each lock type of /dev/fscommit_test
 *
 * Uncontended pairs, readers on two CPUs, a write-heavy mix, and the longest wait of
 * a reader under back-to-back writers. All lock types run in interleaved rounds, in rotated
 * order. The timed code runs in the kernel, called by userspace tasks. Prints a table.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fscommit_test.h"

#define PROGRAM "lockbench"
#include "options.h"

#define MAX_ROUNDS	1000
#define MAX_TASKS	8
#define SECTION_NS	5000
#define CHUNK		10000	/* pairs between two readings of the clock */
#define WINDOW_PARAM	"/sys/module/fscommit/parameters/window_us"

static const struct lock_name {
	const char *shown;
	unsigned int type;
} lock_names[] = {
	{ "rw_semaphore", LOCK_TEST_RWSEM },
	{ "percpu_rw_semaphore", LOCK_TEST_PERCPU },
	{ "f2fs-style unfair", LOCK_TEST_F2FS },
	{ "unfair_rwsem", LOCK_TEST_UNFAIR },
	/* last: the cost of a pair without a lock */
	{ "(empty loop)", LOCK_TEST_BUSTED },
};

#define NR_LOCKS	(sizeof(lock_names) / sizeof(lock_names[0]))
#define RWSEM		0
#define OURS		(NR_LOCKS - 2)

enum figure {
	READ_PAIR, WRITE_PAIR, ONE_CPU, TWO_CPUS, SPEEDUP, WRITES, READS, WRITES_RATIO,
	READS_RATIO, WRITER_WAIT, READER_WAIT, WRITER_HOLD, NR_FIGURES,
};

static struct part {
	const char *name;
	void (*run)(unsigned int l, int round);
	void (*print)(void);
	int rounds, writers, readers, reader_nice, reader_pause_us;
} *part;

static unsigned int nr_locks;	/* with the empty loop, or without */

static struct {
	long rounds, pairs, bound;
	double duration;
	const char *unit;
} opt = { .rounds = -1, .duration = 3, .pairs = 20000, .bound = 10000, .unit = "ns" };

/* NAN: not measured */
static double figures[NR_LOCKS][NR_FIGURES][MAX_ROUNDS];

struct task {
	struct lock_test_loop loop;	/* for pairs_task(): only mode and count */
	double seconds;
	int nice;
	int first_cpu, last_cpu;
};

static struct shared {
	atomic_int ready, go;
	struct task task[MAX_TASKS];
} *shared;

static int cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* A quantile of the rounds; NAN if no round was measured. */
static double quantile(unsigned int l, enum figure f, double q)
{
	double v[MAX_ROUNDS];
	int i, n = 0;

	for (i = 0; i < opt.rounds; i++)
		if (!isnan(figures[l][f][i]))
			v[n++] = figures[l][f][i];
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), compare);
	i = q * (n - 1);
	return q == 0.5 && !(n % 2) ? (v[i] + v[i + 1]) / 2 : v[i];
}

static double lowest(unsigned int l, enum figure f) { return quantile(l, f, 0); }
static double median(unsigned int l, enum figure f) { return quantile(l, f, 0.5); }
static double highest(unsigned int l, enum figure f) { return quantile(l, f, 1); }

/* --- the tasks ------------------------------------------------------------ */

static int open_lock(unsigned int l)
{
	__u32 type = lock_names[l].type, bound = opt.bound;
	int fd = open("/dev/fscommit_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/fscommit_test: %s (insmod fscommit_test.ko; root only)",
		      strerror(errno));
	if (ioctl(fd, LOCK_TEST_CREATE, &type))
		fatal("cannot create %s: %s", lock_names[l].shown, strerror(errno));
	if (l == OURS && ioctl(fd, LOCK_TEST_SET_BOUND, &bound))
		fatal("bound of %ld us: %s", opt.bound, strerror(errno));
	return fd;
}

static void close_lock(int fd, unsigned int l)
{
	struct lock_test_state s;

	if (ioctl(fd, LOCK_TEST_STATE, &s))
		fatal("state of %s: %s", lock_names[l].shown, strerror(errno));
	if (s.violations)
		fatal("%s: exclusion violated %llu times",
		      lock_names[l].shown, (unsigned long long)s.violations);
	close(fd);
}

static void run_on(int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	while (first <= last)
		CPU_SET(first++, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fatal("CPU %d: %s", last, strerror(errno));
}

static void child_start(const struct task *t)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1000UL);
	run_on(t->first_cpu, t->last_cpu);
	if (setpriority(PRIO_PROCESS, 0, t->nice))
		fatal("nice %d: %s", t->nice, strerror(errno));
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		usleep(200);
}

static void loop_task(int fd, struct task *t)
{
	double start;

	child_start(t);
	start = now();
	if (ioctl(fd, LOCK_TEST_LOOP, &t->loop))
		fatal("LOCK_TEST_LOOP: %s", strerror(errno));
	t->seconds = now() - start;
	_exit(0);
}

static void pairs_task(int fd, struct task *t)
{
	struct lock_test_pairs p = { .mode = t->loop.mode, .pairs = CHUNK };
	double start;

	child_start(t);
	start = now();
	do {
		if (ioctl(fd, LOCK_TEST_PAIRS, &p))
			fatal("LOCK_TEST_PAIRS: %s", strerror(errno));
		t->loop.count += CHUNK;
		t->seconds = now() - start;
	} while (t->seconds < opt.duration);
	_exit(0);
}

/* Runs the first @n of shared->task at the same time, each by @fn. */
static void run_tasks(int fd, int n, void (*fn)(int fd, struct task *t))
{
	pid_t pids[MAX_TASKS];
	int i, status;

	atomic_store(&shared->ready, 0);
	atomic_store(&shared->go, 0);
	fflush(NULL);
	for (i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			fatal("fork: %s", strerror(errno));
		if (!pids[i])
			fn(fd, &shared->task[i]);
	}
	while (atomic_load(&shared->ready) < n) {
		if (waitpid(-1, &status, WNOHANG) > 0)
			exit(1);	/* it has printed the error; the others die with us */
		usleep(200);
	}
	atomic_store(&shared->go, 1);
	for (i = 0; i < n; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			exit(1);
}

/* --- the parts ------------------------------------------------------------ */

static double time_pairs(int fd, unsigned int l, unsigned int mode)
{
	struct lock_test_pairs p = { .mode = mode, .pairs = opt.pairs };

	/* percpu_down_write() waits for an RCU grace period */
	if (lock_names[l].type == LOCK_TEST_PERCPU && mode == LOCK_TEST_WRITE)
		return NAN;
	if (ioctl(fd, LOCK_TEST_PAIRS, &p))
		fatal("LOCK_TEST_PAIRS on %s: %s", lock_names[l].shown, strerror(errno));
	return (double)p.ns / opt.pairs;
}

static void run_pairs(unsigned int l, int round)
{
	int fd = open_lock(l);

	figures[l][READ_PAIR][round] = time_pairs(fd, l, LOCK_TEST_READ);
	figures[l][WRITE_PAIR][round] = time_pairs(fd, l, LOCK_TEST_WRITE);
	close_lock(fd, l);
}

static double pairs_per_second(int fd, int tasks)
{
	double sum = 0;
	int i;

	for (i = 0; i < tasks; i++)
		shared->task[i] = (struct task){
			.loop = { .mode = LOCK_TEST_READ }, .first_cpu = i, .last_cpu = i,
		};
	run_tasks(fd, tasks, pairs_task);
	for (i = 0; i < tasks; i++)
		sum += shared->task[i].loop.count / shared->task[i].seconds;
	return sum;
}

static void run_scaling(unsigned int l, int round)
{
	int fd = open_lock(l);

	figures[l][ONE_CPU][round] = pairs_per_second(fd, 1);
	figures[l][TWO_CPUS][round] = pairs_per_second(fd, 2);
	figures[l][SPEEDUP][round] = figures[l][TWO_CPUS][round] / figures[l][ONE_CPU][round];
	close_lock(fd, l);
}

static struct task make_loop(bool write)
{
	return (struct task){
		.loop = {
			.mode = write ? LOCK_TEST_WRITE : LOCK_TEST_READ,
			.hold_ns = SECTION_NS,
			.pause_us = write ? 0 : part->reader_pause_us,
			.duration_ms = opt.duration * 1000,
		},
		.nice = write ? 0 : part->reader_nice,
		.last_cpu = cpus() - 1,
	};
}

static void take_longer(double *max, double v)
{
	if (!(*max >= v))
		*max = v;
}

static void run_loops(unsigned int l, int round)
{
	double *rate[] = { &figures[l][READS][round], &figures[l][WRITES][round] };
	double *wait[] = { &figures[l][READER_WAIT][round], &figures[l][WRITER_WAIT][round] };
	int i, fd = open_lock(l);

	/* few readers first: a task starts slowly while many others already run */
	for (i = 0; i < part->readers + part->writers; i++)
		shared->task[i] = make_loop(i >= part->readers);
	run_tasks(fd, part->readers + part->writers, loop_task);
	for (i = 0; i < part->readers + part->writers; i++) {
		const struct task *t = &shared->task[i];
		bool write = i >= part->readers;

		*rate[write] = (isnan(*rate[write]) ? 0 : *rate[write]) +
			       t->loop.count / t->seconds;
		take_longer(wait[write], t->loop.wait_max_ns);
		if (write)
			take_longer(&figures[l][WRITER_HOLD][round], t->loop.hold_max_ns);
	}
	close_lock(fd, l);
}

static void make_ratios(void)
{
	unsigned int l;
	int i;

	for (l = 0; l < nr_locks; l++) {
		for (i = 0; i < opt.rounds; i++) {
			figures[l][WRITES_RATIO][i] =
				figures[l][WRITES][i] / figures[RWSEM][WRITES][i];
			figures[l][READS_RATIO][i] =
				figures[l][READS][i] / figures[RWSEM][READS][i];
		}
	}
}

/* --- results -------------------------------------------------------------- */

/* A cell of a table; "-" if the value was not measured. */
static void print_cell(int width, int digits, double value)
{
	if (isnan(value))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, value);
}

static void print_pairs(void)
{
	unsigned int l;

	printf("%-20s %9s %9s %9s %9s\n", "uncontended pair", "read", "/rwsem", "write", "/rwsem");
	for (l = 0; l < nr_locks; l++) {
		printf("%-20s", lock_names[l].shown);
		print_cell(9, 2, lowest(l, READ_PAIR));
		print_cell(9, 2, lowest(l, READ_PAIR) / lowest(RWSEM, READ_PAIR));
		print_cell(9, 2, lowest(l, WRITE_PAIR));
		print_cell(9, 2, lowest(l, WRITE_PAIR) / lowest(RWSEM, WRITE_PAIR));
		printf("\n");
	}
	printf("%s, minimum of %ld rounds of %ld pairs\n", opt.unit, opt.rounds, opt.pairs);
}

static void print_scaling(void)
{
	unsigned int l;

	printf("%-20s %9s %9s %9s\n", "readers", "1 CPU", "2 CPUs", "ratio");
	for (l = 0; l < nr_locks; l++) {
		printf("%-20s", lock_names[l].shown);
		print_cell(9, 2, median(l, ONE_CPU) / 1e6);
		print_cell(9, 2, median(l, TWO_CPUS) / 1e6);
		print_cell(9, 2, median(l, SPEEDUP));
		printf("\n");
	}
	printf("million read pairs a second, median of %ld rounds\n", opt.rounds);
}

static void print_mix(void)
{
	unsigned int l;

	printf("%-20s %9s %7s %9s %7s %11s %11s\n", "mix", "writes/s", "/rwsem", "reads/s",
	       "/rwsem", "wr max ms", "rd max ms");
	for (l = 0; l < nr_locks; l++) {
		printf("%-20s", lock_names[l].shown);
		print_cell(9, 0, median(l, WRITES));
		print_cell(7, 3, median(l, WRITES_RATIO));
		print_cell(9, 0, median(l, READS));
		print_cell(7, 3, median(l, READS_RATIO));
		print_cell(11, 2, highest(l, WRITER_WAIT) / 1e6);
		print_cell(11, 2, highest(l, READER_WAIT) / 1e6);
		printf("\n");
	}
	printf("%d writers, %d readers; rates, ratios: median of %ld rounds; waits: longest\n",
	       part->writers, part->readers, opt.rounds);
}

static long window_us(void)
{
	FILE *f = fopen(WINDOW_PARAM, "r");
	long us = 0;

	if (!f || fscanf(f, "%ld", &us) != 1)
		fatal("%s: cannot read the length of the window", WINDOW_PARAM);
	fclose(f);
	return us;
}

/* The longest permitted wait of a running reader in that round. */
static double limit_ns(int round)
{
	return (opt.bound + window_us()) * 1e3 + figures[OURS][WRITER_HOLD][round];
}

static int rounds_within(void)
{
	int i, within = 0;

	for (i = 0; i < opt.rounds; i++)
		within += figures[OURS][READER_WAIT][i] <= limit_ns(i);
	return within;
}

static void print_bound(void)
{
	unsigned int l;

	printf("%-20s %11s %11s %11s %9s %9s\n", "reader's wait (ms)", "max", "median max",
	       "hold max", "reads/s", "writes/s");
	for (l = 0; l < nr_locks; l++) {
		printf("%-20s", lock_names[l].shown);
		print_cell(11, 3, highest(l, READER_WAIT) / 1e6);
		print_cell(11, 3, median(l, READER_WAIT) / 1e6);
		print_cell(11, 3, highest(l, WRITER_HOLD) / 1e6);
		print_cell(9, 0, median(l, READS));
		print_cell(9, 0, median(l, WRITES));
		printf("\n");
	}
	if (!opt.bound)
		return;
	printf("limit: bound %ld us + window %ld us + the round's longest hold of a writer; ",
	       opt.bound, window_us());
	printf("kept in %d of %ld rounds of %.1f s\n", rounds_within(), opt.rounds, opt.duration);
}

static struct part parts[] = {
	{ "pairs", run_pairs, print_pairs, .rounds = 50 },
	{ "scaling", run_scaling, print_scaling, .rounds = 5 },
	{ "mix", run_loops, print_mix, .rounds = 5, .writers = 4, .readers = 2 },
	{ "bound", run_loops, print_bound, .rounds = 5, .writers = 4, .readers = 1,
	  .reader_nice = -20, .reader_pause_us = 200 },
};

#define NR_PARTS	(sizeof(parts) / sizeof(parts[0]))

/* --- options -------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: lockbench [OPTIONS] PART\n"
"Measure the cost of each lock type. PART is one of\n"
"  pairs      uncontended read and write pairs, and an empty loop\n"
"  scaling    read pairs on one CPU, and on two at once\n"
"  mix        more writers than readers, short holds, no pause\n"
"  bound      the longest wait of a reader under back-to-back writers\n\n"
"  -r NUM   --rounds=NUM      rounds, order rotated, 1 to 1000    [5; pairs: 50]\n"
"  -D TIME  --duration=TIME   of a round of one lock; s, m                 [3s]\n"
"  -n NUM   --pairs=NUM       pairs in a round of `pairs'               [20000]\n"
"           --bound=US        reader bound of unfair_rwsem, 0: off      [10000]\n"
"           --unit=TEXT       meaning of a nanosecond in `pairs': instructions\n"
"                             under QEMU's -icount shift=0                 [ns]\n"
"  -h       --help\n\n"
"Exit status: 0, or 1 on an error.\n");
}

static void choose_part(const char *name)
{
	for (part = parts; part < parts + NR_PARTS; part++)
		if (!strcmp(name, part->name))
			return;
	fatal("'%s': must be pairs, scaling, mix or bound", name);
}

enum { OPT_BOUND = 256, OPT_UNIT };

static const struct option options[] = {
	{ "rounds", 1, NULL, 'r' }, { "duration", 1, NULL, 'D' }, { "pairs", 1, NULL, 'n' },
	{ "bound", 1, NULL, OPT_BOUND }, { "unit", 1, NULL, OPT_UNIT },
	{ "help", 0, NULL, 'h' }, { }
};

static const struct number_option numbers[] = {
	{ 'r', "--rounds", &opt.rounds, 1, MAX_ROUNDS },
	{ 'n', "--pairs", &opt.pairs, 1, LOCK_TEST_MAX_PAIRS },
	{ OPT_BOUND, "--bound", &opt.bound, 0, 10000000 }, { }
};

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "r:D:n:h", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		switch (c) {
		case 'D':
			opt.duration = duration(optarg, LOCK_TEST_MAX_LOOP_MS / 1000);
			break;
		case OPT_UNIT:
			opt.unit = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
	if (optind != argc - 1) {
		usage(stderr);
		exit(1);
	}
	choose_part(argv[optind]);
}

int main(int argc, char **argv)
{
	unsigned int l, turn, f;
	int round;

	parse(argc, argv);
	if (opt.rounds < 0)
		opt.rounds = part->rounds;
	nr_locks = part->run == run_pairs ? NR_LOCKS : NR_LOCKS - 1;
	if (part->run == run_scaling && cpus() < 2)
		fatal("scaling needs two CPUs; there is %d", cpus());
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		fatal("mmap: %s", strerror(errno));
	for (l = 0; l < NR_LOCKS; l++)
		for (f = 0; f < NR_FIGURES; f++)
			for (round = 0; round < MAX_ROUNDS; round++)
				figures[l][f][round] = NAN;
	for (round = 0; round < opt.rounds; round++)
		for (turn = 0; turn < nr_locks; turn++)
			part->run((turn + round) % nr_locks, round);
	if (part->run == run_loops)
		make_ratios();
	part->print();
	return 0;
}
