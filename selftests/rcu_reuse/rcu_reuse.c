// SPDX-License-Identifier: GPL-2.0
/*
 * RCU reuse queue and stamps: no object is reused too early, no caller waits, no object is lost.
 *
 * Each object takes a cookie of its own when it is unlinked. REUSE_TEST_STATE counts as "early"
 * the objects that left the queue before the cookie's grace period had ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "device_test.h"
#include "modules.h"
#include "put.h"
#include "slowdown.h"
#include "rcu_reuse_test.h"
#include "trace.h"

NEEDS_MODULES("rcu_reuse_test");

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static const struct reuse_test_setup defaults = {
	.flavour = REUSE_TEST_RCU, .objects = 10000, .batch = 32, .keep = 5000, .max = 8000,
	.max_age_ms = 600000,
};

static int open_queue(const struct reuse_test_setup *setup)
{
	int fd = open("/dev/rcu_reuse_test", O_RDWR), error;

	if (fd >= 0 && ioctl(fd, REUSE_TEST_SETUP, setup)) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

static int run_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

static struct reuse_test_state state(int fd)
{
	struct reuse_test_state s = { };

	ioctl(fd, REUSE_TEST_STATE, &s);
	return s;
}

static struct reuse_test_io io(int fd, unsigned long cmd, struct reuse_test_io io)
{
	if (ioctl(fd, cmd, &io))
		io.error = errno;
	return io;
}

static struct reuse_test_io stamps(int fd, unsigned long cmd, unsigned int nr)
{
	return io(fd, cmd, (struct reuse_test_io){ .nr = nr });
}

/* Return the number of objects enqueued. */
static unsigned int enqueue(int fd, unsigned int nr)
{
	return io(fd, REUSE_TEST_ENQUEUE, (struct reuse_test_io){ .nr = nr }).done;
}

/* Return the number of objects dequeued; add those out of order to @disorder. */
static unsigned int dequeue(int fd, unsigned int calls, unsigned int *disorder)
{
	struct reuse_test_io d = io(fd, REUSE_TEST_DEQUEUE,
				    (struct reuse_test_io){ .nr = calls, .until_none = 1 });

	if (disorder)
		*disorder += d.disorder;
	return d.done;
}

static unsigned int dequeue_all(int fd, unsigned int nr, int ms)
{
	unsigned int sum = 0, i;

	for (i = 0; i < ms && sum < nr; i++) {
		sum += dequeue(fd, nr - sum, NULL);
		usleep(1000);
	}
	return sum;
}

static bool pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* A counter of debugfs, of the newest queue; -1 if there is no debugfs. */
static long counter(const char *name)
{
	return debugfs_counter("rcu_reuse", name);
}

/* A reader occupies the last CPU, which it may never yield. */
#define NEEDS_TWO_CPUS()						\
do {									\
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)				\
		SKIP(return, "needs two CPUs");			\
	ASSERT_TRUE(pin_to_cpu(0));					\
} while (0)

FIXTURE(rcu_reuse) {
	int fd;
};

FIXTURE_VARIANT(rcu_reuse) {
	__u32 flavour;
};

FIXTURE_VARIANT_ADD(rcu_reuse, rcu) { .flavour = REUSE_TEST_RCU };
FIXTURE_VARIANT_ADD(rcu_reuse, expedited) { .flavour = REUSE_TEST_EXPEDITED };
FIXTURE_VARIANT_ADD(rcu_reuse, srcu) { .flavour = REUSE_TEST_SRCU };

static struct reuse_test_setup setup_for(__u32 flavour)
{
	struct reuse_test_setup setup = defaults;

	setup.flavour = flavour;
	return setup;
}

FIXTURE_SETUP(rcu_reuse)
{
	struct reuse_test_setup setup = setup_for(variant->flavour);

	NEEDS_TWO_CPUS();
	self->fd = open_queue(&setup);
	ASSERT_GE(self->fd, 0);
}

