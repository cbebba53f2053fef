// SPDX-License-Identifier: GPL-2.0
/*
 * The counters and lists in debugfs, the blockers in the log, and the trace events of waits.
 *
 * Seen failing: the mutants obs-*; a_writer_that_holds_has_a_name
 * without the second half of add_holders(), eight_are_named and a_long_list_has_an_end with
 * MAX_BLOCKERS and MAX_LINES doubled, a_holder_that_runs_is_told_apart with the two letters of
 * state_of() swapped.
 */
#include "common.h"
#include "counters.h"
#include "kernel_log.h"
#include "trace.h"

LENDING_LOCK_FIXTURE(observability, "3")

TEST_F(observability, statistics)
{
	int i;

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	EXPECT_TRUE(put(DEBUGFS "/stats", "on"));
	EXPECT_TRUE(put(DEBUGFS "/stats", "reset"));
	EXPECT_EQ(-1, counter("reads"));
	for (i = 0; i < 30; i++)
		lock(self->fd, LOCK_TEST_READ, i % 2 ? LOCK_TEST_PLAIN : LOCK_TEST_TRYLOCK);
	for (i = 0; i < 20; i++)
		lock(self->fd, LOCK_TEST_WRITE, i % 2 ? LOCK_TEST_PLAIN : LOCK_TEST_TRYLOCK);
	EXPECT_EQ(30, counter("reads"));
	EXPECT_EQ(20, counter("writes"));
	EXPECT_EQ(-1, counter("writes_slow"));
	EXPECT_TRUE(put(DEBUGFS "/stats", "off"));
	lock(self->fd, LOCK_TEST_READ, LOCK_TEST_PLAIN);
	EXPECT_EQ(30, counter("reads"));
	EXPECT_FALSE(put(DEBUGFS "/stats", "maybe"));
}

/* A writer waits for a reader. Returns 1 if the log names the reader within @ms, or 0. */
static int reports_blocker(int fd, const char *blocker_ms, int ms)
{
	static char log[65536];
	struct task *r, *w;
	double end;
	char line[128];
	int from;

	set_param("blocker_ms", blocker_ms);
	from = log_now();
	put(DEBUGFS "/stats", "on");
	put(DEBUGFS "/stats", "reset");
	r = hold_until_go(fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	CHECK(r);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -20 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	log[0] = 0;
	end = seconds() + ms / 1e3;
	while (!strstr(log_more(from, log, sizeof(log)), "read by observab") && seconds() < end)
		sleep_ms(1);
	close(from);
	snprintf(line, sizeof(line), "holds read %d ", r->pid);
	CHECK(reached(file_has(DEBUGFS "/locks", line)));
	snprintf(line, sizeof(line), "waits write %d ", w->pid);
	CHECK(reached(file_has(DEBUGFS "/locks", line)));
	go(fd, 0);
	CHECK(!finish(w));
	CHECK(!finish(r));
	CHECK(!file_has(DEBUGFS "/locks", line));
	CHECK(counter("writes_slow") == 1);
	/* one to the reader, and one to the writer itself while it sleeps */
	CHECK(counter("loans") == 2);
	CHECK(counter("loans_ended") == 2);
	put(DEBUGFS "/stats", "off");
	set_param("blocker_ms", "0");
	return strstr(log, "has waited") && strstr(log, "read by observab") &&
	       strstr(log, "asleep") ? 1 : 0;
}

TEST_F(observability, who_holds_up_the_writer)
{
	if (!has_debugfs())
		SKIP(return, "no debugfs");
	/* the module logs at most three reports in five seconds */
	EXPECT_EQ(1, reports_blocker(self->fd, "50", 10000));
	EXPECT_EQ(0, reports_blocker(self->fd, "5000", 200));
	EXPECT_EQ(0, reports_blocker(self->fd, "0", 200));
}

/*
 * A writer waits for the holders until @in_log is in the log, for 10 s at most; then all of them
 * get their go. @in_locks must appear in debugfs meanwhile. Returns the log.
 */
static const char *log_of_wait(int fd, const char *in_locks, const char *in_log)
{
	static char log[65536];
	struct task *w;
	int from;
	bool listed;

	set_param("blocker_ms", "50");
	from = log_now();
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -20 });
	listed = reached(state(fd).queued_writers == 1) &&
		 reached(file_has(DEBUGFS "/locks", in_locks));
	log[0] = 0;
	(void)reached(strstr(log_more(from, log, sizeof(log)), in_log));
	close(from);
	set_param("blocker_ms", "0");
	/* repeat: one go releases one holder, and a second go may merge with the first */
	if (!reached((go(fd, 0), atomic_load(&w->done))))
		return "the holders stay";
	if (finish(w))
		return "the writer failed";
	if (!listed)
		return "not in fscommit/locks";
	return log;
}

