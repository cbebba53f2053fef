// SPDX-License-Identifier: GPL-2.0
/*
 * G12: the CPU time that tasks use with a lent priority is bounded for each CPU and for each
 * cgroup, whatever users do. Beyond that, a task has its own priority.
 *
 * A *spender* holds a lock for reading and computes, beside tasks of nice -20 on the same CPU. A
 * writer of nice 0 waits for it. Without the loan it would get the CPU after half a minute: so its
 * CPU time is lent time.
 *
 * Seen failing: the mutants g12-*.
 */
#include "common.h"
#include "counters.h"
#include "priority.h"

NEEDS_MODULES("fscommit_test");

#define CGROUPS		"/sys/fs/cgroup/"
#define GROUP		CGROUPS "g12"
#define MAX_SPENDERS	2
#define BUSY_TASKS	2	/* on each CPU */

static bool set_number(const char *param, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return set_param(param, text);
}

static long get_number(const char *param)
{
	char text[32];

	get_param(param, text, sizeof(text));
	return atol(text);
}

/* CPU seconds that the tasks of a cgroup have used. */
static double cgroup_used(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	return value_of(path, "usage_usec ") / 1e6;
}

#define NO_LIMIT	1000000

static void set_budgets(long cpu_us, long group_us)
{
	set_number("lend_cpu_us", cpu_us);
	set_number("lend_group_us", group_us);
}

/* The test must run beside lent tasks. Tasks that it starts are fair ones. */
static void raise_tester(bool on)
{
	set_policy(on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, on ? 50 : 0);
}

struct spender {
	int fd, cpu;
	const char *procs;		/* of its cgroup; NULL: the root */
	struct task *reader, *writer;
};

FIXTURE(g12_budget) {
	struct spender spender[MAX_SPENDERS];
	pid_t busy[2 * BUSY_TASKS];
	int nr_busy;
	long group_us;
};

FIXTURE_SETUP(g12_budget)
{
	int i;

	setup_lending("1");
	self->group_us = get_number("lend_group_us");
	for (i = 0; i < MAX_SPENDERS; i++) {
		self->spender[i].fd = lock_open(LOCK_TEST_UNFAIR);
		ASSERT_GE(self->spender[i].fd, 0);
	}
	raise_tester(true);
}

static void keep_busy(FIXTURE_DATA(g12_budget) *self, int cpu)
{
	int i;

	for (i = 0; i < BUSY_TASKS; i++) {
		self->busy[self->nr_busy] = start_busy(cpu);
		setpriority(PRIO_PROCESS, self->busy[self->nr_busy++], -20);
	}
}

static void end_busy(FIXTURE_DATA(g12_budget) *self)
{
	while (self->nr_busy)
		kill_pid(self->busy[--self->nr_busy]);
}

FIXTURE_TEARDOWN(g12_budget)
{
	int i;

	raise_tester(false);
	end_busy(self);
	for (i = 0; i < MAX_SPENDERS; i++) {
		struct spender *s = &self->spender[i];

		go(s->fd, 0);
		EXPECT_EQ(0, s->reader ? finish(s->reader) : 0);
		EXPECT_EQ(0, s->writer ? finish(s->writer) : 0);
		EXPECT_EQ(0, state(s->fd).is_locked);
		close(s->fd);
	}
	rmdir(GROUP);
	set_number("lend_group_us", self->group_us);
	restore_lending();
}

/* @hold: what the reader does. Returns false if it is not lent to. */
static bool start_spender(struct spender *s, __u32 hold)
{
	s->reader = start(s->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = hold, .nice = 19,
					       .cpu = s->cpu + 1, .cgroup = s->procs });
	if (!reached(state(s->fd).readers == 1))
		return false;
	s->writer = start(s->fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = s->cpu + 1,
					       .cgroup = s->procs });
	return reached(is_lent(s->reader->pid, 1));
}

#define SKIP_WITHOUT_CGROUPS()							\
	do {									\
		if (!make_cgroup(GROUP) || !put(GROUP "/cpu.max", "max"))	\
			SKIP(return, "needs cgroup v2, and CONFIG_CFS_BANDWIDTH"); \
	} while (0)

