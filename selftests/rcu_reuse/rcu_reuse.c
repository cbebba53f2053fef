// SPDX-License-Identifier: GPL-2.0
/*
 * Reuse stamps: no object is reused too early, no caller waits, and grace periods are requested.
 *
 * Each object takes a cookie of its own when it is stamped. The test device counts as early the
 * objects that may be reused before that cookie's grace period has ended.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "device_test.h"
#include "modules.h"
#include "put.h"
#include "slowdown.h"
#include "rcu_reuse_test.h"

NEEDS_MODULES("rcu_reuse_test");

static struct reuse_test_io run(int fd, unsigned long cmd, unsigned int first, unsigned int nr)
{
	struct reuse_test_io io = { .first = first, .nr = nr };

	if (ioctl(fd, cmd, &io))
		io.done = ~0U;
	return io;
}

static unsigned int stamp(int fd, unsigned int nr)
{
	return run(fd, REUSE_TEST_STAMP, 0, nr).done;
}

/* The number of the first @nr objects that may be reused. */
static unsigned int passed(int fd, unsigned int nr)
{
	return run(fd, REUSE_TEST_PASSED, 0, nr).done;
}

/* The same, by each object's own cookie: requests no grace period. */
static unsigned int own_cookie_passed(int fd, unsigned int nr)
{
	struct reuse_test_io io = { .nr = nr, .own_cookie = 1 };

	return ioctl(fd, REUSE_TEST_PASSED, &io) ? ~0U : io.done;
}

FIXTURE(rcu_reuse) {
	int fd;
};

/* A reader occupies the last CPU, which it may never yield. */
FIXTURE_SETUP(rcu_reuse)
{
	cpu_set_t set;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	self->fd = open("/dev/rcu_reuse_test", O_RDWR);
	ASSERT_GE(self->fd, 0);
}

/* At the end of every test: no object was early. */
FIXTURE_TEARDOWN(rcu_reuse)
{
	ioctl(self->fd, REUSE_TEST_READER_OUT);
	EXPECT_EQ(0, run(self->fd, REUSE_TEST_STAMP, 0, 0).early);
	close(self->fd);
}

/* --- S1: no early reuse --------------------------------------------------- */

TEST_F(rcu_reuse, kept_until_reader_left)
{
	int i;

	/* never stamped */
	EXPECT_EQ(100, passed(self->fd, 100));
	ASSERT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_IN));
	EXPECT_EQ(50, stamp(self->fd, 50));
	for (i = 0; i < 30; i++) {
		EXPECT_EQ(50, passed(self->fd, 100));
		usleep(10000);
	}
	EXPECT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_OUT));
	EXPECT_TRUE(REACHED(passed(self->fd, 100) == 100));
}

/* The grace period that has passed since the last stamp says nothing about this one. */
TEST_F(rcu_reuse, stamp_replaces_an_earlier_one)
{
	EXPECT_EQ(50, stamp(self->fd, 50));
	EXPECT_TRUE(REACHED(passed(self->fd, 50) == 50));
	ASSERT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_IN));
	EXPECT_EQ(20, stamp(self->fd, 20));
	usleep(100000);
	EXPECT_EQ(30, passed(self->fd, 50));
}

/*
 * A reader keeps a grace period from ending. An object that is freed then waits for the next one. A
 * grace period that began after the reader, but before the first stamp, shows nothing: try again.
 */
TEST_F(rcu_reuse, stamp_waits_for_the_next_grace_period)
{
	struct reuse_test_io first, second;
	bool next = false;
	int i;

	for (i = 0; i < 30 && !next; i++) {
		ASSERT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_IN));
		first = run(self->fd, REUSE_TEST_STAMP, 0, 1);
		usleep(100000);
		second = run(self->fd, REUSE_TEST_STAMP, 1, 1);
		EXPECT_EQ(0, second.early);
		next = first.cookie != second.cookie;
		EXPECT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_OUT));
		usleep(100000);
	}
	EXPECT_TRUE(next);
}

/* --- S2: no waiting ------------------------------------------------------- */

/* A call that waits would return only once the reader has left, and its objects have passed. */
TEST_F(rcu_reuse, no_call_waits_for_a_reader)
{
	pid_t pid;

	ASSERT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_IN));
	pid = fork();
	if (!pid) {
		sleep(20);
		ioctl(self->fd, REUSE_TEST_READER_RESTS);
		_exit(0);
	}
	EXPECT_EQ(100, stamp(self->fd, 100));
	EXPECT_EQ(0, passed(self->fd, 100));
	stop(pid);
}

TEST_F(rcu_reuse, calls_with_preemption_off)
{
	struct reuse_test_io io = { .nr = 200, .atomic = 1 };

	EXPECT_EQ(0, ioctl(self->fd, REUSE_TEST_STAMP, &io));
	EXPECT_EQ(200, io.done);
	EXPECT_TRUE(REACHED(!ioctl(self->fd, REUSE_TEST_PASSED, &io) && io.done == 200));
}

/* --- S3: grace periods happen --------------------------------------------- */

/* On an idle machine others request one in seconds, so most stamps pass by their own request. */
TEST_F(rcu_reuse, stamp_requests_its_grace_period)
{
	unsigned int i, nr = 0;

	for (i = 0; i < 10; i++) {
		EXPECT_EQ(1, stamp(self->fd, 1));
		usleep(500000);
		nr += own_cookie_passed(self->fd, 1);
	}
	EXPECT_GE(nr, 5);
}

static unsigned int tenths_of_a_second(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 10 + t.tv_nsec / 100000000;
}

/* 10,000 stamped objects share one request, and so do 10,000 questions. */
TEST_F(rcu_reuse, stamps_share_a_request)
{
	struct reuse_test_io io;
	unsigned int since;

	/* No grace period can end. One may have begun before, and another be for other users. */
	ASSERT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_IN));
	since = tenths_of_a_second();
	io = run(self->fd, REUSE_TEST_STAMP, 0, REUSE_TEST_OBJECTS);
	EXPECT_EQ(REUSE_TEST_OBJECTS, io.done);
	EXPECT_GE(io.requests, 1);
	/* one that has not ended may be requested again after 100 ms */
	io = run(self->fd, REUSE_TEST_PASSED, 0, REUSE_TEST_OBJECTS);
	EXPECT_EQ(0, io.done);
	EXPECT_LE(io.requests, 4 + tenths_of_a_second() - since);
}

/* Stay in an expedited grace period if possible. A task that exits would need another one. */
static pid_t start_expedited(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (put("/sys/kernel/rcu_expedited", "1"))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (;;)
		pause();
}

/*
 * Polling may miss a normal grace period that begins during an expedited one. On an idle machine
 * no other task asks for the next grace period.
 */
TEST_F(rcu_reuse, missed_grace_period_is_requested_again)
{
	pid_t pid;

	usleep(500000);
	ASSERT_EQ(0, ioctl(self->fd, REUSE_TEST_READER_IN));
	pid = start_expedited();
	usleep(100000);
	EXPECT_EQ(32, stamp(self->fd, 32));
	usleep(100000);
	ioctl(self->fd, REUSE_TEST_READER_RESTS);
	EXPECT_TRUE(REACHED(passed(self->fd, 32) == 32));
	put("/sys/kernel/rcu_expedited", "0");
	stop(pid);
}

TEST_HARNESS_MAIN
