/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/rcu_reuse_test: stamped objects, and readers that their grace periods wait for. Tests only.
 * Needs CAP_SYS_ADMIN.
 *
 * Each open file has REUSE_TEST_OBJECTS objects and a clock. An object takes a cookie of its own
 * just before its stamp. The object counts as early if the stamp has an earlier cookie, or if
 * rcu_reuse_passed() returns true before the grace period of its own cookie has ended.
 */
#ifndef RCU_REUSE_TEST_H
#define RCU_REUSE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define REUSE_TEST_OBJECTS	10000U

struct reuse_test_io {
	__u32 first, nr;	/* objects, up to REUSE_TEST_OBJECTS */
	__u32 atomic;		/* with preemption off */
	__u32 own_cookie;	/* PASSED: poll the object's own cookie, which requests nothing */
	/* out: */
	__u32 done;		/* objects stamped, or that may be reused */
	__u32 requests;		/* of grace periods by the clock */
	__u32 early;		/* all objects that were early */
	__u32 cookie;		/* the own one of the last object stamped, its low half */
};

#define REUSE_TEST_STAMP	_IOWR('Q', 2, struct reuse_test_io)
#define REUSE_TEST_PASSED	_IOWR('Q', 3, struct reuse_test_io)
/* A reader on the last CPU stays in its section until OUT, where its task ends, or RESTS. */
#define REUSE_TEST_READER_IN	_IO('Q', 4)
#define REUSE_TEST_READER_OUT	_IO('Q', 5)
#define REUSE_TEST_READER_RESTS	_IO('Q', 6)
#endif /* RCU_REUSE_TEST_H */
