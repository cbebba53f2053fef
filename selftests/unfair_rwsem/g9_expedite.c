// SPDX-License-Identifier: GPL-2.0
/*
 * G9: within an expedited section, each reader that holds the lock and is off its CPU is lent the
 * caller's priority, although the caller does not wait for the lock.
 *
 * The caller, a committer, waits for a mutex. It is killed to end its section, or gets the mutex.
 *
 * Seen failing: the mutants g9-*.
 */
#include "common.h"
#include "lent.h"

NEEDS_MODULES("fscommit_test");

FIXTURE(g9_expedite) { int fd, mutex; struct task *owner; };

FIXTURE_SETUP(g9_expedite)
{
	setup_lending("1");
	self->fd = lock_open(LOCK_TEST_UNFAIR);
	/* a rw_semaphore held for writing; no chain passes through a wait that can be killed */
	self->mutex = lock_open(LOCK_TEST_RWSEM);
	ASSERT_TRUE(self->fd >= 0 && self->mutex >= 0);
	self->owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, self->owner);
}

FIXTURE_TEARDOWN(g9_expedite)
{
	if (!self->owner)
		return;
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(self->owner));
	EXPECT_FALSE(state(self->fd).is_locked || state(self->fd).expedited);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	close(self->fd);
	close(self->mutex);
	restore_lending();
}

#define FAIR(n)	((struct job){ .nice = (n) })

/* A reader that holds the lock, asleep, until go(@id). */
static struct task *reader(int fd, int id, struct job j)
{
	unsigned int before = state(fd).readers;
	struct task *t;

	j.mode = LOCK_TEST_READ;
	j.hold = LOCK_TEST_UNTIL_GO;
	j.id = id;
	t = start(fd, j);
	return reached(state(fd).readers == before + 1 && is_asleep(t)) ? t : NULL;
}

static int end_reader(int fd, int id, struct task *t)
{
	go(fd, id);
	return finish(t);
}

/* A section does not touch the lock in its first lend_period_us: most sections end by then. */
TEST_F_TIMEOUT(g9_expedite, takes_effect_after_a_period, 60)
{
	struct task *c, *r;

	make_biased(self->fd);
	r = reader(self->fd, 0, FAIR(19));
	ASSERT_NE(NULL, r);
	ASSERT_TRUE(set_param("lend_period_us", "60000000"));
	c = committer(self->fd, self->mutex, fifo(33));
	ASSERT_NE(NULL, c);
	/* the timer runs every 100 ms */
	sleep_ms(250);
	EXPECT_EQ(0, state(self->fd).expedited);
	EXPECT_TRUE(state(self->fd).biased);
	EXPECT_TRUE(is_lent(r->pid, 0));
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(reached(state(self->fd).expedited && is_lent(r->pid, 33)));
	EXPECT_EQ(-SIGKILL, kill_task(c));
	/* the reader still holds the lock */
	EXPECT_TRUE(reached(is_lent(r->pid, 0)));
	EXPECT_EQ(0, end_reader(self->fd, 0, r));
}

/* A real-time task keeps the owner of the mutex, a reader, off its CPU. */
TEST_F_TIMEOUT(g9_expedite, committer_gets_the_mutex, 60)
{
	int mutex = lock_open(LOCK_TEST_RWSEM);
	struct task *owner, *c;
	struct hog hog;

	SKIP_ON_ONE_CPU();
	owner = start(mutex, (struct job){ .mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO,
					   .policy = SCHED_RR, .prio = 5, .cpu = 2,
					   .flags = LOCK_TEST_OUTER_READ, .outer = self->fd });
	ASSERT_REACHED(state(mutex).writers == 1 && is_asleep(owner));
	/* SCHED_FIFO 50. The owner is woken, and preempted, within the section */
	hog = hog_start(1);
	c = committer(self->fd, mutex, (struct job){ .policy = SCHED_FIFO, .prio = 60, .cpu = 1 });
	go(mutex, 0);
	EXPECT_TRUE(c && reached(atomic_load(&c->done)));
	hog_stop(&hog);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(owner));
	close(mutex);
}

/*
 * A committer acquires and releases the lock by @j within its section. Then many reads overlap one
 * long read, which would bias the lock without a section: a later reader could hide.
 */
