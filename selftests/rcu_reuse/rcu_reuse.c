// SPDX-License-Identifier: GPL-2.0
/*
 * RCU reuse queue: nothing is handed out too early, nobody waits, nothing is lost.
 *
 * Each object takes a cookie of its own when it is unlinked; RRT_STATE counts those that
 * came out before it had passed ("early").
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
#include <unistd.h>

#include "kselftest_harness.h"

#include "scale.h"
#include "rcu_reuse_test.h"

#define TRACING	"/sys/kernel/tracing/"
#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static const struct rrt_setup defaults = {
	.flavour = RRT_RCU, .objects = 10000, .batch = 32, .keep = 5000, .max = 8000,
	.max_age_ms = 600000,
};

static int open_queue(const struct rrt_setup *setup)
{
	int fd = open("/dev/rcu_reuse_test", O_RDWR), error;

	if (fd >= 0 && ioctl(fd, RRT_SETUP, setup)) {
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

static struct rrt_state state(int fd)
{
	struct rrt_state s = { };

	ioctl(fd, RRT_STATE, &s);
	return s;
}

static struct rrt_io io(int fd, unsigned long cmd, struct rrt_io io)
{
	if (ioctl(fd, cmd, &io))
		io.error = errno;
	return io;
}

/* Returns how many went in. */
static unsigned int enqueue(int fd, unsigned int nr)
{
	return io(fd, RRT_ENQUEUE, (struct rrt_io){ .nr = nr }).done;
}

