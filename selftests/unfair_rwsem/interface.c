// SPDX-License-Identifier: GPL-2.0
/*
 * The lock's interface: trylocks, predicates and guards in each state of the lock, the reader
 * bound, and the ranges of the module's parameters.
 *
 * clone_bugs.c tests the trylocks of a free lock for which an absent writer waits.
 *
 * Seen failing, with a line broken: unfair_down_read_trylock() without WWAIT (the mutant
 * g3-reader-ignores-wwait) and sync_flags() without RWAIT
 * (trylocks_and_predicates_in_each_state); unfair_rwsem_set_reader_bound() that stores
 * before it checks (bound_out_of_range_changes_nothing); param_set() without its
 * branch for a load (no_parameter_fails_the_load).
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

LOCK_FIXTURE(interface)

/* All states of a lock, and the results of the trylocks and predicates. */
static const struct in_state {
	const char *name;
	int held;			/* enum lock_test_mode; -1: free */
	bool writer_waits, reader_waits;
	int try_read, try_write;
	bool locked, write_locked, contended;
} states[] = {
	{ "free", -1, false, false, 0, 0, false, false, false },
	{ "read-held", LOCK_TEST_READ, false, false, 0, EAGAIN, true, false, false },
	{ "read-held, writer waits", LOCK_TEST_READ, true, false, EAGAIN, EAGAIN, true, false,
	  true },
	{ "read-held, both wait", LOCK_TEST_READ, true, true, EAGAIN, EAGAIN, true, false, true },
	{ "write-held", LOCK_TEST_WRITE, false, false, EAGAIN, EAGAIN, true, true, false },
	{ "write-held, reader waits", LOCK_TEST_WRITE, false, true, EAGAIN, EAGAIN, true, true,
	  true },
	{ "write-held, writer waits", LOCK_TEST_WRITE, true, false, EAGAIN, EAGAIN, true, true,
	  true },
	{ "write-held, both wait", LOCK_TEST_WRITE, true, true, EAGAIN, EAGAIN, true, true, true },
};

#define NR(a)	((int)(sizeof(a) / sizeof((a)[0])))

/*
 * Marks the end of the kernel log. Pass the result to log_since(). Tests never clear the log: the
 * harness scans all of it at the end.
 */
static int log_now(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Reads the records logged since log_now(), up to @size - 1 bytes. Closes @fd. */
static const char *log_since(int fd, char *log, int size)
{
	int len = 0, n;

	/* read() returns one record; EPIPE: some were overwritten */
	while (len < size - 1 && ((n = read(fd, log + len, size - 1 - len)) > 0 || errno == EPIPE))
		if (n > 0)
			len += n;
	log[len] = 0;
	close(fd);
	return log;
}

TEST_F(interface, trylocks_and_predicates_in_each_state)
{
	static const __u32 how[] = { LOCK_TEST_TRYLOCK, LOCK_TEST_GUARD_TRY };
	int i, k;

	set_bound(self->fd, 0);
	for (i = 0; i < NR(states); i++) {
		const struct in_state *st = &states[i];
		struct task *holder = NULL, *w = NULL, *r = NULL;
		struct lock_test_state s;

		if (st->held >= 0) {
			holder = start(self->fd, (struct job){
				.mode = st->held, .hold = LOCK_TEST_UNTIL_GO });
			ASSERT_REACHED(state(self->fd).is_locked);
		}
		if (st->writer_waits) {
			w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
			ASSERT_REACHED(state(self->fd).queued_writers == 1);
		}
		if (st->reader_waits) {
			r = start(self->fd, (struct job){ .mode = LOCK_TEST_READ });
			ASSERT_REACHED(state(self->fd).queued_readers == 1);
		}
		for (k = 0; k < NR(how); k++) {
			EXPECT_EQ(st->try_read, lock(self->fd, LOCK_TEST_READ, how[k]))
				TH_LOG("%s, way %u", st->name, how[k]);
			EXPECT_EQ(st->try_write, lock(self->fd, LOCK_TEST_WRITE, how[k]))
				TH_LOG("%s, way %u", st->name, how[k]);
		}
		s = state(self->fd);
		EXPECT_EQ(st->locked, s.is_locked) TH_LOG("%s", st->name);
		EXPECT_EQ(st->write_locked, s.is_write_locked) TH_LOG("%s", st->name);
		EXPECT_EQ(st->contended, s.is_contended) TH_LOG("%s", st->name);
		EXPECT_EQ(0, s.window);
		if (holder) {
			go(self->fd, 0);
			EXPECT_EQ(0, finish(holder));
		}
		if (w)
			EXPECT_EQ(0, finish(w));
		if (r)
			EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, state(self->fd).is_contended);
	}
}

