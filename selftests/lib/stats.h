/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Latency samples, in nanoseconds. All samples are kept, so each percentile is a measured value.
 * Samples beyond the room are only counted; the maximum is exact.
 */
#ifndef FSCOMMIT_STATS_H
#define FSCOMMIT_STATS_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct samples {
	_Atomic uint64_t count, max;
	uint64_t room;
	uint32_t *at;		/* in units of 8 ns: up to 34 s */
};

static inline size_t samples_size(uint64_t room)
{
	return room * sizeof(uint32_t);
}

static inline void samples_init(struct samples *s, void *memory, uint64_t room)
{
	s->at = memory;
	s->room = room;
}

/* Several tasks may call this at once. */
static inline void samples_add(struct samples *s, uint64_t ns)
{
	uint64_t i = atomic_fetch_add(&s->count, 1), max = atomic_load(&s->max);

	if (i < s->room)
		s->at[i] = ns / 8 > UINT32_MAX ? UINT32_MAX : ns / 8;
	while (ns > max && !atomic_compare_exchange_weak(&s->max, &max, ns))
		;
}

static inline uint64_t samples_kept(const struct samples *s)
{
	return s->count < s->room ? s->count : s->room;
}

static int samples_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Call this before any of the functions below. */
static inline void samples_sort(struct samples *s)
{
	qsort(s->at, samples_kept(s), sizeof(*s->at), samples_compare);
}

static inline uint64_t samples_percentile(const struct samples *s, double percent)
{
	uint64_t n = samples_kept(s), i = n * percent / 100;

	return n ? s->at[i < n ? i : n - 1] * 8ULL : 0;
}

#endif /* FSCOMMIT_STATS_H */