/* At the end of every test: all objects are there, and none was early or foreign. */
static void check_end(struct __test_metadata *_metadata, int fd, unsigned int objects)
{
	ioctl(fd, REUSE_TEST_READER_OUT);
	EXPECT_EQ(0, run_ioctl(fd, REUSE_TEST_DESTROY, NULL));
	EXPECT_EQ(objects, state(fd).free);
	EXPECT_EQ(0, state(fd).early);
	EXPECT_EQ(0, state(fd).foreign);
	close(fd);
}

FIXTURE_TEARDOWN(rcu_reuse)
{
	check_end(_metadata, self->fd, defaults.objects);
}

/* --- grace periods ------------------------------------------------------- */

TEST_F(rcu_reuse, dequeue_never_waits)
{
	struct reuse_test_io irqs_off = { .nr = 1000, .context = REUSE_TEST_IRQS_OFF }, d;

	/* an empty queue */
	d = io(self->fd, REUSE_TEST_DEQUEUE, irqs_off);
	EXPECT_EQ(0, d.done);
	/* a queue whose objects wait for a reader */
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	EXPECT_EQ(100, enqueue(self->fd, 100));
	d = io(self->fd, REUSE_TEST_DEQUEUE, irqs_off);
	EXPECT_EQ(0, d.error);
	EXPECT_EQ(0, d.done);
	EXPECT_EQ(100, state(self->fd).queued);
	if (counter("none_ready") >= 0)
		EXPECT_EQ(2000, counter("none_ready"));
}

TEST_F(rcu_reuse, not_reused_while_reader_is_in)
{
	int i;

	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	for (i = 0; i < 30; i++) {
		/* closed batches and an open one */
		EXPECT_EQ(70, enqueue(self->fd, 70));
		EXPECT_EQ(0, dequeue(self->fd, 100, NULL));
		usleep(10000);
	}
	EXPECT_EQ(2100, state(self->fd).queued);
	EXPECT_EQ(0, state(self->fd).released);
	EXPECT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_OUT, NULL));
	EXPECT_EQ(2100, dequeue_all(self->fd, 2100, 10000));
}

