/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for the benchmarks on mounted filesystems: time, and random numbers from a seed. */
#ifndef FSCOMMIT_BENCH_WORKLOAD_H
#define FSCOMMIT_BENCH_WORKLOAD_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* The next random number (xorshift, G. Marsaglia); a seed of 0 stays 0. */
static inline uint64_t scramble(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif /* FSCOMMIT_BENCH_WORKLOAD_H */
