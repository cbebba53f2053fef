/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for tests that use a test device. */
#ifndef SELFTESTS_DEVICE_TEST_H
#define SELFTESTS_DEVICE_TEST_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Poll @cond every millisecond, for 20 s or more. */
#define REACHED(cond)							\
({									\
	int _i;								\
	for (_i = 0; _i < 20000 && !(cond); _i++)			\
		usleep(1000);						\
	_i < 20000;							\
})

/* The last value of a counter in a debugfs file of fscommit; -1 if there is none. */
static inline long debugfs_counter(const char *file, const char *name)
{
	char path[128], line[512], have[64];
	long value = -1, n;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/fscommit/%s", file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %63s %ld", have, &n) == 2 && !strcmp(have, name))
			value = n;
	if (f)
		fclose(f);
	return value;
}

static inline void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
