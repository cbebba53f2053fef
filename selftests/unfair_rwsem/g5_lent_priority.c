// SPDX-License-Identifier: GPL-2.0
/*
 * G5: each holder that is off its CPU is lent the level of the most important waiter, until it
 * releases. Seen failing: the mutants g5-*.
 */
#include <dirent.h>

#include "common.h"
#include "lent.h"
#include "pi_futex.h"

NEEDS_MODULES("fscommit_test");

LENDING_LOCK_FIXTURE(g5_lent_priority, "1")

static const struct job nice19 = { .nice = 19 }, reader = { .mode = LOCK_TEST_READ };
static const struct job writer = { .mode = LOCK_TEST_WRITE };

/*
 * The holder is woken while a task of SCHED_FIFO 50 has its CPU. Its own real-time priority is low:
 * so it never runs unless it is lent more. Returns the waiter's result.
 */
static int beside_a_hog(int fd, __u32 holder_mode, __u32 mode)
{
	struct task *holder;
	struct hog hog;
	int ret;

	holder = hold_until_go(fd, holder_mode,
			       (struct job){ .policy = SCHED_RR, .prio = 5, .cpu = 2 });
	CHECK(holder);
	hog = hog_start(1);
	go(fd, 0);
	ret = finish(start(fd, (struct job){ .mode = mode, .how = LOCK_TEST_TIMEOUT, .cpu = 1,
					     .timeout_ms = 20000, .policy = SCHED_FIFO,
					     .prio = 60 }));
	hog_stop(&hog);
	CHECK(!finish(holder));
	return ret;
}

TEST_F_TIMEOUT(g5_lent_priority, preempted_holder_runs_beside_a_hog, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, beside_a_hog(self->fd, LOCK_TEST_READ, LOCK_TEST_WRITE));
	EXPECT_EQ(0, beside_a_hog(self->fd, LOCK_TEST_WRITE, LOCK_TEST_WRITE));
	EXPECT_EQ(0, beside_a_hog(self->fd, LOCK_TEST_WRITE, LOCK_TEST_READ));
}

/* --- the level ------------------------------------------------------------ */

/* A sleeping holder is lent @rt while @waiter waits; 0: it has no loan. Returns 0 if so. */
static int lent_to(int fd, __u32 mode, struct job holder, struct job waiter, int rt)
{
	long loans = counter("loans");
	struct loan l;

	CHECK(!begin_loan(&l, fd, mode, holder, waiter, rt));
	if (!rt) {
		many_looks();
		CHECK(is_lent(l.holder->pid, 0) && counter("loans") == loans);
	}
	return end_loan(&l);
}

TEST_F_TIMEOUT(g5_lent_priority, level_follows_the_waiter, 60)
{
	static const struct {
		const char *lend_nice;
		struct job waiter;
		int rt;
		struct job holder;
	} rows[] = {
		{ "0", { .nice = 0 }, 1, { .nice = 19 } },
		{ "0", { .nice = -20 }, 1, { .policy = SCHED_IDLE, .nice = 5 } },
		{ "0", { .nice = 0 }, 1, { .nice = -20 } },
		{ "0", { .nice = 1 }, 0, { .nice = 19 } },
		{ "10", { .nice = 10 }, 1, { .nice = 19 } },
		{ "10", { .nice = 11 }, 0, { .nice = 19 } },
		{ "19", { .policy = SCHED_BATCH, .nice = 19 }, 1, { .nice = 19 } },
		{ "19", { .policy = SCHED_IDLE }, 0, { .nice = 19 } },
		{ "-21", { .nice = -20 }, 0, { .nice = 19 } },
		{ "-21", { .policy = SCHED_FIFO, .prio = 1 }, 1, { .nice = 19 } },
		{ "0", { .policy = SCHED_RR, .prio = 60 }, 60, { .policy = SCHED_RR, .prio = 7 } },
		{ "0", { .policy = SCHED_RR, .prio = 40 }, 0, { .policy = SCHED_RR, .prio = 50 } },
		{ "0", { .policy = SCHED_FIFO, .prio = 40 }, 0, { .policy = SCHED_DEADLINE } },
		/* 99 is the watcher's: it must be able to end a loan */
		{ "0", { .policy = SCHED_FIFO, .prio = 99 }, 98, { .nice = 19 } },
		{ "0", { .policy = SCHED_DEADLINE }, 98, { .nice = 19 } },
	};
	int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job w = rows[i].waiter;

		ASSERT_TRUE(set_param("lend_nice", rows[i].lend_nice));
		w.mode = LOCK_TEST_WRITE;
		EXPECT_EQ(0, lent_to(self->fd, LOCK_TEST_READ, rows[i].holder, w, rows[i].rt))
			TH_LOG("a reader, row %d", i);
		w.mode = i % 2 ? LOCK_TEST_READ : LOCK_TEST_WRITE;
		EXPECT_EQ(0, lent_to(self->fd, LOCK_TEST_WRITE, rows[i].holder, w, rows[i].rt))
			TH_LOG("an owner, row %d", i);
	}
	set_param("lend_nice", "0");
}