/* The cookie of a batch closed long ago does not cover an object added now. */
TEST_F(rcu_reuse, later_objects_wait_longer)
{
	/* the grace period ends, but no call notices it */
	EXPECT_EQ(40, enqueue(self->fd, 40));
	usleep(200000);
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	EXPECT_EQ(40, enqueue(self->fd, 40));
	usleep(100000);
	EXPECT_LE(dequeue_all(self->fd, 80, 300), 40);
	EXPECT_EQ(0, state(self->fd).early);
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
 * no other task asks for the next grace period. Free @nr objects by @cmd in such a grace period.
 */
static pid_t free_in_missed_period(int fd, unsigned long cmd, unsigned int nr)
{
	struct reuse_test_io d = { .nr = nr };
	pid_t pid;

	ioctl(fd, REUSE_TEST_READER_OUT);
	usleep(500000);
	if (run_ioctl(fd, REUSE_TEST_READER_IN, NULL))
		return -1;
	pid = start_expedited();
	usleep(100000);
	d = io(fd, cmd, d);
	if (d.done != nr) {
		stop(pid);
		return -1;
	}
	usleep(100000);
	ioctl(fd, REUSE_TEST_READER_RESTS);
	return pid;
}

TEST(missed_grace_period_is_requested_again)
{
	struct reuse_test_setup setup = setup_for(REUSE_TEST_RCU);
	pid_t pid;
	int fd;

	NEEDS_TWO_CPUS();
	/* the worker checks at a quarter of this age */
	setup.max_age_ms = 400;
	fd = open_queue(&setup);
	ASSERT_GE(fd, 0);
	pid = free_in_missed_period(fd, REUSE_TEST_ENQUEUE, 32);
	ASSERT_GT(pid, 0);
	EXPECT_EQ(32, dequeue_all(fd, 32, 5000));
	put("/sys/kernel/rcu_expedited", "0");
	stop(pid);
	/* the same with stamps */
	pid = free_in_missed_period(fd, REUSE_TEST_STAMP, 32);
	ASSERT_GT(pid, 0);
	EXPECT_TRUE(REACHED(stamps(fd, REUSE_TEST_PASSED, 32).done == 32));
	put("/sys/kernel/rcu_expedited", "0");
	stop(pid);
	check_end(_metadata, fd, defaults.objects);
}

/*
 * A dequeue closes a batch that is not full and requests its grace period. In the queue's own SRCU
 * domain nobody else does.
 */
TEST(dequeue_requests_the_grace_period)
{
	struct reuse_test_setup setup = setup_for(REUSE_TEST_SRCU);
	int fd;

	fd = open_queue(&setup);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(1, enqueue(fd, 1));
	EXPECT_EQ(1, dequeue_all(fd, 1, 5000));
	check_end(_metadata, fd, defaults.objects);
}

static unsigned int tenths_of_a_second(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 10 + t.tv_nsec / 100000000;
}

/* 3,200 objects make 100 batches, which wait for the same grace period. */
TEST_F(rcu_reuse, batches_share_a_request)
{
	unsigned int since;

	if (counter("grace_periods") < 0)
		SKIP(return, "no debugfs");
	/* No grace period can end. One may have begun before, and another be for other users. */
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	since = tenths_of_a_second();
	EXPECT_EQ(3200, enqueue(self->fd, 3200));
	EXPECT_EQ(100, counter("batches"));
	EXPECT_GE(counter("grace_periods"), 1);
	/* one that has not ended may be asked for again after 100 ms */
	EXPECT_LE(counter("grace_periods"), 4 + tenths_of_a_second() - since);
}

TEST_F(rcu_reuse, oldest_first)
{
	unsigned int disorder = 0, sum = 0, i;

	for (i = 0; i < 20; i++) {
		EXPECT_EQ(33, enqueue(self->fd, 33));
		usleep(3000);
	}
	for (i = 0; i < 5000 && sum < 660; i++) {
		sum += dequeue(self->fd, 660, &disorder);
		usleep(1000);
	}
	EXPECT_EQ(660, sum);
	EXPECT_EQ(0, disorder);
}

/* --- stamps -------------------------------------------------------------- */

/* The number of the first @nr objects that may be reused. */
static unsigned int passed(int fd, unsigned int nr)
{
	return stamps(fd, REUSE_TEST_PASSED, nr).done;
}

/* The same, by each object's own cookie: requests no grace period. */
static unsigned int own_cookie_passed(int fd, unsigned int nr)
{
	return io(fd, REUSE_TEST_PASSED, (struct reuse_test_io){ .nr = nr, .until_none = 1 }).done;
}

TEST_F(rcu_reuse, stamp_keeps_object_until_reader_left)
{
	int i;

	/* never stamped */
	EXPECT_EQ(100, passed(self->fd, 100));
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	EXPECT_EQ(50, stamps(self->fd, REUSE_TEST_STAMP, 50).done);
	for (i = 0; i < 30; i++) {
		EXPECT_EQ(50, passed(self->fd, 100));
		usleep(10000);
	}
	EXPECT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_OUT, NULL));
	EXPECT_TRUE(REACHED(passed(self->fd, 100) == 100));
}

/* The grace period that has passed since the last stamp says nothing about this one. */
TEST_F(rcu_reuse, stamp_replaces_an_earlier_one)
{
	EXPECT_EQ(50, stamps(self->fd, REUSE_TEST_STAMP, 50).done);
	EXPECT_TRUE(REACHED(passed(self->fd, 50) == 50));
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	EXPECT_EQ(20, stamps(self->fd, REUSE_TEST_STAMP, 20).done);
	usleep(100000);
	EXPECT_EQ(30, passed(self->fd, 50));
}

