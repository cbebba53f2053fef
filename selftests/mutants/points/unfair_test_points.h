/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test points: random delays before each access to shared memory in the code of the lock.
 * They expose races that need two tasks within a few instructions. Only the copy of the
 * product that selftests/harness/stage.sh makes with TEST_POINTS=1 has them.
 */
#ifndef _LINUX_UNFAIR_TEST_POINTS_H
#define _LINUX_UNFAIR_TEST_POINTS_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Each reader that overlaps with another reader sets BIAS. */
#define UNFAIR_RWSEM_BIAS_FIRST	0
#define BIAS_AGAIN		0

struct unfair_test_site {
	const char	*func;
	unsigned long	next;		/* jiffies of the earliest long delay */
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

/* points.sed replaces op(arguments) by one of these in an expression, ... */
#define UNFAIR_BEFORE_READ(op, ...)	({ unfair_test_point(false); op(__VA_ARGS__); })
#define UNFAIR_BEFORE_WRITE(op, ...)	({ unfair_test_point(true); op(__VA_ARGS__); })

/* ... and in a statement by this, with a second point after it, e.g. after an unlock. */
#define UNFAIR_AROUND(op, ...)						\
do {									\
	unfair_test_point(true);					\
	op(__VA_ARGS__);						\
	unfair_test_point(true);					\
} while (0)

#endif /* _LINUX_UNFAIR_TEST_POINTS_H */