/* --- any waiter counts ---------------------------------------------------- */

static void set_priority(pid_t pid, int policy, int rt)
{
	struct sched_param p = { .sched_priority = rt };

	sched_setscheduler(pid, policy, &p);
}

/* The second waiter's priority rises to FIFO 40 after it has queued, and falls again. */
static int second_rises(int fd, struct job first, bool by_pi)
{
	struct job second_job = { .mode = LOCK_TEST_WRITE, .nice = 10 };
	struct task *second;
	struct loan l;
	pid_t boosts = 0;

	second_job.pi_futex = by_pi ? share(sizeof(__u32)) : NULL;
	CHECK(!begin_loan(&l, fd, LOCK_TEST_READ, nice19, first, first.prio));
	second = start_waiter(fd, second_job);
	CHECK(second);
	if (by_pi)
		boosts = start_pi_waiter(second->pid, second_job.pi_futex, 40);
	else
		set_priority(second->pid, SCHED_FIFO, 40);
	CHECK(reached(is_lent(l.holder->pid, 40)));
	if (by_pi)
		kill_pid(boosts);
	else
		set_priority(second->pid, SCHED_OTHER, 0);
	CHECK(reached(first.prio ? is_lent(l.holder->pid, first.prio) :
				   is_lent(l.holder->pid, 0)));
	return end_loan(&l) ?: finish(second);
}

TEST_F_TIMEOUT(g5_lent_priority, any_waiter_counts, 60)
{
	const struct job nice10 = { .mode = LOCK_TEST_WRITE, .nice = 10 };
	int by_pi;

	for (by_pi = 0; by_pi <= has_pi_futexes(); by_pi++) {
		EXPECT_EQ(0, second_rises(self->fd, nice10, by_pi));
		EXPECT_EQ(0, second_rises(self->fd, fifo(1), by_pi));
	}
}

/* --- the end of a loan ---------------------------------------------------- */

/* The holder acquires the lock again, behind the writer. */
TEST_F(g5_lent_priority, release_ends_the_loan)
{
	struct loan l;

	set_bound(self->fd, 0);
	ASSERT_EQ(0, begin_loan(&l, self->fd, LOCK_TEST_READ,
			   (struct job){ .nice = 19, .repeat = 2 }, writer, 1));
	no_passes();
	go(self->fd, 0);
	ASSERT_REACHED(task_state(l.w->pid) == 'Z' && state(self->fd).readers == 1);
	EXPECT_TRUE(is_lent(l.holder->pid, 0));
	EXPECT_EQ(0, end_loan(&l));
}

TEST_F(g5_lent_priority, downgrade_ends_the_loan)
{
	struct loan l;

	ASSERT_EQ(0, begin_loan(&l, self->fd, LOCK_TEST_WRITE,
			   (struct job){ .nice = 19, .flags = LOCK_TEST_DOWNGRADE }, reader, 1));
	no_passes();
	go(self->fd, 0);
	ASSERT_REACHED(task_state(l.w->pid) == 'Z' && is_asleep(l.holder));
	EXPECT_TRUE(is_lent(l.holder->pid, 0));
	go(self->fd, 1);
	EXPECT_EQ(0, end_loan(&l));
}

