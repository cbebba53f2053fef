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
#include "stats.h"

#define PROGRAM "reusebench"
#include "options.h"
#include "json.h"

#define MAX_ROUNDS	16
#define MAX_TASKS	256
#define MAX_BATCHES	8
#define FOLDER		"/tmp/reusebench"

static const struct variant {
	const char *option, *shown;
	unsigned int variant;
} variants[] = {
	{ "no-wait", "no wait (unsafe)", REUSE_TEST_NO_WAIT },
	{ "synchronize", "synchronize_rcu", REUSE_TEST_SYNCHRONIZE },
	{ "cond-synchronize", "cond_synchronize_rcu", REUSE_TEST_COND_SYNCHRONIZE },
	{ "call-rcu", "call_rcu and free", REUSE_TEST_CALL_RCU },
	{ "reuse-queue", "reuse queue", REUSE_TEST_OURS },
	{ "reuse-expedited", "reuse queue, expedited", REUSE_TEST_OURS_EXPEDITED },
};

#define NR_VARIANTS	(sizeof(variants) / sizeof(variants[0]))
#define NO_WAIT		0

enum { ALONE, BESIDE, NR_SETTINGS };
static const char * const settings[] = { "alone", "beside" };

static struct {
	int tasks, rounds, work_ns, keep, max, nr_batches, batch[MAX_BATCHES];
	double duration;
	const char *json;
	bool quiet, anywhere;
} opt = {
	/* from XFS's figures: 931,328 inodes a minute are at least 64 us for each */
	.tasks = 4, .rounds = 3, .work_ns = 64000, .keep = 32768, .max = 65536, .duration = 1,
	.nr_batches = 4, .batch = { 8, 32, 128, 512 },
};

static struct result {
	double per_minute[MAX_ROUNDS];		/* allocations */
	double ratio[MAX_ROUNDS];		/* to "no wait" in the same round */
	double allocated, reused;
	uint64_t peak, longest_ns;
} results[NR_SETTINGS][MAX_BATCHES][NR_VARIANTS];

/* --- the neighbour ------------------------------------------------------- */

static void to_cpus(int first)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), i;
	cpu_set_t set;

	if (cpus < 2 || opt.anywhere)
		return;
	CPU_ZERO(&set);
	if (!first)
		CPU_SET(0, &set);
	for (i = first; first && i < cpus; i++)
		CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A deep path, so that the walk under RCU dominates, and one file that comes and goes. */
static void look_up(int n)
{
	char path[256] = FOLDER, file[64];
	struct stat st;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "neighbour");
	to_cpus(1);
	for (i = 0; i < 16; i++)
		strcat(path, "/d");
	strcat(path, "/file");
	snprintf(file, sizeof(file), FOLDER "/%d", n);
	for (i = 0;; i++) {
		stat(path, &st);
		if (!(i % 64)) {
			close(open(file, O_CREAT | O_WRONLY, 0600));
			unlink(file);
		}
	}
}

static void make_tree(void)
{
	char path[256] = FOLDER;
	int i;

	mkdir(path, 0700);
	for (i = 0; i < 16; i++) {
		strcat(path, "/d");
		if (mkdir(path, 0700) && errno != EEXIST)
			fatal("%s: %s", path, strerror(errno));
	}
	strcat(path, "/file");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	if (access(path, F_OK))
		fatal("%s: %s", path, strerror(errno));
}

static int start_neighbours(pid_t *pid)
{
	int i;

	for (i = 0; i < opt.tasks; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			fatal("fork: %s", strerror(errno));
		if (!pid[i])
			look_up(i);
	}
	usleep(50000);
	return opt.tasks;
}

static void stop_neighbours(const pid_t *pid, int n)
{
	int i;

	for (i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < n; i++)
		waitpid(pid[i], NULL, 0);
}

/* --- rounds -------------------------------------------------------------- */

static void run(int fd, int setting, int b, unsigned int v, int round)
{
	struct result *r = &results[setting][b][v];
	struct reuse_test_bench a = {
		.variant = variants[v].variant, .batch = opt.batch[b], .ms = opt.duration * 1000,
		.work_ns = opt.work_ns, .keep = opt.keep, .max = opt.max,
	};

	if (ioctl(fd, REUSE_TEST_BENCH, &a))
		fatal("%s, batch %d: %s", variants[v].shown, opt.batch[b], strerror(errno));
	r->per_minute[round] = a.allocated * 60e9 / a.ns;
	r->allocated += a.allocated;
	r->reused += a.reused;
	if (a.peak > r->peak)
		r->peak = a.peak;
	if (a.longest_ns > r->longest_ns)
		r->longest_ns = a.longest_ns;
}

