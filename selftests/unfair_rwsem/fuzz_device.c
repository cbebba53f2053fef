// SPDX-License-Identifier: GPL-2.0
/*
 * The test device, and the locks behind it, survive whatever a program does: random
 * ioctls with random and edge-case arguments by threads and tasks that share the files,
 * bad pointers, kills while waiting and while holding, files closed while others use
 * them, exec while waiting. Afterwards nothing is held or queued, exclusion was never
 * violated, and new locks work.
 *
 * FUZZ_SEED repeats a run as far as scheduling allows; FUZZ_SECONDS is its length (5).
 *
 * Seen failing, with a line broken: no unqueue_reader() in leave_read() of the lock
 * (the kernel dies of it); no atomic_dec(&f->acquiring[]) after an error in do_lock() of
 * the test device. A flag that is left behind the next user makes good: that is for
 * g7_clean_retreat.c.
 */
#include "common.h"

#include <pthread.h>

#define TASKS		8
#define THREADS		3
#define SHARED		(2 * FCT_NR_TYPES)

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

/* A small value, or at times one that no field allows. */
static __u32 field(__u32 small, __u32 too_much)
{
	static const __u32 edges[] = { ~0U, 0x80000000, 0x7fffffff };

	if (!one_in(24))
		return below(small);
	return one_in(2) ? too_much : edges[below(3)];
}

/* --- one ioctl ----------------------------------------------------------- */

static char *read_only, *write_only, *end_of_page;

static void make_bad_pages(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	read_only = p;
	mprotect(p, 4096, PROT_READ);
	write_only = p + 4096;
	end_of_page = p + 3 * 4096;
	mprotect(end_of_page, 4096, PROT_NONE);
}

static void *bad_pointer(void *good, size_t size)
{
	switch (below(7)) {
	case 0:
		return NULL;
	case 1:
		return (void *)(unsigned long)below(8192);
	case 2:
		return (void *)-4096L;
	case 3:
		return (void *)(unsigned long)((unsigned long long)roll() << 32 | roll());
	case 4:
		/* zeros: a valid argument whose result can't be written */
		return read_only;
	case 5:
		/* half of it is there */
		memcpy(end_of_page - size / 2, good, size / 2);
		return end_of_page - size / 2;
	default:
		return end_of_page;
	}
}

static void do_ioctl(int fd, unsigned long cmd, void *arg, size_t size)
{
	if (one_in(20))
		arg = bad_pointer(arg, size);
	ioctl(fd, cmd, arg);
}

static void lock_something(int fd)
{
	struct fct_op op = {
		.mode = field(FCT_NR_MODES, FCT_NR_MODES),
		.how = field(FCT_NR_HOWS, FCT_NR_HOWS),
		.hold = one_in(8) ? FCT_UNTIL_GO : field(FCT_UNTIL_GO, FCT_NR_HOLDS),
		.hold_us = field(one_in(10) ? 3000 : 100, FCT_MAX_HOLD_US + 1),
		.timeout_ms = field(5, FCT_MAX_TIMEOUT_MS + 1),
		.subclass = one_in(2) ? 0 : field(8, 8),
		.id = field(FCT_MAX_IDS, FCT_MAX_IDS),
		.flags = one_in(8) ? FCT_DOWNGRADE : one_in(50) ? roll() : 0,
	};

	do_ioctl(fd, FCT_LOCK, &op, sizeof(op));
}

static void loop_something(int fd)
{
	struct fct_loop loop = {
		.mode = field(FCT_NR_MODES, FCT_NR_MODES),
		.hold_ns = field(50000, 1000000001),
		.pause_us = field(300, FCT_MAX_HOLD_US + 1),
		.duration_ms = field(4, FCT_MAX_LOOP_MS + 1),
	};

	do_ioctl(fd, FCT_LOOP, &loop, sizeof(loop));
}

static void pairs_of_something(int fd)
{
	struct fct_pairs pairs = {
		.mode = field(FCT_NR_MODES, FCT_NR_MODES),
		.pairs = one_in(24) ? FCT_MAX_PAIRS + 1 + roll() : below(500),
	};

	/* a percpu one waits for a grace period: one pair takes milliseconds */
	do_ioctl(fd, FCT_PAIRS, &pairs, sizeof(pairs));
}

/* A name that there is not. */
static void misuse_nothing(int fd)
{
	struct fct_misuse m = { };
	unsigned int i;

	for (i = 0; i < sizeof(m.name); i++)
		m.name[i] = roll();
	m.name[0] = one_in(4) ? 0 : '!';
	do_ioctl(fd, FCT_MISUSE, &m, sizeof(m));
}

static bool is_known(unsigned long cmd)
{
	return cmd == FCT_CREATE || cmd == FCT_LOCK || cmd == FCT_GO || cmd == FCT_STATE ||
	       cmd == FCT_SET_BOUND || cmd == FCT_PAIRS || cmd == FCT_LOOP || cmd == FCT_MISUSE;
}

/* A number that there is not, also one that is nearly known. */
static void ask_nonsense(int fd)
{
	__u32 junk[256], i;
	unsigned long cmd;

	for (i = 0; i < 256; i++)
		junk[i] = roll();
	cmd = one_in(4) ? roll() : _IOC(below(4), one_in(8) ? below(256) : 'F', below(10),
					one_in(4) ? below(16384) : below(80));
	if (!is_known(cmd))
		do_ioctl(fd, cmd, junk, 64);
}

