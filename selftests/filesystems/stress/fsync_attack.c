// SPDX-License-Identifier: GPL-2.0
/*
 * fsync_attack - CPU time beyond a quota, by a loop of fsync()
 *
 *	fsync_attack FOLDER SECONDS PERCENT [TASKS...]
 *
 * For each number of tasks: nice 0 tasks of an ordinary user, in a cgroup that may use PERCENT
 * of a CPU, write and fsync() a file each. Prints what the cgroup used with lending off and
 * with what the module was loaded with. The caller is root.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "put.h"

#define GROUP		"/sys/fs/cgroup/fsync_attack"
#define LEND		"/sys/module/fscommit/parameters/lend"
#define NOBODY		65534
#define MAX_TASKS	1000

static atomic_long *fsyncs;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double used(void)
{
	FILE *f = fopen(GROUP "/cpu.stat", "r");
	unsigned long long us = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "usage_usec %llu", &us) == 1)
			break;
	if (f)
		fclose(f);
	return us / 1e6;
}

static void attack(const char *folder, int i, int gate)
{
	char name[256], data[4096] = { };
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!put(GROUP "/cgroup.procs", "0"))
		die(GROUP);
	/* the way to the folder may be closed to others than root */
	snprintf(name, sizeof(name), "%s/%d", folder, i);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die(name);
	if (setgid(NOBODY) || setuid(NOBODY))
		die("setuid");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(gate, data, 1) != 1)
		die("pipe");
	for (;;) {
		if (pwrite(fd, data, sizeof(data), 0) < 0 || fsync(fd))
			die("fsync");
		atomic_fetch_add(fsyncs, 1);
	}
}

/* Returns the percentage of a CPU that @nr tasks use. */
static double measure(const char *folder, int nr, int duration, double *rate)
{
	static char go[MAX_TASKS];
	static pid_t pid[MAX_TASKS];
	double begin, cpu;
	int gate[2], i;
	long before;

	if (pipe(gate))
		die("pipe");
	for (i = 0; i < nr; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			die("fork");
		if (!pid[i])
			attack(folder, i, gate[0]);
	}
	if (write(gate[1], go, nr) != nr)
		die("pipe");
	sleep(1);
	before = atomic_load(fsyncs);
	cpu = used();
	begin = seconds();
	sleep(duration);
	cpu = used() - cpu;
	begin = seconds() - begin;
	*rate = (atomic_load(fsyncs) - before) / begin;
	put(GROUP "/cpu.max", "max");
	for (i = 0; i < nr; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < nr; i++) {
		int status;

		if (waitpid(pid[i], &status, 0) != pid[i] || !WIFSIGNALED(status)) {
			fprintf(stderr, "fsync_attack: a task ended by itself\n");
			exit(1);
		}
	}
	close(gate[0]);
	close(gate[1]);
	return cpu / begin * 100;
}

int main(int argc, char **argv)
{
	struct sched_param p = { .sched_priority = 50 };
	int i, duration, percent;
	char max[64], lend[16];
	FILE *f = fopen(LEND, "r");

	if (argc < 5 || !f || !fgets(lend, sizeof(lend), f)) {
		fprintf(stderr, "usage: fsync_attack FOLDER SECONDS PERCENT TASKS..., with fscommit loaded\n");
		return 2;
	}
	fclose(f);
	duration = atoi(argv[2]);
	percent = atoi(argv[3]);
	fsyncs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fsyncs == MAP_FAILED || duration <= 0 || percent <= 0)
		die("bad arguments");
	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	mkdir(GROUP, 0755);
	snprintf(max, sizeof(max), "%d 100000", percent * 1000);
	if (mkdir(argv[1], 0755) && access(argv[1], W_OK))
		die(argv[1]);
	/* beside attackers that have SCHED_FIFO; they start without it */
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
	for (i = 4; i < argc; i++) {
		int nr = atoi(argv[i]);
		double off, with, rate_off, rate;

		if (nr <= 0 || nr > MAX_TASKS)
			die(argv[i]);
		if (!put(GROUP "/cpu.max", max) || !put(LEND, "1"))
			die("cpu.max, lend");
		off = measure(argv[1], nr, duration, &rate_off);
		if (!put(GROUP "/cpu.max", max) || !put(LEND, lend))
			die("cpu.max, lend");
		with = measure(argv[1], nr, duration, &rate);
		printf("# %d tasks, quota %d%% of a CPU: %.1f%% without lending, %.1f%% with, so %.1f%% beyond the quota; %.0f and %.0f fsyncs/s\n",
		       nr, percent, off, with, with - percent, rate_off, rate);
		fflush(stdout);
	}
	put(LEND, lend);
	rmdir(GROUP);
	return 0;
}
