// SPDX-License-Identifier: GPL-2.0
/*
 * perf lock and similar tools see each wait: lock:contention_begin and _end with the lock,
 * READ or WRITE, and the result; and, on kernels that have it, lock:contended_release by the
 * holder. The test counts all events in a trace instance of its own.
 *
 * Seen failing, with a line of the lock (module/) broken: LCB_F_WRITE for LCB_F_READ
 * or no trace_contention_end() in __unfair_down_slow();
 * no compat_trace_contended_release() in release_write().
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/fscommit_test"
#define MAX_EVENTS	65536

static bool kernel_is(int major, int minor)
{
	struct utsname u;
	int a, b;

	return !uname(&u) && sscanf(u.release, "%d.%d", &a, &b) == 2 &&
	       (a > major || (a == major && b >= minor));
}

/* The events exist since 5.19, but modules cannot fire them before 6.12. */
static bool kernel_exports_events(void)
{
	return kernel_is(6, 12);
}

static bool has_release_event(void)
{
	return !access(INSTANCE "/events/lock/contended_release/enable", F_OK);
}

FIXTURE(contention_events) { };

FIXTURE_SETUP(contention_events)
{
	if (!kernel_exports_events())
		SKIP(return, "kernel before 6.12: does not export lock:contention_begin");
	if (access(TRACING "/instances", F_OK))
		SKIP(return, "no tracefs at " TRACING);
	if (access(TRACING "/events/lock/contention_begin", F_OK))
		SKIP(return, "no lock:contention_begin: CONFIG_EVENT_TRACING is off");
	setup_lending("0");
	rmdir(INSTANCE);
	ASSERT_EQ(0, mkdir(INSTANCE, 0700));
	/* without a hash key, all hashed addresses would be equal; the test compares addresses */
	put(INSTANCE "/options/hash-ptr", "0");
	/* debug kernels wait a lot for locks of their own */
	put(INSTANCE "/buffer_size_kb", "8192");
	put(INSTANCE "/events/lock/contention_begin/filter", "flags == 2 || flags == 4");
	ASSERT_TRUE(put(INSTANCE "/events/lock/contention_begin/enable", "1"));
	ASSERT_TRUE(put(INSTANCE "/events/lock/contention_end/enable", "1"));
	if (has_release_event())
		ASSERT_TRUE(put(INSTANCE "/events/lock/contended_release/enable", "1"));
}

FIXTURE_TEARDOWN(contention_events)
{
	restore_lending();
	put(INSTANCE "/events/enable", "0");
	EXPECT_EQ(0, rmdir(INSTANCE));
}

enum kind { BEGIN, END, RELEASE };

struct event {
	enum kind kind;
	int pid, ret;
	char lock[32], flags[32];
};

static struct event events[MAX_EVENTS];

/* Reads all events so far, oldest first. Returns their number, or -1 if some were lost. */
static int read_events(void)
{
	FILE *f = fopen(INSTANCE "/trace", "r");
	char line[512];
	int n = 0;

	put(INSTANCE "/tracing_on", "0");
	while (f && n < MAX_EVENTS && fgets(line, sizeof(line), f)) {
		struct event e = { };
		char *p, *cpu = strstr(line, " [");

		if (strstr(line, "LOST"))
			n = MAX_EVENTS;
		if (!cpu || *line == '#')
			continue;
		/* "COMM-PID   [CPU] FLAGS TIME: EVENT: ..." */
		for (p = cpu; p > line && *p == ' '; p--)
			;
		while (p > line && p[-1] != '-')
			p--;
		e.pid = atoi(p);
		p = strchr(cpu, ':');
		if (!p)
			continue;
		if (sscanf(p, ": contention_begin: %31s (flags=%31[^)]", e.lock, e.flags) >= 1)
			e.kind = BEGIN;
		else if (sscanf(p, ": contention_end: %31s (ret=%d", e.lock, &e.ret) == 2)
			e.kind = END;
		else if (sscanf(p, ": contended_release: %31s", e.lock) == 1)
			e.kind = RELEASE;
		else
			continue;
		events[n++] = e;
	}
	if (f)
		fclose(f);
	return f && n < MAX_EVENTS ? n : -1;
}

/* Counts the events of a lock, by task @pid or, if that is 0, by any task. */
static int count(int nr, enum kind kind, int pid, const char *lock)
{
	int i, found = 0;

	for (i = 0; i < nr; i++)
		found += events[i].kind == kind && (!pid || events[i].pid == pid) &&
			 !strcmp(events[i].lock, lock);
	return found;
}

/* Returns 0 if the events of a wait for @lock are right, or minus the failing line. */
static int wrong_line(int nr, const char *lock, int waiter, int holder, int ret)
{
	int i, begin = -1, end = -1;

	for (i = 0; i < nr; i++) {
		if (events[i].pid != waiter || strcmp(events[i].lock, lock))
			continue;
		if (events[i].kind == BEGIN)
			begin = i;
		else if (events[i].kind == END)
			end = i;
	}
	CHECK(count(nr, BEGIN, 0, lock) == 1);
	CHECK(count(nr, END, 0, lock) == 1);
	CHECK(begin >= 0 && begin < end);
	CHECK(events[end].ret == ret);
	/* no release event if the only waiter has given up */
	if (has_release_event()) {
		CHECK(count(nr, RELEASE, 0, lock) == !ret);
		CHECK(count(nr, RELEASE, holder, lock) == !ret);
	}
	return 0;
}

