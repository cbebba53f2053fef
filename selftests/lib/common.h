/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for the tests of the lock: start tasks that acquire it, and wait until a state is
 * reached instead of sleeping for a guessed time.
 */
#ifndef FSCOMMIT_COMMON_H
#define FSCOMMIT_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <linux/sched.h>

#include "kselftest_harness.h"

/* The harness's own makes a test that has failed before a skipped one. */
#undef SKIP
#define SKIP(statement, ...) do {						\
	if (_metadata->exit_code != KSFT_FAIL) {				\
		snprintf(_metadata->results->reason,				\
			 sizeof(_metadata->results->reason), __VA_ARGS__);	\
		_metadata->exit_code = KSFT_SKIP;				\
		_metadata->trigger = 0;						\
	}									\
	statement;								\
} while (0)

#include "modules.h"
#include "put.h"
#include "slowdown.h"

#include "fscommit_test.h"

/* One lock operation, and the task that performs it. */
struct job {
	__u32 mode, how, hold, hold_us, timeout_ms, id, flags, outer;
	int policy, prio, nice;		/* 0: SCHED_OTHER, nice 0 */
	uid_t uid;			/* 0: root */
	int cpu;			/* 1 and up: pinned to CPU cpu - 1; 0: any CPU */
	const char *cgroup;		/* a cgroup.procs file */
	__u32 *pi_futex;		/* acquired first, see pi_futex.h; NULL: none */
	int repeat;			/* number of operations; 0 means 1 */
	int until_waits;		/* stop after this number of waits; 0: no limit */
};

/* Shared between a task and the test. */
struct task {
	pid_t pid;
	atomic_int done;		/* number of completed operations */
	int error;			/* of the last operation; 0: it acquired the lock */
	__u64 order;			/* of the last acquisition */
	__u64 wait_ns;			/* of the last operation */
	int waits, spun;		/* waits of 200 us or more; those without a sleep */
};

static inline void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline bool file_has(const char *path, const char *text)
{
	char line[512];
	FILE *f = fopen(path, "r");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

/* Reads the first line of a file; an empty string if there is none. */
static inline void get_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "r");

	if (!f || !fgets(line, size, f))
		line[0] = 0;
	if (f)
		fclose(f);
}

/* The number after @key, with which a line of a file begins; -1 if there is none. */
static inline long long value_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	long long value = -1;
	char line[512];

	while (f && value < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = atoll(line + strlen(key));
	if (f)
		fclose(f);
	return value;
}

static inline bool kernel_is_rt(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.version, "PREEMPT_RT");
}

static inline int cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

