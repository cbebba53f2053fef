// SPDX-License-Identifier: GPL-2.0
/* Print the rate of this host's time stamp counter in kHz, which QEMU shows its guests. */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* Reads both clocks at about the same time: the closest of many pairs. Returns nanoseconds. */
static double both(unsigned long long *tsc)
{
	double best = 1e18, at = 0;
	struct timespec a, b;
	int i;

	for (i = 0; i < 1000; i++) {
		unsigned long long now;
		double took;

		clock_gettime(CLOCK_MONOTONIC, &a);
		now = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &b);
		took = (b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec;
		if (took < best) {
			best = took;
			*tsc = now;
			at = a.tv_sec * 1e9 + a.tv_nsec + took / 2;
		}
	}
	return at;
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	unsigned long long from, to;
	double begin = both(&from), end;

	nanosleep(&pause, NULL);
	end = both(&to);
	printf("%.0f\n", (to - from) * 1e6 / (end - begin));
	return 0;
}
