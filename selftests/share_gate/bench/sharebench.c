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
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fscommit_test.h"
#include "share_gate_test.h"

#define PROGRAM "sharebench"
#include "options.h"

#define MAX_JOBS	1024

/* by enum gate_test_mode */
static const char * const modes[GATE_TEST_NR_MODES] = {
	"always_locked", "share_gate", "never_locked",
};

static struct {
	long rounds, shared, max_jobs, min_jobs;
	double duration;
} opt = { .rounds = 5, .max_jobs = MAX_JOBS, .min_jobs = 1, .duration = 0.5 };

static atomic_int ready, go, stop;
static atomic_ulong fsyncs, failed, slept;

struct job {
	pthread_t thread;
	int fd, number, jobs;
};

static int open_fs(unsigned int mode, int files)
{
	struct gate_test_setup setup = { .mode = mode, .files = files,
					 .lock_type = LOCK_TEST_RWSEM };
	int fd = open("/dev/share_gate_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/share_gate_test: %s (load share_gate_test.ko)", strerror(errno));
	if (ioctl(fd, GATE_TEST_SETUP, &setup))
		fatal("%d files: %s", files, strerror(errno));
	return fd;
}

/* Clone a part of what the job wrote into the next job's file. */
static void share_one(const struct job *job, unsigned int slot)
{
	struct gate_test_clone c = {
		.from = { job->number, slot },
		.to = { (job->number + 1) % job->jobs, GATE_TEST_SLOTS - 1 },
		.offset = 4, .nr = 4,
	};

	/* ENODATA: a commit emptied the slot, or the slot holds only a part of an extent */
	if (ioctl(job->fd, GATE_TEST_CLONE, &c) && errno != ENODATA)
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
		if (rand_r(&seed) % 100 < opt.shared)
			share_one(job, slot);
		slot = (slot + 1) % (GATE_TEST_SLOTS - 1);
	}
	getrusage(RUSAGE_THREAD, &usage);
	atomic_fetch_add(&slept, usage.ru_nvcsw);
	return NULL;
}

static void start_jobs(struct job *job, int jobs, int fd)
{
	pthread_attr_t attr;
	int i;

	atomic_store(&ready, 0);
	atomic_store(&go, 0);
	atomic_store(&stop, 0);
	atomic_store(&fsyncs, 0);
	atomic_store(&slept, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (i = 0; i < jobs; i++) {
		job[i] = (struct job){ .fd = fd, .number = i, .jobs = jobs };
		if (pthread_create(&job[i].thread, &attr, run_job, &job[i]))
			fatal("cannot start job %d of %d", i + 1, jobs);
	}
	while (atomic_load(&ready) < jobs)
		usleep(1000);
}

static void run(unsigned int mode, int jobs)
{
	static struct job job[MAX_JOBS];
	struct gate_test_state state = { };
	int fd = open_fs(mode, jobs), i;
	double start, rate;
	char name[32];

	start_jobs(job, jobs, fd);
	/* the main thread only */
	setpriority(PRIO_PROCESS, 0, -20);
	start = now();
	atomic_store(&go, 1);
	while (now() < start + opt.duration) {
		usleep(200000);
		if (ioctl(fd, GATE_TEST_COMMIT))
			fatal("commit: %s", strerror(errno));
	}
	rate = atomic_load(&fsyncs) / (now() - start);
	atomic_store(&stop, 1);
	setpriority(PRIO_PROCESS, 0, 0);
	for (i = 0; i < jobs; i++)
		pthread_join(job[i].thread, NULL);
	if (atomic_load(&failed))
		fatal("%s, %d jobs: %lu calls failed", modes[mode], jobs, atomic_load(&failed));
	ioctl(fd, GATE_TEST_STATE, &state);
	close(fd);
	snprintf(name, sizeof(name), opt.shared ? "jobs:%d,shared:%ld%%" : "jobs:%d", jobs,
		 opt.shared);
	print_figure("fsyncs", rate, "1/s", name, modes[mode]);
	print_figure("sleeps", (double)slept / fsyncs, "per_fsync", name, modes[mode]);
	if (mode == GATE_TEST_GATE)
		print_figure("locked", state.locked, "sections", name, modes[mode]);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: sharebench [OPTIONS]\n"
"           --min-jobs=NUM   first number of jobs, doubled, 1 to 1024  [1]\n"
"           --max-jobs=NUM   last number of jobs                       [1024]\n"
"  -s NUM   --shared=PERCENT of the writes, in part with another file  [0]\n"
"  -D TIME  --duration=TIME  of one round of one mode                  [0.5s]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16          [5]\n"
"           --help\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "min-jobs", 1, NULL, 'm' }, { "max-jobs", 1, NULL, 'M' },
		{ "shared", 1, NULL, 's' }, { "duration", 1, NULL, 'D' },
		{ "rounds", 1, NULL, 'r' }, { "help", 0, NULL, 'h' }, { }
	};
	const struct number_option numbers[] = {
		{ 'm', "--min-jobs", &opt.min_jobs, 1, MAX_JOBS },
		{ 'M', "--max-jobs", &opt.max_jobs, 1, MAX_JOBS },
		{ 's', "--shared", &opt.shared, 0, 100 },
		{ 'r', "--rounds", &opt.rounds, 1, 16 }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:D:r:", options, NULL)) != -1) {
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
	int round, jobs, turn;

	parse(argc, argv);
	for (jobs = 1; jobs <= opt.max_jobs; jobs *= 2) {
		if (jobs < opt.min_jobs)
			continue;
		for (round = 0; round < opt.rounds; round++)
			for (turn = 0; turn < GATE_TEST_NR_MODES; turn++)
				run((turn + round) % GATE_TEST_NR_MODES, jobs);
	}
	return 0;
}
