/* SPDX-License-Identifier: GPL-2.0 */
/* The module's trace events, in an instance of tracefs of the test's own. */
#ifndef SELFTESTS_TRACE_H
#define SELFTESTS_TRACE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "put.h"

#define TRACE	"/sys/kernel/tracing/instances/fscommit_events"

/* Returns false if there is no tracefs. */
static inline bool trace_start(void)
{
	rmdir(TRACE);
	if (mkdir(TRACE, 0700))
		return false;
	return put(TRACE "/events/fscommit/enable", "1");
}

static inline void trace_stop(void)
{
	rmdir(TRACE);
}

/* Copies the first line from line @from on that has both texts. Returns its number, or -1. */
static inline int trace_find(int from, const char *a, const char *b, char *line, int size)
{
	FILE *f = fopen(TRACE "/trace", "r");
	int n = 0, found = -1;

	while (f && found < 0 && fgets(line, size, f)) {
		if (n >= from && strstr(line, a) && strstr(line, b))
			found = n;
		n++;
	}
	if (f)
		fclose(f);
	return found;
}

static inline bool trace_has(const char *a, const char *b)
{
	char line[512];

	return trace_find(0, a, b, line, sizeof(line)) >= 0;
}

#endif
