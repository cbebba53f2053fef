// SPDX-License-Identifier: GPL-2.0
/*
 * The counters in sysfs and debugfs, and the trace events of waits.
 *
 * Seen failing: the mutants obs-*.
 */
#include <sys/stat.h>

#include "common.h"
#include "counters.h"
#include "trace.h"

NEEDS_MODULES("fscommit_test");

LENDING_LOCK_FIXTURE(observability, "1")

/* A writer waits for a reader that sleeps, and lends to it. */
static int wait_once(int fd)
{
	long loans = counter("loans");
	struct task *r, *w;

	r = hold_until_go(fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	CHECK(r);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -20 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	CHECK(reached(counter("loans") > loans));
	go(fd, 0);
	CHECK(!finish(w));
	CHECK(!finish(r));
	return 0;
}

TEST_F(observability, slow_paths_are_counted)
{
	static const char *const names[] = { "reads_slow", "writes_slow", "sleeps", "loans" };
	long before[4];
	int i;

	for (i = 0; i < 4; i++)
		before[i] = counter(names[i]);
	for (i = 0; i < 30; i++)
		lock(self->fd, i % 2 ? LOCK_TEST_READ : LOCK_TEST_WRITE,
		     i % 3 ? LOCK_TEST_PLAIN : LOCK_TEST_TRYLOCK);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(before[i], counter(names[i])) TH_LOG("counter %d", i);
	EXPECT_EQ(0, wait_once(self->fd));
	EXPECT_EQ(before[0], counter("reads_slow"));
	EXPECT_EQ(before[1] + 1, counter("writes_slow"));
	EXPECT_LT(before[2], counter("sleeps"));
	EXPECT_LT(before[3], counter("loans"));
	EXPECT_TRUE(reached(counter("loans") == counter("loans_ended")));
}

/* Returns how many tasks have waited to write locks of the test's class, by debugfs; 0 if none. */
static long writes_slow_of_class(void)
{
	FILE *f = fopen(DEBUGFS "/stats", "r");
	char line[128];
	bool mine = false;
	long value = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] != ' ')
			mine = !strcmp(line, "&l->unfair\n");
		else if (mine)
			sscanf(line, "  writes_slow %ld", &value);
	}
	if (f)
		fclose(f);
	return value;
}

/* Lockdown refuses files of debugfs that can be written to. */
TEST_F(observability, classes_are_counted)
{
	struct stat st;
	long before;

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, stat(DEBUGFS "/stats", &st));
	EXPECT_EQ(0400, st.st_mode & 07777);
	before = writes_slow_of_class();
	EXPECT_EQ(0, wait_once(self->fd));
	EXPECT_EQ(before + 1, writes_slow_of_class());
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

/* R: on a CPU, S: asleep. The writer does not spin, because one of the readers sleeps. */
TEST_F(observability, holders_are_traced)
{
	struct task *asleep, *runs, *w;
	const char *line;

	SKIP_ON_ONE_CPU();
	if (!trace_start())
		SKIP(return, "no tracefs");
	asleep = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, asleep);
	runs = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO,
					     .id = 1 });
	ASSERT_REACHED(state(self->fd).readers == 2);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -20 });
	line = traced_holder(w, asleep);
	ASSERT_NE(NULL, line);
	EXPECT_NE(NULL, strstr(line, " mode=read state=S ")) TH_LOG("%s", line);
	EXPECT_NE(NULL, strstr(line, "unfair\n")) TH_LOG("%s", line);
	/* a later look shows what the first one has lent */
	EXPECT_TRUE(reached(trace_has("unfair_holder", " state=S lent=1 ")));
	EXPECT_TRUE(reached(trace_has("unfair_holder", " mode=read state=R ")));
	go(self->fd, 0);
	go(self->fd, 1);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(runs));
	EXPECT_EQ(0, finish(asleep));
	trace_stop();
}

/* Of twelve holders. All events of a look have the same waited_ns. */
TEST_F(observability, eight_are_traced)
{
	char line[512], first[64] = "";
	struct task *holder[12], *w;
	int i, at, nr = 0;

	if (!trace_start())
		SKIP(return, "no tracefs");
	for (i = 0; i < 12; i++)
		holder[i] = start(self->fd, (struct job){ .mode = LOCK_TEST_READ,
							  .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 12);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
	for (at = 0;; at++) {
		ASSERT_REACHED(trace_find(at, "unfair_holder", "", line, sizeof(line)) >= 0);
		at = trace_find(at, "unfair_holder", "", line, sizeof(line));
		if (!nr)
			sscanf(strstr(line, "waited_ns="), "%63s", first);
		else if (!strstr(line, first))
			break;
		nr++;
	}
	EXPECT_EQ(8, nr);
	/* repeat: one go releases one holder, and a second go may merge with the first */
	EXPECT_TRUE(reached((go(self->fd, 0), atomic_load(&w->done))));
	EXPECT_EQ(0, finish(w));
	for (i = 0; i < 12; i++)
		EXPECT_EQ(0, finish(holder[i]));
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
