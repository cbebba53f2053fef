/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests that repeat a random experiment repeat it less often on a slow kernel: FSCOMMIT_SLOWDOWN=4
 * in the environment divides the repetitions by four.
 */
#ifndef FSCOMMIT_SLOWDOWN_H
#define FSCOMMIT_SLOWDOWN_H

#include <stdlib.h>

/*
 * Timeouts end a test that hangs; they promise nothing about time. A guest with half of a slow CPU
 * needs several times what a test takes elsewhere. Included after kselftest_harness.h.
 */
#ifdef TEST_F_TIMEOUT
# undef TEST_TIMEOUT_DEFAULT
# define TEST_TIMEOUT_DEFAULT	150
# undef TEST_F_TIMEOUT
# define TEST_F_TIMEOUT(fixture, name, seconds)	__TEST_F_IMPL(fixture, name, -1, 4 * (seconds))
#endif

/* @times divided by FSCOMMIT_SLOWDOWN, at least 1 */
static inline int repeats(int times)
{
	const char *s = getenv("FSCOMMIT_SLOWDOWN");
	int slowdown = s ? atoi(s) : 1;

	return slowdown <= 1 ? times : times > slowdown ? times / slowdown : 1;
}

#endif /* FSCOMMIT_SLOWDOWN_H */
