// SPDX-License-Identifier: GPL-2.0
/*
 * G12: SCHED_FIFO that is lent is bounded for a task, for a CPU and over time, whatever users
 * do. Beyond the budget, a loan is a nice value.
 *
 * The attackers are nice 0 tasks of an ordinary user, in a cgroup that may use a tenth of a
 * CPU, or that has the lowest weight beside busy tasks. They loop over what a filesystem does
 * for any user: a commit in an expedited section, or reads that a writer waits for. The CPU
 * time of their cgroup is compared with what such tasks use in the same run with lending off.
 * What they gain must fit into the budget.
 *
 * Seen failing: the mutants g12-*; the module before it had a budget.
 */
#include "common.h"

#include <linux/sched.h>

#define GROUP		"/sys/fs/cgroup/g12"
/* Writers that lend to attackers are somebody else's: a checkpoint, say. So is the I/O. */
#define LENDERS		"/sys/fs/cgroup/g12_lenders"
#define NOBODY		65534
#define MANY		300
#define MAX_ATTACKERS	(MANY + MANY / 8 + 3)
#define MAX_CPUS	64
#define WINDOW_US	100000

/* The defaults of the module, which the tests set whatever it was loaded with. */
#define FIFO_US		10000
#define CPU_US		20000

enum lend { LEND_OFF = 1, LEND_FULL = 3 };

static bool set_number(const char *param, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return set_param(param, text);
}

static long get_number(const char *param)
{
	char path[128], line[32];

	snprintf(path, sizeof(path), "/sys/module/fscommit/parameters/%s", param);
	get_line(path, line, sizeof(line));
	return line[0] ? atol(line) : -1;
}

static bool has_cpu_budget(void)
{
	return get_number("lend_cpu_us") >= 0;
}

/* Without the parameter the tests measure all the same, and fail. */
#define EXPECT_CPU_BUDGET()							\
	EXPECT_TRUE(has_cpu_budget()) {						\
		TH_LOG("no parameter lend_cpu_us: nothing bounds lent SCHED_FIFO on a CPU"); \
	}

/* The test must run beside attackers that have SCHED_FIFO; the tasks it starts are nice 0. */
static void raise_tester(bool on)
{
	struct sched_param p = { .sched_priority = on ? 50 : 0 };

	sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}

static bool limit_group(const char *max, const char *weight)
{
	return put(GROUP "/cpu.max", max) && put(GROUP "/cpu.weight", weight);
}

static bool make_groups(void)
{
	put("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	mkdir(GROUP, 0755);
	mkdir(LENDERS, 0755);
	return limit_group("max", "100");
}

/* CPU seconds that the cgroup has used. */
static double group_used(void)
{
	FILE *f = fopen(GROUP "/cpu.stat", "r");
	unsigned long long us = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "usage_usec %llu", &us) == 1)
			break;
	if (f)
		fclose(f);
	return us / 1e6;
}

static double task_used(pid_t pid)
{
	struct timespec t = { };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec + t.tv_nsec / 1e9;
}

FIXTURE(g12_budget) {
	int fd;			/* the lock that is attacked */
	int inner[2];		/* locks that are taken within, held for writing a mutex each */
	long fifo_us, cpu_us;	/* as the module had them */
};

FIXTURE_SETUP(g12_budget)
{
	int i;

	if (access("/dev/fscommit_test", F_OK))
		SKIP(return, "no /dev/fscommit_test: insmod fscommit_test.ko");
	if (geteuid())
		SKIP(return, "needs root");
	setup_lending("3");
	self->fifo_us = get_number("lend_fifo_us");
	self->cpu_us = get_number("lend_cpu_us");
	set_number("lend_fifo_us", FIFO_US);
	set_number("lend_cpu_us", CPU_US);
	self->fd = lock_open(FCT_UNFAIR);
	ASSERT_GE(self->fd, 0);
	for (i = 0; i < 2; i++) {
		self->inner[i] = lock_open(FCT_RWSEM);
		ASSERT_GE(self->inner[i], 0);
	}
	raise_tester(true);
}