/* The loan is suspended when the bucket is full, and resumed when that is half empty. */
TEST_F_TIMEOUT(g12_budget, a_cpu_has_a_bucket, 60)
{
	struct spender *s = &self->spender[0];
	long before = counter("budget_spent");
	int i;

	set_budgets(20000, NO_LIMIT);
	s->cpu = cpus() - 1;
	ASSERT_TRUE(start_spender(s, LOCK_TEST_BUSY_GO));
	keep_busy(self, s->cpu);
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(reached(is_lent(s->reader->pid, 0)));
		EXPECT_TRUE(reached(is_lent(s->reader->pid, 1)));
	}
	EXPECT_LE(before + 3, counter("budget_spent"));
}

/* With the bucket that any other cgroup has, the loan would be suspended after 0.1 ms. */
TEST_F_TIMEOUT(g12_budget, the_root_cgroup_has_no_bucket, 60)
{
	struct spender *s = &self->spender[0];
	char autogroup[8];
	long before;

	/* with it, a session is a group of its own */
	get_line("/proc/sys/kernel/sched_autogroup_enabled", autogroup, sizeof(autogroup));
	put("/proc/sys/kernel/sched_autogroup_enabled", "0");
	set_budgets(NO_LIMIT, 100);
	s->cpu = cpus() - 1;
	ASSERT_TRUE(start_spender(s, LOCK_TEST_BUSY_GO));
	/* the CPU's bucket, full from another test, may have refused it at first */
	before = counter("budget_spent");
	keep_busy(self, s->cpu);
	EXPECT_TRUE(reached(cpu_time(s->reader->pid) > 500000000));
	/* suspended if the fair tasks have had the CPU for 50 ms */
	EXPECT_TRUE(reached(is_lent(s->reader->pid, 1)));
	EXPECT_EQ(before, counter("budget_spent"));
	put("/proc/sys/kernel/sched_autogroup_enabled", autogroup);
}

/* The spender in @other sleeps, so it does not fill its own bucket. */
static bool is_independent(FIXTURE_DATA(g12_budget) *self, const char *procs)
{
	struct spender *busy = &self->spender[0], *other = &self->spender[1];
	bool kept;
	int i;

	other->procs = procs;
	kept = start_spender(other, LOCK_TEST_UNTIL_GO);
	for (i = 0; i < 4 && kept; i++) {
		kept = reached(is_lent(busy->reader->pid, 1)) &&
		       reached(is_lent(busy->reader->pid, 0));
		/* it is suspended for 50 ms */
		sleep_ms(5);
		kept = kept && is_lent(other->reader->pid, 1);
	}
	go(other->fd, 0);
	kept = !finish(other->reader) && !finish(other->writer) && kept;
	*other = (struct spender){ .fd = other->fd };
	return kept;
}

/* Two of 256 may have the same hash: one of two other cgroups will do. */
TEST_F_TIMEOUT(g12_budget, two_cgroups_do_not_share_a_bucket, 60)
{
	bool kept = false;

	SKIP_WITHOUT_CGROUPS();
	self->spender[0].procs = GROUP "/cgroup.procs";
	self->spender[0].cpu = cpus() - 1;
	set_budgets(NO_LIMIT, 50000);
	ASSERT_TRUE(start_spender(&self->spender[0], LOCK_TEST_BUSY_GO));
	keep_busy(self, self->spender[0].cpu);
	if (make_cgroup(CGROUPS "g12_b"))
		kept = is_independent(self, CGROUPS "g12_b/cgroup.procs");
	if (!kept && make_cgroup(CGROUPS "g12_c"))
		kept = is_independent(self, CGROUPS "g12_c/cgroup.procs");
	EXPECT_TRUE(kept);
	rmdir(CGROUPS "g12_b");
	rmdir(CGROUPS "g12_c");
}

#define MEASURE_MS	3000

/*
 * Two spenders in a cgroup that may use 10 % of a CPU. Their budget is 10 % of a CPU, too. A bound
 * that is not kept would be 100 % or more. The margin is for an account that is late. If the host
 * runs this task of a high real-time priority late, it does so with the watcher.
 */