static int lends_after(int fd, struct job j)
{
	struct lock_test_pairs pairs = { .mode = LOCK_TEST_READ, .pairs = 2000 };
	struct task *c, *first, *later;

	j.hold = LOCK_TEST_UNTIL_GO;
	j.policy = SCHED_FIFO;
	j.prio = 33;
	j.flags |= LOCK_TEST_OUTER_EXPEDITE | LOCK_TEST_STAY;
	j.outer = fd;
	set_param("lend_period_us", "1000");
	c = start(fd, j);
	CHECK(reached(state(fd).readers + state(fd).writers == 1 && state(fd).expedited));
	set_param("lend_period_us", "100000");
	go(fd, 0);
	go(fd, 1);
	CHECK(reached(!state(fd).is_locked && is_asleep(c)));
	first = reader(fd, 10, FAIR(0));
	CHECK(first && !ioctl(fd, LOCK_TEST_PAIRS, &pairs));
	later = reader(fd, 11, FAIR(19));
	CHECK(later);
	CHECK(!state(fd).biased);
	CHECK(reached(is_lent(later->pid, 33)));
	CHECK(!end_reader(fd, 10, first) && !end_reader(fd, 11, later));
	go(fd, 2);
	CHECK(!finish(c));
	return 0;
}

TEST_F_TIMEOUT(g9_expedite, lends_after_each_release, 100)
{
	static const struct job jobs[] = {
		{ .mode = LOCK_TEST_WRITE },
		{ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_TRYLOCK },
		{ .mode = LOCK_TEST_WRITE, .flags = LOCK_TEST_DOWNGRADE },
		{ .mode = LOCK_TEST_WRITE, .flags = LOCK_TEST_INNER_SECTION },
		{ .mode = LOCK_TEST_READ },
		{ .mode = LOCK_TEST_READ, .flags = LOCK_TEST_INNER_SECTION },
	};
	unsigned int i;

	/* several times: a look may repair the state of the lock */
	for (i = 0; i < 4 * sizeof(jobs) / sizeof(jobs[0]); i++)
		ASSERT_EQ(0, lends_after(self->fd, jobs[i % 6])) TH_LOG("job %u", i % 6);
}

#define SECTIONS	40	/* more than a look visits at once */

/* Several sections, two of them of the same task: the highest level counts, each ends by itself. */
TEST_F_TIMEOUT(g9_expedite, highest_of_several_sections_counts, 100)
{
	struct task *t[SECTIONS], *high, *nested, *r;
	int i;

	r = reader(self->fd, 0, FAIR(19));
	ASSERT_NE(NULL, r);
	for (i = 0; i < SECTIONS; i++) {
		t[i] = committer(self->fd, self->mutex, fifo(20));
		ASSERT_NE(NULL, t[i]);
	}
	ASSERT_REACHED(is_lent(r->pid, 20));
	/* MAX_RT_PRIO - 1 is the watcher's */
	high = committer(self->fd, self->mutex, fifo(99));
	ASSERT_NE(NULL, high);
	ASSERT_REACHED(is_lent(r->pid, 98));
	EXPECT_EQ(-SIGKILL, kill_task(high));
	ASSERT_REACHED(is_lent(r->pid, 20));
	for (i = 0; i < SECTIONS; i++) {
		EXPECT_EQ(-SIGKILL, kill_task(t[i]));
		if (i == SECTIONS - 2)
			EXPECT_TRUE(is_lent(r->pid, 20));
	}
	EXPECT_TRUE(reached(is_lent(r->pid, 0)));
	EXPECT_FALSE(state(self->fd).expedited);
	/* an inner section begins and ends before the wait in the outer one */
	nested = start(self->mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE, .policy = SCHED_FIFO,
		.prio = 33, .flags = LOCK_TEST_OUTER_EXPEDITE | LOCK_TEST_OUTER_NESTED,
		.outer = self->fd });
	EXPECT_TRUE(reached(is_lent(r->pid, 33)));
	EXPECT_EQ(-SIGKILL, kill_task(nested));
	EXPECT_TRUE(reached(is_lent(r->pid, 0)));
	EXPECT_EQ(0, end_reader(self->fd, 0, r));
}

