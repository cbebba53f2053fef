// SPDX-License-Identifier: GPL-2.0
/*
 * How the lock scales with CPUs, readers and locks. The tests assert counts, and ratios to an
 * rw_semaphore in the same run. Lines `# figure NAME VALUE UNIT` report the rest, and run.sh
 * compares the figures of different guests.
 *
 * Where to run: -f scale everywhere, -f hotplug on many CPUs,
 * -f instructions where the clock counts instructions.
 */
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "scale_test.h"
#include "common.h"
#include "counters.h"

/* MAX_SWITCHES: mean of context switches per reader: one to sleep, a few for the CPU. */
#define MAX_SWITCHES	10
#define MAX_UNLOCK	4
#define MAX_INIT	3

static const char *const type_names[] = {
	[LOCK_TEST_RWSEM] = "rwsem",
	[LOCK_TEST_UNFAIR] = "unfair_rwsem",
};

static void figure(const char *format, ...)
{
	va_list args;

	printf("# figure ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

/* On User-Mode Linux a virtual CPU is a host thread and runs at native speed. */
static bool is_native(void)
{
	return file_has("/proc/cpuinfo", "User Mode Linux");
}

static int by_size(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static __u64 median(__u64 *values, int nr)
{
	qsort(values, nr, sizeof(*values), by_size);
	return values[nr / 2];
}

static int scale_open(__u32 type)
{
	int fd = open("/dev/scale_test", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && ioctl(fd, SCALE_CREATE, &type)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Like reached(), with a limit: 64 CPUs emulated by two take minutes. */
#define reached_in(limit, cond)					\
({								\
	double _end = seconds() + (limit);			\
	bool _met;						\
								\
	while (!(_met = (cond)) && seconds() < _end)		\
		sleep_ms(5);					\
	_met;							\
})

#define ASSERT_REACHED_IN(limit, cond)				\
	ASSERT_TRUE(reached_in(limit, cond)) { TH_LOG("never: " #cond); }

/* --- threads: a thousand processes would cost too much ------------------- */

struct thread {
	pthread_t id;
	int fd;
	struct lock_test_op op;
	struct scale_read read;
	long switches;		/* context switches in the ioctl */
	int error;
};

static long own_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void *do_op(void *data)
{
	struct thread *t = data;
	long before = own_switches();

	t->error = ioctl(t->fd, LOCK_TEST_LOCK, &t->op) ? errno : 0;
	t->switches = own_switches() - before;
	return NULL;
}

static void *do_read(void *data)
{
	struct thread *t = data;

	t->error = ioctl(t->fd, SCALE_READ, &t->read) ? errno : 0;
	return NULL;
}

static bool start_thread(struct thread *t, void *(*run)(void *))
{
	pthread_attr_t attr;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	ret = pthread_create(&t->id, &attr, run, t);
	pthread_attr_destroy(&attr);
	return !ret;
}

static struct thread *new_threads(int nr, int fd, struct lock_test_op op)
{
	struct thread *t = calloc(nr, sizeof(*t));
	int i;

	for (i = 0; t && i < nr; i++) {
		t[i].fd = fd;
		t[i].op = op;
	}
	return t;
}

/* A process whose readers sleep while they hold the lock, until it is killed. */
static pid_t start_readers(int fd, int nr)
{
	struct thread *t;
	pid_t pid;
	int i;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
		t = new_threads(nr, fd, (struct lock_test_op){ .mode = LOCK_TEST_READ,
				.hold = LOCK_TEST_UNTIL_GO });
	for (i = 0; i < nr; i++)
		if (!t || !start_thread(&t[i], do_op))
			_exit(1);
	for (;;)
		pause();
}

static void end_readers(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define NEEDS_DEVICES()							\
do {									\
	if (access("/dev/fscommit_test", F_OK) || access("/dev/scale_test", F_OK)) \
		SKIP(return, "needs fscommit_test.ko and scale_test.ko");	\
	if (geteuid())							\
		SKIP(return, "needs root");				\
} while (0)

FIXTURE(scale) { int fd; };

FIXTURE_SETUP(scale)
{
	NEEDS_DEVICES();
	self->fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(scale)
{
	struct lock_test_state s = state(self->fd);

	EXPECT_EQ(0, s.violations);
	EXPECT_EQ(0, s.is_locked);
	EXPECT_EQ(0, s.seen);
	close(self->fd);
}

/* --- waiting ------------------------------------------------------------- */

/* Return the mean number of switches per reader; -1: the readers did not queue. */
static double switches_of_waiters(__u32 type, int nr)
{
	struct thread writer = {
		.op = { .mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO },
	}, *t;
	long sum = 0, most = 0;
	double start = seconds();
	int i, fd = lock_open(type);
	bool queued;

	t = new_threads(nr, fd, (struct lock_test_op){ .mode = LOCK_TEST_READ });
	writer.fd = fd;
	if (fd < 0 || !t || !start_thread(&writer, do_op) || !reached(state(fd).writers == 1))
		return -1;
	for (i = 0; i < nr; i++)
		if (!start_thread(&t[i], do_op))
			return -1;
	queued = reached_in(120, state(fd).acquiring_readers == nr);
	figure("queueing.%s %.1f s", type_names[type], seconds() - start);
	sleep_ms(1500);
	go(fd, 0);
	pthread_join(writer.id, NULL);
	for (i = 0; i < nr; i++) {
		pthread_join(t[i].id, NULL);
		sum += t[i].switches;
		if (most < t[i].switches)
			most = t[i].switches;
	}
	figure("switches.%s.mean %.1f per reader", type_names[type], (double)sum / nr);
	figure("switches.%s.max %ld of one reader", type_names[type], most);
	free(t);
	close(fd);
	return queued ? (double)sum / nr : -1;
}

/* Readers that queue behind a sleeping writer sleep instead of polling. */
TEST_F_TIMEOUT(scale, queued_readers_sleep, 600)
{
	int nr = is_native() ? 1000 : 400;
	double rwsem, unfair;

	figure("switches.readers %d readers", nr);
	rwsem = switches_of_waiters(LOCK_TEST_RWSEM, nr);
	unfair = switches_of_waiters(LOCK_TEST_UNFAIR, nr);
	ASSERT_GE(rwsem, 0);
	ASSERT_GE(unfair, 0);
	EXPECT_LE(unfair, MAX_SWITCHES);
}

/* --- the release after a sleep ------------------------------------------- */

static __u64 unlock_after_sleep(__u32 type, int nr)
{
	struct thread *t = calloc(nr, sizeof(*t));
	__u64 *ns = calloc(nr, sizeof(*ns)), *clock = calloc(nr, sizeof(*clock)), ret;
	struct scale_state s = { };
	int i, fd = scale_open(type), errors = 0, n = cpus();

	if (fd < 0 || !t || !ns || !clock)
		return ~0ULL;
	for (i = 0; i < nr; i++) {
		t[i].fd = fd;
		t[i].read.from_cpu = i % n;
		t[i].read.to_cpu = (i + 1) % n;
		if (!start_thread(&t[i], do_read))
			return ~0ULL;
	}
	if (!reached_in(120, (ioctl(fd, SCALE_STATE, &s), s.readers == nr)))
		printf("# %u of %d readers hold the lock\n", s.readers, nr);
	ioctl(fd, SCALE_GO);
	for (i = 0; i < nr; i++) {
		pthread_join(t[i].id, NULL);
		errors += !!t[i].error;
		ns[i] = t[i].read.unlock_ns;
		clock[i] = t[i].read.clock_ns;
	}
	ret = errors ? ~0ULL : median(ns, nr);
	figure("unlock.%s.p50 %llu ns", type_names[type], (unsigned long long)ret);
	figure("unlock.%s.p99 %llu ns", type_names[type], (unsigned long long)ns[nr * 99 / 100]);
	figure("unlock.clock.p50 %llu ns", (unsigned long long)median(clock, nr));
	free(t);
	free(ns);
	free(clock);
	close(fd);
	return ret;
}

/* 500 readers acquire the lock, sleep, wake on another CPU and release. */
TEST_F_TIMEOUT(scale, unlock_after_sleep_is_cheap, 600)
{
	__u64 rwsem[3], unfair[3];
	int i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 3; i++) {
		rwsem[i] = unlock_after_sleep(LOCK_TEST_RWSEM, 500);
		unfair[i] = unlock_after_sleep(LOCK_TEST_UNFAIR, 500);
		ASSERT_NE(~0ULL, rwsem[i]);
		ASSERT_NE(~0ULL, unfair[i]);
	}
	figure("unlock.ratio %.1f times rw_semaphore's",
	       (double)median(unfair, 3) / median(rwsem, 3));
	/* emulated instructions have no fixed duration */
	if (is_native())
		EXPECT_LE(median(unfair, 3), MAX_UNLOCK * median(rwsem, 3));
}

/* --- initialisation ------------------------------------------------------ */

static __u64 init_ns(int fd, __u32 type)
{
	struct scale_init in = { .type = type, .locks = 200000 };
	__u64 least = ~0ULL;
	int i;

	for (i = 0; i < 5; i++) {
		if (ioctl(fd, SCALE_INIT, &in))
			return 0;
		if (in.ns < least)
			least = in.ns;
	}
	return least;
}

TEST_F_TIMEOUT(scale, init_is_cheap, 120)
{
	int fd = open("/dev/scale_test", O_RDWR);
	__u64 rwsem, unfair;

	ASSERT_GE(fd, 0);
	rwsem = init_ns(fd, LOCK_TEST_RWSEM);
	unfair = init_ns(fd, LOCK_TEST_UNFAIR);
	ASSERT_NE(0, rwsem);
	ASSERT_NE(0, unfair);
	figure("init.rwsem %.1f ns per lock", rwsem / 200e3);
	figure("init.unfair_rwsem %.1f ns per lock", unfair / 200e3);
	figure("init.ratio %.1f times rw_semaphore's", (double)unfair / rwsem);
	EXPECT_LE(unfair, MAX_INIT * rwsem);
	close(fd);
}

/* --- visible readers ----------------------------------------------------- */

#define SLEEPERS	1000

FIXTURE(visible) { int fd, other[20]; pid_t pid[20]; };

FIXTURE_VARIANT(visible) { const char *name; bool biased; int others; };
FIXTURE_VARIANT_ADD(visible, fresh_lock) { .name = "fresh" };
FIXTURE_VARIANT_ADD(visible, biased_before) { .name = "biased_before", .biased = true };
FIXTURE_VARIANT_ADD(visible, beside_20_locks) { .name = "beside_20_locks", .others = 20 };

FIXTURE_SETUP(visible)
{
	int i;

	NEEDS_DEVICES();
	self->fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(self->fd, 0);
	for (i = 0; i < variant->others; i++) {
		self->other[i] = lock_open(LOCK_TEST_UNFAIR);
		ASSERT_GE(self->other[i], 0);
		self->pid[i] = start_readers(self->other[i], 5);
		ASSERT_REACHED_IN(60, state(self->other[i]).readers == 5);
	}
}

FIXTURE_TEARDOWN(visible)
{
	int i;

	EXPECT_EQ(0, state(self->fd).violations);
	EXPECT_EQ(0, state(self->fd).is_locked);
	EXPECT_EQ(0, state(self->fd).seen);
	for (i = 0; i < variant->others; i++) {
		end_readers(self->pid[i]);
		EXPECT_EQ(0, state(self->other[i]).is_locked);
		close(self->other[i]);
	}
	close(self->fd);
}

TEST_F_TIMEOUT(visible, sleeping_readers_are_seen, 600)
{
	double start = seconds();
	pid_t pid;
	int seen;

	if (variant->biased) {
		make_biased(self->fd);
		/* later locks may have no biased mode */
		figure("seen.was_biased %d", state(self->fd).biased);
	}
	pid = start_readers(self->fd, SLEEPERS);
	ASSERT_REACHED_IN(300, state(self->fd).readers == SLEEPERS);
	seen = state(self->fd).seen;
	figure("seen.%s %d of %d readers", variant->name, seen, SLEEPERS);
	EXPECT_GE(seen, SLEEPERS * 99 / 100);
	EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	end_readers(pid);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
	figure("seen.%s.time %.1f s", variant->name, seconds() - start);
}

/* --- locks --------------------------------------------------------------- */

TEST_F_TIMEOUT(scale, many_locks_are_correct, 900)
{
	struct scale_many few = { .locks = 1000, .reads = 300 };
	struct scale_many m = { .locks = 100000, .reads = 300 };
	int fd = open("/dev/scale_test", O_RDWR);
	long biased;

	ASSERT_GE(fd, 0);
	biased = counter("bias_set");
	ASSERT_EQ(0, ioctl(fd, SCALE_MANY, &few));
	figure("many.bias_set %ld times by 1000 locks", counter("bias_set") - biased);
	ASSERT_EQ(0, ioctl(fd, SCALE_MANY, &m));
	figure("many.read %.0f ns per lock", (double)m.read_ns / (m.locks / 2));
	figure("many.write %.0f ns per lock", (double)m.write_ns / m.locks);
	figure("many.total %.1f s", (m.read_ns + m.write_ns) / 1e9);
	figure("many.concurrent_reads %llu", (unsigned long long)m.concurrent_reads);
	EXPECT_EQ(0, few.violations + m.violations);
	EXPECT_EQ(0, few.locked + m.locked);
	close(fd);
}

/* --- CPU hotplug --------------------------------------------------------- */

FIXTURE(hotplug) { int fd; };

FIXTURE_VARIANT(hotplug) { __u32 type; };

/* A failure of rw_semaphore is a failure of the kernel itself. */
FIXTURE_VARIANT_ADD(hotplug, rw_semaphore) { .type = LOCK_TEST_RWSEM };

FIXTURE_VARIANT_ADD(hotplug, unfair_rwsem) { .type = LOCK_TEST_UNFAIR };

FIXTURE_SETUP(hotplug)
{
	NEEDS_DEVICES();
	self->fd = lock_open(variant->type);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(hotplug)
{
	int i;
	char path[64];

	for (i = 1; i < sysconf(_SC_NPROCESSORS_CONF); i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
		put(path, "1");
	}
	close(self->fd);
}

#define HOTPLUG_READERS	24

/* Take CPUs down and up for @length seconds. Return how often one went down. */
static int cycle_cpus(double length)
{
	int n = sysconf(_SC_NPROCESSORS_CONF), i, down = 0;
	double end = seconds() + length;
	char path[64];

	while (seconds() < end) {
		for (i = 1; i < n && seconds() < end; i++) {
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
			down += put(path, "0");
			/* half of the CPUs stay down for a while */
			if (i % 2)
				put(path, "1");
		}
		for (i = 2; i < n; i += 2) {
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
			put(path, "1");
		}
	}
	return down;
}

TEST_F_TIMEOUT(hotplug, exclusion_holds_while_cpus_come_and_go, 300)
{
	struct task *r[HOTPLUG_READERS], *w;
	struct lock_test_state s;
	long reads = 0;
	int i, down;

	if (access("/sys/devices/system/cpu/cpu1/online", F_OK))
		SKIP(return, "no CPU that can be taken down");
	for (i = 0; i < HOTPLUG_READERS; i++)
		r[i] = start(self->fd, (struct job){
			.mode = LOCK_TEST_READ, .hold = i % 2 ? LOCK_TEST_SLEEP : LOCK_TEST_BUSY,
			.hold_us = i % 2 ? 3000 : 50, .repeat = 100000000 });
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .hold_us = 50,
					  .repeat = 100000000 });
	down = cycle_cpus(30);
	for (i = 0; i < HOTPLUG_READERS; i++) {
		kill(r[i]->pid, SIGKILL);
		waitpid(r[i]->pid, NULL, 0);
		EXPECT_GT(atomic_load(&r[i]->done), 0);
		reads += atomic_load(&r[i]->done);
	}
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	figure("hotplug.%s.down %d CPUs", type_names[variant->type], down);
	figure("hotplug.%s.reads %ld", type_names[variant->type], reads);
	figure("hotplug.%s.writes %d", type_names[variant->type], atomic_load(&w->done));
	EXPECT_GT(down, 0);
	EXPECT_GT(atomic_load(&w->done), 0);
	s = state(self->fd);
	EXPECT_EQ(0, s.violations);
	EXPECT_EQ(0, s.is_locked);
	EXPECT_EQ(0, s.is_contended);
	EXPECT_EQ(0, s.seen);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
}

/* --- instructions -------------------------------------------------------- */

FIXTURE(instructions) { int fd; };

FIXTURE_SETUP(instructions)
{
	NEEDS_DEVICES();
}

FIXTURE_TEARDOWN(instructions)
{
}

/* The fewest instructions on @path; 0: failed. */
static __u64 fewest(int fd, __u32 path, int from_cpu, int to_cpu)
{
	struct scale_count c = {
		.path = path, .from_cpu = from_cpu, .to_cpu = to_cpu, .rounds = 100,
	};

	return ioctl(fd, SCALE_COUNT, &c) ? 0 : c.min_ns;
}

/* Print figures only: run.sh compares the guests. */
static int count_paths(__u32 type)
{
	int fd = scale_open(type), n = cpus(), i;
	/* acquired on the first CPU, released on the second */
	const int way[][2] = { { 0, n - 1 }, { n - 1, 0 }, { 0, n / 2 }, { n / 2, n - 1 },
			       { n / 4, 3 * n / 4 } };
	__u64 count, most = 0;

	CHECK(fd >= 0);
	count = fewest(fd, SCALE_READ_PAIR, 0, 0);
	CHECK(count);
	figure("instructions.%s.read_pair %llu", type_names[type], (unsigned long long)count);
	count = fewest(fd, SCALE_WRITE_PAIR, 0, 0);
	CHECK(count);
	figure("instructions.%s.write_pair %llu", type_names[type], (unsigned long long)count);
	if (type == LOCK_TEST_UNFAIR) {
		count = fewest(fd, SCALE_SECTION, 0, 0);
		CHECK(count);
		/* not compared: it depends on the state of the allocator */
		figure("section.instructions %llu", (unsigned long long)count);
	}
	for (i = 0; i < (int)(sizeof(way) / sizeof(*way)); i++) {
		if (way[i][0] == way[i][1])
			continue;
		count = fewest(fd, SCALE_MIGRATED_UNLOCK, way[i][0], way[i][1]);
		CHECK(count);
		printf("# released by CPU %d, acquired by CPU %d: %llu instructions\n", way[i][1],
		       way[i][0], (unsigned long long)count);
		if (most < count)
			most = count;
	}
	/* the most expensive pair of CPUs */
	figure("instructions.%s.migrated_unlock %llu", type_names[type],
	       (unsigned long long)most);
	close(fd);
	return 0;
}

TEST_F_TIMEOUT(instructions, are_counted, 600)
{
	pin(0);
	EXPECT_EQ(0, count_paths(LOCK_TEST_RWSEM));
	EXPECT_EQ(0, count_paths(LOCK_TEST_UNFAIR));
}

TEST_HARNESS_MAIN
