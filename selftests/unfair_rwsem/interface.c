// SPDX-License-Identifier: GPL-2.0
/*
 * The lock's interface: trylocks, predicates and guards in each state of the lock, the reader
 * bound, and the module's parameters. The test device must refuse invalid arguments.
 *
 * clone_bugs.c tests the trylocks of a free lock for which an absent writer waits.
 *
 * Seen failing, with a line broken: unfair_down_read_trylock() without WWAIT (the mutant
 * g3-reader-ignores-wwait) and sync_flags() without RWAIT
 * (trylock_and_questions_in_every_state); unfair_rwsem_set_reader_bound() that stores
 * before it checks (bound_out_of_range_changes_nothing); ranged_param_set() without
 * "v > p->max" (parameters_are_range_checked).
 */
#include "common.h"

#include <linux/capability.h>
#include <sys/klog.h>
#include <sys/syscall.h>

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

TEST_F(interface, trylock_and_questions_in_every_state)
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

TEST_F(interface, questions_after_a_downgrade)
{
	struct task *w = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){
		.flags = LOCK_TEST_DOWNGRADE });

	ASSERT_NE(NULL, w);
	EXPECT_EQ(1, state(self->fd).is_write_locked);
	go(self->fd, 0);
	ASSERT_REACHED(state(self->fd).readers == 1);
	EXPECT_EQ(1, state(self->fd).is_locked);
	EXPECT_EQ(0, state(self->fd).is_write_locked);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_TRYLOCK));
	EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	go(self->fd, 1);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, state(self->fd).is_locked);
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
TEST_F(interface, guards_end_by_a_signal)
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

TEST_F(interface, bound_range)
{
	static const __u32 good[] = { 0, 1, 10000, 9999999, 10000000, ~0U };
	static const __u32 bad[] = { 10000001, 20000000, 0x7fffffff, 0x80000000, ~0U - 1 };
	__u32 type;
	int i, fd;

	for (i = 0; i < NR(good); i++)
		EXPECT_EQ(0, try_bound(self->fd, good[i])) TH_LOG("%u", good[i]);
	for (i = 0; i < NR(bad); i++)
		EXPECT_EQ(EINVAL, try_bound(self->fd, bad[i])) TH_LOG("%u", bad[i]);
	for (type = 0; type < LOCK_TEST_NR_TYPES; type++) {
		if (type == LOCK_TEST_UNFAIR)
			continue;
		fd = lock_open(type);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(EOPNOTSUPP, try_bound(fd, 1));
		close(fd);
	}
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
	set_window("10000");
	EXPECT_EQ(0, try_bound(self->fd, 0));
	EXPECT_EQ(EINVAL, try_bound(self->fd, 10000001));
	EXPECT_EQ(2, place_of_reader(self->fd));
	EXPECT_EQ(0, try_bound(self->fd, 5000));
	EXPECT_TRUE(gets_a_window(self->fd));
	EXPECT_EQ(EINVAL, try_bound(self->fd, 10000001));
	EXPECT_TRUE(gets_a_window(self->fd));
}

#define PARAMETERS	"/sys/module/fscommit/parameters/"

static bool set_default_bound(const char *us)
{
	return put(PARAMETERS "reader_bound_us", us);
}

/* The module's parameter is the default, also for existing locks. */
TEST_F(interface, bound_default_is_the_parameter)
{
	set_window("10000");
	EXPECT_EQ(0, try_bound(self->fd, ~0U));
	EXPECT_TRUE(set_default_bound("0"));
	EXPECT_EQ(2, place_of_reader(self->fd));
	EXPECT_TRUE(set_default_bound("5000"));
	EXPECT_TRUE(gets_a_window(self->fd));
	/* the lock's own bound overrides it */
	EXPECT_EQ(0, try_bound(self->fd, 0));
	EXPECT_EQ(2, place_of_reader(self->fd));
	EXPECT_TRUE(set_default_bound("10000"));
}