/* A committer lends its own level, not what it was lent itself for another lock. */
TEST_F_TIMEOUT(g9_expedite, lends_its_own_level_only, 60)
{
	int inner = lock_open(LOCK_TEST_UNFAIR);
	struct task *c, *r, *w;

	r = reader(inner, 0, FAIR(19));
	ASSERT_NE(NULL, r);
	/* it waits for go(fd, 0) before its section of @inner begins */
	c = start(inner, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO,
				       .id = 1, .outer = self->fd,
				       .flags = LOCK_TEST_OUTER_READ | LOCK_TEST_EXPEDITE });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(c));
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					  .prio = 33 });
	ASSERT_REACHED(is_lent(c->pid, 33));
	go(self->fd, 0);
	ASSERT_REACHED(state(inner).readers == 2 && state(inner).expedited);
	EXPECT_TRUE(reached(is_lent(r->pid, 1)));
	EXPECT_TRUE(is_lent(c->pid, 33));
	EXPECT_EQ(0, end_reader(inner, 1, c));
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, end_reader(inner, 0, r));
	close(inner);
}

/* --- equals -------------------------------------------------------------- */

#define CGROUP	"/sys/fs/cgroup/g9"

/*
 * Is a sleeping reader of nice -5 lent @level in a section of @c? @writer: one waits for the lock.
 */
static int equal_is_lent(int fd, int mutex, struct job j, struct job c, bool writer, int level)
{
	struct task *equal, *low, *t, *w = NULL;
	bool lent;

	j.nice = -5;
	equal = reader(fd, 0, j);
	low = reader(fd, 1, FAIR(19));
	t = committer(fd, mutex, c);
	CHECK(equal && low && t);
	if (writer)
		w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE });
	CHECK(reached(level_of(low->pid) > 0));
	if (!level)
		many_looks();
	lent = reached(is_lent(equal->pid, level));
	CHECK(!end_reader(fd, 0, equal) && !end_reader(fd, 1, low));
	CHECK(!w || !finish(w));
	CHECK(kill_task(t) == -SIGKILL);
	return lent;
}

/*
 * A reader of the committer's cgroup and nice value competes for the CPU as the committer does. In
 * another cgroup, no nice value tells what share of the CPU it has.
 */
TEST_F_TIMEOUT(g9_expedite, equals_are_lent_nothing, 60)
{
	const struct job elsewhere = { .cgroup = CGROUP "/cgroup.procs" };
	int fd = self->fd, mutex = self->mutex;

	EXPECT_EQ(1, equal_is_lent(fd, mutex, FAIR(0), FAIR(-5), false, 0));
	EXPECT_EQ(1, equal_is_lent(fd, mutex, FAIR(0), FAIR(-6), false, 1));
	EXPECT_EQ(1, equal_is_lent(fd, mutex, FAIR(0), fifo(33), false, 33));
	/* a writer waits for the reader, whatever its cgroup */
	EXPECT_EQ(1, equal_is_lent(fd, mutex, FAIR(0), FAIR(-5), true, 1));
	make_cgroup(CGROUP);
	if (!access(CGROUP "/cpu.weight", F_OK))
		EXPECT_EQ(1, equal_is_lent(fd, mutex, elsewhere, FAIR(-5), false, 1));
	rmdir(CGROUP);
}

/* --- the committer's own loan --------------------------------------------- */

/* A loan of level 1 to a sleeping reader of another lock. */
static bool begin_other_loan(struct loan *l)
{
	return !begin_loan(l, lock_open(LOCK_TEST_UNFAIR), LOCK_TEST_READ, FAIR(19),
			   (struct job){ .mode = LOCK_TEST_WRITE }, 1);
}

static bool end_other_loan(struct loan *l)
{
	return !end_loan(l) && !close(l->fd);
}

