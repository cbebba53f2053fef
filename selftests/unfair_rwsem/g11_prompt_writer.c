// SPDX-License-Identifier: GPL-2.0
/*
 * G11: a writer that has slept for the lock runs ahead of all fair tasks once it is woken, until it
 * releases the lock. So it waits for the section, not for its CPU. For that, the watcher lends to
 * the first writer in the queue, too.
 *
 * Seen failing: the mutants g11-*.
 */
#include "common.h"
#include "lent.h"
#include "pi_futex.h"

NEEDS_MODULES("fscommit_test");

LENDING_LOCK_FIXTURE(g11_prompt_writer, "1")

/* Many times as long as a lease without renewal. */
#define LEASES_MS	30

/* Starts a writer that holds the lock until go() with id 1. The lock must be held. */
static struct task *start_waiting(int fd, struct job j)
{
	struct task *w;

	j.mode = LOCK_TEST_WRITE;
	j.id = 1;
	j.hold = LOCK_TEST_UNTIL_GO;
	w = start(fd, j);
	return reached(state(fd).queued_writers == 1 && is_asleep(w)) ? w : NULL;
}

/* A task that has exited keeps its priority until it is reaped. */
static bool exits_without_a_loan(pid_t pid)
{
	siginfo_t info;

	return !waitid(P_PID, pid, &info, WEXITED | WNOWAIT) && reached(is_lent(pid, 0));
}

/*
 * A writer sleeps until a holder releases the lock. It must be lent @level meanwhile, and in its
 * section, in which no task waits for it. Not after its release.
 */
static int sleeping_writer(int fd, __u32 holder_mode, struct job j, int level)
{
	struct task *holder, *w;

	holder = hold_until_go(fd, holder_mode, (struct job){ });
	CHECK(holder);
	w = start_waiting(fd, j);
	CHECK(w);
	sleep_ms(LEASES_MS);
	CHECK(reached(is_lent(w->pid, level)));
	go(fd, 0);
	CHECK(!finish(holder));
	CHECK(reached(state(fd).writers == 1 && is_asleep(w)));
	sleep_ms(LEASES_MS);
	CHECK(reached(is_lent(w->pid, level)));
	go(fd, 1);
	CHECK(exits_without_a_loan(w->pid) && !finish(w));
	return 0;
}

TEST_F_TIMEOUT(g11_prompt_writer, a_sleeping_writer_is_lent_to, 60)
{
	const struct job nice_20 = { .nice = -20 };

	EXPECT_EQ(0, sleeping_writer(self->fd, LOCK_TEST_READ, (struct job){ }, 1));
	EXPECT_EQ(0, sleeping_writer(self->fd, LOCK_TEST_WRITE, nice_20, 1));
}

/* A writer that lends nothing to others is not lent to, and a real-time writer needs no loan. */
TEST_F_TIMEOUT(g11_prompt_writer, other_writers_are_left_alone, 60)
{
	static const struct job w[] = {
		{ .nice = 1 }, { .nice = 19 }, { .policy = SCHED_IDLE, .nice = -5 },
		{ .policy = SCHED_RR, .prio = 7 }, { .policy = SCHED_DEADLINE },
	};
	int i;

	for (i = 0; i < (int)(sizeof(w) / sizeof(w[0])); i++)
		EXPECT_EQ(0, sleeping_writer(self->fd, LOCK_TEST_READ, w[i], 0));
}

TEST_F_TIMEOUT(g11_prompt_writer, lend_0_lends_nothing, 60)
{
	ASSERT_TRUE(set_param("lend", "0"));
	EXPECT_EQ(0, sleeping_writer(self->fd, LOCK_TEST_READ, (struct job){ }, 0));
	ASSERT_TRUE(set_param("lend", "1"));
	set_lend(self->fd, 0);
	EXPECT_EQ(0, sleeping_writer(self->fd, LOCK_TEST_READ, (struct job){ }, 0));
	set_lend(self->fd, 1);
	EXPECT_EQ(0, sleeping_writer(self->fd, LOCK_TEST_READ, (struct job){ }, 1));
}

/* The wait ends with @error: by a timeout, or by @signal. The watcher ends no loan meanwhile. */
static int gives_up(int fd, struct job j, int signal, int error)
{
	struct task *holder, *w;

	CHECK(set_param("lend_period_us", "300"));
	holder = hold_until_go(fd, LOCK_TEST_READ, (struct job){ });
	CHECK(holder);
	w = start_waiting(fd, j);
	CHECK(w && reached(is_lent(w->pid, 1)));
	no_passes();
	if (signal)
		kill(w->pid, signal);
	CHECK(exits_without_a_loan(w->pid) && finish(w) == error);
	go(fd, 0);
	CHECK(!finish(holder));
	return 0;
}

