// SPDX-License-Identifier: GPL-2.0
/*
 * lockbench - measure the cost of each lock type of /dev/fscommit_test
 *
 * Uncontended pairs, readers on two CPUs, a write-heavy mix, and the longest wait of
 * a reader under back-to-back writers. All lock types run in interleaved rounds, in rotated
 * order. The timed code runs in the kernel, called by userspace tasks. Prints each figure of each
 * round, for selftests/bench/figures.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fscommit_test.h"

#define PROGRAM "lockbench"
#include "options.h"

#define MAX_TASKS	8
#define SECTION_NS	5000
#define BOUND_US	10000	/* of a reader's wait */
#define CHUNK		10000	/* pairs between two readings of the clock */
#define WINDOW_PARAM	"/sys/module/fscommit/parameters/window_us"

static const struct lock_name {
	const char *shown;
	unsigned int type;
} lock_names[] = {
	{ "rw_semaphore", LOCK_TEST_RWSEM },
	{ "percpu_rw_semaphore", LOCK_TEST_PERCPU },
	{ "f2fs-style", LOCK_TEST_F2FS },
	{ "unfair_rwsem", LOCK_TEST_UNFAIR },
	/* last: the cost of a pair without a lock */
	{ "no_lock", LOCK_TEST_BUSTED },
};

#define NR_LOCKS	(sizeof(lock_names) / sizeof(lock_names[0]))
#define OURS		(NR_LOCKS - 2)

static struct part {
	const char *name;
	void (*run)(unsigned int l);
	int rounds, writers, readers, reader_nice, reader_pause_us;
} *part;

static unsigned int nr_locks;	/* with the empty loop, or without */

static struct {
	long rounds, pairs;
	double duration;
	const char *unit;
} opt = { .rounds = -1, .duration = 3, .pairs = 20000, .unit = "ns" };

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

/* --- the tasks ------------------------------------------------------------ */

static int open_lock(unsigned int l)
{
	__u32 type = lock_names[l].type, bound = BOUND_US;
	int fd = open("/dev/fscommit_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/fscommit_test: %s (insmod fscommit_test.ko; root only)",
		      strerror(errno));
	if (ioctl(fd, LOCK_TEST_CREATE, &type))
		fatal("cannot create %s: %s", lock_names[l].shown, strerror(errno));
	if (l == OURS && ioctl(fd, LOCK_TEST_SET_BOUND, &bound))
		fatal("bound of %d us: %s", BOUND_US, strerror(errno));
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

static void time_pairs(int fd, unsigned int l, unsigned int mode)
{
	struct lock_test_pairs p = { .mode = mode, .pairs = opt.pairs };

	if (ioctl(fd, LOCK_TEST_PAIRS, &p))
		fatal("LOCK_TEST_PAIRS on %s: %s", lock_names[l].shown, strerror(errno));
	print_figure(mode == LOCK_TEST_READ ? "read_pair" : "write_pair",
		     (double)p.ns / opt.pairs, opt.unit, "uncontended", lock_names[l].shown);
}

static void run_pairs(unsigned int l)
{
	int fd = open_lock(l);

	time_pairs(fd, l, LOCK_TEST_READ);
	/* percpu_down_write() waits for an RCU grace period */
	if (lock_names[l].type != LOCK_TEST_PERCPU)
		time_pairs(fd, l, LOCK_TEST_WRITE);
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

static void run_scaling(unsigned int l)
{
	int fd = open_lock(l);

	print_figure("read_pairs", pairs_per_second(fd, 1) / 1e6, "10^6/s", "1_CPU",
		     lock_names[l].shown);
	print_figure("read_pairs", pairs_per_second(fd, 2) / 1e6, "10^6/s", "2_CPUs",
		     lock_names[l].shown);
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

static long window_us(void)
{
	FILE *f = fopen(WINDOW_PARAM, "r");
	long us = 0;

	if (!f || fscanf(f, "%ld", &us) != 1)
		fatal("%s: cannot read the length of the window", WINDOW_PARAM);
	fclose(f);
	return us;
}

static void run_loops(unsigned int l)
{
	const char *lock = lock_names[l].shown;
	/* of readers and writers */
	double rate[2] = { }, wait[2] = { }, hold = 0;
	int i, fd = open_lock(l);

	/* few readers first: a task starts slowly while many others already run */
	for (i = 0; i < part->readers + part->writers; i++)
		shared->task[i] = make_loop(i >= part->readers);
	run_tasks(fd, part->readers + part->writers, loop_task);
	for (i = 0; i < part->readers + part->writers; i++) {
		const struct task *t = &shared->task[i];
		bool write = i >= part->readers;

		rate[write] += t->loop.count / t->seconds;
		if (t->loop.wait_max_ns > wait[write])
			wait[write] = t->loop.wait_max_ns;
		if (write && t->loop.hold_max_ns > hold)
			hold = t->loop.hold_max_ns;
	}
	close_lock(fd, l);
	print_figure("writes", rate[1], "1/s", part->name, lock);
	print_figure("reads", rate[0], "1/s", part->name, lock);
	print_figure("writer_max", wait[1] / 1e6, "ms", part->name, lock);
	print_figure("reader_max", wait[0] / 1e6, "ms", part->name, lock);
	print_figure("writer_hold_max", hold / 1e6, "ms", part->name, lock);
	/* the longest permitted wait of a running reader; those of `mix' wait for a CPU */
	if (l == OURS && part->reader_nice < 0)
		print_figure("reader_limit", (BOUND_US + window_us()) / 1e3 + hold / 1e6, "ms",
			     part->name, lock);
}

static struct part parts[] = {
	{ "pairs", run_pairs, .rounds = 50 },
	{ "scaling", run_scaling, .rounds = 5 },
	{ "mix", run_loops, .rounds = 5, .writers = 4, .readers = 2 },
	{ "bound", run_loops, .rounds = 5, .writers = 4, .readers = 1,
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

#define OPT_UNIT	256

static const struct option options[] = {
	{ "rounds", 1, NULL, 'r' }, { "duration", 1, NULL, 'D' }, { "pairs", 1, NULL, 'n' },
	{ "unit", 1, NULL, OPT_UNIT }, { "help", 0, NULL, 'h' }, { }
};

static const struct number_option numbers[] = {
	{ 'r', "--rounds", &opt.rounds, 1, 1000 },
	{ 'n', "--pairs", &opt.pairs, 1, LOCK_TEST_MAX_PAIRS }, { }
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
		default:
			show_usage(usage, c == 'h');
		}
	}
	if (optind != argc - 1)
		show_usage(usage, false);
	choose_part(argv[optind]);
}

int main(int argc, char **argv)
{
	unsigned int turn;
	int round;

	parse(argc, argv);
	if (opt.rounds < 0)
		opt.rounds = part->rounds;
	nr_locks = part->run == run_pairs ? NR_LOCKS : NR_LOCKS - 1;
	if (part->run == run_scaling && cpus() < 2)
		fatal("scaling needs two CPUs; there is %d", cpus());
	shared = shared_memory(sizeof(*shared));
	for (round = 0; round < opt.rounds; round++)
		for (turn = 0; turn < nr_locks; turn++)
			part->run((turn + round) % nr_locks);
	return 0;
}