static inline int lock_open(__u32 type)
{
	int fd = open("/dev/fscommit_test", O_RDWR);

	if (fd >= 0 && ioctl(fd, LOCK_TEST_CREATE, &type)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static inline struct lock_test_state state(int fd)
{
	struct lock_test_state s = { };

	ioctl(fd, LOCK_TEST_STATE, &s);
	return s;
}

static inline bool set_param(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/fscommit/parameters/%s", name);
	return put(path, value);
}

static inline void set_lend(int fd, __u32 lend)
{
	ioctl(fd, LOCK_TEST_SET_LEND, &lend);
}

static inline int lock(int fd, __u32 mode, __u32 how)
{
	struct lock_test_op op = { .mode = mode, .how = how };

	return ioctl(fd, LOCK_TEST_LOCK, &op) ? errno : 0;
}

static inline void go(int fd, __u32 id)
{
	ioctl(fd, LOCK_TEST_GO, &id);
}

static inline void set_bound(int fd, __u32 us)
{
	ioctl(fd, LOCK_TEST_SET_BOUND, &us);
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline void unpin(void)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < cpus(); i++)
		CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* struct sched_attr: not every C library declares it. */
struct deadline_attr {
	__u32 size, policy;
	__u64 flags;
	__s32 nice;
	__u32 priority;
	__u64 runtime, deadline, period;
};

static inline int set_policy(int policy, int prio)
{
	struct deadline_attr deadline = {
		.size = sizeof(deadline), .policy = SCHED_DEADLINE,
		.runtime = 10000000, .deadline = 100000000, .period = 100000000,
	};
	struct sched_param p = { .sched_priority = prio };

	if (policy == SCHED_DEADLINE)
		return syscall(SYS_sched_setattr, 0, &deadline, 0);
	return sched_setscheduler(0, policy, &p);
}

static inline void prepare(const struct job *j)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (j->cgroup)
		put(j->cgroup, "0");
	if (j->cpu)
		pin(j->cpu - 1);
	if (j->pi_futex && syscall(SYS_futex, j->pi_futex, FUTEX_LOCK_PI, 0, NULL))
		_exit(1);
	if (j->nice && setpriority(PRIO_PROCESS, 0, j->nice))
		_exit(1);
	if (j->policy && set_policy(j->policy, j->prio))
		_exit(1);
	if (j->uid) {
		if (setuid(j->uid))
			_exit(1);
		/* setuid() clears it */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
}

static void ignore_signal(int sig)
{
	(void)sig;
}

/* fork(): the child has the priority, CPU and so on of @j, and dies with its parent. */
static inline pid_t fork_task(const struct job *j)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		prepare(j);
	return pid;
}

/* Starts a task that performs @j. It inherits the lock's file. */
static inline struct task *start(int fd, struct job j)
{
	struct task *t = share(sizeof(*t));
	struct sigaction act = { .sa_handler = ignore_signal };
	pid_t pid;
	int i;

	t->error = -1;
	pid = fork_task(&j);
	if (pid) {
		t->pid = pid;
		return t;
	}
	/* SIGUSR1 interrupts but does not kill */
	sigaction(SIGUSR1, &act, NULL);
	for (i = 0; i < (j.repeat ?: 1) && (!j.until_waits || t->waits < j.until_waits); i++) {
		struct lock_test_op op = {
			.mode = j.mode, .how = j.how, .hold = j.hold, .hold_us = j.hold_us,
			.timeout_ms = j.timeout_ms, .id = j.id, .flags = j.flags,
			.outer = j.outer,
		};
		struct rusage before, after;

		getrusage(RUSAGE_SELF, &before);
		t->error = ioctl(fd, LOCK_TEST_LOCK, &op) ? errno : 0;
		getrusage(RUSAGE_SELF, &after);
		if (op.wait_ns >= 200000) {
			t->waits++;
			t->spun += before.ru_nvcsw == after.ru_nvcsw;
		}
		t->wait_ns = op.wait_ns;
		if (op.order)
			t->order = op.order;
		atomic_fetch_add(&t->done, 1);
	}
	_exit(0);
}

/* Waits for the task to exit. Returns 0, the error of its lock operation, or -signal. */
static inline int finish(struct task *t)
{
	int status;

	if (waitpid(t->pid, &status, 0) < 0)
		return errno;
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	return WEXITSTATUS(status) ? 99 : t->error;
}

static inline int kill_task(struct task *t)
{
	kill(t->pid, SIGKILL);
	return finish(t);
}

static inline void kill_pid(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Starts a task that keeps CPU @cpu busy. */
static inline pid_t start_busy(int cpu)
{
	pid_t pid = fork_task(&(struct job){ .cpu = cpu + 1 });

	if (pid)
		return pid;
	for (;;)
		;
}

static inline bool make_cgroup(const char *path)
{
	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	return !mkdir(path, 0755);
}

static inline char task_state(pid_t pid)
{
	char path[64], buf[256], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	get_line(path, buf, sizeof(buf));
	p = strrchr(buf, ')');
	return p && p[1] ? p[2] : '?';
}

/* CPU time of a task, in nanoseconds. */
static inline __u64 cpu_time(pid_t pid)
{
	struct timespec t = { };
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline bool is_asleep(struct task *t)
{
	char c = task_state(t->pid);

	return c == 'S' || c == 'D';
}

static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Set while a hog has a CPU: a timer queued on that CPU may expire too late. */
static bool timers_may_fail;

/* SCHED_IDLE: the task that the test waits for may be SCHED_IDLE and have this CPU only. */
static inline void stay_awake_until(double end)
{
	struct sched_param p = { };

	sched_setscheduler(0, SCHED_IDLE, &p);
	while (seconds() < end)
		sched_yield();
	sched_setscheduler(0, SCHED_OTHER, &p);
}

static inline void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	double end = seconds() + ms / 1e3;

	if (timers_may_fail) {
		stay_awake_until(end);
		return;
	}
	do
		nanosleep(&t, NULL);
	while (seconds() < end);
}

/* Waits until @cond, for 20 s at most: far longer than any state takes to reach. */
#define reached(cond)						\
({								\
	double _end = seconds() + 20;				\
	bool _met;						\
								\
	while (!(_met = (cond)) && seconds() < _end)		\
		sleep_ms(1);					\
	_met;							\
})

#define ASSERT_REACHED(cond)					\
	ASSERT_TRUE(reached(cond)) { TH_LOG("never: " #cond); }

/*
 * Starts a task that acquires the lock and holds it, asleep, until go() with its id. Returns NULL
 * if it is not the only holder in that mode after 20 s.
 */
static inline struct task *hold_until_go(int fd, __u32 mode, struct job j)
{
	struct task *t;

	j.mode = mode;
	j.hold = LOCK_TEST_UNTIL_GO;
	t = start(fd, j);
	return reached(mode == LOCK_TEST_WRITE ? state(fd).writers == 1 : state(fd).readers == 1) &&
	       reached(is_asleep(t)) ? t : NULL;
}

/* Many overlapping reads make the lock biased. */
static inline void make_biased(int fd)
{
	struct task *r;
	int i;

	r = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO, .id = 63 });
	reached(state(fd).readers == 1);
	for (i = 0; i < 600 && !state(fd).biased; i++)
		lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN);
	go(fd, 63);
	finish(r);
}

static inline void throttle_real_time(bool on)
{
	put("/proc/sys/kernel/sched_rt_runtime_us", on ? "950000" : "-1");
}

/*
 * A SCHED_FIFO task that keeps a CPU from all tasks of lower priority. Since 6.8, the fair server
 * still runs the others for a short time each second. So a test that keeps a task off its CPU
 * returns AGAIN if that task ran.
 */
struct hog {
	pid_t pid;
	atomic_int *up, *stop;
};

static inline struct hog hog_start(int cpu)
{
	struct hog h = { .up = share(4096) };
	double end;

	h.stop = h.up + 16;
	/* tasks started from now on must not begin on that CPU */
	pin(!cpu);
	throttle_real_time(false);
	h.pid = fork_task(&(struct job){ .policy = SCHED_FIFO, .prio = 50, .cpu = cpu + 1 });
	if (!h.pid) {
		atomic_store(h.up, 1);
		/* longer than reached() waits: or else the task that it keeps off would end that */
		end = seconds() + 60;
		while (!atomic_load(h.stop) && seconds() < end)
			;
		_exit(0);
	}
	while (!atomic_load(h.up))
		sleep_ms(1);
	timers_may_fail = true;
	return h;
}

#define AGAIN	(-1000000)

/* Repeats @test until it is conclusive. 0, or minus the line of the CHECK() that failed. */
#define CONCLUSIVE(test)					\
({								\
	int _ret = AGAIN, _try;					\
								\
	for (_try = 0; _try < 30 && _ret == AGAIN; _try++)	\
		_ret = (test);					\
	_ret;							\
})

#define CHECK(cond)	do { if (!(cond)) return -__LINE__; } while (0)

static inline void hog_stop(struct hog *h)
{
	atomic_store(h->stop, 1);
	waitpid(h->pid, NULL, 0);
	timers_may_fail = false;
	throttle_real_time(true);
	unpin();
}

static inline void set_window(const char *us)
{
	set_param("window_us", us);
}

/*
 * A reader that has waited for 20 ms and a writer wait until a writer releases. Returns the
 * reader's place: 1 if it was first (a window), 2 if the writer was.
 */
static inline int place_of_reader(int fd)
{
	struct task *holder, *w, *r;
	int place;

	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ });
	CHECK(holder);
	r = start(fd, (struct job){ .mode = LOCK_TEST_READ });
	CHECK(reached(state(fd).queued_readers == 1 && is_asleep(r)));
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	sleep_ms(20);
	go(fd, 0);
	CHECK(!finish(holder));
	CHECK(!finish(w));
	CHECK(!finish(r));
	place = r->order - holder->order;
	CHECK(w->order - holder->order == (__u64)3 - place);
	return place;
}