/* With SRCU, no other user requests it. The first question finds it passed. */
TEST_F(rcu_reuse, stamp_requests_its_grace_period)
{
	struct reuse_test_io d = stamps(self->fd, REUSE_TEST_STAMP, 1);

	EXPECT_EQ(1, d.done);
	EXPECT_EQ(1, d.requests);
	EXPECT_TRUE(REACHED(own_cookie_passed(self->fd, 1) == 1));
	d = stamps(self->fd, REUSE_TEST_PASSED, 1);
	EXPECT_EQ(1, d.done);
	EXPECT_EQ(1, d.requests);
}

/* 10,000 stamped objects share one request, and so do 10,000 questions. */
TEST_F(rcu_reuse, stamps_share_a_request)
{
	struct reuse_test_io d;
	unsigned int since;

	/* No grace period can end. One may have begun before, and another be for other users. */
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	since = tenths_of_a_second();
	d = stamps(self->fd, REUSE_TEST_STAMP, 10000);
	EXPECT_EQ(10000, d.done);
	EXPECT_GE(d.requests, 1);
	EXPECT_LE(d.requests, 4 + tenths_of_a_second() - since);
	/* 10,000 questions, which may repeat the request after each 100 ms */
	d = stamps(self->fd, REUSE_TEST_PASSED, 10000);
	EXPECT_EQ(0, d.done);
	EXPECT_LE(d.requests, 1000);
}

TEST_F(rcu_reuse, stamp_in_any_context)
{
	unsigned int context;

	for (context = 0; context < REUSE_TEST_NR_CONTEXTS; context++) {
		struct reuse_test_io e = { .nr = 200, .context = context, .cpu = 0 };

		EXPECT_EQ(200, io(self->fd, REUSE_TEST_STAMP, e).done);
		EXPECT_TRUE(REACHED(io(self->fd, REUSE_TEST_PASSED, e).done == 200));
	}
}

/* --- where it is called -------------------------------------------------- */

TEST_F(rcu_reuse, calls_in_any_context)
{
	unsigned int context, sum, i;

	for (context = 0; context < REUSE_TEST_NR_CONTEXTS; context++) {
		struct reuse_test_io e = { .nr = 200, .context = context, .cpu = 0 };

		EXPECT_EQ(200, io(self->fd, REUSE_TEST_ENQUEUE, e).done);
		for (i = sum = 0; i < 5000 && sum < 200; i++) {
			struct reuse_test_io d = e;

			d.nr = 200 - sum;
			sum += io(self->fd, REUSE_TEST_DEQUEUE, d).done;
			usleep(1000);
		}
		EXPECT_EQ(200, sum);
	}
}

TEST_F(rcu_reuse, handed_over_between_cpus)
{
	struct reuse_test_io e = { .nr = 500, .context = REUSE_TEST_IPI, .cpu = 1 };
	long handed = counter("handed_over");

	/* dequeue also takes an open batch of another CPU, without the worker */
	EXPECT_EQ(500, io(self->fd, REUSE_TEST_ENQUEUE, e).done);
	EXPECT_EQ(500, dequeue_all(self->fd, 500, 5000));
	if (handed >= 0)
		EXPECT_EQ(handed + 500, counter("handed_over"));
}

TEST_F(rcu_reuse, unplugged_cpu_loses_nothing)
{
	struct reuse_test_io e = { .nr = 500, .context = REUSE_TEST_IPI, .cpu = 1 };

	if (access(ONLINE, W_OK))
		SKIP(return, "this kernel cannot unplug CPU 1");
	EXPECT_EQ(500, io(self->fd, REUSE_TEST_ENQUEUE, e).done);
	ASSERT_TRUE(put(ONLINE, "0"));
	EXPECT_EQ(300, dequeue_all(self->fd, 300, 5000));
	/* drain releases the rest */
	EXPECT_EQ(0, run_ioctl(self->fd, REUSE_TEST_DRAIN, NULL));
	EXPECT_EQ(200, state(self->fd).released);
	EXPECT_TRUE(put(ONLINE, "1"));
}