TEST_F(g5_lent_priority, loan_follows_the_waiters_that_are_left)
{
	struct task *w2;
	struct loan l;

	ASSERT_EQ(0, begin_loan(&l, self->fd, LOCK_TEST_READ, nice19, fifo(20), 20));
	w2 = start_waiter(self->fd, fifo(30));
	ASSERT_REACHED(is_lent(l.holder->pid, 30));
	EXPECT_EQ(-SIGKILL, kill_task(w2));
	EXPECT_TRUE(reached(is_lent(l.holder->pid, 20)));
	kill(l.w->pid, SIGKILL);
	EXPECT_TRUE(reached(is_lent(l.holder->pid, 0)));
	EXPECT_EQ(-SIGKILL, end_loan(&l));
}

/* A task that holds two locks keeps the loan for the outer one when it downgrades the inner one. */
TEST_F(g5_lent_priority, each_lock_has_a_loan_of_its_own)
{
	int level, inner = lock_open(LOCK_TEST_UNFAIR);
	const struct job holder = {
		.nice = 19, .flags = LOCK_TEST_OUTER_READ | LOCK_TEST_DOWNGRADE, .outer = self->fd
	};
	struct task *h, *w, *r;

	for (level = 10; level <= 30; level += 20) {
		h = hold_until_go(inner, LOCK_TEST_WRITE, holder);
		w = start_waiter(self->fd, fifo(20));
		ASSERT_TRUE(h && w && reached(is_lent(h->pid, 20)));
		r = start_waiter(inner, (struct job){
			.mode = LOCK_TEST_READ, .policy = SCHED_FIFO, .prio = level });
		ASSERT_TRUE(r && reached(is_lent(h->pid, level > 20 ? level : 20)));
		/* the loan of level 10 does not show */
		many_looks();
		no_passes();
		go(inner, 0);
		ASSERT_REACHED(task_state(r->pid) == 'Z' && is_asleep(h));
		EXPECT_TRUE(reached(is_lent(h->pid, 20)));
		ASSERT_TRUE(set_param("lend_period_us", "300"));
		go(inner, 1);
		EXPECT_EQ(0, finish(h) ?: finish(r) ?: finish(w));
	}
	close(inner);
}

/* --- lend=0 and the lock's own setting ------------------------------------ */

#define LOANS	8

/* Starts sleeping readers one after another, so that each of them gets a slot. */
static bool start_readers(int fd, struct task **r, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .nice = 19,
					       .hold = LOCK_TEST_UNTIL_GO });
		if (!reached(state(fd).readers == i + 1 && is_asleep(r[i])))
			return false;
	}
	return true;
}

static int count_lent(struct task **r, int nr, int rt)
{
	int i, n = 0;

	for (i = 0; i < nr; i++)
		n += is_lent(r[i]->pid, rt);
	return n;
}

/* A killed task releases the lock. */
static void end_readers(struct task **r, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		kill_task(r[i]);
}

#define ALL_CPUS	-1
#define NO_CHANGE	-2

/* Pins all donors to @cpu. Returns their number. */
static int pin_donors(int cpu)
{
	DIR *dir = opendir("/proc");
	char path[300], name[32];
	struct dirent *e;
	cpu_set_t set;
	int n = 0;

	CPU_ZERO(&set);
	if (cpu >= 0)
		CPU_SET(cpu, &set);
	else
		memset(&set, 0xff, sizeof(set));
	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		get_line(path, name, sizeof(name));
		if (strncmp(name, "fscommit_d/", 11))
			continue;
		n++;
		if (cpu != NO_CHANGE)
			sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
	}
	if (dir)
		closedir(dir);
	return n;
}

TEST_F(g5_lent_priority, lend_0_ends_all_loans)
{
	struct task *r[LOANS], *w;

	ASSERT_TRUE(start_readers(self->fd, r, LOANS));
	w = start_waiter(self->fd, fifo(40));
	ASSERT_REACHED(count_lent(r, LOANS, 40) == LOANS);
	no_passes();
	ASSERT_TRUE(set_param("lend", "0"));
	EXPECT_TRUE(reached(count_lent(r, LOANS, 40) == 0));
	end_readers(r, LOANS);
	EXPECT_EQ(0, finish(w));
}