FIXTURE_TEARDOWN(g12_budget)
{
	struct fct_state s = state(self->fd);

	raise_tester(false);
	EXPECT_EQ(0, s.violations);
	EXPECT_EQ(0, s.is_locked);
	EXPECT_EQ(0, s.is_contended);
	EXPECT_EQ(0, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
	rmdir(GROUP);
	rmdir(LENDERS);
	set_number("lend_fifo_us", self->fifo_us);
	set_number("lend_cpu_us", self->cpu_us);
	restore_lending();
	close(self->inner[0]);
	close(self->inner[1]);
	close(self->fd);
}

/* --- attackers ----------------------------------------------------------- */

enum role {
	COMMITTER,	/* an expedited section, with work in it: fsync() in a loop */
	READER,		/* holds the lock for reading, waits for a mutex, and works */
	WRITER,		/* waits for the readers, and so lends to them */
	OWNER,		/* makes the readers wait for their mutex, as I/O does */
};

/* Shared with the attackers. */
struct attack {
	int gate[2];		/* a pipe with a byte for each, when all begin */
	unsigned int work_us;
	atomic_int ready, stop, failed, nr;
	atomic_llong ops;
	pid_t pid[MAX_ATTACKERS];
};

static void attack_until_stopped(struct attack *a, int fd, const int *inner, enum role role,
				 int i)
{
	/* about what a small fsync() costs; less than the FIFO budget of a task */
	unsigned int work_us = a->work_us ?: 2000 + 1000 * (i % 4);
	const struct fct_op ops[] = {
		[COMMITTER] = { .mode = FCT_READ, .how = FCT_KILLABLE, .hold_us = work_us,
				.flags = FCT_OUTER_EXPEDITE, .outer = fd },
		[READER] = { .mode = FCT_WRITE, .how = FCT_KILLABLE, .hold_us = work_us,
			     .flags = FCT_OUTER_READ, .outer = fd },
		[WRITER] = { .mode = FCT_WRITE, .how = FCT_KILLABLE },
		[OWNER] = { .mode = FCT_WRITE, .how = FCT_KILLABLE, .hold = FCT_SLEEP,
			    .hold_us = 2000 },
	};

	while (!atomic_load(&a->stop)) {
		struct fct_op op = ops[role];

		if (ioctl(role == WRITER ? fd : inner[i % 2], FCT_LOCK, &op))
			atomic_fetch_add(&a->failed, 1);
		else if (role == COMMITTER || role == READER)
			atomic_fetch_add(&a->ops, 1);
		if (role == WRITER)
			usleep(1000);
	}
	/* the last loan has ended with its section, or is about to be taken back */
	usleep(10000);
	if (sched_getscheduler(0) != SCHED_OTHER)
		atomic_fetch_add(&a->failed, 1);
}

/* Starts one; it joins the cgroup and then drops its privileges. */
static void start_attacker(struct attack *a, int fd, const int *inner, enum role role, int cpu)
{
	int i = atomic_fetch_add(&a->nr, 1);
	pid_t pid;
	char go;

	fflush(NULL);
	pid = fork();
	if (pid) {
		a->pid[i] = pid;
		return;
	}
	prepare(&(struct job){
		.uid = NOBODY, .cpu = cpu,
		.cgroup = role == WRITER || role == OWNER ? LENDERS "/cgroup.procs" :
							    GROUP "/cgroup.procs" });
	if (sched_getscheduler(0) != SCHED_OTHER || !geteuid())
		_exit(1);
	atomic_fetch_add(&a->ready, 1);
	if (read(a->gate[0], &go, 1) != 1)
		_exit(1);
	attack_until_stopped(a, fd, inner, role, i);
	_exit(0);
}

/* @nr committers, or @nr readers with a writer for eight of them. They wait at the gate. */
static bool start_attackers(struct attack *a, int fd, const int *inner, enum role role, int nr,
			    int cpu)
{
	int i;

	if (pipe(a->gate))
		return false;
	for (i = 0; i < nr; i++)
		start_attacker(a, fd, inner, role, cpu);
	for (i = 0; role == READER && i < (nr + 7) / 8; i++)
		start_attacker(a, fd, inner, WRITER, cpu);
	for (i = 0; role == READER && i < 2; i++)
		start_attacker(a, fd, inner, OWNER, cpu);
	return reached(atomic_load(&a->ready) == atomic_load(&a->nr));
}

static bool begin_attack(struct attack *a)
{
	char go[MAX_ATTACKERS] = { };
	int nr = atomic_load(&a->nr);

	return write(a->gate[1], go, nr) == nr;
}

static void stop_attack(struct attack *a)
{
	int i;

	atomic_store(&a->stop, 1);
	/* those that have not begun end at once; the others do not read it */
	begin_attack(a);
	/* or it takes minutes until the last one has ended */
	limit_group("max", "10000");
	for (i = 0; i < atomic_load(&a->nr); i++)
		waitpid(a->pid[i], NULL, 0);
	close(a->gate[0]);
	close(a->gate[1]);
}

static pid_t start_bystander(int cpu)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prepare(&(struct job){ .cpu = cpu + 1 });
	for (;;)
		;
}

