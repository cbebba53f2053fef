// SPDX-License-Identifier: GPL-2.0
/*
 * G9: between unfair_rwsem_expedite() and unfair_rwsem_unexpedite(), each reader that
 * is off its CPU is lent the caller's priority, though the caller waits for something
 * else.
 *
 * A committer waits for a mutex. Its owner is a reader of the expedited lock and is
 * kept off its CPU by a real-time task.
 *
 * Seen failing: the mutants g9-* and g5-never-lends.
 */
#include "common.h"
#include "kernel_log.h"

FIXTURE(g9_expedite) { int fd, mutex; };

FIXTURE_SETUP(g9_expedite)
{
	if (access("/dev/fscommit_test", F_OK))
		SKIP(return, "no /dev/fscommit_test: insmod fscommit_test.ko");
	if (geteuid())
		SKIP(return, "needs root");
	setup_lending("3");
	self->fd = lock_open(FCT_UNFAIR);
	ASSERT_GE(self->fd, 0);
	/* held for writing, an rw_semaphore is a mutex */
	self->mutex = lock_open(FCT_RWSEM);
	ASSERT_GE(self->mutex, 0);
}

FIXTURE_TEARDOWN(g9_expedite)
{
	EXPECT_EQ(0, state(self->fd).is_locked);
	EXPECT_EQ(0, state(self->fd).is_contended);
	EXPECT_EQ(0, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
	close(self->fd);
	close(self->mutex);
	restore_lending();
}

static bool has_fifo(const struct task *t, int prio)
{
	struct sched_param p = { };

	return (sched_getscheduler(t->pid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO &&
	       !sched_getparam(t->pid, &p) && p.sched_priority == prio;
}

static bool has_own(const struct task *t)
{
	return sched_getscheduler(t->pid) == SCHED_OTHER;
}

static struct task *reader_with_mutex(int fd, int mutex, struct job j)
{
	struct task *t;

	j.mode = FCT_WRITE;
	j.hold = FCT_UNTIL_GO;
	j.flags = FCT_OUTER_READ;
	j.outer = fd;
	t = start(mutex, j);
	return reached(state(mutex).writers == 1 && state(fd).readers == 1 && is_asleep(t)) ?
	       t : NULL;
}

static struct task *committer(int fd, int mutex, int prio, bool expedite)
{
	return start(mutex, (struct job){
		.mode = FCT_WRITE, .how = FCT_KILLABLE, .policy = SCHED_FIFO, .prio = prio,
		.cpu = 1, .flags = expedite ? FCT_OUTER_EXPEDITE : 0, .outer = fd });
}

/* Does the committer get the mutex while a real-time task has its owner's CPU? */
static int stuck_on_a_mutex(int fd, int mutex, bool expedite)
{
	struct task *reader, *c;
	struct hog hog;
	bool got_it;
	double end;

	reader = reader_with_mutex(fd, mutex, (struct job){ .policy = SCHED_RR, .prio = 5,
							    .cpu = 2 });
	CHECK(reader);
	hog = hog_start(1);
	/* asleep when the section begins, woken and preempted in it */
	c = committer(fd, mutex, 60, expedite);
	CHECK(reached(state(mutex).acquiring_writers == 1 && is_asleep(c)));
	go(mutex, 0);
	end = seconds() + 0.4;
	while (!atomic_load(&c->done) && seconds() < end)
		sched_yield();
	got_it = atomic_load(&c->done);
	hog_stop(&hog);
	CHECK(!finish(c));
	CHECK(!finish(reader));
	return got_it;
}

TEST_F_TIMEOUT(g9_expedite, committer_on_a_mutex, 60)
{
	int got_it = 0, i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	/* a host that is busy may have kept the guest's other CPU */
	for (i = 0; i < 3 && !got_it; i++)
		got_it = stuck_on_a_mutex(self->fd, self->mutex, true);
	EXPECT_EQ(1, got_it);
	/* where an rw_semaphore inherits priority, it does without */
	if (!kernel_is_rt())
		EXPECT_EQ(0, stuck_on_a_mutex(self->fd, self->mutex, false));
}

/* One that comes in later is lent to as well; one that leaves has given back. */
TEST_F_TIMEOUT(g9_expedite, readers_that_come_later, 60)
{
	struct task *owner, *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = start(self->mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	c = committer(self->fd, self->mutex, 33, true);
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).acquiring_writers == 1);
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(has_fifo(r, 33));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	/* the section has ended, the reader is still in */
	EXPECT_TRUE(has_own(r));
	EXPECT_EQ(19, getpriority(PRIO_PROCESS, r->pid));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	EXPECT_EQ(0, finish(owner));
	set_param("lend_fifo_us", "10000");
}

/* What ends an inner section leaves the outer one. */
TEST_F_TIMEOUT(g9_expedite, sections_nest, 60)
{
	struct task *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	c = start(self->mutex, (struct job){ .mode = FCT_WRITE, .policy = SCHED_FIFO, .prio = 33,
		.hold = FCT_UNTIL_GO, .flags = FCT_OUTER_EXPEDITE | FCT_OUTER_NESTED,
		.outer = self->fd });
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).writers == 1);
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(has_fifo(r, 33));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_TRUE(has_own(r));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	set_param("lend_fifo_us", "10000");
}

