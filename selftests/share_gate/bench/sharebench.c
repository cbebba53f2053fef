// SPDX-License-Identifier: GPL-2.0
/*
 * sharebench - cost of allowing for shared extents in each fsync
 *
 * Each job is a thread with a file of its own. It writes 64 KiB and calls fsync, which puts
 * the checksums into one log, a copy-on-write B+tree. The modes: always lock and clear the
 * range of the log; let a share gate decide; never lock, which is wrong if extents are shared.
 * The modes run in interleaved rounds for each number of jobs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fscommit_test.h"
#include "share_gate_test.h"

#define PROGRAM "sharebench"
#include "options.h"
#include "json.h"

#define MAX_ROUNDS	16
#define MAX_JOBS	1024
#define NR_STEPS	11		/* 1, 2, 4, .. MAX_JOBS */

static const struct mode {
	const char *option, *shown;
	unsigned int mode;
} modes[] = {
	{ "always", "always locked", GATE_TEST_ALWAYS },
	{ "gate", "share gate", GATE_TEST_GATE },
	{ "never", "never locked", GATE_TEST_NEVER },
};

#define NR_MODES	(sizeof(modes) / sizeof(modes[0]))

/* MiB/s with 16 to 1024 jobs, from the btrfs change that introduced last_reflink_trans */
static const struct { int jobs; double before, after; } published[] = {
	{ 16, 78.5, 110 }, { 32, 58.8, 76.1 }, { 64, 65.8, 85.1 }, { 128, 54.7, 121 },
	{ 256, 69.2, 121 }, { 512, 85.4, 141 }, { 1024, 115, 171 },
};

static struct {
	int rounds, shared, interval, max_jobs, min_jobs;
	unsigned int lock_type;
	double duration;
	const char *json;
	bool quiet;
} opt = {
	.rounds = 5, .interval = 200, .max_jobs = MAX_JOBS, .min_jobs = 1,
	.lock_type = LOCK_TEST_RWSEM, .duration = 0.5,
};

static atomic_int ready, go, stop;
static atomic_ulong fsyncs, failed, slept;

struct job {
	pthread_t thread;
	int fd, number, jobs;
};

static struct result {
	double rate[MAX_ROUNDS];	/* fsyncs a second */
	unsigned long fsyncs, skipped, locked, deleted, slept;
} results[NR_STEPS][NR_MODES];

static int open_fs(unsigned int mode, int files)
{
	struct gate_test_setup setup = { .mode = mode, .lock_type = opt.lock_type, .files = files };
	int fd = open("/dev/share_gate_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/share_gate_test: %s (load share_gate_test.ko)", strerror(errno));
	if (ioctl(fd, GATE_TEST_SETUP, &setup))
		fatal("%d files: %s", files, strerror(errno));
	return fd;
}

/* Clone a part of what the job wrote into the next job's file. */
static void share_one(int fd, int job, unsigned int slot, int jobs)
{
	struct gate_test_clone c = {
		.from = { job, slot }, .to = { (job + 1) % jobs, GATE_TEST_SLOTS - 1 },
		.offset = 4, .nr = 4,
	};

	/* ENODATA: a commit emptied the slot, or the slot holds only a part of an extent */
	if (ioctl(fd, GATE_TEST_CLONE, &c) && errno != ENODATA)
		atomic_fetch_add(&failed, 1);
}

static void *run_job(void *arg)
{
	const struct job *job = arg;
	unsigned int seed = job->number + 1, slot = 0;
	struct rusage usage;

	atomic_fetch_add(&ready, 1);
	while (!atomic_load(&go))
		usleep(2000);
	while (!atomic_load(&stop)) {
		struct gate_test_slot at = { job->number, slot };

		if (ioctl(job->fd, GATE_TEST_WRITE_FSYNC, &at))
			atomic_fetch_add(&failed, 1);
		atomic_fetch_add(&fsyncs, 1);
		if ((int)(rand_r(&seed) % 100) < opt.shared)
			share_one(job->fd, job->number, slot, job->jobs);
		slot = (slot + 1) % (GATE_TEST_SLOTS - 1);
	}
	getrusage(RUSAGE_THREAD, &usage);
	atomic_fetch_add(&slept, usage.ru_nvcsw);
	return NULL;
}