static char lend_before[16], nice_before[16], period_before[16], cpu_budget_before[16];

static inline void get_param(const char *name, char *value, int size)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/fscommit/parameters/%s", name);
	get_line(path, value, size);
	value[strcspn(value, "\n")] = 0;
}

/*
 * @lend: of that name while a test runs. Without lending, the watcher does not look either, because
 * a look would repair a lost wakeup.
 */
static inline void setup_lending(const char *lend)
{
	get_param("lend", lend_before, sizeof(lend_before));
	get_param("lend_nice", nice_before, sizeof(nice_before));
	get_param("lend_period_us", period_before, sizeof(period_before));
	/* earlier tests may have used up a CPU's budget; g12_budget tests it */
	get_param("lend_cpu_us", cpu_budget_before, sizeof(cpu_budget_before));
	set_param("lend_cpu_us", "1000000");
	set_param("lend", lend);
	/* on PREEMPT_RT the default is less */
	set_param("lend_nice", "0");
	set_param("lend_period_us", lend[0] == '0' ? "60000000" : "300");
}

static inline void restore_lending(void)
{
	set_param("lend", lend_before);
	set_param("lend_nice", nice_before);
	set_param("lend_cpu_us", cpu_budget_before);
	set_param("lend_period_us", period_before);
}

#define SKIP_ON_ONE_CPU()						\
	do {								\
		if (cpus() < 2)						\
			SKIP(return, "needs two CPUs");			\
	} while (0)

/* Each test gets a new unfair_rwsem and must leave it free, clean and without waiters. */
#define LOCK_FIXTURE(name)	LENDING_LOCK_FIXTURE(name, "0")

#define LENDING_LOCK_FIXTURE(name, lend)				\
FIXTURE(name) { int fd; };						\
FIXTURE_SETUP(name)							\
{									\
	setup_lending(lend);						\
	self->fd = lock_open(LOCK_TEST_UNFAIR);				\
	ASSERT_GE(self->fd, 0);						\
}									\
FIXTURE_TEARDOWN(name)							\
{									\
	struct lock_test_state s = state(self->fd);			\
									\
	EXPECT_EQ(0, s.violations);					\
	EXPECT_EQ(0, s.is_locked);					\
	EXPECT_EQ(0, s.is_contended);					\
	EXPECT_EQ(0, s.queued_readers + s.queued_writers);		\
	/* the fast paths work again */					\
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));	\
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_TRYLOCK));	\
	set_window("200");						\
	restore_lending();						\
	close(self->fd);						\
}

#endif /* FSCOMMIT_COMMON_H */