/*
 * Checks the waits of a task with exactly these flags. The task may also have waited for a lock
 * of its mm, so it is enough that one lock has the right counts.
 */
static int wrong_wait(int nr, int waiter, int holder, const char *flags, int ret)
{
	int i, wrong = -__LINE__;

	for (i = 0; i < nr && wrong; i++)
		if (events[i].kind == BEGIN && events[i].pid == waiter &&
		    !strcmp(events[i].flags, flags))
			wrong = wrong_line(nr, events[i].lock, waiter, holder, ret);
	return wrong;
}

static const struct wait {
	__u32 held;
	struct job job;
	int signal;		/* ends the wait; 0: a timeout or the lock does */
	const char *flags;	/* of contention_begin */
	int ret;		/* of contention_end */
} waits[] = {
	{ LOCK_TEST_WRITE, { .mode = LOCK_TEST_READ }, 0, "READ", 0 },
	{ LOCK_TEST_WRITE, { .mode = LOCK_TEST_WRITE }, 0, "WRITE", 0 },
	{ LOCK_TEST_READ, { .mode = LOCK_TEST_WRITE }, 0, "WRITE", 0 },
	{ LOCK_TEST_WRITE, { .mode = LOCK_TEST_READ, .how = LOCK_TEST_KILLABLE }, SIGKILL,
	  "READ", -EINTR },
	{ LOCK_TEST_READ, { .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE }, SIGKILL,
	  "WRITE", -EINTR },
	{ LOCK_TEST_WRITE, { .mode = LOCK_TEST_READ, .how = LOCK_TEST_INTERRUPTIBLE }, SIGUSR1,
	  "READ", -EINTR },
	{ LOCK_TEST_WRITE, { .mode = LOCK_TEST_READ, .how = LOCK_TEST_TIMEOUT, .timeout_ms = 30 },
	  0, "READ", -ETIME },
	{ LOCK_TEST_WRITE, { .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_TIMEOUT, .timeout_ms = 30 },
	  0, "WRITE", -ETIME },
};

static void trace_anew(void)
{
	close(open(INSTANCE "/trace", O_WRONLY | O_TRUNC));
	put(INSTANCE "/tracing_on", "1");
}

/* A task waits for a holder. Returns 0 if the events are right, or minus the failing line. */
static int one_wait(int fd, const struct wait *wait)
{
	struct task *holder, *t;
	int nr;

	holder = start(fd, (struct job){ .mode = wait->held, .hold = LOCK_TEST_UNTIL_GO });
	CHECK(reached(state(fd).is_locked));
	t = start(fd, wait->job);
	/* a wait with a timeout may end before the test sees it */
	CHECK(wait->job.timeout_ms || reached(state(fd).is_contended && is_asleep(t)));
	if (wait->signal)
		kill(t->pid, wait->signal);
	if (wait->ret)
		finish(t);
	go(fd, 0);
	CHECK(!finish(holder));
	CHECK(wait->ret || !finish(t));
	nr = read_events();
	CHECK(nr >= 0);
	return wrong_wait(nr, t->pid, holder->pid, wait->flags, wait->ret);
}

TEST_F(contention_events, each_wait_has_a_begin_and_an_end)
{
	int i, fd = lock_open(LOCK_TEST_UNFAIR);

	ASSERT_GE(fd, 0);
	set_bound(fd, 0);
	for (i = 0; i < (int)(sizeof(waits) / sizeof(waits[0])); i++) {
		trace_anew();
		EXPECT_EQ(0, one_wait(fd, &waits[i])) TH_LOG("row %d", i);
	}
	close(fd);
}

/* The fast paths and the trylocks fire no event. */
TEST_F(contention_events, no_event_without_a_wait)
{
	static const __u32 how[] = { LOCK_TEST_PLAIN, LOCK_TEST_KILLABLE, LOCK_TEST_TIMEOUT,
				     LOCK_TEST_TRYLOCK };
	int i, mode, fd = lock_open(LOCK_TEST_UNFAIR);
	struct task *holder;

	ASSERT_GE(fd, 0);
	trace_anew();
	for (i = 0; i < 8; i++)
		EXPECT_EQ(0, finish(start(fd, (struct job){
			.mode = i % 2, .how = how[i / 2], .repeat = 100 })));
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, holder);
	for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++)
		EXPECT_EQ(EAGAIN, lock(fd, mode, LOCK_TEST_TRYLOCK));
	go(fd, 0);
	EXPECT_EQ(0, finish(holder));
	/* this counts all events of the lock */
	EXPECT_EQ(0, one_wait(fd, &waits[1]));
	close(fd);
}

TEST_HARNESS_MAIN