/* Counts @text in the kernel's log. */
static int in_log(const char *text)
{
	/* SYSLOG_ACTION_SIZE_BUFFER, SYSLOG_ACTION_READ_ALL */
	int size = klogctl(10, NULL, 0), n, found = 0;
	char *log, *p;

	if (size <= 0)
		return -1;
	log = malloc(size + 1);
	n = klogctl(3, log, size);
	log[n > 0 ? n : 0] = 0;
	for (p = log; (p = strstr(p, text)); p++)
		found++;
	free(log);
	return found;
}

TEST_F(interface, parameters_are_range_checked)
{
	static const struct { const char *name, *min, *max, *below, *above; } params[] = {
		{ "reader_bound_us", "0", "10000000", "-1", "10000001" },
		{ "window_us", "1", "10000", "0", "10001" },
		{ "lend_period_us", "50", "60000000", "49", "60000001" },
		{ "lend_links", "0", "8", "-1", "9" },
		{ "lend_cpu_us", "100", "1000000", "99", "1000001" },
	};
	static const char *const no_number[] = {
		"x", "1x", "1 2", "-", "--1", "0x", "1.5", "\n", "4294967296", "4294967297",
		"99999999999999999999", "-4294967295",
	};
	char path[128], before[64], now[64], line[160];
	int i, k, n;

	for (i = 0; i < NR(params); i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", params[i].name);
		get_line(path, before, sizeof(before));
		ASSERT_NE(0, before[0]);
		for (k = -2; k < NR(no_number); k++) {
			const char *bad = k == -2 ? params[i].below : k == -1 ? params[i].above :
					  no_number[k];

			snprintf(line, sizeof(line),
				 "fscommit: %s=%s: must be a number from %s to %s\n",
				 params[i].name, *bad == '\n' ? "" : bad, params[i].min,
				 params[i].max);
			n = in_log(line);
			EXPECT_EQ(EINVAL, write_error(path, bad))
				TH_LOG("%s=%s", params[i].name, bad);
			get_line(path, now, sizeof(now));
			EXPECT_EQ(0, strcmp(before, now)) TH_LOG("%s=%s", params[i].name, bad);
			EXPECT_EQ(n + 1, in_log(line))
				TH_LOG("not logged: %s=%s", params[i].name, bad);
			write_error(path, before);
		}
		for (k = 0; k < 2; k++) {
			const char *end = k ? params[i].max : params[i].min;

			EXPECT_EQ(0, write_error(path, end));
			get_line(path, now, sizeof(now));
			EXPECT_EQ(0, strncmp(now, end, strlen(end)));
			EXPECT_EQ('\n', now[strlen(end)]);
		}
		EXPECT_EQ(0, write_error(path, before));
	}
}

TEST_F(interface, bound_out_of_range_is_logged)
{
	static const char line[] = "fscommit: reader bound of 10000001 us: must be 0 to 10000000\n";
	int n = in_log(line);

	ASSERT_GE(n, 0);
	EXPECT_EQ(EINVAL, try_bound(self->fd, 10000001));
	EXPECT_EQ(n + 1, in_log(line));
}