/* --- bounds -------------------------------------------------------------- */

static int open_bounded(__u32 flavour, __u32 keep, __u32 max, __u32 max_age_ms)
{
	struct reuse_test_setup setup = setup_for(flavour);

	setup.keep = keep;
	setup.max = max;
	setup.max_age_ms = max_age_ms;
	return open_queue(&setup);
}

TEST_F(rcu_reuse, never_more_than_max)
{
	int fd = open_bounded(variant->flavour, 100, 150, 600000), i;
	struct reuse_test_io e;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, run_ioctl(fd, REUSE_TEST_READER_IN, NULL));
	for (i = 0; i < 10; i++) {
		e = io(fd, REUSE_TEST_ENQUEUE, (struct reuse_test_io){ .nr = 1000 });
		EXPECT_EQ(ENOSPC, e.error);
		EXPECT_LE(state(fd).queued, 150);
	}
	/* the quota of the other CPU is small */
	EXPECT_GE(state(fd).queued, 100);
	EXPECT_EQ(0, run_ioctl(fd, REUSE_TEST_READER_OUT, NULL));
	EXPECT_TRUE(REACHED(state(fd).queued <= 100));
	/* the whole quota is available again */
	EXPECT_EQ(0, run_ioctl(fd, REUSE_TEST_DRAIN, NULL));
	EXPECT_GE(enqueue(fd, 1000), 100);
	check_end(_metadata, fd, defaults.objects);
}

TEST_F(rcu_reuse, excess_is_released)
{
	int fd = open_bounded(variant->flavour, 100, 0, 600000);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, run_ioctl(fd, REUSE_TEST_READER_IN, NULL));
	/* without max no enqueue is refused */
	EXPECT_EQ(5000, enqueue(fd, 5000));
	usleep(100000);
	/* the excess waits for the reader, too */
	EXPECT_EQ(5000, state(fd).queued);
	EXPECT_EQ(0, run_ioctl(fd, REUSE_TEST_READER_OUT, NULL));
	EXPECT_TRUE(REACHED(state(fd).queued <= 100));
	/* only the excess has left */
	EXPECT_GE(state(fd).queued, 50);
	/* objects are released shortly after they leave the queue */
	EXPECT_TRUE(REACHED(state(fd).queued + state(fd).released == 5000));
	check_end(_metadata, fd, defaults.objects);
}

TEST_F(rcu_reuse, expired_objects_are_released)
{
	int fd = open_bounded(variant->flavour, 5000, 0, 400);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(1000, enqueue(fd, 1000));
	/* the last objects have left the queue but are not released yet */
	EXPECT_TRUE(REACHED(state(fd).released == 1000));
	EXPECT_EQ(0, state(fd).queued);
	/* the worker stops and starts again */
	usleep(500000);
	EXPECT_EQ(10, enqueue(fd, 10));
	EXPECT_TRUE(REACHED(!state(fd).queued));
	check_end(_metadata, fd, defaults.objects);
	/* the objects of the other queue are not old */
	EXPECT_EQ(100, enqueue(self->fd, 100));
	usleep(500000);
	EXPECT_EQ(100, state(self->fd).queued);
}

TEST_F(rcu_reuse, shrinker_releases_objects)
{
	EXPECT_EQ(3000, enqueue(self->fd, 3000));
	EXPECT_TRUE(REACHED(put("/proc/sys/vm/drop_caches", "2") &&
			    state(self->fd).released == 3000));
	EXPECT_EQ(0, state(self->fd).queued);
	/* less than a batch: no grace period has been requested yet */
	EXPECT_EQ(10, enqueue(self->fd, 10));
	EXPECT_TRUE(REACHED(put("/proc/sys/vm/drop_caches", "2") &&
			    state(self->fd).released == 3010));
	/* but not the objects that wait for a reader */
	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	EXPECT_EQ(3000, enqueue(self->fd, 3000));
	EXPECT_TRUE(put("/proc/sys/vm/drop_caches", "2"));
	EXPECT_EQ(3000, state(self->fd).queued);
}