static void run(struct result *r, const struct mode *mode, int jobs, int round)
{
	static struct job job[MAX_JOBS];
	int fd = open_fs(mode->mode, jobs), i, ret;
	struct gate_test_state state = { };
	pthread_attr_t attr;
	double start, end;

	atomic_store(&ready, 0);
	atomic_store(&go, 0);
	atomic_store(&stop, 0);
	atomic_store(&fsyncs, 0);
	atomic_store(&slept, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (i = 0; i < jobs; i++) {
		job[i] = (struct job){ .fd = fd, .number = i, .jobs = jobs };
		ret = pthread_create(&job[i].thread, &attr, run_job, &job[i]);
		if (ret)
			fatal("job %d of %d: %s", i + 1, jobs, strerror(ret));
	}
	while (atomic_load(&ready) < jobs)
		usleep(1000);
	/* the main thread only */
	setpriority(PRIO_PROCESS, 0, -20);
	start = now();
	atomic_store(&go, 1);
	while (now() < start + opt.duration) {
		usleep(opt.interval * 1000);
		if (ioctl(fd, GATE_TEST_COMMIT))
			fatal("commit: %s", strerror(errno));
	}
	end = now();
	r->rate[round] = atomic_load(&fsyncs) / (end - start);
	r->fsyncs += atomic_load(&fsyncs);
	atomic_store(&stop, 1);
	setpriority(PRIO_PROCESS, 0, 0);
	for (i = 0; i < jobs; i++)
		pthread_join(job[i].thread, NULL);
	r->slept += atomic_load(&slept);
	if (atomic_load(&failed))
		fatal("%s, %d jobs: %lu fsyncs failed", mode->shown, jobs, atomic_load(&failed));
	ioctl(fd, GATE_TEST_STATE, &state);
	r->skipped += state.skipped;
	r->locked += state.locked;
	r->deleted += state.deleted;
	close(fd);
}

/* --- output -------------------------------------------------------------- */

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const struct result *r)
{
	return r->rate[opt.rounds / 2];
}

static void print_table(void)
{
	int step, jobs;
	unsigned int m, p;

	printf("\n%-6s", "fsync/s");
	for (m = 0; m < NR_MODES; m++)
		printf(" %14s %8s", modes[m].shown, "sleeps");
	printf(" %8s %12s %16s\n", "gate", "sections", "published, MiB/s");
	for (step = 0, jobs = 1; jobs <= opt.max_jobs; step++, jobs *= 2) {
		struct result *always = &results[step][0], *gate = &results[step][1];

		if (jobs < opt.min_jobs)
			continue;
		printf("%-7d", jobs);
		for (m = 0; m < NR_MODES; m++)
			printf(" %14.0f %8.3f", median(&results[step][m]),
			       (double)results[step][m].slept / results[step][m].fsyncs);
		printf(" %+7.1f%% %5lu locked", 100 * (median(gate) / median(always) - 1),
		       gate->locked);
		for (p = 0; p < sizeof(published) / sizeof(published[0]); p++)
			if (published[p].jobs == jobs)
				printf(" %6.1f -> %5.1f", published[p].before,
				       published[p].after);
		printf("\n");
	}
	printf("sleeps: per fsync of a job; %d %% of the writes are shared, ", opt.shared);
	printf("a commit every %d ms\n", opt.interval);
}

static void print_mode(FILE *f, int step, unsigned int m)
{
	struct result *r = &results[step][m];

	fprintf(f, "        \"%s\": { \"fsyncs_per_s\": ", modes[m].option);
	fprintf(f, "{ \"min\": %.1f, \"median\": %.1f, \"max\": %.1f },\n", r->rate[0], median(r),
		r->rate[opt.rounds - 1]);
	fprintf(f, "          \"fsyncs\": %lu, \"skipped\": %lu, \"locked\": %lu, ", r->fsyncs,
		r->skipped, r->locked);
	fprintf(f, "\"deleted\": %lu, \"slept\": %lu }%s\n", r->deleted, r->slept,
		m + 1 < NR_MODES ? "," : "");
}

