// SPDX-License-Identifier: GPL-2.0
/*
 * fsync_attack - measure the CPU time beyond a quota that loops of fsync() gain by lending
 *
 *	fsync_attack FOLDER SECONDS PERCENT TASKS...
 *
 * For each number TASKS, so many tasks of an ordinary user at nice 0 write and fsync() a file
 * each, in a cgroup with a quota of PERCENT of a CPU. The program prints the CPU time of the
 * cgroup without lending and with the module's current setting of lend. Needs root.
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

#include "cgroup.h"
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

static void attack(const char *folder, int i, int gate)
{
	char name[256], data[4096] = { };
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!put(GROUP "/cgroup.procs", "0"))
		die(GROUP);
	/* Open the file as root: an ordinary user may not reach the folder. */
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
	cpu = cgroup_used(GROUP);
	begin = seconds();
	sleep(duration);
	cpu = cgroup_used(GROUP) - cpu;
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
		fprintf(stderr, "usage: fsync_attack FOLDER SECONDS PERCENT TASKS...\n"
			"fscommit must be loaded\n");
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
	/* This task must run beside attackers with lent SCHED_FIFO; they start at nice 0. */
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
		printf("# %d tasks, quota %d%% of a CPU: %.1f%% without lending, %.1f%% with, ",
		       nr, percent, off, with);
		printf("so %.1f%% beyond the quota; %.0f and %.0f fsyncs/s\n", with - percent,
		       rate_off, rate);
		fflush(stdout);
	}
	put(LEND, lend);
	rmdir(GROUP);
	return 0;
}
