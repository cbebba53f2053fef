// SPDX-License-Identifier: GPL-2.0
/*
 * How the lock scales with CPUs, readers and locks: -f scale. With -f growth this program prints
 * lines `# figure NAME NANOSECONDS`, for run.sh to compare. They mean something on a machine whose
 * clock counts instructions.
 */
#include <pthread.h>

#include "scale_test.h"
#include "common.h"
#include "counters.h"

NEEDS_MODULES("fscommit_test", "scale_test");

#define SLEEPERS	1000
#define OTHER_LOCKS	20
#define MAX_SWITCHES	10	/* mean per waiter: one to sleep, a few for the CPU */
#define LOCKS		100000

/* Like reached(), with a longer limit: 64 CPUs emulated by two take minutes. */
#define ASSERT_REACHED_SLOWLY(cond)						\
do {										\
	double _end = seconds() + 300;						\
										\
	while (!(cond) && seconds() < _end)					\
		sleep_ms(5);							\
	ASSERT_TRUE(cond);							\
} while (0)

/* A task that acquires the lock. Threads: a thousand processes would cost too much. */
struct thread {
	pthread_t id;
	int fd;
	struct lock_test_op op;
	long switches;		/* context switches in the ioctl */
};

static long own_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void *acquire(void *data)
{
	struct thread *t = data;
	long before = own_switches();

	ioctl(t->fd, LOCK_TEST_LOCK, &t->op);
	t->switches = own_switches() - before;
	return NULL;
}

/* Returns @nr threads that perform @op; NULL: failed */
static struct thread *start_threads(int fd, int nr, struct lock_test_op op)
{
	struct thread *t = calloc(nr, sizeof(*t));
	pthread_attr_t attr;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (i = 0; t && i < nr; i++) {
		t[i].fd = fd;
		t[i].op = op;
		if (pthread_create(&t[i].id, &attr, acquire, &t[i]))
			return NULL;
	}
	return t;
}

/* A process whose @nr readers hold the lock, asleep, until kill_pid(). */
static pid_t start_sleepers(int fd, int nr)
{
	const struct lock_test_op op = { .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO };
	pid_t pid = fork_task(&(struct job){ });

	if (pid)
		return pid;
	if (!start_threads(fd, nr, op))
		_exit(1);
	for (;;)
		pause();
}

/* Returns the sum of their context switches. */
static long join_threads(struct thread *t, int nr)
{
	long switches = 0;
	int i;

	for (i = 0; i < nr; i++) {
		pthread_join(t[i].id, NULL);
		switches += t[i].switches;
	}
	free(t);
	return switches;
}

FIXTURE(scale) { int fd; };

FIXTURE_SETUP(scale)
{
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

/* Readers that wait for a sleeping writer sleep: they do not poll. */
TEST_F_TIMEOUT(scale, waiting_readers_sleep, 600)
{
	/* emulated CPUs take long to start a thousand */
	int nr = file_has("/proc/cpuinfo", "User Mode Linux") ? 1000 : 400;
	struct thread *writer, *reader;

	writer = start_threads(self->fd, 1, (struct lock_test_op){ .mode = LOCK_TEST_WRITE,
								   .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_NE(NULL, writer);
	ASSERT_REACHED_SLOWLY(state(self->fd).writers == 1);
	reader = start_threads(self->fd, nr, (struct lock_test_op){ .mode = LOCK_TEST_READ });
	ASSERT_NE(NULL, reader);
	ASSERT_REACHED_SLOWLY(state(self->fd).acquiring_readers == nr);
	/* time in which a reader that polls switches often */
	sleep_ms(1500);
	go(self->fd, 0);
	join_threads(writer, 1);
	EXPECT_LE(join_threads(reader, nr), MAX_SWITCHES * nr);
}

/* The slots suffice for 99 % of 1,000 readers that sleep, beside the readers of 20 locks. */
TEST_F_TIMEOUT(scale, sleeping_readers_are_visible, 600)
{
	pid_t reader, other[OTHER_LOCKS];
	int fd[OTHER_LOCKS], i;

	for (i = 0; i < OTHER_LOCKS; i++) {
		fd[i] = lock_open(LOCK_TEST_UNFAIR);
		ASSERT_GE(fd[i], 0);
		other[i] = start_sleepers(fd[i], 5);
		ASSERT_REACHED_SLOWLY(state(fd[i]).readers == 5);
	}
	reader = start_sleepers(self->fd, SLEEPERS);
	ASSERT_REACHED_SLOWLY(state(self->fd).readers == SLEEPERS);
	EXPECT_GE(state(self->fd).seen, SLEEPERS * 99 / 100);
	EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	kill_pid(reader);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
	for (i = 0; i < OTHER_LOCKS; i++) {
		kill_pid(other[i]);
		close(fd[i]);
	}
}

TEST_F_TIMEOUT(scale, a_hundred_thousand_locks_exclude, 900)
{
	struct scale_many m = { .locks = LOCKS };
	int fd = open("/dev/scale_test", O_RDWR);
	long biased = counter("bias_set");

	ASSERT_EQ(0, ioctl(fd, SCALE_MANY, &m));
	EXPECT_EQ(0, m.violations);
	EXPECT_EQ(0, m.locked);
	EXPECT_GT(m.reads, 0);
	if (cpus() > 1)
		EXPECT_GE(counter("bias_set") - biased, LOCKS / 2);
	close(fd);
}

FIXTURE(growth) { int fd; };

FIXTURE_SETUP(growth)
{
	pin(0);
	self->fd = open("/dev/scale_test", O_RDWR);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(growth)
{
	close(self->fd);
}

/* Returns the duration of the fastest round; 0: failed */
static unsigned long long fastest(int fd, struct scale_count c)
{
	return ioctl(fd, SCALE_COUNT, &c) ? 0 : c.min_ns;
}

TEST_F_TIMEOUT(growth, instructions_are_counted, 600)
{
	const struct { const char *name; struct scale_count c; } path[] = {
		{ "read-pair", { .path = SCALE_READ_PAIR } },
		{ "write-pair", { .path = SCALE_WRITE_PAIR } },
		{ "migrated-unlock", { .path = SCALE_MIGRATED_UNLOCK, .to_cpu = cpus() - 1 } },
		{ "crowded-unlock-20", { .path = SCALE_CROWDED_UNLOCK, .waiters = 20 } },
		{ "crowded-unlock-400", { .path = SCALE_CROWDED_UNLOCK, .waiters = 400 } },
	};
	unsigned int i;

	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		unsigned long long ns = fastest(self->fd, path[i].c);

		EXPECT_NE(0, ns);
		printf("# figure %s %llu\n", path[i].name, ns);
	}
}

TEST_HARNESS_MAIN
