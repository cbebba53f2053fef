/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of two generations (transactions, commits) is the later one. Shared by the public
 * headers of fscommit, so that all mean the same.
 *
 * A generation is a number that goes up by one with each commit, and begins anew after the
 * highest one: comparisons are right as long as what is compared is less than half of all
 * numbers apart. 0 and ~0 are no generations, they mean "not known". A filesystem whose
 * numbers have 32 bits extends them: it keeps the upper half itself.
 */
#ifndef _LINUX_FS_GENERATION_H
#define _LINUX_FS_GENERATION_H

#include <linux/types.h>

/**
 * fs_generation_known() - is it the number of a generation?
 * @generation: the number
 *
 * Return: false for 0 and ~0.
 */
static inline bool fs_generation_known(u64 generation)
{
	return generation && generation != ~0ULL;
}

/**
 * fs_generation_after() - is one generation later than the other?
 * @a: the one, known
 * @b: the other, known
 *
 * Return: true if @a is later than @b; they are less than half of all numbers apart.
 */
static inline bool fs_generation_after(u64 a, u64 b)
{
	return (s64)(a - b) > 0;
}

#endif /* _LINUX_FS_GENERATION_H */
