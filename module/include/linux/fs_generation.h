/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Order of generations (transactions, commits), shared by the public headers of fscommit.
 *
 * A generation is a number that each commit increments. It wraps: comparisons are right while
 * the two numbers are less than 2^63 apart. 0 and ~0 mean "not known". A filesystem with 32-bit
 * numbers keeps the upper half itself.
 */
#ifndef _LINUX_FS_GENERATION_H
#define _LINUX_FS_GENERATION_H

#include <linux/types.h>

/**
 * fs_generation_known() - is this the number of a generation?
 * @generation: the number
 *
 * Context: any.
 * Return: false for 0 and ~0.
 */
static inline bool fs_generation_known(u64 generation)
{
	return generation && generation != ~0ULL;
}

/**
 * fs_generation_after() - is one generation later than another?
 * @a: a known generation
 * @b: another known generation, less than 2^63 apart from @a
 *
 * Context: any.
 * Return: true if @a is later than @b.
 */
static inline bool fs_generation_after(u64 a, u64 b)
{
	return (s64)(a - b) > 0;
}

#endif /* _LINUX_FS_GENERATION_H */