/* Otherwise a lent reader would keep the committer off its CPU. */
TEST_F_TIMEOUT(g9_expedite, committer_has_what_it_lends, 60)
{
	struct loan loan;
	struct task *c, *c2;

	c = committer(self->fd, self->mutex, FAIR(0));
	ASSERT_NE(NULL, c);
	ASSERT_REACHED(state(self->fd).expedited);
	many_looks();
	EXPECT_TRUE(is_lent(c->pid, 0));
	ASSERT_TRUE(begin_other_loan(&loan));
	EXPECT_TRUE(reached(is_lent(c->pid, 1)));
	EXPECT_TRUE(end_other_loan(&loan));
	/* the loans of two committers do not keep each other alive */
	c2 = committer(self->fd, self->mutex, FAIR(0));
	ASSERT_NE(NULL, c2);
	EXPECT_TRUE(reached(is_lent(c->pid, 0)));
	many_looks();
	EXPECT_TRUE(is_lent(c2->pid, 0));
	EXPECT_EQ(-SIGKILL, kill_task(c2));
	EXPECT_EQ(-SIGKILL, kill_task(c));
}

/* A loan for the lock ends with its release, that of the section with the section. */
TEST_F_TIMEOUT(g9_expedite, loans_of_lock_and_section_end_apart, 60)
{
	struct loan loan;
	struct task *w;
	pid_t c;

	ASSERT_TRUE(begin_other_loan(&loan));
	c = start_and_stay(self->fd, (struct job){
		.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO, .outer = self->fd,
		.flags = LOCK_TEST_OUTER_EXPEDITE | LOCK_TEST_STAY });
	ASSERT_REACHED(state(self->fd).writers == 1 && level_of(c) == 1);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					  .prio = 50 });
	ASSERT_REACHED(level_of(c) == 50);
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_TRUE(reached(level_of(c) == 1));
	/* the end of the section ends the loan, no lease */
	ASSERT_TRUE(set_param("lend_period_us", "60000000"));
	sleep_ms(150);
	EXPECT_EQ(1, level_of(c));
	go(self->fd, 2);
	EXPECT_TRUE(reached(!state(self->fd).expedited && !level_of(c)));
	kill_pid(c);
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(end_other_loan(&loan));
}

/* --- begin and end -------------------------------------------------------- */

/* More running tasks in sections than the timer visits at once, then one that waits. */
TEST_F_TIMEOUT(g9_expedite, waiting_committer_lends_beside_running_ones, 100)
{
	int fd2 = lock_open(LOCK_TEST_UNFAIR), i;
	struct task *runs[SECTIONS], *c;

	ASSERT_TRUE(set_param("lend_period_us", "60000000"));
	/* so that those of nice 15 have sections, too */
	ASSERT_TRUE(set_param("lend_nice", "15"));
	for (i = 0; i < SECTIONS; i++)
		runs[i] = start(self->fd, (struct job){
			.mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO, .id = i, .nice = 15,
			.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED(state(self->fd).readers == SECTIONS);
	c = reader(fd2, 0, (struct job){ .flags = LOCK_TEST_OUTER_EXPEDITE, .outer = fd2 });
	ASSERT_NE(NULL, c);
	EXPECT_FALSE(state(self->fd).expedited);
	/* from here on all are due; those that run are put off once */
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(reached(state(fd2).expedited));
	EXPECT_TRUE(reached(state(self->fd).expedited));
	for (i = 0; i < SECTIONS; i++)
		go(self->fd, i);
	for (i = 0; i < SECTIONS; i++)
		EXPECT_EQ(0, finish(runs[i]));
	EXPECT_EQ(0, end_reader(fd2, 0, c));
	ASSERT_TRUE(set_param("lend_nice", "0"));
	close(fd2);
}

/* The semaphore is freed right after its section, which may become active at that moment. */
TEST_F_TIMEOUT(g9_expedite, freed_after_the_section, 60)
{
	struct lock_test_op op = {
		.mode = LOCK_TEST_READ, .hold = LOCK_TEST_SLEEP, .flags = LOCK_TEST_OUTER_EXPEDITE,
	};
	long before, i;

	before = counter("activated");
	ASSERT_TRUE(set_param("lend_period_us", "50"));
	/* a busy host may keep the watcher from its CPU for some time */
	for (i = 0; i < repeats(2000) || (i < 100000 && counter("activated") == before); i++) {
		int fd = lock_open(LOCK_TEST_UNFAIR);

		op.outer = fd;
		op.hold_us = i % 400;
		ASSERT_EQ(0, ioctl(fd, LOCK_TEST_LOCK, &op));
		close(fd);
	}
	EXPECT_LT(before, counter("activated"));
	EXPECT_GT(before + i, counter("activated"));
}

TEST_HARNESS_MAIN
