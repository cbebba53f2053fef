/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often a test repeats what is a matter of luck: FSCOMMIT_SCALE=4 in the environment is
 * for kernels on which all takes several times as long.
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
