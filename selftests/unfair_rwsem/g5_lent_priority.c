// SPDX-License-Identifier: GPL-2.0
/*
 * G5: each holder that is off its CPU is lent the level of the most important waiter, until it
 * releases. Seen failing: the mutants g5-*.
 */
#include "common.h"
#include "loan.h"
#include "pi_futex.h"

LENDING_LOCK_FIXTURE(g5_lent_priority, "1")

static const struct job nice19 = { .nice = 19 }, reader = { .mode = LOCK_TEST_READ };
static const struct job writer = { .mode = LOCK_TEST_WRITE };

/* --- which holders get on ------------------------------------------------- */

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

TEST_F_TIMEOUT(g5_lent_priority, preempted_holder_gets_on_beside_a_hog, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, beside_a_hog(self->fd, LOCK_TEST_READ, LOCK_TEST_WRITE));
	EXPECT_EQ(0, beside_a_hog(self->fd, LOCK_TEST_WRITE, LOCK_TEST_WRITE));
	EXPECT_EQ(0, beside_a_hog(self->fd, LOCK_TEST_WRITE, LOCK_TEST_READ));
}

/* The section needs 100 ms of its CPU, which at nice 19 beside four tasks of nice 0 takes 27 s. */
static int beside_busy_tasks(int fd, __u32 holder_mode, __u32 mode)
{
	struct task *holder, *w;
	pid_t busy[4];
	int i, ret;

	holder = start(fd, (struct job){ .mode = holder_mode, .hold = LOCK_TEST_BUSY_GO, .cpu = 1,
					 .hold_us = 100000, .nice = 19 });
	CHECK(reached(state(fd).is_locked));
	for (i = 0; i < 4; i++)
		busy[i] = start_busy(0);
	w = start_waiter(fd, (struct job){ .mode = mode, .how = LOCK_TEST_TIMEOUT,
					   .timeout_ms = 15000 });
	go(fd, 0);
	ret = w ? finish(w) : -__LINE__;
	for (i = 0; i < 4; i++)
		kill_pid(busy[i]);
	CHECK(!finish(holder));
	return ret;
}

TEST_F_TIMEOUT(g5_lent_priority, preempted_holder_gets_on_beside_busy_tasks, 60)
{
	SKIP_ON_ONE_CPU();
	pin(1);
	EXPECT_EQ(0, beside_busy_tasks(self->fd, LOCK_TEST_READ, LOCK_TEST_WRITE));
	EXPECT_EQ(0, beside_busy_tasks(self->fd, LOCK_TEST_WRITE, LOCK_TEST_READ));
	unpin();
}

/* --- the level ------------------------------------------------------------ */

/* A sleeping holder is lent @rt while @waiter waits; 0: it has no loan. Returns 0 if so. */
static int lent_to(int fd, __u32 mode, struct job holder, struct job waiter, int rt)
{
	long loans = counter("loans");
	struct loan l;

	CHECK(!begin(&l, fd, mode, holder, waiter, rt));
	if (!rt) {
		many_looks();
		CHECK(is_lent_nothing(l.holder->pid) && counter("loans") == loans);
	}
	return end(&l);
}

TEST_F_TIMEOUT(g5_lent_priority, level_of_the_waiter, 60)
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