static void do_something(int fd)
{
	struct fct_state s;
	__u32 v;

	switch (below(20)) {
	case 0:
		loop_something(fd);
		break;
	case 1:
		pairs_of_something(fd);
		break;
	case 2:
		misuse_nothing(fd);
		break;
	case 3:
		v = field(FCT_NR_TYPES, FCT_NR_TYPES);
		do_ioctl(fd, FCT_CREATE, &v, sizeof(v));
		break;
	case 4:
		v = one_in(4) ? roll() : one_in(4) ? 0 : below(2000);
		do_ioctl(fd, FCT_SET_BOUND, &v, sizeof(v));
		break;
	case 5:
		v = field(FCT_MAX_IDS, FCT_MAX_IDS);
		do_ioctl(fd, FCT_GO, &v, sizeof(v));
		break;
	case 6:
		do_ioctl(fd, FCT_STATE, &s, sizeof(s));
		break;
	case 7:
		ask_nonsense(fd);
		break;
	case 8:
		/* what this device does not have at all */
		if (one_in(2))
			v = read(fd, &s, sizeof(s)) + write(fd, &s, sizeof(s));
		else
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		break;
	default:
		lock_something(fd);
	}
}

/* --- tasks and threads --------------------------------------------------- */

static int shared[SHARED];
/* a file of the task's own, that any of its threads may close at any time */
static atomic_int own = -1;

static int some_file(void)
{
	return one_in(5) ? atomic_load(&own) : shared[below(SHARED)];
}

static void renew_own(void)
{
	int fd = one_in(8) ? open("/dev/fscommit_test", O_RDWR) : lock_open(below(FCT_NR_TYPES));

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

/* After exec: the files are still open, and that is all. */
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
			/* the threads are where they happen to be */
			setenv("FUZZ_EXECUTED", "1", 1);
			execl("/proc/self/exe", "fuzz_device", NULL);
		}
		if (one_in(100)) {
			/* shares the files, uses one, and is gone */
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
		/* its children are killed with it: they may hold a lock that it waits for */
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
		for (id = 0; id < FCT_MAX_IDS; id++)
			go(shared[i], id);
}

/* --- the test ------------------------------------------------------------ */

/*
 * Who is killed may wait, unkillably, behind a holder that waits for its go: so go on
 * giving it.
 */
static void reap(pid_t pid)
{
	while (!waitpid(pid, NULL, WNOHANG)) {
		go_all();
		sleep_ms(1);
	}
}

/* The tasks end by a kill, or by an exec. Returns how often one was killed. */
static int fuzz(double duration)
{
	pid_t pid[TASKS];
	double end = seconds() + duration;
	int i, kills = 0;

	for (i = 0; i < TASKS; i++)
		pid[i] = start_task();
	while (seconds() < end) {
		sleep_ms(below(10));
		/* nobody holds for ever: not even who is not killed */
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
		/* or it has executed something, and is at its end */
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
	struct fct_state s = state(fd);

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

TEST_F_TIMEOUT(fuzz_device, survives, 3600)
{
	struct sched_param above_all = { .sched_priority = 90 };
	const char *seed = getenv("FUZZ_SEED");
	__u64 taken = 0;
	int i, fd;

	if (access("/dev/fscommit_test", F_OK))
		SKIP(return, "no /dev/fscommit_test: insmod fscommit_test.ko");
	if (geteuid())
		SKIP(return, "needs root");
	dice = seed ? strtoull(seed, NULL, 0) : (unsigned long long)time(NULL) << 20 ^ getpid();
	TH_LOG("FUZZ_SEED=%llu FUZZ_SECONDS=%g", dice, duration());
	make_bad_pages();
	/* real-time tasks go on until they are killed: by us, and with a rest for the kernel */
	put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &above_all);
	for (i = 0; i < SHARED; i++) {
		shared[i] = lock_open(i % FCT_NR_TYPES);
		ASSERT_GE(shared[i], 0);
	}
	/* what a task forked may live on until its own ioctl ends: it is killed with it */
	i = fuzz(duration());
	for (fd = 0; fd < SHARED; fd++)
		taken += state(shared[fd]).taken;
	TH_LOG("%d kills, the shared locks were taken %llu times", i, (unsigned long long)taken);
	EXPECT_NE(0, taken);

	for (i = 0; i < SHARED; i++) {
		__u32 type = i % FCT_NR_TYPES;

		fd = shared[i];
		ASSERT_TRUE(reached((go_all(), is_quiet(fd)))) {
			struct fct_state s = state(fd);

			TH_LOG("type %u: held by %u + %u, asked by %u + %u, queued %u + %u, locked %u, contended %u",
			       type, s.readers, s.writers, s.acquiring_readers,
			       s.acquiring_writers, s.queued_readers, s.queued_writers,
			       s.is_locked, s.is_contended);
		}
		if (type != FCT_BUSTED)
			EXPECT_EQ(0, state(fd).violations) TH_LOG("type %u", type);
		if (type == FCT_UNFAIR) {
			EXPECT_EQ(0, lock(fd, FCT_WRITE, FCT_TRYLOCK));
			EXPECT_EQ(0, lock(fd, FCT_READ, FCT_TRYLOCK));
		}
	}
	for (i = 0; i < SHARED; i++)
		EXPECT_EQ(0, close(shared[i]));
	for (i = 0; i < FCT_NR_TYPES; i++) {
		fd = lock_open(i);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(0, lock(fd, FCT_READ, FCT_PLAIN));
		EXPECT_EQ(0, lock(fd, FCT_WRITE, FCT_PLAIN));
		EXPECT_EQ(2, state(fd).taken);
		close(fd);
	}
}

TEST_HARNESS_MAIN