/* On many CPUs in reclaim, all count at once. The count includes objects that wait. */
TEST_F(rcu_reuse, shrinker_count_takes_no_lock)
{
	long batches = counter("batches"), periods = counter("grace_periods");
	struct reuse_test_io d;

	ASSERT_EQ(0, run_ioctl(self->fd, REUSE_TEST_READER_IN, NULL));
	EXPECT_EQ(10, enqueue(self->fd, 10));
	d = stamps(self->fd, REUSE_TEST_COUNT, 0);
	EXPECT_EQ(0, d.error);
	EXPECT_EQ(10, d.done);
	EXPECT_EQ(batches, counter("batches"));
	EXPECT_EQ(periods, counter("grace_periods"));
}

/* --- the end ------------------------------------------------------------- */

/* Run @cmd in a child; it must wait for the reader. Return the number released meanwhile. */
static long released_before_reader_left(int fd, unsigned long cmd)
{
	long released;
	int status;
	pid_t pid;

	if (run_ioctl(fd, REUSE_TEST_READER_IN, NULL) || enqueue(fd, 3001) != 3001)
		return -1;
	pid = fork();
	if (!pid)
		_exit(run_ioctl(fd, cmd, NULL));
	usleep(200000);
	released = state(fd).released;
	if (waitpid(pid, &status, WNOHANG))
		released = -1;
	ioctl(fd, REUSE_TEST_READER_OUT);
	waitpid(pid, &status, 0);
	return status ? -1 : released;
}

TEST_F(rcu_reuse, drain_releases_all)
{
	EXPECT_EQ(0, released_before_reader_left(self->fd, REUSE_TEST_DRAIN));
	EXPECT_EQ(0, state(self->fd).queued);
	EXPECT_EQ(3001, state(self->fd).released);
	/* the queue still works */
	EXPECT_EQ(1, enqueue(self->fd, 1));
	EXPECT_EQ(1, dequeue_all(self->fd, 1, 5000));
}

TEST_F(rcu_reuse, destroy_releases_all)
{
	EXPECT_EQ(0, released_before_reader_left(self->fd, REUSE_TEST_DESTROY));
	EXPECT_EQ(3001, state(self->fd).released);
}

TEST_F(rcu_reuse, counters_add_up)
{
	if (counter("enqueued") < 0)
		SKIP(return, "no debugfs");
	EXPECT_EQ(1000, enqueue(self->fd, 1000));
	EXPECT_EQ(300, dequeue_all(self->fd, 300, 5000));
	EXPECT_EQ(1000, counter("enqueued"));
	EXPECT_EQ(300, counter("dequeued"));
	EXPECT_EQ(0, run_ioctl(self->fd, REUSE_TEST_DRAIN, NULL));
	EXPECT_EQ(700, counter("released_drain"));
	EXPECT_EQ(0, counter("released_excess") + counter("released_age") +
		  counter("released_shrink") + counter("refused") + counter("misuses"));
}

TEST_F(rcu_reuse, events_are_traced)
{
	struct reuse_test_io e = { .nr = 64, .context = REUSE_TEST_IPI, .cpu = 0 };
	char line[512];
	int at;

	if (!trace_start())
		SKIP(return, "no trace events");
	EXPECT_EQ(64, io(self->fd, REUSE_TEST_ENQUEUE, e).done);
	EXPECT_EQ(32, dequeue_all(self->fd, 32, 5000));
	EXPECT_EQ(0, run_ioctl(self->fd, REUSE_TEST_DRAIN, NULL));
	/* two batches */
	at = trace_find(0, "rcu_reuse_batch: queue=test list=0", "", line, sizeof(line));
	ASSERT_LE(0, at);
	EXPECT_LT(at, trace_find(at + 1, "rcu_reuse_batch: queue=test list=0", "", line,
				 sizeof(line)));
	EXPECT_TRUE(trace_has("rcu_reuse_ready: queue=test list=0", ""));
	EXPECT_TRUE(trace_has("rcu_reuse_release: queue=test list=0 nr=32 why=drain", ""));
	trace_stop();
}