/* The second waiter's priority rises to FIFO 40 after it has queued, and falls again. */
static int second_rises(int fd, struct job first, bool by_pi)
{
	struct job second_job = { .mode = LOCK_TEST_WRITE, .nice = 10 };
	struct task *second;
	struct loan l;
	pid_t boosts = 0;

	second_job.pi_futex = by_pi ? share(sizeof(__u32)) : NULL;
	CHECK(!begin(&l, fd, LOCK_TEST_READ, nice19, first, first.prio));
	second = start_waiter(fd, second_job);
	CHECK(second);
	if (by_pi)
		boosts = start_pi_waiter(second->pid, second_job.pi_futex, 40);
	else
		set_priority(second->pid, SCHED_FIFO, 40);
	CHECK(reached(is_lent_level(l.holder->pid, 40)));
	if (by_pi)
		kill_pid(boosts);
	else
		set_priority(second->pid, SCHED_OTHER, 0);
	CHECK(reached(first.prio ? is_lent_level(l.holder->pid, first.prio) :
				   is_lent_nothing(l.holder->pid)));
	return end(&l) ?: finish(second);
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

/* The first writer becomes nice 19. Then another holder is preempted. */
TEST_F_TIMEOUT(g5_lent_priority, first_waiter_may_fall, 60)
{
	struct task *runs, *second;
	struct hog hog;
	struct loan l;

	SKIP_ON_ONE_CPU();
	runs = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .id = 1, .nice = 19,
					     .hold = LOCK_TEST_UNTIL_GO, .cpu = 2 });
	ASSERT_REACHED(state(self->fd).readers == 1);
	second = start_waiter(self->fd, fifo(40));
	l = (struct loan){ .fd = self->fd, .w = start_waiter(self->fd, fifo(45)), .holder = runs };
	ASSERT_TRUE(second && l.w && reached(is_lent_level(runs->pid, 45)));
	set_priority(l.w->pid, SCHED_OTHER, 0);
	ASSERT_EQ(0, setpriority(PRIO_PROCESS, l.w->pid, 19));
	EXPECT_TRUE(reached(is_lent_level(runs->pid, 40)));
	hog = hog_start(1);
	go(self->fd, 1);
	EXPECT_TRUE(reached(task_state(runs->pid) == 'R' && is_lent_level(runs->pid, 40)));
	hog_stop(&hog);
	EXPECT_EQ(0, end(&l) ?: finish(second));
}

/* --- the end of a loan ---------------------------------------------------- */

/* The holder acquires the lock again, behind the writer. */
TEST_F(g5_lent_priority, release_ends_the_loan)
{
	struct loan l;

	set_bound(self->fd, 0);
	ASSERT_EQ(0, begin(&l, self->fd, LOCK_TEST_READ,
			   (struct job){ .nice = 19, .repeat = 2 }, writer, 1));
	no_passes();
	go(self->fd, 0);
	ASSERT_REACHED(task_state(l.w->pid) == 'Z' && state(self->fd).readers == 1);
	EXPECT_TRUE(is_lent_nothing(l.holder->pid));
	EXPECT_EQ(0, end(&l));
}

TEST_F(g5_lent_priority, downgrade_ends_the_loan)
{
	struct loan l;

	ASSERT_EQ(0, begin(&l, self->fd, LOCK_TEST_WRITE,
			   (struct job){ .nice = 19, .flags = LOCK_TEST_DOWNGRADE }, reader, 1));
	no_passes();
	go(self->fd, 0);
	ASSERT_REACHED(task_state(l.w->pid) == 'Z' && is_asleep(l.holder));
	EXPECT_TRUE(is_lent_nothing(l.holder->pid));
	go(self->fd, 1);
	EXPECT_EQ(0, end(&l));
}

TEST_F(g5_lent_priority, loan_follows_the_waiters_that_are_left)
{
	struct task *w2;
	struct loan l;

	ASSERT_EQ(0, begin(&l, self->fd, LOCK_TEST_READ, nice19, fifo(20), 20));
	w2 = start_waiter(self->fd, fifo(30));
	ASSERT_REACHED(is_lent_level(l.holder->pid, 30));
	EXPECT_EQ(-SIGKILL, kill_task(w2));
	EXPECT_TRUE(reached(is_lent_level(l.holder->pid, 20)));
	kill(l.w->pid, SIGKILL);
	EXPECT_TRUE(reached(is_lent_nothing(l.holder->pid)));
	EXPECT_EQ(-SIGKILL, end(&l));
}