/* What a committer was lent itself, on account of another lock, ends with that one. */
TEST_F_TIMEOUT(g9_expedite, lends_its_own_priority_only, 60)
{
	struct task *c, *r, *w;
	int inner = lock_open(FCT_UNFAIR);

	ASSERT_GE(inner, 0);
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	r = start(inner, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(state(inner).readers == 1 && is_asleep(r));
	c = start(inner, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = 1,
				       .flags = FCT_OUTER_READ | FCT_EXPEDITE,
				       .outer = self->fd });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(c));
	w = start(self->fd, (struct job){ .mode = FCT_WRITE, .policy = SCHED_FIFO, .prio = 33 });
	ASSERT_REACHED(has_fifo(c, 33));
	go(self->fd, 0);
	ASSERT_REACHED(state(inner).readers == 2 && is_asleep(c));
	EXPECT_TRUE(reached(has_fifo(r, 1)));
	EXPECT_TRUE(has_fifo(c, 33));
	go(inner, 1);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(w));
	EXPECT_TRUE(has_own(r));
	go(inner, 0);
	EXPECT_EQ(0, finish(r));
	set_param("lend_fifo_us", "10000");
	close(inner);
}

/* So many sections at once, of three levels: the highest counts, and each ends by itself. */
#define SECTIONS	300

TEST_F_TIMEOUT(g9_expedite, many_sections, 100)
{
	static const int prio[] = { 30, 50, 40 }, next[] = { -1, 40, 30 };
	static const int order[] = { 1, 2, 0 };
	int nr = scaled(2 * SECTIONS) < SECTIONS ? scaled(2 * SECTIONS) : SECTIONS, i, j;
	static struct task *t[SECTIONS];
	struct task *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	for (i = 0; i < nr; i++)
		t[i] = start(self->mutex, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO,
			.how = FCT_KILLABLE, .policy = SCHED_FIFO, .prio = prio[i % 3],
			.flags = FCT_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED((int)state(self->mutex).readers == nr);
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(has_fifo(r, 50));
	for (j = 0; j < 3; j++) {
		for (i = order[j]; i < nr; i += 3) {
			EXPECT_TRUE(has_fifo(r, prio[order[j]]));
			kill(t[i]->pid, SIGKILL);
			EXPECT_EQ(-SIGKILL, finish(t[i]));
		}
		if (next[order[j]] > 0)
			ASSERT_REACHED(has_fifo(r, next[order[j]]));
	}
	EXPECT_TRUE(has_own(r));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	set_param("lend_fifo_us", "10000");
}

/* A task that ends without ending its section: it is told, and nothing stays. */
TEST_F(g9_expedite, exit_within_a_section)
{
	static char log[1 << 16];
	struct fct_misuse m = { .name = "exit_expedited" };
	int from = log_now();

	ASSERT_LE(0, from);
	ASSERT_EQ(0, ioctl(self->fd, FCT_MISUSE, &m));
	log_since(from, log, sizeof(log));
	EXPECT_NE(NULL, strstr(log, "exits within an expedited section"));
	EXPECT_EQ(NULL, strstr(log, "outlives its task"));
}

/* Two callers: the higher one counts, and each takes back its own. */
TEST_F_TIMEOUT(g9_expedite, several_callers, 60)
{
	struct task *owner, *c1, *c2, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = start(self->mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
	c1 = committer(self->fd, self->mutex, 20, true);
	ASSERT_REACHED(has_fifo(r, 20));
	c2 = committer(self->fd, self->mutex, 40, true);
	ASSERT_REACHED(has_fifo(r, 40));
	kill(c2->pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, finish(c2));
	ASSERT_REACHED(has_fifo(r, 20));
	kill(c1->pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, finish(c1));
	EXPECT_TRUE(has_own(r));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(owner));
	set_param("lend_fifo_us", "10000");
}

/* A writer takes and leaves the expedited lock; the readers after it are seen. */
TEST_F_TIMEOUT(g9_expedite, writers_of_the_expedited_lock, 60)
{
	struct task *owner, *c, *w, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = start(self->mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	c = committer(self->fd, self->mutex, 33, true);
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).acquiring_writers == 1);
	w = start(self->fd, (struct job){ .mode = FCT_WRITE, .repeat = 1000 });
	EXPECT_EQ(0, finish(w));
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(has_fifo(r, 33));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(owner));
	set_param("lend_fifo_us", "10000");
}