static void expect_within_budget(struct __test_metadata *_metadata,
				 FIXTURE_DATA(g12_budget) *self, int cpu0, int cpu1)
{
	double used, from, woken, late;
	struct spender *s;
	int tries = 0;

	for (s = self->spender; s < self->spender + MAX_SPENDERS; s++) {
		s->cpu = s == self->spender ? cpu0 : cpu1;
		s->procs = GROUP "/cgroup.procs";
		ASSERT_TRUE(start_spender(s, LOCK_TEST_BUSY_GO));
	}
	keep_busy(self, cpu0);
	keep_busy(self, cpu1);
	put(GROUP "/cpu.max", "10000 100000");
	do {
		late = 0;
		used = cgroup_used(GROUP);
		for (from = woken = seconds(); woken < from + MEASURE_MS / 1e3;) {
			double last = woken;

			sleep_ms(1);
			woken = seconds();
			late += woken - last > 0.02 ? woken - last : 0;
		}
		used = (cgroup_used(GROUP) - used) * 100 / (woken - from);
		TH_LOG("the cgroup used %.1f%% of a CPU", used);
	} while (used >= 50 && late > 0.5 && ++tries < 8);
	put(GROUP "/cpu.max", "max");
	if (used >= 50 && late > 0.5)
		SKIP(return, "a busy host: this guest was late for %.1f of 3 s", late);
	EXPECT_LT(1, used);
	EXPECT_GT(50, used);
}

TEST_F_TIMEOUT(g12_budget, two_loans_on_a_cpu_are_bounded, 60)
{
	SKIP_WITHOUT_CGROUPS();
	set_budgets(10000, NO_LIMIT);
	expect_within_budget(_metadata, self, cpus() - 1, cpus() - 1);
}

TEST_F_TIMEOUT(g12_budget, loans_on_two_cpus_are_bounded_for_the_cgroup, 60)
{
	SKIP_ON_ONE_CPU();
	SKIP_WITHOUT_CGROUPS();
	set_budgets(60000, 10000);
	expect_within_budget(_metadata, self, 0, 1);
}

/*
 * The lent task sleeps, and the waiter is a real-time task: only the donors use CPU time. While the
 * bucket is full, there is no new loan.
 */
TEST_F_TIMEOUT(g12_budget, the_time_of_donors_is_charged, 60)
{
	struct spender *s = &self->spender[0];
	long loans = counter("loans"), ended = counter("loans_ended"), before, spent;
	bool refused = false;
	int i;

	set_budgets(100, NO_LIMIT);
	s->reader = hold_until_go(s->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, s->reader);
	for (i = 0; i < 400 && !refused; i++) {
		struct lock_test_op op = {
			.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_TIMEOUT, .timeout_ms = 10,
		};

		ASSERT_REACHED(counter("loans_ended") - ended == counter("loans") - loans);
		before = counter("loans");
		spent = counter("budget_spent");
		EXPECT_EQ(-1, ioctl(s->fd, LOCK_TEST_LOCK, &op));
		/* the bucket may be full from another test: not before the first loan */
		refused = before > loans && counter("loans") == before &&
			  counter("budget_spent") > spent;
	}
	EXPECT_TRUE(refused);
}

/* A reader waits behind a busy SCHED_FIFO task until its loan is suspended. @busy: and others */
static bool starve(FIXTURE_DATA(g12_budget) *self, struct hog *hog, bool busy)
{
	struct spender *s = &self->spender[0];
	long before = counter("no_cpu");
	bool lent;

	raise_tester(false);
	s->reader = start(s->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO,
					       .hold_us = 20000, .nice = 19, .cpu = 2 });
	if (!reached(state(s->fd).readers == 1))
		return false;
	if (busy)
		keep_busy(self, 1);
	*hog = hog_start(1);
	throttle_real_time(true);
	s->writer = start(s->fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 1 });
	lent = reached(is_lent(s->reader->pid, 1));
	return reached(counter("no_cpu") > before) && lent;
}

/*
 * The kernel keeps a small share of the CPU for fair tasks, which a task with a loan of SCHED_FIFO
 * 1 would not get.
 */
TEST_F_TIMEOUT(g12_budget, a_loan_that_brings_no_cpu_pauses, 60)
{
	struct spender *s = &self->spender[0];
	struct hog hog;

	SKIP_ON_ONE_CPU();
	EXPECT_TRUE(starve(self, &hog, false));
	go(s->fd, 0);
	EXPECT_TRUE(reached(atomic_load(&s->writer->done)));
	hog_stop(&hog);
}

/* Also if the task does not get the CPU by itself, when the other one has left that. */
TEST_F_TIMEOUT(g12_budget, the_pause_ends, 60)
{
	struct hog hog;

	SKIP_ON_ONE_CPU();
	EXPECT_TRUE(starve(self, &hog, true));
	hog_stop(&hog);
	EXPECT_TRUE(reached(is_lent(self->spender[0].reader->pid, 1)));
}

TEST_HARNESS_MAIN