/* --- what they gain ------------------------------------------------------ */

struct scene {
	const char *max, *weight;	/* of the attackers' cgroup */
	enum role role;
	int nr;
	bool bystanders;		/* a busy nice 0 task on each CPU */
	unsigned int work_us;		/* in a section, or with the lock held */
	long fifo_us, cpu_us;		/* 0: the defaults */
};

/* In percent of one CPU. */
struct use {
	double attackers, bystander[MAX_CPUS];
	double ops;			/* that the attackers have completed */
	int failed;
};

struct gain {
	struct use off, lent;
};

static void measure(struct attack *a, const pid_t *bystander, int nr, struct use *u)
{
	double used, took, before[MAX_CPUS];
	int i;

	/* tasks that were throttled in the kernel overdraw a quota first */
	sleep_ms(300);
	for (i = 0; i < nr; i++)
		before[i] = task_used(bystander[i]);
	u->ops = -atomic_load(&a->ops);
	used = group_used();
	took = seconds();
	sleep_ms(scaled(6) * 500 + 500);
	took = seconds() - took;
	u->attackers = (group_used() - used) / took * 100;
	u->ops += atomic_load(&a->ops);
	for (i = 0; i < nr; i++)
		u->bystander[i] = (task_used(bystander[i]) - before[i]) / took * 100;
}

/*
 * Attackers that have not run under other rules: those would be throttled for what they used
 * before. Returns 0, or minus the line that failed.
 */
static int measure_use(int fd, const int *inner, struct scene s, enum lend lend, struct use *u)
{
	int i, n = s.bystanders ? cpus() : 0;
	struct attack *a = share(sizeof(*a));
	pid_t bystander[MAX_CPUS];
	bool up;

	CHECK(a && n <= MAX_CPUS);
	a->work_us = s.work_us;
	CHECK(limit_group("max", "100"));
	up = start_attackers(a, fd, inner, s.role, s.nr, 0) && limit_group(s.max, s.weight);
	for (i = 0; i < n; i++)
		bystander[i] = start_bystander(i);
	set_number("lend_fifo_us", s.fifo_us ?: FIFO_US);
	set_number("lend_cpu_us", s.cpu_us ?: CPU_US);
	CHECK(set_number("lend", lend));
	if (up && begin_attack(a))
		measure(a, bystander, n, u);
	set_number("lend", LEND_OFF);
	for (i = 0; i < n; i++) {
		kill(bystander[i], SIGKILL);
		waitpid(bystander[i], NULL, 0);
	}
	stop_attack(a);
	u->failed = atomic_load(&a->failed);
	set_number("lend", LEND_FULL);
	set_number("lend_fifo_us", FIFO_US);
	set_number("lend_cpu_us", CPU_US);
	munmap(a, sizeof(*a));
	CHECK(up);
	return 0;
}

static int measure_gain(int fd, const int *inner, struct scene s, struct gain *g)
{
	int ret = measure_use(fd, inner, s, LEND_OFF, &g->off);

	return ret ?: measure_use(fd, inner, s, LEND_FULL, &g->lent);
}

static double min(double a, double b)
{
	return a < b ? a : b;
}

/*
 * The most that attackers may gain, in percent of one CPU: the budget of each CPU and that of
 * each task. The margin is for ticks, and for a watcher that comes late on a busy host.
 */
static double most_gain(struct scene s)
{
	double of_cpus = 100.0 * (s.cpu_us ?: CPU_US) / WINDOW_US * cpus();
	double of_tasks = 100.0 * (s.fifo_us ?: FIFO_US) / WINDOW_US * s.nr;

	return 1.5 * min(min(of_cpus, of_tasks), 100.0 * cpus()) + 2;
}

#define SKIP_WITHOUT_GROUPS()							\
	do {									\
		if (!make_groups())					\
			SKIP(return, "needs cgroup v2, and CONFIG_CFS_BANDWIDTH");\
	} while (0)

/*
 * A host that takes the guest's CPUs away has that time charged to whoever has them, quota or
 * budget: then again.
 */
