/* SPDX-License-Identifier: GPL-2.0 */
/* Read the module's counters from debugfs. */
#ifndef SELFTESTS_COUNTERS_H
#define SELFTESTS_COUNTERS_H

#include <stdbool.h>
#include <stdio.h>
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

/* Returns the counter @name of the test lock's class, or -1 if debugfs does not show it. */
static inline long counter(const char *name)
{
	FILE *f = fopen(DEBUGFS "/stats", "r");
	char line[512], key[64];
	bool mine = false;
	long value = -1, v;

	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] != ' ')
			mine = strstr(line, "unfair");
		else if (mine && sscanf(line, " %63s %ld", key, &v) == 2 && !strcmp(key, name))
			value = v;
	}
	if (f)
		fclose(f);
	return value;
}

#endif
