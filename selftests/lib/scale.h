/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scale the number of repetitions in tests that depend on timing. FSCOMMIT_SCALE=4 in the
 * environment divides them by four, for kernels on which everything takes several times as long.
 */
#ifndef FSCOMMIT_SCALE_H
#define FSCOMMIT_SCALE_H

#include <stdlib.h>

static inline int scaled(int times)
{
	const char *s = getenv("FSCOMMIT_SCALE");
	int scale = s ? atoi(s) : 1;

	return scale <= 1 ? times : times > scale ? times / scale : 1;
}

#endif /* FSCOMMIT_SCALE_H */