TEST_F(interface, every_way_of_asking)
{
	enum { PLAIN = 1 << LOCK_TEST_PLAIN, TRYLOCK = 1 << LOCK_TEST_TRYLOCK,
	       KILLABLE = 1 << LOCK_TEST_KILLABLE, NESTED = 1 << LOCK_TEST_NESTED,
	       STOCK = PLAIN | KILLABLE | TRYLOCK | NESTED, ALL = (1 << LOCK_TEST_NR_HOWS) - 1,
	       ALL_BUT_GUARDS = (1 << LOCK_TEST_GUARD) - 1 };
	/* the supported values of enum lock_test_how, for reading and for writing */
	static const unsigned int can[LOCK_TEST_NR_TYPES][LOCK_TEST_NR_MODES] = {
		[LOCK_TEST_RWSEM] = { STOCK, STOCK },
		[LOCK_TEST_F2FS] = { PLAIN | TRYLOCK, PLAIN | TRYLOCK },
		[LOCK_TEST_PERCPU] = { PLAIN | TRYLOCK, PLAIN },
		[LOCK_TEST_UNFAIR] = { ALL, ALL },
		[LOCK_TEST_BUSTED] = { ALL_BUT_GUARDS, ALL_BUT_GUARDS },
		[LOCK_TEST_MUTEX] = { STOCK, STOCK },
	};
	__u32 type, mode, how;
	struct lock_test_state s;
	int fd, n;

	for (type = 0; type < LOCK_TEST_NR_TYPES; type++) {
		fd = lock_open(type);
		ASSERT_GE(fd, 0);
		n = 0;
		for (mode = 0; mode < LOCK_TEST_NR_MODES; mode++) {
			for (how = 0; how < LOCK_TEST_NR_HOWS; how++) {
				bool has = can[type][mode] & 1 << how;

				EXPECT_EQ(has ? 0 : EOPNOTSUPP, lock(fd, mode, how))
					TH_LOG("type %u mode %u how %u", type, mode, how);
				n += has;
			}
		}
		s = state(fd);
		EXPECT_EQ(n, s.taken);
		EXPECT_EQ(0, s.readers + s.writers + s.acquiring_readers + s.acquiring_writers);
		close(fd);
	}
}

/* Subclasses matter to lockdep only: the lock works the same with each of them. */
TEST_F(interface, nested_of_every_subclass)
{
	struct lock_test_op op = { .how = LOCK_TEST_NESTED };

	for (op.mode = 0; op.mode < LOCK_TEST_NR_MODES; op.mode++) {
		for (op.subclass = 0; op.subclass < 8; op.subclass++)
			EXPECT_EQ(0, ioctl(self->fd, LOCK_TEST_LOCK, &op));
		EXPECT_EQ(-1, ioctl(self->fd, LOCK_TEST_LOCK, &op));
		EXPECT_EQ(EINVAL, errno);
	}
}

static int error_of(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

TEST_F(interface, device_refuses_wrong_operations)
{
	static const struct { const char *what; struct lock_test_op op; } wrong[] = {
		{ "mode", { .mode = LOCK_TEST_NR_MODES } },
		{ "mode", { .mode = ~0U } },
		{ "how", { .how = LOCK_TEST_NR_HOWS } },
		{ "hold", { .hold = LOCK_TEST_NR_HOLDS } },
		{ "hold_us", { .hold_us = LOCK_TEST_MAX_HOLD_US + 1 } },
		{ "timeout_ms", { .how = LOCK_TEST_TIMEOUT,
				  .timeout_ms = LOCK_TEST_MAX_TIMEOUT_MS + 1 } },
		{ "subclass", { .how = LOCK_TEST_NESTED, .subclass = 8 } },
		{ "id", { .hold = LOCK_TEST_UNTIL_GO, .id = LOCK_TEST_MAX_IDS } },
		{ "flags", { .flags = 0x2 } },
		{ "flags", { .flags = 0x80000000 } },
		{ "two outer locks", { .flags = LOCK_TEST_OUTER_READ | LOCK_TEST_OUTER_WRITE } },
		{ "wait without an outer lock", { .flags = LOCK_TEST_OUTER_FIRST } },
		{ "downgrade of a reader", { .mode = LOCK_TEST_READ,
					     .flags = LOCK_TEST_DOWNGRADE } },
		{ "id + 1", { .mode = LOCK_TEST_WRITE, .flags = LOCK_TEST_DOWNGRADE,
			      .id = LOCK_TEST_MAX_IDS - 1 } },
	};
	struct lock_test_op op;
	int i;

	for (i = 0; i < NR(wrong); i++) {
		op = wrong[i].op;
		EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_LOCK, &op))
			TH_LOG("%s", wrong[i].what);
	}
	op = (struct lock_test_op){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_GUARD,
				    .flags = LOCK_TEST_DOWNGRADE };
	EXPECT_EQ(EOPNOTSUPP, error_of(self->fd, LOCK_TEST_LOCK, &op));
	EXPECT_EQ(0, state(self->fd).taken);
}