/* Returns how many came out; @disorder adds up those that should have come before. */
static unsigned int dequeue(int fd, unsigned int calls, unsigned int *disorder)
{
	struct rrt_io d = io(fd, RRT_DEQUEUE, (struct rrt_io){ .nr = calls, .until_none = 1 });

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

#define REACHED(cond)							\
({									\
	int _i;								\
	for (_i = 0; _i < 10000 && !(cond); _i++)			\
		usleep(1000);						\
	_i < 10000;							\
})

/* A counter of debugfs, of the newest queue; -1 if there is no debugfs. */
static long counter(const char *name)
{
	char line[256], have[64];
	long v = -1, n;
	FILE *f = fopen("/sys/kernel/debug/fscommit/rcu_reuse", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %63s %ld", have, &n) == 2 && !strcmp(have, name))
			v = n;
	if (f)
		fclose(f);
	return v;
}

FIXTURE(rcu_reuse) {
	int fd;
};

FIXTURE_VARIANT(rcu_reuse) {
	__u32 flavour;
};

FIXTURE_VARIANT_ADD(rcu_reuse, rcu) { .flavour = RRT_RCU };
FIXTURE_VARIANT_ADD(rcu_reuse, expedited) { .flavour = RRT_EXPEDITED };
FIXTURE_VARIANT_ADD(rcu_reuse, srcu) { .flavour = RRT_SRCU };

static struct rrt_setup setup_for(__u32 flavour)
{
	struct rrt_setup setup = defaults;

	setup.flavour = flavour;
	return setup;
}

FIXTURE_SETUP(rcu_reuse)
{
	struct rrt_setup setup = setup_for(variant->flavour);

	if (access("/dev/rcu_reuse_test", F_OK))
		SKIP(return, "no /dev/rcu_reuse_test: load rcu_reuse_test.ko");
	/* readers stay on the last CPU, and need not let anybody else run there */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	ASSERT_TRUE(pin_to_cpu(0));
	self->fd = open_queue(&setup);
	ASSERT_GE(self->fd, 0);
}

/* Whatever was done: all objects are there, none was early, none came from elsewhere. */
static void check_end(struct __test_metadata *_metadata, int fd, unsigned int objects)
{
	ioctl(fd, RRT_READER_OUT);
	EXPECT_EQ(0, run_ioctl(fd, RRT_DESTROY, NULL));
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

TEST_F(rcu_reuse, none_is_said_at_once)
{
	struct rrt_io d;

	/* an empty one */
	d = io(self->fd, RRT_DEQUEUE, (struct rrt_io){ .nr = 1000, .context = RRT_IRQS_OFF });
	EXPECT_EQ(0, d.done);
	/* one whose objects a reader has */
	ASSERT_EQ(0, run_ioctl(self->fd, RRT_READER_IN, NULL));
	EXPECT_EQ(100, enqueue(self->fd, 100));
	d = io(self->fd, RRT_DEQUEUE, (struct rrt_io){ .nr = 1000, .context = RRT_IRQS_OFF });
	EXPECT_EQ(0, d.error);
	EXPECT_EQ(0, d.done);
	EXPECT_EQ(100, state(self->fd).queued);
	if (counter("none_ready") >= 0)
		EXPECT_EQ(2000, counter("none_ready"));
}

TEST_F(rcu_reuse, not_reused_while_a_reader_is_in)
{
	int i;

	ASSERT_EQ(0, run_ioctl(self->fd, RRT_READER_IN, NULL));
	for (i = 0; i < 30; i++) {
		/* closed batches, and one that is open */
		EXPECT_EQ(70, enqueue(self->fd, 70));
		EXPECT_EQ(0, dequeue(self->fd, 100, NULL));
		usleep(10000);
	}
	EXPECT_EQ(2100, state(self->fd).queued);
	EXPECT_EQ(0, state(self->fd).released);
	EXPECT_EQ(0, run_ioctl(self->fd, RRT_READER_OUT, NULL));
	EXPECT_EQ(2100, dequeue_all(self->fd, 2100, 10000));
}

/* A batch that was closed long ago says nothing of one that is added now. */
TEST_F(rcu_reuse, later_objects_wait_longer)
{
	/* its grace period passes, and nobody looks */
	EXPECT_EQ(40, enqueue(self->fd, 40));
	usleep(200000);
	ASSERT_EQ(0, run_ioctl(self->fd, RRT_READER_IN, NULL));
	EXPECT_EQ(40, enqueue(self->fd, 40));
	usleep(100000);
	EXPECT_LE(dequeue_all(self->fd, 80, 300), 40);
	EXPECT_EQ(0, state(self->fd).early);
}

/* Nobody else asks for a grace period, and nobody calls but to look. */
TEST_F(rcu_reuse, idle_machine_has_grace_periods)
{
	unsigned int sum = 0, i;

	EXPECT_EQ(32, enqueue(self->fd, 32));
	for (i = 0; i < 20 && sum < 32; i++) {
		usleep(100000);
		sum += dequeue(self->fd, 32, NULL);
	}
	EXPECT_EQ(32, sum);
	if (counter("grace_periods") >= 0)
		EXPECT_GE(counter("grace_periods"), 1);
}

/* In an expedited grace period, if it can; and stays, since a task that exits needs one more. */
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
 * A normal grace period that begins while an expedited one is on its way is one that polling may
 * not see. On an idle machine nobody else asks for another.
 */
TEST(grace_period_that_polling_missed)
{
	struct rrt_setup setup = setup_for(RRT_RCU);
	pid_t pid;
	int fd;

	if (access("/dev/rcu_reuse_test", F_OK))
		SKIP(return, "no /dev/rcu_reuse_test: load rcu_reuse_test.ko");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	ASSERT_TRUE(pin_to_cpu(0));
	/* the worker looks each quarter of that */
	setup.max_age_ms = 400;
	fd = open_queue(&setup);
	ASSERT_GE(fd, 0);
	usleep(500000);
	ASSERT_EQ(0, run_ioctl(fd, RRT_READER_IN, NULL));
	pid = start_expedited();
	usleep(100000);
	EXPECT_EQ(32, enqueue(fd, 32));
	usleep(100000);
	EXPECT_EQ(0, run_ioctl(fd, RRT_READER_RESTS, NULL));
	EXPECT_EQ(32, dequeue_all(fd, 32, 5000));
	put("/sys/kernel/rcu_expedited", "0");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check_end(_metadata, fd, setup.objects);
}

/*
 * An idle machine where nothing but the queue ever asks: an SRCU domain of its own. RCU may have
 * grace periods for others, and hide that nobody asked.
 */
TEST(nobody_else_asks_for_grace_periods)
{
	struct rrt_setup setup = setup_for(RRT_SRCU);
	int fd;

	if (access("/dev/rcu_reuse_test", F_OK))
		SKIP(return, "no /dev/rcu_reuse_test: load rcu_reuse_test.ko");
	fd = open_queue(&setup);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(32, enqueue(fd, 32));
	EXPECT_EQ(32, dequeue_all(fd, 32, 5000));
	check_end(_metadata, fd, defaults.objects);
}

/* One that is short of a batch is not forgotten. */
TEST_F(rcu_reuse, dequeue_wants_an_open_batch)
{
	EXPECT_EQ(1, enqueue(self->fd, 1));
	EXPECT_EQ(1, dequeue_all(self->fd, 1, 5000));
}

TEST_F(rcu_reuse, batch_shares_a_cookie)
{
	if (counter("batches") < 0)
		SKIP(return, "no debugfs");
	EXPECT_EQ(3200, enqueue(self->fd, 3200));
	EXPECT_EQ(100, counter("batches"));
}

/* However many batches wait for it. */
TEST_F(rcu_reuse, grace_period_is_asked_for_once)
{
	if (counter("grace_periods") < 0)
		SKIP(return, "no debugfs");
	/* so that none ends; one may have begun before, and one be for others */
	ASSERT_EQ(0, run_ioctl(self->fd, RRT_READER_IN, NULL));
	EXPECT_EQ(3200, enqueue(self->fd, 3200));
	EXPECT_GE(counter("grace_periods"), 1);
	EXPECT_LE(counter("grace_periods"), 4);
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

/* --- where it is called -------------------------------------------------- */

TEST_F(rcu_reuse, any_context)
{
	unsigned int context, sum, i;

	for (context = 0; context < RRT_NR_CONTEXTS; context++) {
		struct rrt_io e = { .nr = 200, .context = context, .cpu = 0 };

		EXPECT_EQ(200, io(self->fd, RRT_ENQUEUE, e).done);
		for (i = sum = 0; i < 5000 && sum < 200; i++) {
			struct rrt_io d = e;

			d.nr = 200 - sum;
			sum += io(self->fd, RRT_DEQUEUE, d).done;
			usleep(1000);
		}
		EXPECT_EQ(200, sum);
	}
}

TEST_F(rcu_reuse, handed_over_between_cpus)
{
	struct rrt_io e = { .nr = 500, .context = RRT_IPI, .cpu = 1 };
	long handed = counter("handed_over");

	/* also an open batch of another CPU, without help by the worker */
	EXPECT_EQ(500, io(self->fd, RRT_ENQUEUE, e).done);
	EXPECT_EQ(500, dequeue_all(self->fd, 500, 5000));
	if (handed >= 0)
		EXPECT_EQ(handed + 500, counter("handed_over"));
}

TEST_F(rcu_reuse, unplugged_cpu_loses_nothing)
{
	struct rrt_io e = { .nr = 500, .context = RRT_IPI, .cpu = 1 };

	if (access(ONLINE, W_OK))
		SKIP(return, "this kernel cannot unplug CPU 1");
	EXPECT_EQ(500, io(self->fd, RRT_ENQUEUE, e).done);
	ASSERT_TRUE(put(ONLINE, "0"));
	EXPECT_EQ(300, dequeue_all(self->fd, 300, 5000));
	/* and the end finds the rest */
	EXPECT_EQ(0, run_ioctl(self->fd, RRT_DRAIN, NULL));
	EXPECT_EQ(200, state(self->fd).released);
	EXPECT_TRUE(put(ONLINE, "1"));
}

/* --- bounds -------------------------------------------------------------- */

static int open_bounded(__u32 flavour, __u32 keep, __u32 max, __u32 max_age_ms)
{
	struct rrt_setup setup = setup_for(flavour);

	setup.keep = keep;
	setup.max = max;
	setup.max_age_ms = max_age_ms;
	return open_queue(&setup);
}

TEST_F(rcu_reuse, never_more_than_max)
{
	int fd = open_bounded(variant->flavour, 100, 150, 600000), i;
	struct rrt_io e;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, run_ioctl(fd, RRT_READER_IN, NULL));
	for (i = 0; i < 10; i++) {
		e = io(fd, RRT_ENQUEUE, (struct rrt_io){ .nr = 1000 });
		EXPECT_EQ(ENOSPC, e.error);
		EXPECT_LE(state(fd).queued, 150);
	}
	/* the other CPU's share of what is kept is small */
	EXPECT_GE(state(fd).queued, 100);
	EXPECT_EQ(0, run_ioctl(fd, RRT_READER_OUT, NULL));
	EXPECT_TRUE(REACHED(state(fd).queued <= 100));
	/* there is room again, and all of it */
	EXPECT_EQ(0, run_ioctl(fd, RRT_DRAIN, NULL));
	EXPECT_GE(enqueue(fd, 1000), 100);
	check_end(_metadata, fd, defaults.objects);
}

TEST_F(rcu_reuse, what_is_over_leaves_by_itself)
{
	int fd = open_bounded(variant->flavour, 100, 0, 600000);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, run_ioctl(fd, RRT_READER_IN, NULL));
	/* never refused */
	EXPECT_EQ(5000, enqueue(fd, 5000));
	usleep(100000);
	/* but it has to wait, too */
	EXPECT_EQ(5000, state(fd).queued);
	EXPECT_EQ(0, run_ioctl(fd, RRT_READER_OUT, NULL));
	EXPECT_TRUE(REACHED(state(fd).queued <= 100));
	/* and no more than that */
	EXPECT_GE(state(fd).queued, 50);
	/* what has left the queue is released a moment later */
	EXPECT_TRUE(REACHED(state(fd).queued + state(fd).released == 5000));
	check_end(_metadata, fd, defaults.objects);
}

TEST_F(rcu_reuse, old_ones_leave_by_themselves)
{
	int fd = open_bounded(variant->flavour, 5000, 0, 400);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(1000, enqueue(fd, 1000));
	/* the last ones are out of the queue, and not released yet */
	EXPECT_TRUE(REACHED(state(fd).released == 1000));
	EXPECT_EQ(0, state(fd).queued);
	/* the worker has stopped, and starts again */
	usleep(500000);
	EXPECT_EQ(10, enqueue(fd, 10));
	EXPECT_TRUE(REACHED(!state(fd).queued));
	check_end(_metadata, fd, defaults.objects);
	/* those of the other queue are not old */
	EXPECT_EQ(100, enqueue(self->fd, 100));
	usleep(500000);
	EXPECT_EQ(100, state(self->fd).queued);
}

TEST_F(rcu_reuse, memory_pressure_gets_them)
{
	EXPECT_EQ(3000, enqueue(self->fd, 3000));
	EXPECT_TRUE(REACHED(put("/proc/sys/vm/drop_caches", "2") &&
			    state(self->fd).released == 3000));
	EXPECT_EQ(0, state(self->fd).queued);
	/* fewer than a batch: nobody has asked for a grace period yet */
	EXPECT_EQ(10, enqueue(self->fd, 10));
	EXPECT_TRUE(REACHED(put("/proc/sys/vm/drop_caches", "2") &&
			    state(self->fd).released == 3010));
	/* not those that a reader has */
	ASSERT_EQ(0, run_ioctl(self->fd, RRT_READER_IN, NULL));
	EXPECT_EQ(3000, enqueue(self->fd, 3000));
	EXPECT_TRUE(put("/proc/sys/vm/drop_caches", "2"));
	EXPECT_EQ(3000, state(self->fd).queued);
}

/* --- the end ------------------------------------------------------------- */

/* @cmd by a child, which must wait for the reader: for how much was released before it left. */
static long released_before_reader_left(int fd, unsigned long cmd)
{
	long released;
	int status;
	pid_t pid;

	if (run_ioctl(fd, RRT_READER_IN, NULL) || enqueue(fd, 3001) != 3001)
		return -1;
	pid = fork();
	if (!pid)
		_exit(run_ioctl(fd, cmd, NULL));
	usleep(200000);
	released = state(fd).released;
	if (waitpid(pid, &status, WNOHANG))
		released = -1;
	ioctl(fd, RRT_READER_OUT);
	waitpid(pid, &status, 0);
	return status ? -1 : released;
}

TEST_F(rcu_reuse, drain_releases_all)
{
	EXPECT_EQ(0, released_before_reader_left(self->fd, RRT_DRAIN));
	EXPECT_EQ(0, state(self->fd).queued);
	EXPECT_EQ(3001, state(self->fd).released);
	/* it goes on */
	EXPECT_EQ(1, enqueue(self->fd, 1));
	EXPECT_EQ(1, dequeue_all(self->fd, 1, 5000));
}

TEST_F(rcu_reuse, destroy_releases_all)
{
	struct rrt_setup setup = setup_for(variant->flavour);
	int fd, i;

	EXPECT_EQ(0, released_before_reader_left(self->fd, RRT_DESTROY));
	EXPECT_EQ(3001, state(self->fd).released);
	/* and so by the last close */
	for (i = 0; i < 5; i++) {
		fd = open_queue(&setup);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(4321, enqueue(fd, 4321));
		check_end(_metadata, fd, setup.objects);
	}
}

TEST_F(rcu_reuse, counters_add_up)
{
	if (counter("enqueued") < 0)
		SKIP(return, "no debugfs");
	EXPECT_EQ(1000, enqueue(self->fd, 1000));
	EXPECT_EQ(300, dequeue_all(self->fd, 300, 5000));
	EXPECT_EQ(1000, counter("enqueued"));
	EXPECT_EQ(300, counter("dequeued"));
	EXPECT_EQ(0, run_ioctl(self->fd, RRT_DRAIN, NULL));
	EXPECT_EQ(700, counter("released_drain"));
	EXPECT_EQ(0, counter("released_over") + counter("released_age") +
		  counter("released_shrink") + counter("refused") + counter("misuses"));
}

static unsigned int lines_of(const char *text)
{
	char line[512];
	unsigned int n = 0;
	FILE *f = fopen(TRACING "trace", "r");

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, text);
	if (f)
		fclose(f);
	return n;
}

TEST_F(rcu_reuse, traced)
{
	struct rrt_io e = { .nr = 64, .context = RRT_IPI, .cpu = 0 };

	if (!put(TRACING "events/fscommit/rcu_reuse_batch/enable", "1"))
		SKIP(return, "no trace events");
	/* opened so, it is cleared */
	close(open(TRACING "trace", O_WRONLY | O_TRUNC));
	put(TRACING "events/fscommit/rcu_reuse_ready/enable", "1");
	put(TRACING "events/fscommit/rcu_reuse_hand_over/enable", "1");
	put(TRACING "events/fscommit/rcu_reuse_release/enable", "1");
	EXPECT_EQ(64, io(self->fd, RRT_ENQUEUE, e).done);
	EXPECT_EQ(32, dequeue_all(self->fd, 32, 5000));
	EXPECT_EQ(0, run_ioctl(self->fd, RRT_DRAIN, NULL));
	put(TRACING "events/fscommit/enable", "0");
	EXPECT_EQ(2, lines_of("rcu_reuse_batch: queue=test list=0"));
	EXPECT_GE(lines_of("rcu_reuse_ready: queue=test list=0"), 1);
	EXPECT_EQ(1, lines_of("rcu_reuse_release: queue=test list=0 nr=32 why=drain"));
}

/* --- much and long ------------------------------------------------------- */

TEST_F_TIMEOUT(rcu_reuse, a_million_objects, 120)
{
	struct rrt_setup setup = setup_for(variant->flavour);
	/* the flavours differ in how they wait, not in how they hold many */
	unsigned int objects = scaled(variant->flavour == RRT_RCU ? 1000000 : 100000), sum;
	int fd;

	setup.objects = objects;
	setup.keep = objects;
	setup.max = 0;
	setup.batch = 512;
	fd = open_queue(&setup);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(objects, enqueue(fd, objects));
	EXPECT_EQ(objects, state(fd).queued);
	sum = dequeue_all(fd, objects / 2, 20000);
	EXPECT_EQ(objects / 2, sum);
	EXPECT_EQ(0, state(fd).released);
	check_end(_metadata, fd, setup.objects);
}

/* CPU 1 goes and comes, if it can. */
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
 * What is looked for is a matter of luck on a busy machine, so it goes on, up to ten times
 * @ms, until a reader has seen its object unlinked, or reused if that @must be found.
 */
static struct rrt_torture torture(int fd, unsigned int ms, bool must)
{
	struct rrt_torture sum = { };
	int i;

	for (i = 0; i < 10; i++) {
		struct rrt_torture t = { .ms = ms, .readers = 4, .writers = 3 };

		if (ioctl(fd, RRT_TORTURE, &t))
			break;
		sum.reads += t.reads;
		sum.reused += t.reused;
		sum.fresh += t.fresh;
		sum.early += t.early;
		sum.pipe[0] += t.pipe[0];
		sum.pipe[1] += t.pipe[1];
		sum.pipe[2] += t.pipe[2];
		if (must ? sum.pipe[2] && sum.early : sum.pipe[1] && sum.reused)
			break;
	}
	return sum;
}

TEST_F_TIMEOUT(rcu_reuse, torture_finds_no_early_reuse, 90)
{
	pid_t pid = access(ONLINE, W_OK) ? 0 : start_onoff();
	struct rrt_torture t = torture(self->fd, scaled(4000), false);

	if (pid) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		put(ONLINE, "1");
	}
	TH_LOG("%llu reads: %llu of an object that was there, %llu unlinked, %llu reused; %llu reused, %llu fresh",
	       (unsigned long long)t.reads, (unsigned long long)t.pipe[0],
	       (unsigned long long)t.pipe[1], (unsigned long long)t.pipe[2],
	       (unsigned long long)t.reused, (unsigned long long)t.fresh);
	EXPECT_GT(t.reads, 0);
	EXPECT_GT(t.pipe[1], 0);
	EXPECT_GT(t.reused, 0);
	EXPECT_EQ(0, t.pipe[2]);
	EXPECT_EQ(0, t.early);
}