#define TRIES	3

static void expect_within_budget(struct __test_metadata *_metadata, int fd, const int *inner,
				 struct scene s)
{
	double most = most_gain(s), gain = most + 1;
	int i;

	for (i = 0; i < TRIES && gain > most; i++) {
		struct gain g = { };

		ASSERT_EQ(0, measure_gain(fd, inner, s, &g));
		TH_LOG("%d attackers: %.1f%% of a CPU without lending, %.1f%% with (%.0f and %.0f operations); %.1f%% may be gained",
		       s.nr, g.off.attackers, g.lent.attackers, g.off.ops, g.lent.ops, most);
		EXPECT_EQ(0, g.off.failed);
		EXPECT_EQ(0, g.lent.failed);
		gain = g.lent.attackers - g.off.attackers;
	}
	EXPECT_LE(gain, most);
}

#define EXPECT_WITHIN_BUDGET(...)						\
	expect_within_budget(_metadata, self->fd, self->inner, (struct scene){ __VA_ARGS__ })

#define TENTH	.max = "10000 100000", .weight = "100"
/* nearly the FIFO budget of a task: between two sections it waits for its turn */
#define LIGHT	.max = "max", .weight = "1", .bystanders = true, .work_us = 9000

TEST_F_TIMEOUT(g12_budget, one_committer_stays_in_its_quota, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = COMMITTER, .nr = 1);
}

TEST_F_TIMEOUT(g12_budget, eight_committers_stay_in_their_quota, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = COMMITTER, .nr = 8);
}

TEST_F_TIMEOUT(g12_budget, many_committers_stay_in_their_quota, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = COMMITTER, .nr = MANY);
}

TEST_F_TIMEOUT(g12_budget, one_committer_stays_in_its_weight, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(LIGHT, .role = COMMITTER, .nr = 1);
}

TEST_F_TIMEOUT(g12_budget, eight_committers_stay_in_their_weight, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(LIGHT, .role = COMMITTER, .nr = 8);
}

TEST_F_TIMEOUT(g12_budget, many_committers_stay_in_their_weight, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(LIGHT, .role = COMMITTER, .nr = MANY);
}

TEST_F_TIMEOUT(g12_budget, eight_readers_stay_in_their_quota, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = READER, .nr = 8);
}

TEST_F_TIMEOUT(g12_budget, many_readers_stay_in_their_quota, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = READER, .nr = MANY);
}

TEST_F_TIMEOUT(g12_budget, eight_readers_stay_in_their_weight, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(LIGHT, .role = READER, .nr = 8);
}

TEST_F_TIMEOUT(g12_budget, many_readers_stay_in_their_weight, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(LIGHT, .role = READER, .nr = MANY);
}

/* A task may use all of each window as far as it is concerned; the CPUs have the bound. */
TEST_F_TIMEOUT(g12_budget, cpu_has_a_budget_of_its_own, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = COMMITTER, .nr = 8, .fifo_us = 1000000,
			     .cpu_us = 10000);
}

/* The other way round. */
TEST_F_TIMEOUT(g12_budget, task_has_a_budget_of_its_own, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	EXPECT_WITHIN_BUDGET(TENTH, .role = COMMITTER, .nr = 2, .fifo_us = 5000,
			     .cpu_us = 1000000);
}

/* If the attack gains no more than @least with the bounds off, the tests above prove nothing. */
static void expect_attack(struct __test_metadata *_metadata, int fd, const int *inner,
			  struct scene s, double least)
{
	double gain = 0;
	int i;

	s.fifo_us = 1000000;
	s.cpu_us = 1000000;
	for (i = 0; i < TRIES && gain <= least; i++) {
		struct gain g = { };

		ASSERT_EQ(0, measure_gain(fd, inner, s, &g));
		TH_LOG("%.1f%% of a CPU without lending, %.1f%% with no bound (%.0f and %.0f operations)",
		       g.off.attackers, g.lent.attackers, g.off.ops, g.lent.ops);
		gain = g.lent.attackers - g.off.attackers;
	}
	EXPECT_GT(gain, least);
}

TEST_F_TIMEOUT(g12_budget, attack_of_a_committer_works_without_a_budget, 60)
{
	struct scene s = { TENTH, .role = COMMITTER, .nr = 1 };

	SKIP_WITHOUT_GROUPS();
	expect_attack(_metadata, self->fd, self->inner, s, most_gain(s));
}