/* All guards release the lock at the end of their scope. */
TEST_F(interface, guards_wait_and_release)
{
	static const __u32 how[] = { LOCK_TEST_GUARD, LOCK_TEST_GUARD_TRY, LOCK_TEST_GUARD_INTR,
				     LOCK_TEST_GUARD_KILL };
	int i, mode;

	for (i = 0; i < NR(how); i++) {
		for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
			struct task *t = start(self->fd, (struct job){
				.mode = mode, .how = how[i], .hold = LOCK_TEST_UNTIL_GO });

			ASSERT_REACHED(state(self->fd).readers + state(self->fd).writers == 1);
			EXPECT_EQ(mode, state(self->fd).is_write_locked);
			go(self->fd, 0);
			EXPECT_EQ(0, finish(t));
			EXPECT_EQ(0, state(self->fd).is_locked);
		}
	}
	for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
		struct task *holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
		struct task *t;

		ASSERT_NE(NULL, holder);
		t = start(self->fd, (struct job){ .mode = mode, .how = LOCK_TEST_GUARD });
		ASSERT_REACHED(state(self->fd).is_contended && is_asleep(t));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		EXPECT_EQ(0, finish(t));
	}
}

/* A guard that fails releases nothing. */
TEST_F(interface, failed_guard_releases_nothing)
{
	static const struct { __u32 how; int signal, error; } ways[] = {
		{ LOCK_TEST_GUARD_INTR, SIGUSR1, EINTR },
		{ LOCK_TEST_GUARD_INTR, SIGKILL, -SIGKILL },
		{ LOCK_TEST_GUARD_KILL, SIGKILL, -SIGKILL },
	};
	int i, mode;

	for (i = 0; i < NR(ways); i++) {
		for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
			struct task *holder = hold_until_go(self->fd, LOCK_TEST_WRITE,
							    (struct job){ });
			struct task *t;

			ASSERT_NE(NULL, holder);
			t = start(self->fd, (struct job){ .mode = mode, .how = ways[i].how });
			ASSERT_REACHED(state(self->fd).is_contended && is_asleep(t));
			kill(t->pid, ways[i].signal);
			EXPECT_EQ(ways[i].error, finish(t));
			EXPECT_EQ(0, t->order);
			EXPECT_EQ(1, state(self->fd).is_write_locked);
			EXPECT_EQ(0, state(self->fd).is_contended);
			go(self->fd, 0);
			EXPECT_EQ(0, finish(holder));
			EXPECT_EQ(0, state(self->fd).is_locked);
		}
	}
}

static int try_bound(int fd, __u32 us)
{
	return ioctl(fd, LOCK_TEST_SET_BOUND, &us) ? errno : 0;
}

TEST_F(interface, bound_is_range_checked)
{
	static const __u32 good[] = { 0, 1, 10000, 9999999, 10000000, ~0U };
	static const __u32 bad[] = { 10000001, 20000000, 0x7fffffff, 0x80000000, ~0U - 1 };
	int i;

	for (i = 0; i < NR(good); i++)
		EXPECT_EQ(0, try_bound(self->fd, good[i])) TH_LOG("%u", good[i]);
	for (i = 0; i < NR(bad); i++)
		EXPECT_EQ(EINVAL, try_bound(self->fd, bad[i])) TH_LOG("%u", bad[i]);
}

/* The reader may miss a window if it does not run in time, but not 30 windows. */
static bool gets_a_window(int fd)
{
	int i;

	for (i = 0; i < 30; i++)
		if (place_of_reader(fd) == 1)
			return true;
	return false;
}

TEST_F(interface, bound_out_of_range_changes_nothing)
{
	char log[4096];
	int log_fd;

	set_window("10000");
	EXPECT_EQ(0, try_bound(self->fd, 5000));
	log_fd = log_now();
	EXPECT_EQ(EINVAL, try_bound(self->fd, 10000001));
	EXPECT_NE(NULL, strstr(log_since(log_fd, log, sizeof(log)),
			       "fscommit: reader bound of 10000001 us: must be 0 to 10000000"));
	EXPECT_TRUE(gets_a_window(self->fd));
}

/* The module's parameter is the default, also for existing locks. */
TEST_F(interface, bound_default_is_the_parameter)
{
	set_window("10000");
	EXPECT_EQ(0, try_bound(self->fd, ~0U));
	EXPECT_TRUE(set_param("reader_bound_us", "0"));
	EXPECT_EQ(2, place_of_reader(self->fd));
	EXPECT_TRUE(set_param("reader_bound_us", "5000"));
	EXPECT_TRUE(gets_a_window(self->fd));
	/* the lock's own bound overrides it */
	EXPECT_EQ(0, try_bound(self->fd, 0));
	EXPECT_EQ(2, place_of_reader(self->fd));
	EXPECT_TRUE(set_param("reader_bound_us", "10000"));
}