TEST_F(interface, device_refuses_wrong_arguments)
{
	struct lock_test_loop loop = { .mode = LOCK_TEST_NR_MODES };
	struct lock_test_pairs pairs = { .mode = LOCK_TEST_NR_MODES };
	struct lock_test_misuse misuse = { "no such misuse" };
	__u32 v = LOCK_TEST_MAX_IDS;

	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_GO, &v));
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_LOOP, &loop));
	loop = (struct lock_test_loop){ .duration_ms = LOCK_TEST_MAX_LOOP_MS + 1 };
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_LOOP, &loop));
	loop = (struct lock_test_loop){ .hold_ns = 1000000001 };
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_LOOP, &loop));
	loop = (struct lock_test_loop){ .pause_us = LOCK_TEST_MAX_HOLD_US + 1 };
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_LOOP, &loop));
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_PAIRS, &pairs));
	pairs = (struct lock_test_pairs){ .pairs = LOCK_TEST_MAX_PAIRS + 1 };
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_PAIRS, &pairs));
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_MISUSE, &misuse));
	memset(misuse.name, 'x', sizeof(misuse.name));
	EXPECT_EQ(EINVAL, error_of(self->fd, LOCK_TEST_MISUSE, &misuse));

	EXPECT_EQ(ENOTTY, error_of(self->fd, _IO('F', 0), NULL));
	EXPECT_EQ(ENOTTY, error_of(self->fd, _IO('F', 2), NULL));
	EXPECT_EQ(ENOTTY, error_of(self->fd, _IOC(_IOC_READ, 'F', 9, 8), &loop));
	EXPECT_EQ(ENOTTY, error_of(self->fd, _IOC(_IOC_READ, 'F', 4, 8192), &loop));
	EXPECT_EQ(ENOTTY, error_of(self->fd, _IOR('G', 4, struct lock_test_state), &loop));

	EXPECT_EQ(EFAULT, error_of(self->fd, LOCK_TEST_LOCK, NULL));
	EXPECT_EQ(EFAULT, error_of(self->fd, LOCK_TEST_STATE, NULL));
	EXPECT_EQ(EFAULT, error_of(self->fd, LOCK_TEST_STATE, (void *)-4096L));
	EXPECT_EQ(EFAULT, error_of(self->fd, LOCK_TEST_SET_BOUND, (void *)8));
	EXPECT_EQ(0, state(self->fd).taken);
}

TEST_F(interface, device_is_created_once)
{
	__u32 type = LOCK_TEST_NR_TYPES, good = LOCK_TEST_UNFAIR;
	struct lock_test_state s;
	int fd = open("/dev/fscommit_test", O_RDWR);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(ENXIO, error_of(fd, LOCK_TEST_STATE, &s));
	EXPECT_EQ(ENXIO, lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	EXPECT_EQ(EINVAL, error_of(fd, LOCK_TEST_CREATE, &type));
	type = ~0U;
	EXPECT_EQ(EINVAL, error_of(fd, LOCK_TEST_CREATE, &type));
	EXPECT_EQ(EFAULT, error_of(fd, LOCK_TEST_CREATE, NULL));
	EXPECT_EQ(ENXIO, error_of(fd, LOCK_TEST_STATE, &s));
	EXPECT_EQ(0, error_of(fd, LOCK_TEST_CREATE, &good));
	EXPECT_EQ(EBUSY, error_of(fd, LOCK_TEST_CREATE, &good));
	EXPECT_EQ(0, lock(fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
	close(fd);
}

TEST_F(interface, device_is_for_cap_sys_admin)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	ASSERT_EQ(0, syscall(SYS_capget, &head, data));
	data[CAP_SYS_ADMIN / 32].effective &= ~(1U << CAP_SYS_ADMIN % 32);
	ASSERT_EQ(0, syscall(SYS_capset, &head, data));
	EXPECT_EQ(-1, open("/dev/fscommit_test", O_RDWR));
	EXPECT_EQ(EPERM, errno);
}

TEST_HARNESS_MAIN
