/* SPDX-License-Identifier: GPL-2.0 */
/* Read the module's counters. */
#ifndef SELFTESTS_COUNTERS_H
#define SELFTESTS_COUNTERS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define DEBUGFS	"/sys/kernel/debug/fscommit"

static inline bool has_debugfs(void)
{
	if (access(DEBUGFS, F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	return !access(DEBUGFS, F_OK);
}

/* Returns the counter @name, of all locks. Ends a test that asks for one that does not exist. */
static inline long counter(const char *name)
{
	char path[128];
	long value;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/fscommit/stats/%s", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &value) != 1) {
		perror(path);
		abort();
	}
	fclose(f);
	return value;
}

#endif