/* It is no test if it finds nothing where grace periods are not waited for. */
TEST(torture_finds_a_busted_queue)
{
	struct rrt_setup setup = setup_for(RRT_BUSTED);
	struct rrt_torture t;
	int fd;

	if (access("/dev/rcu_reuse_test", F_OK))
		SKIP(return, "no /dev/rcu_reuse_test: load rcu_reuse_test.ko");
	fd = open_queue(&setup);
	ASSERT_GE(fd, 0);
	t = torture(fd, 500, true);
	EXPECT_GT(t.pipe[2], 0);
	EXPECT_GT(t.early, 0);
	close(fd);
}

/* --- bad input ----------------------------------------------------------- */

TEST(bad_parameters_are_refused)
{
	const struct {
		__u32 batch, keep, max, age, srcu_expedited, no_release;
	} bad[] = {
		{ 0, 100, 0, 1000, 0, 0 }, { 4097, 100, 0, 1000, 0, 0 },
		{ 32, 0, 0, 1000, 0, 0 }, { 32, (1 << 24) + 1, 0, 1000, 0, 0 },
		{ 32, 100, 99, 1000, 0, 0 }, { 32, 100, (1 << 24) + 1, 1000, 0, 0 },
		{ 32, 100, 0, 9, 0, 0 }, { 32, 100, 0, 3600001, 0, 0 },
		{ 32, 100, 0, 1000, 1, 0 }, { 32, 100, 0, 1000, 0, 1 },
	};
	unsigned int i;
	int fd;

	if (access("/dev/rcu_reuse_test", F_OK))
		SKIP(return, "no /dev/rcu_reuse_test: load rcu_reuse_test.ko");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rrt_setup setup = {
			.objects = 10, .batch = bad[i].batch, .keep = bad[i].keep,
			.max = bad[i].max, .max_age_ms = bad[i].age,
			.srcu_expedited = bad[i].srcu_expedited,
			.no_release = bad[i].no_release,
		};

		EXPECT_EQ(-1, open_queue(&setup)) {
			TH_LOG("number %u", i);
		}
		EXPECT_EQ(EINVAL, errno);
	}
	/* the limits themselves are not out of range */
	{
		struct rrt_setup setup = {
			.objects = 10, .batch = 4096, .keep = 1 << 24, .max = 1 << 24,
			.max_age_ms = 3600000,
		};

		fd = open_queue(&setup);
		EXPECT_GE(fd, 0);
		check_end(_metadata, fd, 10);
		setup.batch = 1;
		setup.keep = 1;
		setup.max = 1;
		setup.max_age_ms = 10;
		fd = open_queue(&setup);
		EXPECT_GE(fd, 0);
		EXPECT_EQ(1, enqueue(fd, 2));
		check_end(_metadata, fd, 10);
	}
}

TEST_HARNESS_MAIN