/* A task that holds two locks keeps the loan for the outer one when it downgrades the inner one. */
TEST_F(g5_lent_priority, each_lock_has_a_loan_of_its_own)
{
	int level, inner = lock_open(LOCK_TEST_UNFAIR);
	const struct job holder = {
		.nice = 19, .flags = LOCK_TEST_OUTER_READ | LOCK_TEST_DOWNGRADE, .outer = self->fd
	};
	struct task *w;
	struct loan l;

	for (level = 10; level <= 30; level += 20) {
		ASSERT_EQ(0, begin(&l, inner, LOCK_TEST_WRITE, holder, (struct job){
			.mode = LOCK_TEST_READ, .policy = SCHED_FIFO, .prio = level }, level));
		w = start_waiter(self->fd, fifo(20));
		ASSERT_TRUE(w && reached(is_lent_level(l.holder->pid, level > 20 ? level : 20)));
		no_passes();
		go(inner, 0);
		ASSERT_REACHED(task_state(l.w->pid) == 'Z' && is_asleep(l.holder));
		EXPECT_TRUE(is_lent_level(l.holder->pid, 20));
		ASSERT_TRUE(set_param("lend_period_us", "300"));
		go(inner, 1);
		EXPECT_EQ(0, end(&l) ?: finish(w));
		/* end() has left a go() for no task */
		close(inner);
		inner = lock_open(LOCK_TEST_UNFAIR);
	}
	close(inner);
}

/* --- lend=0 and the lock's own setting ------------------------------------ */

#define LOANS	8

TEST_F(g5_lent_priority, lend_0_ends_all_loans)
{
	struct task *r[LOANS], *w;
	double began;

	ASSERT_TRUE(start_readers(self->fd, r, LOANS));
	w = start_waiter(self->fd, fifo(40));
	ASSERT_REACHED(count_lent(r, LOANS, 40) == LOANS);
	no_passes();
	began = seconds();
	ASSERT_TRUE(set_param("lend", "0"));
	EXPECT_TRUE(reached(count_lent(r, LOANS, 40) == 0));
	TH_LOG("%d loans ended within %.1f ms", LOANS, (seconds() - began) * 1e3);
	end_readers(r, LOANS);
	EXPECT_EQ(0, finish(w));
}

/* The holder and all donors have only the CPU that a hog has. */
TEST_F_TIMEOUT(g5_lent_priority, lend_0_needs_no_donor_that_runs, 60)
{
	struct hog hog;
	struct loan l;
	double began;

	SKIP_ON_ONE_CPU();
	ASSERT_EQ(0, begin(&l, self->fd, LOCK_TEST_READ, (struct job){ .nice = 19, .cpu = 2 },
			   fifo(40), 40));
	hog = hog_start(1);
	pin_donors(1);
	go(self->fd, 0);
	EXPECT_TRUE(reached(task_state(l.holder->pid) == 'R'));
	EXPECT_TRUE(is_lent_level(l.holder->pid, 40));
	began = seconds();
	ASSERT_TRUE(set_param("lend", "0"));
	EXPECT_TRUE(reached(is_lent_nothing(l.holder->pid)));
	TH_LOG("the loan ended within %.1f ms", (seconds() - began) * 1e3);
	hog_stop(&hog);
	pin_donors(ALL_CPUS);
	EXPECT_EQ(0, end(&l));
}

