// SPDX-License-Identifier: GPL-2.0
/*
 * The locks survive anything that a program does: random operations by threads and tasks that
 * share the files, kills while waiting and while holding, files closed while others use them,
 * exec while waiting. Afterwards no lock is held or has waiters, exclusion was never violated, and
 * new locks work.
 *
 * FUZZ_SEED repeats a run as far as scheduling allows; FUZZ_SECONDS is its length (5).
 *
 * Seen failing, with a line broken: no unqueue() in leave_read() of the lock
 * (the kernel crashes); no atomic_dec(&f->acquiring[]) after an error in do_lock() of
 * the test device. A stale flag is not found here, because the next user repairs it:
 * g7_clean_retreat.c tests that.
 */
#include "common.h"

#include <pthread.h>

NEEDS_MODULES("fscommit_test");

#define TASKS		8
#define THREADS		3
#define SHARED		(2 * LOCK_TEST_NR_TYPES)

/* --- dice ---------------------------------------------------------------- */

static __thread unsigned long long dice;

static __u32 roll(void)
{
	dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return dice >> 32;
}

static __u32 below(__u32 n)
{
	return roll() % n;
}

static bool one_in(__u32 n)
{
	return !below(n);
}

/* A small value or, sometimes, a value that the field does not allow. */
static __u32 field(__u32 small, __u32 too_much)
{
	static const __u32 edges[] = { ~0U, 0x80000000, 0x7fffffff };

	if (!one_in(24))
		return below(small);
	return one_in(2) ? too_much : edges[below(3)];
}

/* --- one operation ------------------------------------------------------- */

static void lock_something(int fd)
{
	struct lock_test_op op = {
		.mode = field(LOCK_TEST_NR_MODES, LOCK_TEST_NR_MODES),
		.how = field(LOCK_TEST_NR_HOWS, LOCK_TEST_NR_HOWS),
		.hold = one_in(8) ? LOCK_TEST_UNTIL_GO :
				    field(LOCK_TEST_UNTIL_GO, LOCK_TEST_NR_HOLDS),
		.hold_us = field(one_in(10) ? 3000 : 100, LOCK_TEST_MAX_HOLD_US + 1),
		.timeout_ms = field(5, LOCK_TEST_MAX_TIMEOUT_MS + 1),
		.subclass = one_in(2) ? 0 : field(8, 8),
		.id = field(LOCK_TEST_MAX_IDS, LOCK_TEST_MAX_IDS),
		.flags = one_in(8) ? LOCK_TEST_DOWNGRADE : one_in(50) ? roll() : 0,
	};

	ioctl(fd, LOCK_TEST_LOCK, &op);
}

static void loop_something(int fd)
{
	struct lock_test_loop loop = {
		.mode = field(LOCK_TEST_NR_MODES, LOCK_TEST_NR_MODES),
		.hold_ns = field(50000, 1000000001),
		.pause_us = field(300, LOCK_TEST_MAX_HOLD_US + 1),
		.duration_ms = field(4, LOCK_TEST_MAX_LOOP_MS + 1),
	};

	ioctl(fd, LOCK_TEST_LOOP, &loop);
}

static void pairs_of_something(int fd)
{
	struct lock_test_pairs pairs = {
		.mode = field(LOCK_TEST_NR_MODES, LOCK_TEST_NR_MODES),
		.pairs = one_in(24) ? LOCK_TEST_MAX_PAIRS + 1 + roll() : below(500),
	};

	/* percpu_rw_semaphore waits for a grace period: one pair takes milliseconds */
	ioctl(fd, LOCK_TEST_PAIRS, &pairs);
}