static const struct param { const char *name, *min, *max, *below, *above; } params[] = {
	{ "lend", "0", "1", "-1", "2" },
	{ "lend_cpu_us", "100", "1000000", "99", "1000001" },
	{ "lend_donors", "1", "256", "0", "257" },
	{ "lend_group_us", "100", "1000000", "99", "1000001" },
	{ "lend_links", "0", "8", "-1", "9" },
	{ "lend_nice", "-21", "19", "-22", "20" },
	{ "lend_period_us", "50", "60000000", "49", "60000001" },
	{ "reader_bound_us", "0", "10000000", "-1", "10000001" },
	{ "window_us", "1", "10000", "0", "10001" },
};

/* Whether @log has a message that names @value, the range, and the value that is @used. */
static bool is_reported(const char *log, const struct param *p, const char *value,
			const char *used)
{
	char message[192];

	snprintf(message, sizeof(message),
		 "fscommit: %s=%s: must be a number from %s to %s; using %.16s\n", p->name,
		 *value == '\n' ? "" : value, p->min, p->max, used);
	return strstr(log, message);
}

/* Whether the module takes @value, as @as. With NULL: whether it refuses and reports @value. */
static bool takes(const struct param *p, const char *value, const char *as)
{
	char before[64], now[64], log[4096];
	int fd = log_now(), error;

	get_param(p->name, before, sizeof(before));
	error = set_param(p->name, value) ? 0 : errno;
	get_param(p->name, now, sizeof(now));
	set_param(p->name, before);
	log_since(fd, log, sizeof(log));
	return error == (as ? 0 : EINVAL) && !strcmp(now, as ?: before) &&
	       (as || is_reported(log, p, value, before));
}

TEST_F(interface, parameters_are_range_checked)
{
	static const char *const no_number[] = {
		"x", "1x", "1 2", "-", "--1", "0x", "1.5", "\n", "4294967297",
		"99999999999999999999", "-4294967295",
	};
	int i, k;

	for (i = 0; i < NR(params); i++) {
		const struct param *p = &params[i];

		EXPECT_TRUE(takes(p, p->below, NULL)) TH_LOG("%s", p->name);
		EXPECT_TRUE(takes(p, p->above, NULL)) TH_LOG("%s", p->name);
		for (k = 0; k < NR(no_number); k++)
			EXPECT_TRUE(takes(p, no_number[k], NULL)) TH_LOG("%s, %d", p->name, k);
		EXPECT_TRUE(takes(p, p->min, p->min)) TH_LOG("%s", p->name);
		EXPECT_TRUE(takes(p, p->max, p->max)) TH_LOG("%s", p->name);
		if (!strcmp(p->above, "2"))
			EXPECT_TRUE(takes(p, "N", "0") && takes(p, "off\n", "0") &&
				    takes(p, "y", "1") && takes(p, "on", "1"))
				TH_LOG("%s", p->name);
	}
}

/* modprobe.d and the kernel's command line may have any text, and a root filesystem must mount. */
TEST(no_parameter_fails_the_load)
{
	/* below and above the range, by one and by far, and two that are no number */
	static const char *const bad[] = { NULL, NULL, "-4294967295", "4294967297", "", "1x" };
	char defaults[NR(params)][64], now[64], options[1024], log[16384];
	const char *value[NR(params)];
	int i, k, len, fd, error = 0;

	if (nr_loaded < 2 || unload(loaded_modules[1]))
		SKIP(return, "fscommit was loaded before this program, or is in use");
	for (i = 0; i < NR(params); i++)
		get_param(params[i].name, defaults[i], sizeof(now));
	for (k = 0; k < NR(bad) && !error; k++) {
		len = sprintf(options, "no_such=1 lend_links_kinds lend_links_kinds=x lend");
		for (i = 0; i < NR(params); i++) {
			value[i] = bad[k] ?: k ? params[i].above : params[i].below;
			len += sprintf(options + len, " %s=%s", params[i].name, value[i]);
		}
		ASSERT_EQ(0, unload("fscommit"));
		fd = log_now();
		error = load_module("fscommit", options);
		EXPECT_EQ(0, error) TH_LOG("%s", options);
		log_since(fd, log, sizeof(log));
		for (i = 0; i < NR(params); i++) {
			const struct param *p = &params[i];
			const char *used = k > 3 ? defaults[i] : k % 2 ? p->max : p->min;

			get_param(p->name, now, sizeof(now));
			EXPECT_TRUE(!strcmp(used, now) && is_reported(log, p, value[i], used))
				TH_LOG("%s=%s gives %s", p->name, value[i], now);
		}
	}
	unload("fscommit");
	ASSERT_EQ(0, load_module("fscommit", ""));
	ASSERT_EQ(0, load_module(loaded_modules[1], ""));
}

TEST_HARNESS_MAIN
