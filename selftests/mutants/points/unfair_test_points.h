/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test points: random delays before each access to shared memory in the lock's code, so
 * that races are seen which need two tasks within a few instructions. Only the copy of
 * the product that selftests/harness/stage.sh makes with POINTS=1 has them.
 */
#ifndef _LINUX_UNFAIR_TEST_POINTS_H
#define _LINUX_UNFAIR_TEST_POINTS_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Each read that overlaps with another one sets BIAS. */
#define UNFAIR_RWSEM_BIAS_FIRST	0
#define BIAS_AGAIN		0

struct unfair_test_site {
	const char	*func;
	unsigned long	next;		/* jiffies: no long delay before */
};

extern unsigned int unfair_test_points;
void __unfair_test_point(struct unfair_test_site *site, bool write);

#define unfair_test_point(write)					\
({									\
	static struct unfair_test_site _site = { __func__ };		\
									\
	if (READ_ONCE(unfair_test_points))				\
		__unfair_test_point(&_site, write);			\
})

/* points.sed puts one of these in the place of op(arguments): for expressions ... */
#define UNFAIR_BEFORE_READ(op, ...)	({ unfair_test_point(false); op(__VA_ARGS__); })
#define UNFAIR_BEFORE_WRITE(op, ...)	({ unfair_test_point(true); op(__VA_ARGS__); })

/* ... and for statements: a point after it, too, as for unlocks. */
#define UNFAIR_AROUND(op, ...)						\
do {									\
	unfair_test_point(true);					\
	op(__VA_ARGS__);						\
	unfair_test_point(true);					\
} while (0)

#endif /* _LINUX_UNFAIR_TEST_POINTS_H */