static void do_something(int fd)
{
	struct lock_test_state s;
	__u32 v;

	switch (below(20)) {
	case 0:
		loop_something(fd);
		break;
	case 1:
		pairs_of_something(fd);
		break;
	case 2:
		v = field(LOCK_TEST_NR_TYPES, LOCK_TEST_NR_TYPES);
		ioctl(fd, LOCK_TEST_CREATE, &v);
		break;
	case 3:
		v = one_in(4) ? roll() : one_in(4) ? 0 : below(2000);
		ioctl(fd, LOCK_TEST_SET_BOUND, &v);
		break;
	case 4:
		v = below(2);
		ioctl(fd, LOCK_TEST_SET_LEND, &v);
		break;
	case 5:
		v = field(LOCK_TEST_MAX_IDS, LOCK_TEST_MAX_IDS);
		ioctl(fd, LOCK_TEST_GO, &v);
		break;
	case 6:
		ioctl(fd, LOCK_TEST_STATE, &s);
		break;
	default:
		lock_something(fd);
	}
}

/* --- tasks and threads --------------------------------------------------- */

static int shared[SHARED];
/* a file of the task's own; each of its threads may close it at any time */
static atomic_int own = -1;

static int some_file(void)
{
	return one_in(5) ? atomic_load(&own) : shared[below(SHARED)];
}

static void renew_own(void)
{
	int fd = one_in(8) ? open("/dev/fscommit_test", O_RDWR) :
			     lock_open(below(LOCK_TEST_NR_TYPES));

	fd = atomic_exchange(&own, fd);
	if (fd >= 0)
		close(fd);
}

static void *thread(void *arg)
{
	dice = *(unsigned long long *)arg;
	for (;;) {
		if (one_in(40))
			renew_own();
		else
			do_something(some_file());
	}
	return NULL;
}

/* After exec, the files are still open. The task does nothing more. */
__attribute__((constructor)) static void end_after_exec(void)
{
	if (getenv("FUZZ_EXECUTED"))
		_exit(0);
}

static void task(unsigned long long seed)
{
	struct sigaction act = { .sa_handler = ignore_signal };
	unsigned long long seeds[THREADS];
	pthread_t t;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &act, NULL);
	dice = seed;
	if (one_in(4) && setpriority(PRIO_PROCESS, 0, below(40) - 20))
		_exit(1);
	if (one_in(8)) {
		struct sched_param p = { .sched_priority = 1 + below(20) };

		sched_setscheduler(0, one_in(2) ? SCHED_RR : SCHED_FIFO, &p);
	}
	renew_own();
	for (i = 0; i < THREADS; i++) {
		seeds[i] = (unsigned long long)roll() << 32 | roll();
		if (pthread_create(&t, NULL, thread, &seeds[i]))
			_exit(1);
	}
	for (;;) {
		do_something(some_file());
		if (one_in(400)) {
			/* in whatever state the threads are */
			setenv("FUZZ_EXECUTED", "1", 1);
			execl("/proc/self/exe", "fuzz_device", NULL);
		}
		if (one_in(100)) {
			/* a short-lived child that shares the files */
			if (!fork()) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				do_something(some_file());
				_exit(0);
			}
		}
		if (one_in(20))
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
	}
}

static pid_t start_task(void)
{
	unsigned long long seed = (unsigned long long)roll() << 32 | roll();
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		/* kill its children with it: they may hold a lock that it waits for */
		setpgid(0, 0);
		task(seed);
	}
	setpgid(pid, pid);
	return pid;
}

static void go_all(void)
{
	__u32 id;
	int i;

	for (i = 0; i < SHARED; i++)
		for (id = 0; id < LOCK_TEST_MAX_IDS; id++)
			go(shared[i], id);
}

/* --- the test ------------------------------------------------------------ */

/* A killed task may wait, unkillably, for a holder that waits for its go. Repeat all of them. */
static void reap(pid_t pid)
{
	while (!waitpid(pid, NULL, WNOHANG)) {
		go_all();
		sleep_ms(1);
	}
}