/* They get the lock in turns, and some of them have the mutex without a wait. */
TEST_F_TIMEOUT(g12_budget, attack_of_readers_works_without_a_budget, 60)
{
	SKIP_WITHOUT_GROUPS();
	expect_attack(_metadata, self->fd, self->inner, (struct scene){
		TENTH, .role = READER, .nr = 8 }, 3);
}

/* A nice 0 task of somebody else, on each CPU. */
static void expect_bystanders(struct __test_metadata *_metadata, int fd, const int *inner,
			      struct scene s)
{
	double least = 0;
	int try, i;

	for (try = 0; try < TRIES && least < 60; try++) {
		struct gain g = { };

		ASSERT_EQ(0, measure_gain(fd, inner, s, &g));
		least = 100;
		for (i = 0; i < cpus(); i++) {
			double share = g.lent.bystander[i] / g.off.bystander[i] * 100;

			TH_LOG("bystander on CPU %d: %.1f%% of it without lending, %.1f%% with",
			       i, g.off.bystander[i], g.lent.bystander[i]);
			least = share < least ? share : least;
		}
	}
	/* percent of what it has without lending */
	EXPECT_GE(least, 60);
}

TEST_F_TIMEOUT(g12_budget, bystander, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	expect_bystanders(_metadata, self->fd, self->inner, (struct scene){
		TENTH, .role = COMMITTER, .nr = MANY, .bystanders = true });
}

TEST_F_TIMEOUT(g12_budget, bystander_of_readers, 60)
{
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	expect_bystanders(_metadata, self->fd, self->inner, (struct scene){
		TENTH, .role = READER, .nr = MANY, .bystanders = true });
}

/* --- one task, sampled from another CPU ---------------------------------- */

#define MAX_SAMPLES	20000

enum seen { SEEN_OTHER, SEEN_NICE, SEEN_FIFO, NR_SEEN };

struct samples {
	double took, share[NR_SEEN];	/* seconds; percent of them */
	double worst_ms;		/* of SCHED_FIFO in any window of 100 ms */
};

/* A task that is asleep uses nothing of its budget. */
static enum seen seen_as(pid_t pid, int nice)
{
	if ((sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO)
		return task_state(pid) == 'R' ? SEEN_FIFO : SEEN_OTHER;
	return getpriority(PRIO_PROCESS, pid) == nice ? SEEN_NICE : SEEN_OTHER;
}

/* What @pid has, each millisecond. @nice: that is lent, if no SCHED_FIFO is. */
static struct samples sample(pid_t pid, int nice, double duration)
{
	static double when[MAX_SAMPLES], length[MAX_SAMPLES];
	double begin = seconds(), last = begin, now = begin, sum = 0;
	struct samples s = { };
	int n = 0, first = 0;

	while (now < begin + duration && n < MAX_SAMPLES) {
		enum seen seen;

		sleep_ms(1);
		seen = seen_as(pid, nice);
		now = seconds();
		s.share[seen] += now - last;
		when[n] = now;
		length[n] = seen == SEEN_FIFO ? now - last : 0;
		sum += length[n++];
		while (when[first] < now - WINDOW_US / 1e6)
			sum -= length[first++];
		if (sum * 1e3 > s.worst_ms)
			s.worst_ms = sum * 1e3;
		last = now;
	}
	s.took = now - begin;
	for (n = 0; n < NR_SEEN; n++)
		s.share[n] *= 100 / s.took;
	return s;
}

#define LOG_SAMPLES(s)								\
	TH_LOG("of %.1f s: runs as SCHED_FIFO %.1f%%, at most %.1f ms of 100; lent nice %.1f%%", \
	       (s).took, (s).share[SEEN_FIFO], (s).worst_ms, (s).share[SEEN_NICE])

#define MOST_FIFO(us)	(1.5 * 100 * (us) / WINDOW_US + 2)

/* One section after the other, each a new loan. It has a CPU to itself. */
TEST_F_TIMEOUT(g12_budget, budget_of_one_task, 60)
{
	struct attack *a = share(sizeof(*a));
	struct samples s;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	SKIP_WITHOUT_GROUPS();
	EXPECT_CPU_BUDGET();
	/* or the CPU would have the bound */
	set_number("lend_cpu_us", 1000000);
	pin(0);
	ASSERT_TRUE(start_attackers(a, self->fd, self->inner, COMMITTER, 1, 2));
	ASSERT_TRUE(begin_attack(a));
	s = sample(a->pid[0], 100, scaled(4) + 1);
	stop_attack(a);
	unpin();
	LOG_SAMPLES(s);
	/* less would be no loan at all */
	EXPECT_LT(1, s.share[SEEN_FIFO]);
	/* 34 % and more without a budget; a single window says nothing where a CPU is stolen */
	EXPECT_LE(s.share[SEEN_FIFO], 25);
}

/*
 * A reader waits for a mutex with the lock held, then works for half of its budget, again and
 * again. A writer waits for it each time, so it is lent to each time, and no loan alone uses up
 * the budget.
 */
#define HOLDER_FIFO_US	2000

static int sample_holder(int fd, int mutex, struct samples *s)
{
	struct task *holder, *owner, *w;

	pin(0);
	owner = start(mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_SLEEP, .hold_us = 2000,
					   .cpu = 1, .repeat = 1 << 30 });
	holder = start(mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_BUSY,
					    .hold_us = HOLDER_FIFO_US / 2, .cpu = 2,
					    .flags = FCT_OUTER_READ, .outer = fd,
					    .repeat = 1 << 30 });
	w = start(fd, (struct job){ .mode = FCT_WRITE, .nice = -5, .cpu = 1,
				    .repeat = 1 << 30 });
	*s = sample(holder->pid, -5, scaled(4) + 1);
	kill(owner->pid, SIGKILL);
	CHECK(finish(owner) == -SIGKILL);
	kill(holder->pid, SIGKILL);
	CHECK(finish(holder) == -SIGKILL);
	kill(w->pid, SIGKILL);
	CHECK(finish(w) == -SIGKILL);
	unpin();
	return 0;
}