static void run_round(int fd, int setting, int round)
{
	unsigned int v;
	int b, turn;

	for (b = 0; b < opt.nr_batches; b++) {
		for (turn = 0; turn < (int)NR_VARIANTS; turn++)
			run(fd, setting, b, (turn + round) % NR_VARIANTS, round);
		for (v = 0; v < NR_VARIANTS; v++) {
			struct result *r = results[setting][b];

			r[v].ratio[round] = r[v].per_minute[round] / r[NO_WAIT].per_minute[round];
		}
		if (opt.quiet)
			continue;
		printf("round %d of %d: %s, batch %d: %.0f allocations a minute, ratio %.2f\n",
		       round + 1, opt.rounds, settings[setting], opt.batch[b],
		       results[setting][b][REUSE_TEST_OURS].per_minute[round],
		       results[setting][b][REUSE_TEST_OURS].ratio[round]);
		fflush(stdout);
	}
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void sort_all(void)
{
	unsigned int v;
	int s, b;

	for (s = 0; s < NR_SETTINGS; s++) {
		for (b = 0; b < opt.nr_batches; b++) {
			for (v = 0; v < NR_VARIANTS; v++) {
				struct result *r = &results[s][b][v];

				qsort(r->per_minute, opt.rounds, sizeof(double), compare_double);
				qsort(r->ratio, opt.rounds, sizeof(double), compare_double);
			}
		}
	}
}

static void print_table(int setting)
{
	unsigned int v;
	int b;

	printf("\n%-24s", setting == ALONE ? "alone" : "beside the neighbour");
	for (b = 0; b < opt.nr_batches; b++)
		printf(" %17s%4d", "batch", opt.batch[b]);
	printf("  %8s %9s %9s\n", "reused %", "peak", "longest");
	for (v = 0; v < NR_VARIANTS; v++) {
		double allocated = 0, reused = 0;
		uint64_t peak = 0, longest = 0;

		printf("%-24s", variants[v].shown);
		for (b = 0; b < opt.nr_batches; b++) {
			struct result *r = &results[setting][b][v];

			printf(" %12.0f (%6.4f)", r->per_minute[opt.rounds / 2],
			       r->ratio[opt.rounds / 2]);
			allocated += r->allocated;
			reused += r->reused;
			if (r->peak > peak)
				peak = r->peak;
			if (r->longest_ns > longest)
				longest = r->longest_ns;
		}
		printf("  %8.1f %9llu %6.1f ms\n", allocated ? 100 * reused / allocated : 0,
		       (unsigned long long)peak, longest / 1e6);
	}
}

static void print_figure(FILE *f, const char *name, const double *at)
{
	fprintf(f, "\"%s\": { \"min\": %.4f, \"median\": %.4f, \"max\": %.4f }", name, at[0],
		at[opt.rounds / 2], at[opt.rounds - 1]);
}

static void print_variant(FILE *f, unsigned int v)
{
	bool first = true;
	char name[64];
	int s, b;

	fprintf(f, "\n    \"%s\": {", variants[v].option);
	for (s = 0; s < NR_SETTINGS; s++) {
		for (b = 0; b < opt.nr_batches; b++) {
			struct result *r = &results[s][b][v];

			fprintf(f, "%s\n      ", first ? "" : ",");
			first = false;
			snprintf(name, sizeof(name), "%s_%d", settings[s], opt.batch[b]);
			print_figure(f, name, r->per_minute);
			fprintf(f, ",\n      ");
			snprintf(name, sizeof(name), "%s_%d_ratio", settings[s], opt.batch[b]);
			print_figure(f, name, r->ratio);
			fprintf(f, ",\n      \"%s_%d_more\": { \"allocated\": %.0f, ", settings[s],
				opt.batch[b], r->allocated);
			fprintf(f, "\"reused\": %.0f, \"peak\": %llu, \"longest_ns\": %llu }",
				r->reused, (unsigned long long)r->peak,
				(unsigned long long)r->longest_ns);
		}
	}
	fprintf(f, "\n    }");
}

static void print_json(int argc, char **argv, time_t start)
{
	FILE *f = json_begin(opt.json, "reuse", argc, argv, start,
			     "freed objects that are reused, %g us of work each",
			     opt.work_ns / 1e3);
	unsigned int v;
	int i;

	fprintf(f, "  \"parameters\": { \"work_ns\": %d, \"keep\": %d, \"max\": %d, ", opt.work_ns,
		opt.keep, opt.max);
	fprintf(f, "\"tasks\": %d, \"rounds\": %d, \"batches\": [", opt.tasks, opt.rounds);
	for (i = 0; i < opt.nr_batches; i++)
		fprintf(f, "%s%d", i ? ", " : "", opt.batch[i]);
	fprintf(f, "] },\n  \"unit\": \"allocations a minute\",\n  \"locks\": {");
	for (v = 0; v < NR_VARIANTS; v++) {
		print_variant(f, v);
		if (v + 1 < NR_VARIANTS)
			fputc(',', f);
	}
	fprintf(f, "\n  }");
	json_end(f, opt.json);
}

/* --- options ------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: reusebench [OPTIONS]\n"
"  -b LIST  --batch=LIST     objects per batch, 1 to 4096 each        [8,32,128,512]\n"
"  -w NS    --work=NS        with each object, 0 to 1000000           [64000]\n"
"  -t NUM   --threads=NUM    tasks that look up paths, 1 to 256       [4]\n"
"           --anywhere       let them share the CPU of the allocating task\n"
"  -D TIME  --duration=TIME  of one round of one variant              [1s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16         [3]\n"
"           --keep=NUM       of the reuse queue, 1 to 16777216        [32768]\n"
"           --max=NUM        of the reuse queue, 0: no limit          [65536]\n"
"           --json=FILE      -: stdout\n"
"  -q       --quiet          print only the tables\n"
"           --help\n");
}

static void parse_batches(const char *arg)
{
	char *list = strdup(arg), *s;

	opt.nr_batches = 0;
	for (s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		if (opt.nr_batches == MAX_BATCHES)
			fatal("--batch: must be at most %d numbers", MAX_BATCHES);
		opt.batch[opt.nr_batches++] = number("--batch", s, 1, 4096);
	}
	if (!opt.nr_batches)
		fatal("--batch: %s", "must be a list of numbers");
}

enum { OPT_ANYWHERE = 256, OPT_KEEP, OPT_MAX, OPT_JSON, OPT_HELP };

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "batch", 1, NULL, 'b' }, { "work", 1, NULL, 'w' }, { "threads", 1, NULL, 't' },
		{ "anywhere", 0, NULL, OPT_ANYWHERE }, { "duration", 1, NULL, 'D' },
		{ "rounds", 1, NULL, 'r' }, { "keep", 1, NULL, OPT_KEEP },
		{ "max", 1, NULL, OPT_MAX }, { "json", 1, NULL, OPT_JSON },
		{ "quiet", 0, NULL, 'q' }, { "help", 0, NULL, OPT_HELP }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "b:w:t:D:r:q", options, NULL)) != -1) {
		switch (c) {
		case 'b':
			parse_batches(optarg);
			break;
		case 'w':
			opt.work_ns = number("--work", optarg, 0, 1000000);
			break;
		case 't':
			opt.tasks = number("--threads", optarg, 1, MAX_TASKS);
			break;
		case OPT_ANYWHERE:
			opt.anywhere = true;
			break;
		case 'D':
			opt.duration = duration(optarg, 600);
			break;
		case 'r':
			opt.rounds = number("--rounds", optarg, 1, MAX_ROUNDS);
			break;
		case OPT_KEEP:
			opt.keep = number("--keep", optarg, 1, 1 << 24);
			break;
		case OPT_MAX:
			opt.max = number("--max", optarg, 0, 1 << 24);
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
	if (opt.max && opt.max < opt.keep)
		fatal("--max=%d: must be 0 or at least %d (--keep)", opt.max, opt.keep);
}

int main(int argc, char **argv)
{
	static pid_t neighbour[MAX_TASKS];
	time_t start = time(NULL);
	int fd, round, setting;

	parse(argc, argv);
	fd = open("/dev/rcu_reuse_test", O_RDWR);
	if (fd < 0)
		fatal("/dev/rcu_reuse_test: %s (load rcu_reuse_test.ko)", strerror(errno));
	make_tree();
	to_cpus(0);
	for (round = 0; round < opt.rounds; round++) {
		for (setting = 0; setting < NR_SETTINGS; setting++) {
			int n = setting == BESIDE ? start_neighbours(neighbour) : 0;

			run_round(fd, setting, round);
			stop_neighbours(neighbour, n);
		}
	}
	sort_all();
	print_table(ALONE);
	print_table(BESIDE);
	printf("allocations a minute, median of %d rounds (ratio to \"no wait\")\n", opt.rounds);
	printf("%d ns of work with each object, %d tasks that look up paths%s, keep %d, max %d\n",
	       opt.work_ns, opt.tasks, opt.anywhere ? " anywhere" : " on other CPUs", opt.keep,
	       opt.max);
	if (opt.json)
		print_json(argc, argv, start);
	return 0;
}