/* The tasks end by a kill or by an exec. Returns the number of kills. */
static int fuzz(double duration)
{
	pid_t pid[TASKS];
	double end = seconds() + duration;
	int i, kills = 0;

	for (i = 0; i < TASKS; i++)
		pid[i] = start_task();
	while (seconds() < end) {
		sleep_ms(below(10));
		/* release the holders that are not killed, too */
		go_all();
		i = below(TASKS);
		if (one_in(2)) {
			kill(pid[i], SIGUSR1);
		} else if (one_in(2)) {
			kill(-pid[i], SIGKILL);
			reap(pid[i]);
			pid[i] = start_task();
			kills++;
		}
		/* restart the tasks that ended by an exec */
		for (i = 0; i < TASKS; i++)
			if (waitpid(pid[i], NULL, WNOHANG) > 0)
				pid[i] = start_task();
	}
	for (i = 0; i < TASKS; i++)
		kill(-pid[i], SIGKILL);
	for (i = 0; i < TASKS; i++)
		reap(pid[i]);
	return kills;
}

static bool is_quiet(int fd)
{
	struct lock_test_state s = state(fd);

	return !(s.readers | s.writers | s.acquiring_readers | s.acquiring_writers |
		 s.queued_readers | s.queued_writers | s.is_locked | s.is_contended);
}

static double duration(void)
{
	const char *s = getenv("FUZZ_SECONDS");

	return s && atof(s) > 0 ? atof(s) : 5;
}

FIXTURE(fuzz_device) { };
FIXTURE_SETUP(fuzz_device) { }
FIXTURE_TEARDOWN(fuzz_device) { }

TEST_F_TIMEOUT(fuzz_device, random_calls_do_no_harm, 3600)
{
	struct sched_param above_all = { .sched_priority = 90 };
	const char *seed = getenv("FUZZ_SEED");
	__u64 taken = 0;
	int i, fd;

	dice = seed ? strtoull(seed, NULL, 0) : (unsigned long long)time(NULL) << 20 ^ getpid();
	TH_LOG("FUZZ_SEED=%llu FUZZ_SECONDS=%g", dice, duration());
	/* real-time tasks run until this task kills them; throttling leaves time for the kernel */
	put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &above_all);
	for (i = 0; i < SHARED; i++) {
		shared[i] = lock_open(i % LOCK_TEST_NR_TYPES);
		ASSERT_GE(shared[i], 0);
	}
	i = fuzz(duration());
	for (fd = 0; fd < SHARED; fd++)
		taken += state(shared[fd]).taken;
	TH_LOG("%d kills, the shared locks were taken %llu times", i, (unsigned long long)taken);
	EXPECT_NE(0, taken);

	for (i = 0; i < SHARED; i++) {
		__u32 type = i % LOCK_TEST_NR_TYPES;

		fd = shared[i];
		ASSERT_TRUE(reached((go_all(), is_quiet(fd)))) {
			struct lock_test_state s = state(fd);

			TH_LOG("type %u: held by %u + %u, asked by %u + %u, queued %u + %u, locked %u, contended %u",
			       type, s.readers, s.writers, s.acquiring_readers,
			       s.acquiring_writers, s.queued_readers, s.queued_writers,
			       s.is_locked, s.is_contended);
		}
		if (type != LOCK_TEST_BUSTED)
			EXPECT_EQ(0, state(fd).violations) TH_LOG("type %u", type);
		if (type == LOCK_TEST_UNFAIR) {
			EXPECT_EQ(0, lock(fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
			EXPECT_EQ(0, lock(fd, LOCK_TEST_READ, LOCK_TEST_TRYLOCK));
		}
	}
	for (i = 0; i < SHARED; i++)
		EXPECT_EQ(0, close(shared[i]));
	for (i = 0; i < LOCK_TEST_NR_TYPES; i++) {
		fd = lock_open(i);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(0, lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
		EXPECT_EQ(0, lock(fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
		EXPECT_EQ(2, state(fd).taken);
		close(fd);
	}
}

TEST_HARNESS_MAIN