TEST_F_TIMEOUT(g11_prompt_writer, no_loan_after_giving_up, 60)
{
	const struct job times_out = { .how = LOCK_TEST_TIMEOUT, .timeout_ms = 5000 };
	const struct job killable = { .how = LOCK_TEST_KILLABLE };

	EXPECT_EQ(0, gives_up(self->fd, times_out, 0, ETIME));
	EXPECT_EQ(0, gives_up(self->fd, killable, SIGKILL, -SIGKILL));
}

/* It is lent to as any holder: while another task waits. */
TEST_F_TIMEOUT(g11_prompt_writer, a_writer_that_never_slept_has_a_lease, 60)
{
	struct task *w, *r;

	w = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, w);
	sleep_ms(LEASES_MS);
	EXPECT_TRUE(is_lent(w->pid, 0));
	r = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .how = LOCK_TEST_KILLABLE });
	EXPECT_TRUE(reached(is_lent(w->pid, 1)));
	EXPECT_EQ(-SIGKILL, kill_task(r));
	EXPECT_TRUE(reached(is_lent(w->pid, 0)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
}

/* A real-time reader does not pass the holder, so it waits for the first writer, too. */
TEST_F_TIMEOUT(g11_prompt_writer, the_level_is_the_highest_of_all_waiters, 60)
{
	struct task *holder, *w, *r;

	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	w = start_waiting(self->fd, (struct job){ .nice = 19 });
	ASSERT_TRUE(holder && w);
	r = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .policy = SCHED_FIFO,
					  .prio = 20 });
	EXPECT_TRUE(reached(is_lent(w->pid, 20)));
	go(self->fd, 0);
	go(self->fd, 1);
	EXPECT_EQ(0, finish(holder));
	EXPECT_EQ(0, finish(w) | finish(r));
}

enum then { ACQUIRES, IS_PASSED, GIVES_UP };

/*
 * A woken writer of nice 19 has no CPU. A reader waits for it, so it is lent to. Then the writer
 * acquires the lock. Or the reader does in a window, and the writer sleeps again. Or a signal ends
 * its wait. Returns AGAIN if the writer ran too early, or if a busy host let the reader pass, which
 * ends the loan, before this task had a look.
 */
static int reader_waits_for(int fd, enum then then)
{
	struct task *holder, *w, *r;
	struct hog hog;
	bool ran, lent;
	__u64 used;

	set_bound(fd, then == ACQUIRES ? 0 : 100000);
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	w = start_waiting(fd, (struct job){ .nice = 19, .cpu = 2, .how = LOCK_TEST_KILLABLE });
	CHECK(w && is_lent(w->pid, 0));
	used = cpu_time(w->pid);
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	r = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 1, .id = 2,
				    .hold = then == ACQUIRES ? 0 : LOCK_TEST_UNTIL_GO });
	reached((lent = is_lent(w->pid, 1)) || state(fd).readers == 1);
	CHECK(then == ACQUIRES || reached(state(fd).readers == 1 || state(fd).writers == 1));
	/* it may also have run before the look, and sleep again without a loan */
	ran = !state(fd).acquiring_writers ||
	      (!lent && (cpu_time(w->pid) != used || state(fd).readers == 1));
	if (then == GIVES_UP && !ran)
		kill(w->pid, SIGKILL);
	hog_stop(&hog);
	if (ran) {
		go(fd, 1);
		if (then != ACQUIRES)
			go(fd, 2);
		CHECK(!finish(w) && !finish(r));
		return AGAIN;
	}
	if (then == IS_PASSED)
		CHECK(reached(is_asleep(w)));
	if (then != ACQUIRES)
		go(fd, 2);
	if (then != GIVES_UP) {
		CHECK(reached(state(fd).writers == 1));
		go(fd, 1);
	}
	CHECK(exits_without_a_loan(w->pid) && finish(w) == (then == GIVES_UP ? -SIGKILL : 0));
	return !finish(r) && lent ? 0 : -__LINE__;
}

TEST_F_TIMEOUT(g11_prompt_writer, an_absent_writer_is_lent_to, 100)
{
	int then;

	SKIP_ON_ONE_CPU();
	for (then = ACQUIRES; then <= GIVES_UP; then++)
		EXPECT_EQ(0, CONCLUSIVE(reader_waits_for(self->fd, then)));
}

#define GROUP	"/sys/fs/cgroup/g11"

/*
 * The writer's cgroup has so small a weight beside the busy tasks that it would get the CPU after a
 * minute. Before 6.6, a woken task of any weight gets it at the next tick.
 */
