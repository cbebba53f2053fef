// SPDX-License-Identifier: GPL-2.0
/*
 * inode_reuse - create and unlink files while other tasks look up their paths
 *
 *	inode_reuse DIR SECONDS BATCH READERS [links]
 *
 * Creates BATCH files in DIR, unlinks them, and starts again. READERS tasks, SCHED_IDLE and on
 * another CPU, stat() these paths by path walks under RCU. Prints the number of files created in a
 * minute, the longest create, and the number of lookups that found a file, which must be a regular
 * one of one link or none. With "links", the files are symbolic links to DIR.
 */
#define _GNU_SOURCE
#define PROGRAM "inode_reuse"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

#define MAX_READERS	64

static struct shared {
	_Atomic unsigned long found, wrong;
} *shared;

static bool links;
static double longest;

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void path_of(char *path, size_t size, const char *dir, int i)
{
	snprintf(path, size, "%s/reuse.%d", dir, i);
}

static void read_paths(const char *dir, int batch)
{
	char path[256];
	struct stat st;
	int i;

	for (i = 0;; i = (i + 1) % batch) {
		path_of(path, sizeof(path), dir, i);
		if (stat(path, &st)) {
			if (errno != ENOENT)
				atomic_fetch_add(&shared->wrong, 1);
			continue;
		}
		atomic_fetch_add(&shared->found, 1);
		if (links ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode) || st.st_nlink > 1)
			atomic_fetch_add(&shared->wrong, 1);
	}
}

static void create(const char *path)
{
	double took = now();
	int fd = links ? symlink(".", path) : open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	took = now() - took;
	longest = took > longest ? took : longest;
	if (fd < 0)
		fatal("%s: %s", path, strerror(errno));
	if (!links)
		close(fd);
}

static void create_all(const char *dir, int batch)
{
	char path[256];
	int i;

	for (i = 0; i < batch; i++) {
		path_of(path, sizeof(path), dir, i);
		create(path);
	}
	for (i = 0; i < batch; i++) {
		path_of(path, sizeof(path), dir, i);
		if (unlink(path))
			fatal("%s: %s", path, strerror(errno));
	}
}

int main(int argc, char **argv)
{
	unsigned long created = 0;
	double start, end, seconds;
	pid_t pid[MAX_READERS], parent = getpid();
	int batch, readers, i;

	links = argc == 6 && !strcmp(argv[5], "links");
	if (argc != 5 && !links) {
		fprintf(stderr, "usage: inode_reuse DIR SECONDS BATCH READERS [links]\n");
		return 2;
	}
	seconds = duration(argv[2], 3600);
	batch = number("BATCH", argv[3], 1, 100000);
	readers = number("READERS", argv[4], 0, MAX_READERS);
	shared = shared_memory(sizeof(*shared));
	for (i = 0; i < readers; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* it may have ended before that */
			if (getppid() != parent)
				_exit(1);
			run_on(1);
			sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){});
			read_paths(argv[1], batch);
			_exit(1);
		}
	}
	run_on(0);
	start = now();
	while (now() < start + seconds) {
		create_all(argv[1], batch);
		created += batch;
	}
	end = now();
	for (i = 0; i < readers; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	printf("created_per_minute %.0f longest_ms %.1f found %lu wrong %lu\n",
	       created * 60 / (end - start), longest * 1e3,
	       (unsigned long)shared->found, (unsigned long)shared->wrong);
	return shared->wrong > 0;
}
