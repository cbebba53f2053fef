/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_CGROUP_H
#define SELFTESTS_CGROUP_H

#include <stdio.h>

/* CPU seconds that the tasks of a cgroup have used. */
static inline double cgroup_used(const char *group)
{
	unsigned long long us = 0;
	char line[128];
	FILE *f;

	snprintf(line, sizeof(line), "%s/cpu.stat", group);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "usage_usec %llu", &us) == 1)
			break;
	if (f)
		fclose(f);
	return us / 1e6;
}

#endif