/* Or those that it lends to would keep it from its CPU. Its own is back at the end. */
TEST_F_TIMEOUT(g9_expedite, committer_has_what_it_lends, 60)
{
	struct task *owner, *c, *other;
	siginfo_t info;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = start(self->mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	/* whose section goes on */
	other = committer(self->fd, self->mutex, 20, true);
	ASSERT_REACHED(state(self->mutex).acquiring_writers == 1 && is_asleep(other));
	c = start(self->mutex, (struct job){
		.mode = FCT_WRITE, .how = FCT_KILLABLE, .flags = FCT_OUTER_EXPEDITE,
		.outer = self->fd });
	ASSERT_REACHED(has_fifo(c, 1));
	kill(c->pid, SIGKILL);
	ASSERT_EQ(0, waitid(P_PID, c->pid, &info, WEXITED | WNOWAIT));
	EXPECT_TRUE(has_own(c));
	EXPECT_EQ(-SIGKILL, finish(c));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(other));
	EXPECT_EQ(0, finish(owner));
	set_param("lend_fifo_us", "10000");
}

/*
 * A task that expedites a lock, and holds it, has a loan for each. What waiters lend ends with
 * the release, and what the section needs with the section.
 */
TEST_F_TIMEOUT(g9_expedite, loans_end_each_by_itself, 60)
{
	struct task *c, *w;
	siginfo_t info;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	c = start(self->fd, (struct job){
		.mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .flags = FCT_OUTER_EXPEDITE | FCT_STAY,
		.outer = self->fd });
	ASSERT_REACHED(state(self->fd).writers == 1 && is_asleep(c) && has_fifo(c, 1));
	w = start(self->fd, (struct job){ .mode = FCT_WRITE, .policy = SCHED_FIFO, .prio = 50 });
	ASSERT_REACHED(has_fifo(c, 50));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	/* the lender may be about to take it back: the committer stays until it has */
	EXPECT_TRUE(reached(is_asleep(c) && has_fifo(c, 1)));
	go(self->fd, 2);
	ASSERT_EQ(0, waitid(P_PID, c->pid, &info, WEXITED | WNOWAIT));
	EXPECT_TRUE(has_own(c));
	EXPECT_EQ(0, finish(c));
	set_param("lend_fifo_us", "10000");
}

/*
 * Many reads overlap one that goes on: without a section, the lock would then no longer count
 * its readers, nor see them. A reader that comes after that is lent to all the same.
 *
 * @others: how many hold the lock for reading already
 */
static int later_reader_is_lent_to(int fd, int prio, unsigned int others)
{
	struct fct_pairs pairs = { .mode = FCT_READ, .pairs = 2000 };
	struct task *first, *later;
	int ret = 0;

	first = start(fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = 10 });
	CHECK(reached(state(fd).readers == others + 1));
	CHECK(!ioctl(fd, FCT_PAIRS, &pairs));
	later = start(fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = 11,
					.nice = 19 });
	CHECK(reached(state(fd).readers == others + 2 && is_asleep(later)));
	if (!reached(has_fifo(later, prio)))
		ret = -__LINE__;
	go(fd, 10);
	go(fd, 11);
	CHECK(!finish(first));
	CHECK(!finish(later));
	return ret;
}

/* A committer in its section, with the lock until FCT_GO; then in the section until id 2. */
static struct task *committer_with_lock(int fd, struct job j)
{
	struct task *c;

	j.hold = FCT_UNTIL_GO;
	j.policy = SCHED_FIFO;
	j.prio = 33;
	j.flags |= FCT_OUTER_EXPEDITE | FCT_STAY;
	j.outer = fd;
	c = start(fd, j);
	return reached(state(fd).readers + state(fd).writers == 1 && is_asleep(c)) ? c : NULL;
}