TEST_F_TIMEOUT(g11_prompt_writer, a_woken_writer_runs_ahead_of_busy_tasks, 60)
{
	struct task *r, *w;
	pid_t busy[4];
	__u64 taken;
	int i;

	SKIP_ON_ONE_CPU();
	if (!make_cgroup(GROUP) || !put(GROUP "/cpu.weight", "1"))
		SKIP(return, "needs cgroup v2 and its cpu controller");
	pin(0);
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
	w = start_waiting(self->fd, (struct job){ .cpu = 2, .cgroup = GROUP "/cgroup.procs" });
	ASSERT_TRUE(r && w && reached(is_lent(w->pid, 1)));
	go(self->fd, 1);
	for (i = 0; i < 4; i++) {
		busy[i] = start_busy(1);
		setpriority(PRIO_PROCESS, busy[i], -20);
	}
	ASSERT_REACHED(cpu_time(busy[0]) > 20000000);
	taken = state(self->fd).taken;
	go(self->fd, 0);
	EXPECT_TRUE(reached(state(self->fd).taken > taken && !state(self->fd).is_locked));
	for (i = 0; i < 4; i++)
		kill_pid(busy[i]);
	EXPECT_EQ(0, finish(w) | finish(r));
	unpin();
	EXPECT_EQ(0, rmdir(GROUP));
}

/*
 * A writer has slept for @outer, and has its loan until it releases that. Then it waits for @inner,
 * like the writer @other. Its place must be @place. Returns AGAIN if a busy host may have kept a
 * writer from its CPU for 10 ms: such a writer is passed.
 *
 * @inherited: SCHED_FIFO priority that it inherits as the owner of a lock of user space; 0: none
 */
static int place_after_a_sleep(int outer, int inner, int inherited, struct job other, int place)
{
	struct task *outer_holder, *inner_holder, *w, *first;
	__u32 *futex = share(sizeof(*futex));
	pid_t boosts = 0;
	double begin, ended;

	/* the time after which the second writer passes the first one, if that has no CPU */
	set_window("10000");
	outer_holder = hold_until_go(outer, LOCK_TEST_READ, (struct job){ });
	inner_holder = hold_until_go(inner, LOCK_TEST_READ, (struct job){ });
	CHECK(futex && outer_holder && inner_holder);
	w = start(inner, (struct job){ .mode = LOCK_TEST_WRITE, .outer = outer,
				       .flags = LOCK_TEST_OUTER_WRITE,
				       .pi_futex = inherited ? futex : NULL });
	CHECK(reached(state(outer).queued_writers == 1 && is_lent(w->pid, 1)));
	other.mode = LOCK_TEST_WRITE;
	first = start(inner, other);
	CHECK(reached(state(inner).queued_writers == 1 && is_asleep(first)));
	if (inherited) {
		boosts = start_pi_waiter(w->pid, futex, inherited);
		CHECK(boosts > 0);
	}
	go(outer, 0);
	CHECK(reached(state(inner).queued_writers == 2 && is_asleep(w)));
	if (!inherited) {
		/* the watcher lends to the first one in the queue only */
		sleep_ms(LEASES_MS);
		CHECK(reached(is_lent(first->pid, 1)));
	}
	begin = seconds();
	go(inner, 0);
	CHECK(!finish(first) && !finish(w));
	ended = seconds();
	CHECK(!finish(outer_holder) && !finish(inner_holder));
	CHECK(!boosts || waitpid(boosts, NULL, 0) == boosts);
	if ((w->order < first->order ? 1 : 2) == place)
		return 0;
	return begin + 0.01 < ended ? AGAIN : -__LINE__;
}

TEST_F_TIMEOUT(g11_prompt_writer, own_loan_passes_no_writer, 60)
{
	const struct job fifo20 = { .policy = SCHED_FIFO, .prio = 20 }, nice_20 = { .nice = -20 };
	int inner = lock_open(LOCK_TEST_UNFAIR), fd = self->fd;

	ASSERT_GE(inner, 0);
	EXPECT_EQ(0, CONCLUSIVE(place_after_a_sleep(fd, inner, 0, nice_20, 2)));
	/* what it inherits from elsewhere counts */
	if (has_pi_futexes()) {
		EXPECT_EQ(0, CONCLUSIVE(place_after_a_sleep(fd, inner, 40, fifo20, 1)));
		EXPECT_EQ(0, CONCLUSIVE(place_after_a_sleep(fd, inner, 10, fifo20, 2)));
	}
	close(inner);
}

TEST_HARNESS_MAIN