/* The holder and all donors have only the CPU that a hog has. */
TEST_F_TIMEOUT(g5_lent_priority, lend_0_needs_no_donor_that_runs, 60)
{
	struct hog hog;
	struct loan l;

	SKIP_ON_ONE_CPU();
	ASSERT_EQ(0, begin_loan(&l, self->fd, LOCK_TEST_READ, (struct job){ .nice = 19, .cpu = 2 },
			   fifo(40), 40));
	hog = hog_start(1);
	pin_donors(1);
	go(self->fd, 0);
	/* after 50 ms without a CPU, it is suspended, for 2 s */
	EXPECT_TRUE(reached(task_state(l.holder->pid) == 'R' && is_lent(l.holder->pid, 40)));
	ASSERT_TRUE(set_param("lend", "0"));
	EXPECT_TRUE(reached(is_lent(l.holder->pid, 0)));
	hog_stop(&hog);
	pin_donors(ALL_CPUS);
	EXPECT_EQ(0, end_loan(&l));
}

/* The lock's own setting cannot switch on what the module parameter switches off. */
TEST_F_TIMEOUT(g5_lent_priority, a_lock_may_be_exempt, 60)
{
	int other = lock_open(LOCK_TEST_UNFAIR);
	struct loan l, l2;

	ASSERT_EQ(0, begin_loan(&l, self->fd, LOCK_TEST_READ, nice19, fifo(40), 40));
	ASSERT_EQ(0, begin_loan(&l2, other, LOCK_TEST_READ, nice19, fifo(40), 40));
	set_lend(self->fd, 0);
	EXPECT_TRUE(reached(is_lent(l.holder->pid, 0)));
	EXPECT_TRUE(is_lent(l2.holder->pid, 40));
	ASSERT_TRUE(set_param("lend", "0"));
	set_lend(self->fd, 1);
	EXPECT_TRUE(reached(is_lent(l2.holder->pid, 0)));
	many_looks();
	EXPECT_TRUE(is_lent(l.holder->pid, 0));
	ASSERT_TRUE(set_param("lend", "1"));
	EXPECT_TRUE(reached(is_lent(l.holder->pid, 40)));
	EXPECT_EQ(0, end_loan(&l) ?: end_loan(&l2));
	close(other);
}

/* --- donors --------------------------------------------------------------- */

/* More than the 64 slots of the lock's own region. The module keeps eight donors. */
#define MANY	80

TEST_F_TIMEOUT(g5_lent_priority, many_readers_are_lent_to, 100)
{
	struct task *r[MANY], *w;
	int round, i;

	ASSERT_TRUE(set_param("lend_donors", "256"));
	for (round = 0; round < 2; round++) {
		ASSERT_TRUE(start_readers(self->fd, r, MANY));
		w = start_waiter(self->fd, fifo(40));
		EXPECT_TRUE(reached(count_lent(r, MANY, 40) == MANY))
			TH_LOG("%d of %d are lent to", count_lent(r, MANY, 40), MANY);
		EXPECT_GE(pin_donors(NO_CHANGE), MANY);
		end_readers(r, MANY);
		EXPECT_EQ(0, finish(w));
		/* the module looks for unused ones each 10 s */
		for (i = 0; i < 120 && !round && pin_donors(NO_CHANGE) > 16; i++)
			sleep_ms(500);
		EXPECT_TRUE(round || pin_donors(NO_CHANGE) <= 16);
	}
	set_param("lend_donors", "64");
}

TEST_F(g5_lent_priority, without_a_donor_there_is_no_loan)
{
	struct task *r[2], *w;
	long before;

	ASSERT_TRUE(set_param("lend_donors", "1"));
	before = counter("no_donor");
	ASSERT_TRUE(start_readers(self->fd, r, 2));
	w = start_waiter(self->fd, fifo(40));
	EXPECT_TRUE(reached(counter("no_donor") > before && count_lent(r, 2, 40) == 1));
	many_looks();
	EXPECT_EQ(1, count_lent(r, 2, 40));
	ASSERT_TRUE(set_param("lend_donors", "64"));
	EXPECT_TRUE(reached(count_lent(r, 2, 40) == 2));
	end_readers(r, 2);
	EXPECT_EQ(0, finish(w));
}

TEST_HARNESS_MAIN