TEST_F(observability, a_writer_that_holds_has_a_name)
{
	struct task *holder;
	char line[64];
	const char *log;

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, holder);
	snprintf(line, sizeof(line), "holds write %d ", holder->pid);
	log = log_of_wait(self->fd, line, "write by observab");
	EXPECT_NE(NULL, strstr(log, "write by observab")) TH_LOG("%s", log);
	EXPECT_EQ(0, finish(holder));
}

TEST_F(observability, eight_are_named)
{
	struct task *holder[12];
	const char *log;
	int i;

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	for (i = 0; i < 12; i++)
		holder[i] = start(self->fd, (struct job){ .mode = LOCK_TEST_READ,
							  .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 12 && is_asleep(holder[11]));
	log = log_of_wait(self->fd, "holds read", "and 4 more");
	EXPECT_NE(NULL, strstr(log, "and 4 more")) TH_LOG("%s", log);
	for (i = 0; i < 12; i++)
		EXPECT_EQ(0, finish(holder[i]));
}

/* R: on a CPU, S: asleep. The writer does not spin, because one of the readers sleeps. */
TEST_F(observability, a_holder_that_runs_is_told_apart)
{
	struct task *asleep, *runs, *w;
	char line[2][64];

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	asleep = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
	ASSERT_NE(NULL, asleep);
	runs = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO,
					     .id = 1 });
	ASSERT_REACHED(state(self->fd).readers == 2);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
	ASSERT_REACHED(state(self->fd).queued_writers == 1);
	snprintf(line[0], sizeof(line[0]), "holds read %d observability S ", asleep->pid);
	snprintf(line[1], sizeof(line[1]), "holds read %d observability R ", runs->pid);
	if (cpus() > 1)
		EXPECT_TRUE(reached(file_has(DEBUGFS "/locks", line[1])));
	EXPECT_TRUE(reached(file_has(DEBUGFS "/locks", line[0])));
	go(self->fd, 0);
	go(self->fd, 1);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(runs));
	EXPECT_EQ(0, finish(asleep));
}

TEST_F_TIMEOUT(observability, a_long_list_has_an_end, 60)
{
	static struct task *waiter[260];
	struct task *holder;
	int i;

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	if (scaled(8) < 2)
		SKIP(return, "260 waiters take a minute where everything is checked");
	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, holder);
	for (i = 0; i < 260; i++)
		waiter[i] = start(self->fd, (struct job){ .mode = LOCK_TEST_READ });
	ASSERT_REACHED(state(self->fd).queued_readers == 260 && is_asleep(waiter[259]));
	EXPECT_TRUE(file_has(DEBUGFS "/locks", "...\n"));
	go(self->fd, 0);
	for (i = 0; i < 260; i++)
		EXPECT_EQ(0, finish(waiter[i]));
	EXPECT_EQ(0, finish(holder));
}