/* The lock's own setting cannot switch on what the module parameter switches off. */
TEST_F_TIMEOUT(g5_lent_priority, a_lock_may_be_exempt, 60)
{
	int other = lock_open(LOCK_TEST_UNFAIR);
	struct loan l, l2;

	ASSERT_EQ(0, begin(&l, self->fd, LOCK_TEST_READ, nice19, fifo(40), 40));
	ASSERT_EQ(0, begin(&l2, other, LOCK_TEST_READ, nice19, fifo(40), 40));
	set_lend(self->fd, 0);
	EXPECT_TRUE(reached(is_lent_nothing(l.holder->pid)));
	EXPECT_TRUE(is_lent_level(l2.holder->pid, 40));
	ASSERT_TRUE(set_param("lend", "0"));
	set_lend(self->fd, 1);
	EXPECT_TRUE(reached(is_lent_nothing(l2.holder->pid)));
	many_looks();
	EXPECT_TRUE(is_lent_nothing(l.holder->pid));
	ASSERT_TRUE(set_param("lend", "1"));
	EXPECT_TRUE(reached(is_lent_level(l.holder->pid, 40)));
	EXPECT_EQ(0, end(&l) ?: end(&l2));
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

TEST_F(g5_lent_priority, cpu_goes_offline_during_a_loan)
{
	const char *online = "/sys/devices/system/cpu/cpu1/online";
	struct loan l;

	if (cpus() < 2 || access(online, W_OK))
		SKIP(return, "no CPU to unplug");
	pin_donors(1);
	ASSERT_EQ(0, begin(&l, self->fd, LOCK_TEST_READ, (struct job){ .nice = 19, .cpu = 2 },
			   fifo(40), 40));
	EXPECT_TRUE(put(online, "0"));
	EXPECT_TRUE(reached(is_lent_level(l.holder->pid, 40)));
	EXPECT_EQ(0, end(&l));
	EXPECT_TRUE(put(online, "1"));
	pin_donors(ALL_CPUS);
}

/* --- a lent task in user space -------------------------------------------- */

struct owner {
	int prio, child_prio;
	__u32 futex;
};

static void be_owner(int mutex, struct owner *o)
{
	struct lock_test_op op = { .mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO };

	prepare(&nice19);
	ioctl(mutex, LOCK_TEST_LOCK, &op);
	if (!fork()) {
		o->child_prio = effective_prio(getpid());
		_exit(0);
	}
	o->prio = effective_prio(getpid());
	pi_lock(&o->futex);
	_exit(0);
}

/*
 * A mutex of the kernel blocks a holder. When its owner releases it, the loan of the owner does not
 * end: only the end of the lease does. So the owner has it in user space for a while. It forks, and
 * then waits for a futex.
 */
TEST_F(g5_lent_priority, child_has_no_loan_but_owner_of_a_pi_futex_has)
{
	int fd = self->fd, mutex = lock_open(LOCK_TEST_MUTEX), other = lock_open(LOCK_TEST_UNFAIR);
	struct owner *o = share(sizeof(*o));
	struct task *holder, *w, *t;
	pid_t pid;

	if (!has_mutex_links() || !has_pi_futexes())
		SKIP(return, "needs PI futexes and a kernel that shows the owners of mutexes");
	t = hold_until_go(other, LOCK_TEST_READ, (struct job){ .nice = 19, .pi_futex = &o->futex });
	ASSERT_NE(NULL, t);
	fflush(NULL);
	pid = fork();
	if (!pid)
		be_owner(mutex, o);
	ASSERT_REACHED(state(mutex).writers == 1);
	holder = start(mutex, (struct job){ .mode = LOCK_TEST_READ, .nice = 19,
					    .flags = LOCK_TEST_OUTER_READ, .outer = fd });
	ASSERT_REACHED(state(fd).readers == 1 && is_asleep(holder));
	w = start_waiter(fd, fifo(30));
	ASSERT_REACHED(is_lent_level(pid, 30));
	no_passes();
	go(mutex, 0);
	EXPECT_TRUE(reached(is_lent_level(t->pid, 30)));
	EXPECT_EQ(-31, o->prio);
	EXPECT_TRUE(reached(o->child_prio));
	EXPECT_EQ(39, o->child_prio);
	/* the lease ends */
	ASSERT_TRUE(set_param("lend_period_us", "300"));
	EXPECT_TRUE(reached(is_lent_nothing(t->pid)));
	go(other, 0);
	EXPECT_EQ(0, finish(t) ?: finish(holder) ?: finish(w));
	waitpid(pid, NULL, 0);
	close(mutex);
	close(other);
}

TEST_HARNESS_MAIN