static void expect_nice_beyond(struct __test_metadata *_metadata, int fd, int mutex)
{
	struct samples s;

	ASSERT_EQ(0, sample_holder(fd, mutex, &s));
	LOG_SAMPLES(s);
	EXPECT_LT(0.1, s.share[SEEN_FIFO]);
	/* each loan may go over it until the watcher charges; without a budget it is 27 to 44 % */
	EXPECT_LE(s.share[SEEN_FIFO], 2 * MOST_FIFO(HOLDER_FIFO_US));
	/* without a budget it is 0; how often a loan is made depends on the machine */
	EXPECT_LT(0.5, s.share[SEEN_NICE]);
}

TEST_F_TIMEOUT(g12_budget, what_is_over_gets_nice, 60)
{
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_CPU_BUDGET();
	set_number("lend_fifo_us", HOLDER_FIFO_US);
	set_number("lend_cpu_us", 1000000);
	expect_nice_beyond(_metadata, self->fd, self->inner[0]);
}

/* The same where the CPU's budget is the one that is used up. */
TEST_F_TIMEOUT(g12_budget, what_is_over_for_the_cpu_gets_nice, 60)
{
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_CPU_BUDGET();
	set_number("lend_fifo_us", 1000000);
	set_number("lend_cpu_us", HOLDER_FIFO_US);
	expect_nice_beyond(_metadata, self->fd, self->inner[0]);
}

/* --- parameters ---------------------------------------------------------- */

/* The error of a write to a parameter; 0: it was taken. */
static int error_of(const char *param, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/fscommit/parameters/%s", param);
	errno = 0;
	return put(path, value) ? 0 : errno;
}

static void expect_range(struct __test_metadata *_metadata, const char *param)
{
	static const char * const bad[] = { "99", "1000001", "0", "-1", "4294967396", "x" };
	int i;

	ASSERT_EQ(0, error_of(param, "12345")) {
		TH_LOG("no parameter %s: nothing bounds lent SCHED_FIFO", param);
	}
	for (i = 0; i < (int)(sizeof(bad) / sizeof(bad[0])); i++) {
		EXPECT_EQ(EINVAL, error_of(param, bad[i])) {
			TH_LOG("%s=%s", param, bad[i]);
		}
		EXPECT_EQ(12345, get_number(param));
	}
	EXPECT_EQ(0, error_of(param, "100"));
	EXPECT_EQ(100, get_number(param));
	EXPECT_EQ(0, error_of(param, "1000000"));
	EXPECT_EQ(1000000, get_number(param));
}

TEST_F(g12_budget, parameters_have_ranges)
{
	expect_range(_metadata, "lend_fifo_us");
	expect_range(_metadata, "lend_cpu_us");
}

TEST_HARNESS_MAIN