TEST_F(observability, threshold_out_of_range)
{
	__u32 ms;

	EXPECT_FALSE(set_param("blocker_ms", "3600001"));
	EXPECT_FALSE(set_param("lend", "4"));
	EXPECT_FALSE(set_param("lend", "0"));
	EXPECT_FALSE(set_param("lend_fifo_us", "99"));
	EXPECT_FALSE(set_param("lend_period_us", "49"));
	ms = 4;
	EXPECT_EQ(-1, ioctl(self->fd, LOCK_TEST_SET_LEND, &ms));
	EXPECT_EQ(EINVAL, errno);
}

/* Returns the line of the trace that shows @holder while @waiter waits; NULL if there is none. */
static const char *traced_holder(struct task *waiter, struct task *holder)
{
	static char line[512];
	char a[64], b[64];

	snprintf(a, sizeof(a), " waiter_pid=%d wants=write ", waiter->pid);
	snprintf(b, sizeof(b), " pid=%d mode=", holder->pid);
	return reached(trace_find(0, a, b, line, sizeof(line)) >= 0) ? line : NULL;
}

TEST_F(observability, holders_are_traced)
{
	struct task *r, *w;
	const char *line;

	if (!trace_start())
		SKIP(return, "no tracefs");
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -20 });
	line = traced_holder(w, r);
	ASSERT_NE(NULL, line);
	EXPECT_NE(NULL, strstr(line, " mode=read state=S ")) TH_LOG("%s", line);
	EXPECT_NE(NULL, strstr(line, "unfair\n")) TH_LOG("%s", line);
	/* a later look shows what the first one has lent */
	EXPECT_TRUE(reached(trace_has("unfair_holder", " state=S lent_rt=1 lent_nice=-20 ")));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(r));
	trace_stop();
}

TEST_F(observability, a_writer_that_holds_is_traced)
{
	struct task *holder, *w;
	const char *line;

	if (!trace_start())
		SKIP(return, "no tracefs");
	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, holder);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
	line = traced_holder(w, holder);
	EXPECT_TRUE(line && strstr(line, " mode=write state=S ")) TH_LOG("%s", line);
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(holder));
	trace_stop();
}

/* Within one wait: by the times in the trace, as the test itself may be late. */
TEST_F(observability, holders_are_traced_every_10_ms)
{
	unsigned long long waited = 0, first = 0;
	struct task *r, *w;
	char line[512], a[64];
	const char *p;
	int n = 0, at;

	if (!trace_start())
		SKIP(return, "no tracefs");
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
	ASSERT_NE(NULL, r);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
	snprintf(a, sizeof(a), " waiter_pid=%d ", w->pid);
	for (at = 0; n < 10; at++) {
		ASSERT_REACHED(trace_find(at, "unfair_holder", a, line, sizeof(line)) >= 0);
		at = trace_find(at, "unfair_holder", a, line, sizeof(line));
		p = strstr(line, "waited_ns=");
		ASSERT_NE(NULL, p);
		waited = strtoull(p + strlen("waited_ns="), NULL, 10);
		first = n++ ? first : waited;
	}
	/* nine times 10 ms, unless the first one was late */
	EXPECT_LE(60000000, waited - first);
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(r));
	trace_stop();
}

TEST_F(observability, the_end_of_a_wait_is_traced)
{
	struct task *r, *w, *killed;
	char a[64];

	if (!trace_start())
		SKIP(return, "no tracefs");
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
	ASSERT_NE(NULL, r);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
	killed = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
					       .how = LOCK_TEST_KILLABLE });
	ASSERT_REACHED(state(self->fd).queued_writers == 2);
	EXPECT_EQ(-SIGKILL, kill_task(killed));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(r));
	snprintf(a, sizeof(a), "-%d ", killed->pid);
	EXPECT_TRUE(trace_has(a, " wants=write waited_ns="));
	EXPECT_TRUE(trace_has(a, " ret=-4 class="));
	snprintf(a, sizeof(a), "-%d ", w->pid);
	EXPECT_TRUE(trace_has(a, " ret=0 class="));
	trace_stop();
}

TEST_HARNESS_MAIN