static void print_json(int argc, char **argv, time_t start)
{
	FILE *f = json_begin(opt.json, "share", argc, argv, start,
			     "fsyncs by many jobs, %d %% of their writes are shared",
			     opt.shared);
	const char *comma = "";
	unsigned int m, p;
	int i, jobs;

	fprintf(f, "  \"unit\": \"1/s\",\n  \"shared_percent\": %d,\n  \"published\": {",
		opt.shared);
	for (p = 0; p < sizeof(published) / sizeof(published[0]); p++)
		fprintf(f, "%s \"%d\": [%.1f, %.1f]", p ? "," : "", published[p].jobs,
			published[p].before, published[p].after);
	fprintf(f, " },\n  \"jobs\": {\n");
	for (i = 0, jobs = 1; jobs <= opt.max_jobs; i++, jobs *= 2) {
		if (jobs < opt.min_jobs)
			continue;
		fprintf(f, "%s      \"%d\": {\n", comma, jobs);
		for (m = 0; m < NR_MODES; m++)
			print_mode(f, i, m);
		fprintf(f, "      }");
		comma = ",\n";
	}
	fprintf(f, "\n  }");
	json_end(f, opt.json);
}

/* --- options ------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: sharebench [OPTIONS]\n"
"           --min-jobs=NUM   first number of jobs, doubled, 1 to 1024  [1]\n"
"           --max-jobs=NUM   last number of jobs                       [1024]\n"
"  -s NUM   --shared=PERCENT of the writes, in part with another file  [0]\n"
"  -i MS    --interval=MS    pause between commits, 1 to 10000         [200]\n"
"  -D TIME  --duration=TIME  of one round of one mode                  [0.5s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16          [5]\n"
"           --locks=TYPE     of the log's blocks: rwsem or unfair      [rwsem]\n"
"           --json=FILE      -: stdout\n"
"  -q       --quiet          print only the table\n"
"           --help\n");
}

enum { OPT_MIN = 256, OPT_MAX, OPT_LOCKS, OPT_JSON, OPT_HELP };

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "min-jobs", 1, NULL, OPT_MIN }, { "max-jobs", 1, NULL, OPT_MAX },
		{ "shared", 1, NULL, 's' }, { "interval", 1, NULL, 'i' },
		{ "duration", 1, NULL, 'D' }, { "rounds", 1, NULL, 'r' },
		{ "locks", 1, NULL, OPT_LOCKS }, { "json", 1, NULL, OPT_JSON },
		{ "quiet", 0, NULL, 'q' }, { "help", 0, NULL, OPT_HELP }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:i:D:r:q", options, NULL)) != -1) {
		switch (c) {
		case OPT_MIN:
			opt.min_jobs = number("--min-jobs", optarg, 1, MAX_JOBS);
			break;
		case OPT_MAX:
			opt.max_jobs = number("--max-jobs", optarg, 1, MAX_JOBS);
			break;
		case 's':
			opt.shared = number("--shared", optarg, 0, 100);
			break;
		case 'i':
			opt.interval = number("--interval", optarg, 1, 10000);
			break;
		case 'D':
			opt.duration = duration(optarg, 3600);
			break;
		case 'r':
			opt.rounds = number("--rounds", optarg, 1, MAX_ROUNDS);
			break;
		case OPT_LOCKS:
			if (strcmp(optarg, "rwsem") && strcmp(optarg, "unfair"))
				fatal("--locks=%s: must be rwsem or unfair", optarg);
			opt.lock_type =
				strcmp(optarg, "rwsem") ? LOCK_TEST_UNFAIR : LOCK_TEST_RWSEM;
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
	if (optind != argc) {
		usage(stderr);
		exit(1);
	}
	if (opt.min_jobs > opt.max_jobs)
		fatal("--min-jobs=%d: must not be above --max-jobs=%d", opt.min_jobs, opt.max_jobs);
}

int main(int argc, char **argv)
{
	int round, step, jobs, turn;
	time_t start = time(NULL);
	double t0 = now();
	unsigned int m;

	parse(argc, argv);
	for (round = 0; round < opt.rounds; round++) {
		for (step = 0, jobs = 1; jobs <= opt.max_jobs; step++, jobs *= 2) {
			if (jobs < opt.min_jobs)
				continue;
			for (turn = 0; turn < (int)NR_MODES; turn++) {
				m = (turn + round) % NR_MODES;
				run(&results[step][m], &modes[m], jobs, round);
			}
			if (!opt.quiet)
				printf("round %d of %d: %d jobs  (%.0f s)\n", round + 1,
				       opt.rounds, jobs, now() - t0);
			fflush(stdout);
		}
	}
	for (step = 0; step < NR_STEPS; step++)
		for (m = 0; m < NR_MODES; m++)
			qsort(results[step][m].rate, opt.rounds, sizeof(double), compare_double);
	print_table();
	if (opt.json)
		print_json(argc, argv, start);
	return 0;
}
