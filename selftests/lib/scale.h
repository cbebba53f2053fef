/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scale the number of repetitions in tests that depend on timing. FSCOMMIT_SCALE=4 in the
 * environment divides them by four, for kernels on which everything takes several times as long.
 */
#ifndef FSCOMMIT_SCALE_H
#define FSCOMMIT_SCALE_H

#include <stdlib.h>

/*
 * Limits end a test that hangs; they are no promise about time. A guest with half of a slow CPU
 * needs several times what a test takes elsewhere. Included after kselftest_harness.h.
 */
#ifdef TEST_F_TIMEOUT
# undef TEST_TIMEOUT_DEFAULT
# define TEST_TIMEOUT_DEFAULT	150
# undef TEST_F_TIMEOUT
# define TEST_F_TIMEOUT(fixture, name, seconds)	__TEST_F_IMPL(fixture, name, -1, 4 * (seconds))
#endif

static inline int scaled(int times)
{
	const char *s = getenv("FSCOMMIT_SCALE");
	int scale = s ? atoi(s) : 1;

	return scale <= 1 ? times : times > scale ? times / scale : 1;
}

#endif /* FSCOMMIT_SCALE_H */
