// SPDX-License-Identifier: GPL-2.0
/*
 * reusebench - cost of waiting for a grace period before an object is reused
 *
 * One task repeatedly allocates a batch of objects, works with each, and frees them. It runs
 * alone, and beside tasks that look up paths, which happens under RCU. Freed objects are
 * reused at once (unsafe); after synchronize_rcu() or cond_synchronize_rcu() for each batch;
 * never, as call_rcu() frees them; or from an RCU reuse queue. Rounds are interleaved.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rcu_reuse_test.h"

#define PROGRAM "reusebench"
#include "options.h"

#define MAX_ROUNDS	16
#define MAX_TASKS	256
#define FOLDER		"/tmp/reusebench"
#define KEEP		32768
#define MAX		65536

static const char * const variants[REUSE_TEST_NR_VARIANTS] = {
	[REUSE_TEST_NO_WAIT] = "no wait (unsafe)",
	[REUSE_TEST_SYNCHRONIZE] = "synchronize_rcu",
	[REUSE_TEST_COND_SYNCHRONIZE] = "cond_synchronize_rcu",
	[REUSE_TEST_CALL_RCU] = "call_rcu and free",
	[REUSE_TEST_OURS] = "reuse queue",
	[REUSE_TEST_OURS_EXPEDITED] = "reuse queue, expedited",
};

static const int batch[] = { 8, 32, 128, 512 };

#define NR_BATCHES	(sizeof(batch) / sizeof(batch[0]))

static struct {
	long tasks, rounds, work_ns;
	double duration;
} opt = {
	/* from XFS's figures: 931,328 inodes a minute are at least 64 us for each */
	.tasks = 4, .rounds = 3, .work_ns = 64000, .duration = 1,
};

/* Index 1: beside the neighbours. */
static struct result {
	double per_minute[NR_BATCHES][MAX_ROUNDS];		/* allocations */
	double ratio[NR_BATCHES][MAX_ROUNDS];	/* to "no wait" in the same round */
	double allocated, reused;
	unsigned long long peak, longest_ns;
} results[2][REUSE_TEST_NR_VARIANTS];

/* --- the neighbours ------------------------------------------------------ */

/* The allocating task has the first CPU alone. */
static void to_cpus(bool first)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), i;
	cpu_set_t set;

	if (cpus < 2)
		return;
	CPU_ZERO(&set);
	for (i = !first; i < (first ? 1 : cpus); i++)
		CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Make a file in 16 folders, so that the walk under RCU dominates. */
static void make_tree(char *path)
{
	int i;

	strcpy(path, FOLDER);
	mkdir(path, 0700);
	for (i = 0; i < 16; i++) {
		strcat(path, "/d");
		mkdir(path, 0700);
	}
	strcat(path, "/file");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	if (access(path, F_OK))
		fatal("%s: %s", path, strerror(errno));
}

/* Look up the deep path, and create and delete a file at times. */
static pid_t start_neighbour(const char *path, int number)
{
	pid_t pid = fork();
	struct stat st;
	char file[64];
	int i;

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	to_cpus(false);
	snprintf(file, sizeof(file), FOLDER "/%d", number);
	for (i = 0;; i++) {
		stat(path, &st);
		if (!(i % 64)) {
			close(open(file, O_CREAT | O_WRONLY, 0600));
			unlink(file);
		}
	}
}

/* --- rounds -------------------------------------------------------------- */

static void run(int fd, bool beside, unsigned int b, unsigned int v, int round)
{
	struct result *r = &results[beside][v];
	struct reuse_test_bench a = {
		.variant = v, .batch = batch[b], .ms = opt.duration * 1000,
		.work_ns = opt.work_ns, .keep = KEEP, .max = MAX,
	};

	if (ioctl(fd, REUSE_TEST_BENCH, &a))
		fatal("%s, batch %d: %s", variants[v], batch[b], strerror(errno));
	r->per_minute[b][round] = a.allocated * 60e9 / a.ns;
	r->allocated += a.allocated;
	r->reused += a.reused;
	if (r->peak < a.peak)
		r->peak = a.peak;
	if (r->longest_ns < a.longest_ns)
		r->longest_ns = a.longest_ns;
}

static void run_round(int fd, const char *path, bool beside, int round)
{
	struct result *r = results[beside];
	pid_t pid[MAX_TASKS];
	unsigned int b, v;
	int i;

	for (i = 0; beside && i < opt.tasks; i++)
		pid[i] = start_neighbour(path, i);
	for (b = 0; b < NR_BATCHES; b++) {
		for (v = 0; v < REUSE_TEST_NR_VARIANTS; v++)
			run(fd, beside, b, (v + round) % REUSE_TEST_NR_VARIANTS, round);
		for (v = 0; v < REUSE_TEST_NR_VARIANTS; v++)
			r[v].ratio[b][round] = r[v].per_minute[b][round] /
					       r[REUSE_TEST_NO_WAIT].per_minute[b][round];
	}
	while (i--) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

static void print_table(bool beside)
{
	unsigned int b, v;

	printf("\n%-24s", beside ? "beside the neighbours" : "alone");
	for (b = 0; b < NR_BATCHES; b++)
		printf(" %13s%4d", "batch", batch[b]);
	printf("  %8s %9s %12s\n", "reused %", "peak", "longest, ms");
	for (v = 0; v < REUSE_TEST_NR_VARIANTS; v++) {
		struct result *r = &results[beside][v];

		printf("%-24s", variants[v]);
		for (b = 0; b < NR_BATCHES; b++)
			printf(" %10.0f (%.2f)", median_of(r->per_minute[b], opt.rounds),
			       median_of(r->ratio[b], opt.rounds));
		printf("  %8.1f %9llu %12.1f\n", 100 * r->reused / r->allocated, r->peak,
		       r->longest_ns / 1e6);
	}
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: reusebench [OPTIONS]\n"
"  -w NS    --work=NS        with each object, 0 to 1000000           [64000]\n"
"  -t NUM   --threads=NUM    tasks that look up paths, 1 to 256       [4]\n"
"  -D TIME  --duration=TIME  of one round of one variant              [1s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16         [3]\n"
"           --help\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "work", 1, NULL, 'w' }, { "threads", 1, NULL, 't' },
		{ "duration", 1, NULL, 'D' }, { "rounds", 1, NULL, 'r' },
		{ "help", 0, NULL, 'h' }, { }
	};
	const struct number_option numbers[] = {
		{ 'w', "--work", &opt.work_ns, 0, 1000000 },
		{ 't', "--threads", &opt.tasks, 1, MAX_TASKS },
		{ 'r', "--rounds", &opt.rounds, 1, MAX_ROUNDS }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "w:t:D:r:", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		if (c != 'D') {
			usage(c == 'h' ? stdout : stderr);
			exit(c != 'h');
		}
		opt.duration = duration(optarg, 600);
	}
	if (optind != argc) {
		usage(stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char path[256];
	int fd, round;

	parse(argc, argv);
	fd = open("/dev/rcu_reuse_test", O_RDWR);
	if (fd < 0)
		fatal("/dev/rcu_reuse_test: %s (load rcu_reuse_test.ko)", strerror(errno));
	make_tree(path);
	to_cpus(true);
	for (round = 0; round < opt.rounds; round++) {
		run_round(fd, path, false, round);
		run_round(fd, path, true, round);
	}
	print_table(false);
	print_table(true);
	printf("allocations a minute, median of %ld rounds (ratio to \"no wait\")\n"
	       "%ld ns of work with each object, %ld tasks look up paths on other CPUs\n",
	       opt.rounds, opt.work_ns, opt.tasks);
	return 0;
}