static int end_of_section(int fd, struct task *c)
{
	go(fd, 2);
	return finish(c);
}

/* Some of these, since a look of the watcher may come in between. */
#define ROUNDS	8

/*
 * What is under test is what the release leaves, and not what the next look at the lock makes
 * good: so there is the longest time between two looks.
 */
static void look_seldom(bool on)
{
	set_param("lend_period_us", on ? "100000" : "300");
	set_param("lend_fifo_us", on ? "1000000" : "10000");
}

static int lends_after(int fd, struct job j)
{
	struct task *c;
	int i, ret = 0;

	look_seldom(true);
	for (i = 0; i < ROUNDS && !ret; i++) {
		c = committer_with_lock(fd, j);
		CHECK(c);
		go(fd, 0);
		CHECK(reached(!state(fd).readers && !state(fd).writers && is_asleep(c)));
		ret = later_reader_is_lent_to(fd, 33, 0);
		CHECK(!end_of_section(fd, c));
	}
	look_seldom(false);
	return ret;
}

TEST_F_TIMEOUT(g9_expedite, committer_that_wrote_still_lends, 100)
{
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_WRITE }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_WRITE,
							 .how = FCT_KILLABLE }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_WRITE,
							 .how = FCT_TRYLOCK }));
}

TEST_F_TIMEOUT(g9_expedite, committer_that_read_still_lends, 60)
{
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_READ }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_READ,
							 .how = FCT_TRYLOCK }));
}

TEST_F_TIMEOUT(g9_expedite, committer_after_an_inner_section_still_lends, 60)
{
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_WRITE,
							 .flags = FCT_OUTER_NESTED }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_WRITE,
							 .flags = FCT_INNER_SECTION }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = FCT_READ,
							 .flags = FCT_INNER_SECTION }));
}

/* While it holds the lock for reading, and after that. */
TEST_F_TIMEOUT(g9_expedite, committer_that_downgraded_still_lends, 60)
{
	struct task *c;
	int i;

	look_seldom(true);
	for (i = 0; i < ROUNDS; i++) {
		c = committer_with_lock(self->fd, (struct job){ .mode = FCT_WRITE,
								.flags = FCT_DOWNGRADE });
		ASSERT_NE(NULL, c);
		go(self->fd, 0);
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(c));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 1));
		go(self->fd, 1);
		ASSERT_REACHED(!state(self->fd).readers && is_asleep(c));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 0));
		EXPECT_EQ(0, end_of_section(self->fd, c));
	}
	look_seldom(false);
}

/* Another task writes, or ends a section of its own, or gives up to wait. */
TEST_F_TIMEOUT(g9_expedite, committer_lends_whatever_others_do, 100)
{
	struct task *c, *other;
	int i;

	look_seldom(true);
	for (i = 0; i < ROUNDS; i++) {
		c = committer_with_lock(self->fd, (struct job){ .mode = FCT_READ });
		ASSERT_NE(NULL, c);
		/* a writer that gives up */
		other = start(self->fd, (struct job){ .mode = FCT_WRITE, .how = FCT_TIMEOUT,
						      .timeout_ms = 10 });
		EXPECT_EQ(ETIME, finish(other));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 1));
		go(self->fd, 0);
		ASSERT_REACHED(!state(self->fd).readers && is_asleep(c));
		/* a writer that writes */
		other = start(self->fd, (struct job){ .mode = FCT_WRITE });
		EXPECT_EQ(0, finish(other));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 0));
		/* a writer with a section that ends */
		other = start(self->fd, (struct job){ .mode = FCT_WRITE, .outer = self->fd,
						      .flags = FCT_OUTER_EXPEDITE });
		EXPECT_EQ(0, finish(other));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 0));
		EXPECT_EQ(0, end_of_section(self->fd, c));
	}
	look_seldom(false);
}

/* See g5_lent_priority.never_lends_99. */
TEST_F_TIMEOUT(g9_expedite, never_lends_99, 60)
{
	struct task *owner, *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = start(self->mutex, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
	c = committer(self->fd, self->mutex, 99, true);
	EXPECT_TRUE(reached(!has_own(r)));
	EXPECT_TRUE(has_fifo(r, 98));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(owner));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	set_param("lend_fifo_us", "10000");
}

TEST_HARNESS_MAIN