/* --- torture ------------------------------------------------------------- */

/* Keep unplugging and plugging CPU 1, if possible. */
static pid_t start_onoff(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		put(ONLINE, "0");
		usleep(100000);
		put(ONLINE, "1");
		usleep(300000);
	}
}

/*
 * Repeat a run of @ms up to 30 times, until a reader has seen its object unlinked: on a busy
 * machine this is a matter of luck.
 */
static struct reuse_test_torture torture(int fd, unsigned int ms, bool stamps)
{
	struct reuse_test_torture sum = { };
	int i;

	for (i = 0; i < 30 && !(sum.unlinked && sum.reused); i++) {
		struct reuse_test_torture t = { .ms = ms, .readers = 4, .writers = 3,
						.stamps = stamps };

		if (ioctl(fd, REUSE_TEST_TORTURE, &t))
			break;
		sum.reads += t.reads;
		sum.reused += t.reused;
		sum.unlinked += t.unlinked;
		sum.damaged += t.damaged;
	}
	return sum;
}

static void find_no_early_reuse(struct __test_metadata *_metadata, int fd, bool stamps)
{
	pid_t pid = access(ONLINE, W_OK) ? 0 : start_onoff();
	struct reuse_test_torture t = torture(fd, repeats(stamps ? 2000 : 4000), stamps);

	if (pid) {
		stop(pid);
		put(ONLINE, "1");
	}
	TH_LOG("%llu reads, %llu of an object that was unlinked meanwhile; %llu objects reused",
	       (unsigned long long)t.reads, (unsigned long long)t.unlinked,
	       (unsigned long long)t.reused);
	EXPECT_GT(t.unlinked, 0);
	EXPECT_GT(t.reused, 0);
	EXPECT_EQ(0, t.damaged);
}

TEST_F_TIMEOUT(rcu_reuse, torture_finds_no_early_reuse, 90)
{
	find_no_early_reuse(_metadata, self->fd, false);
}

TEST_F_TIMEOUT(rcu_reuse, torture_of_stamps_finds_no_early_reuse, 90)
{
	find_no_early_reuse(_metadata, self->fd, true);
}

/* --- bad input ----------------------------------------------------------- */

TEST(bad_parameters_are_refused)
{
	/* batch, keep, max, max_age_ms, srcu_expedited, no_release */
	const struct reuse_test_setup bad[] = {
		{ 0, 10, 0, 100, 0, 1000, 0, 0 }, { 0, 10, 4097, 100, 0, 1000, 0, 0 },
		{ 0, 10, 32, 0, 0, 1000, 0, 0 }, { 0, 10, 32, (1 << 24) + 1, 0, 1000, 0, 0 },
		{ 0, 10, 32, 100, 99, 1000, 0, 0 }, { 0, 10, 32, 100, (1 << 24) + 1, 1000, 0, 0 },
		{ 0, 10, 32, 100, 0, 9, 0, 0 }, { 0, 10, 32, 100, 0, 3600001, 0, 0 },
		{ 0, 10, 32, 100, 0, 1000, 1, 0 }, { 0, 10, 32, 100, 0, 1000, 0, 1 },
	}, limits[] = {
		{ 0, 10, 4096, 1 << 24, 1 << 24, 3600000, 0, 0 }, { 0, 10, 1, 1, 1, 10, 0, 0 },
	};
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(-1, open_queue(&bad[i])) {
			TH_LOG("number %u", i);
		}
		EXPECT_EQ(EINVAL, errno);
	}
	for (i = 0; i < 2; i++) {
		fd = open_queue(&limits[i]);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(i ? 1 : 2, enqueue(fd, 2));
		check_end(_metadata, fd, 10);
	}
}

TEST_HARNESS_MAIN
