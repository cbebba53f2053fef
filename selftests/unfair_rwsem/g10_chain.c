// SPDX-License-Identifier: GPL-2.0
/*
 * G10: a holder that is lent to and is itself blocked passes the loan on: to the holders of another
 * unfair_rwsem and, where the kernel shows it, to the owner of a mutex, or to the writer that owns
 * a rw_semaphore. The loan ends soon after the chain has changed.
 *
 * In these tests, writer W waits for the lock fd. Reader R holds fd and waits for another lock.
 * Owner O holds that. On PREEMPT_RT, mutexes and rw_semaphores pass loans on by themselves.
 *
 * Seen failing: the mutants g10-*.
 */
#include "common.h"
#include "lent.h"

NEEDS_MODULES("fscommit_test");

#define MAX_LINKS	8
#define LINKS		10

/* Each lock may be the outer one of those behind it. */
FIXTURE(g10_chain) { int fd, mutex, next; char kinds[64]; };

FIXTURE_SETUP(g10_chain)
{
	setup_lending("1");
	get_param("lend_links_kinds", self->kinds, sizeof(self->kinds));
	self->fd = lock_open(LOCK_TEST_UNFAIR);
	self->mutex = lock_open(LOCK_TEST_MUTEX);
	self->next = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_TRUE(self->fd >= 0 && self->mutex >= 0 && self->next >= 0);
}

FIXTURE_TEARDOWN(g10_chain)
{
	EXPECT_FALSE(state(self->fd).is_locked || state(self->fd).is_contended);
	EXPECT_FALSE(state(self->next).is_locked || state(self->next).is_contended);
	EXPECT_FALSE(state(self->mutex).is_locked);
	close(self->fd);
	close(self->mutex);
	close(self->next);
	set_param("lend_links", "8");
	restore_lending();
}

#define SKIP_WITHOUT_KIND(kind)							\
	do {									\
		if (!strstr(self->kinds, kind))					\
			SKIP(return, "the kernel does not show the owner of a " kind); \
	} while (0)

/* A task of nice 19 that holds the lock, asleep, until go() with id 0. */
static struct task *owner(int fd, __u32 mode)
{
	return hold_until_go(fd, mode, (struct job){ .nice = 19 });
}

/* A task of nice 19 that holds @fd for reading and waits for @wanted. */
static struct task *reader(int fd, int wanted, struct job j)
{
	unsigned int readers = state(fd).readers;
	struct task *t;

	j.nice = 19;
	j.flags = LOCK_TEST_OUTER_READ;
	j.outer = fd;
	t = start(wanted, j);
	return reached(state(fd).readers == readers + 1 &&
		       state(wanted).acquiring_readers + state(wanted).acquiring_writers &&
		       is_asleep(t)) ? t : NULL;
}

static struct task *reader_that_waits(int fd, int wanted)
{
	return reader(fd, wanted, (struct job){ .mode = LOCK_TEST_WRITE,
						.how = LOCK_TEST_KILLABLE });
}

static int end(int fd, struct task *t)
{
	go(fd, 0);
	return finish(t);
}

/* --- how far a loan passes ------------------------------------------------ */

/* The owner wakes on a CPU that a real-time task keeps busy. Does the writer get on? */
static int writer_runs(int fd, int wanted, __u32 mode)
{
	struct task *o, *r, *w;
	struct hog hog;
	bool got_on;

	o = start(wanted, (struct job){ .mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO,
					.nice = 19, .cpu = 2 });
	CHECK(reached(state(wanted).writers == 1 && is_asleep(o)));
	/* a rw_semaphore records no task that can be killed */
	r = reader(fd, wanted, (struct job){ .mode = mode });
	CHECK(r);
	/* SCHED_FIFO 50 */
	hog = hog_start(1);
	w = start(fd, fifo(60));
	got_on = reached(is_lent(o->pid, 60));
	go(wanted, 0);
	got_on = got_on && reached(atomic_load(&w->done));
	hog_stop(&hog);
	CHECK(!finish(o) && !finish(r) && !finish(w));
	return got_on;
}

TEST_F_TIMEOUT(g10_chain, chain_loan_lets_the_writer_run, 100)
{
	int sem = lock_open(LOCK_TEST_RWSEM);

	SKIP_ON_ONE_CPU();
	EXPECT_EQ(1, writer_runs(self->fd, self->next, LOCK_TEST_WRITE));
	if (strstr(self->kinds, "mutex") || kernel_is_rt())
		EXPECT_EQ(1, writer_runs(self->fd, self->mutex, LOCK_TEST_WRITE));
	if (strstr(self->kinds, "rw_semaphore")) {
		EXPECT_EQ(1, writer_runs(self->fd, sem, LOCK_TEST_WRITE));
		EXPECT_EQ(1, writer_runs(self->fd, sem, LOCK_TEST_READ));
	}
	close(sem);
}

/*
 * A chain of mutexes, each younger than the one before. Owner i holds mutex i and waits for
 * mutex i + 1; the last owner waits for go().
 */
struct chain {
	int mutex[LINKS];
	struct task *owner[LINKS];
};

static bool make_chain(struct chain *c)
{
	int i;

	for (i = 0; i < LINKS; i++)
		c->mutex[i] = lock_open(LOCK_TEST_MUTEX);
	c->owner[LINKS - 1] = owner(c->mutex[LINKS - 1], LOCK_TEST_WRITE);
	for (i = LINKS - 2; i >= 0; i--) {
		c->owner[i] = start(c->mutex[i + 1], (struct job){
			.mode = LOCK_TEST_WRITE, .nice = 19,
			.flags = LOCK_TEST_OUTER_WRITE, .outer = c->mutex[i] });
		if (!reached(state(c->mutex[i]).writers && is_asleep(c->owner[i]) &&
			     state(c->mutex[i + 1]).acquiring_writers))
			return false;
	}
	return c->owner[LINKS - 1];
}

static int end_chain(struct chain *c)
{
	int i, ret = 0;

	go(c->mutex[LINKS - 1], 0);
	for (i = 0; i < LINKS; i++) {
		ret = ret ?: finish(c->owner[i]);
		close(c->mutex[i]);
	}
	return ret;
}

TEST_F_TIMEOUT(g10_chain, loan_passes_through_several_locks, 60)
{
	struct task *r, *w;
	struct chain c;
	int i;

	SKIP_WITHOUT_KIND("mutex");
	ASSERT_TRUE(make_chain(&c));
	r = reader_that_waits(self->fd, c.mutex[0]);
	ASSERT_NE(NULL, r);
	w = start(self->fd, fifo(30));
	for (i = 0; i < MAX_LINKS; i++)
		EXPECT_TRUE(reached(is_lent(c.owner[i]->pid, 30))) TH_LOG("owner %d", i);
	many_looks();
	EXPECT_TRUE(is_lent(c.owner[MAX_LINKS]->pid, 0));
	EXPECT_TRUE(set_param("lend_links", "3"));
	EXPECT_TRUE(reached(is_lent(c.owner[3]->pid, 0)));
	many_looks();
	EXPECT_TRUE(is_lent(c.owner[3]->pid, 0));
	EXPECT_TRUE(is_lent(c.owner[2]->pid, 30));
	EXPECT_TRUE(set_param("lend_links", "0"));
	EXPECT_TRUE(reached(is_lent(c.owner[0]->pid, 0) && is_lent(r->pid, 30)));
	EXPECT_FALSE(set_param("lend_links", "9"));
	EXPECT_EQ(0, end_chain(&c));
	EXPECT_EQ(0, finish(r));
	EXPECT_EQ(0, finish(w));
}

/* @ahead: the level of a writer that waits for @next, too; 0: there is none. */
static int through_semaphore(int fd, int next, __u32 held, __u32 wanted, int ahead)
{
	struct task *h, *r, *w, *x = NULL;

	h = owner(next, held);
	CHECK(h);
	if (ahead) {
		x = start(next, fifo(ahead));
		CHECK(reached(is_lent(h->pid, ahead)));
	}
	r = reader(fd, next, (struct job){ .mode = wanted, .how = LOCK_TEST_KILLABLE });
	CHECK(r);
	w = start(fd, fifo(30));
	CHECK(reached(is_lent(r->pid, 30) && is_lent(h->pid, 30)));
	CHECK(kill_task(w) == -SIGKILL);
	/* what is left is what the waiters lend themselves */
	CHECK(reached(is_lent(r->pid, 0) && is_lent(h->pid, ahead)));
	CHECK(!end(next, h) && (!x || !finish(x)) && !finish(r));
	return 0;
}

TEST_F_TIMEOUT(g10_chain, loan_passes_through_unfair_rwsem, 60)
{
	int fd = self->fd, next = self->next;

	EXPECT_EQ(0, through_semaphore(fd, next, LOCK_TEST_READ, LOCK_TEST_WRITE, 0));
	EXPECT_EQ(0, through_semaphore(fd, next, LOCK_TEST_WRITE, LOCK_TEST_WRITE, 0));
	EXPECT_EQ(0, through_semaphore(fd, next, LOCK_TEST_WRITE, LOCK_TEST_READ, 0));
	EXPECT_EQ(0, through_semaphore(fd, next, LOCK_TEST_READ, LOCK_TEST_WRITE, 10));
	EXPECT_EQ(0, through_semaphore(fd, next, LOCK_TEST_READ, LOCK_TEST_READ, 10));
}

/* The owners of the mutexes hold nothing of the lock, but its committers wait for them. */
TEST_F_TIMEOUT(g10_chain, section_lends_along_a_chain, 60)
{
	int second = lock_open(LOCK_TEST_MUTEX);
	struct task *o, *o2, *c, *c2;

	SKIP_WITHOUT_KIND("mutex");
	o = owner(self->mutex, LOCK_TEST_WRITE);
	o2 = owner(second, LOCK_TEST_WRITE);
	ASSERT_TRUE(o && o2);
	c = committer(self->fd, self->mutex, fifo(33));
	EXPECT_TRUE(c && reached(is_lent(o->pid, 33)));
	c2 = committer(self->fd, second, fifo(20));
	EXPECT_TRUE(c2 && reached(is_lent(o2->pid, 20)));
	EXPECT_TRUE(is_lent(o->pid, 33));
	EXPECT_EQ(-SIGKILL, kill_task(c));
	EXPECT_TRUE(reached(is_lent(o->pid, 0)));
	EXPECT_TRUE(is_lent(o2->pid, 20));
	EXPECT_EQ(-SIGKILL, kill_task(c2));
	EXPECT_TRUE(reached(is_lent(o2->pid, 0)));
	EXPECT_EQ(0, end(self->mutex, o));
	EXPECT_EQ(0, end(second, o2));
	close(second);
}

/* Each of two tasks waits for the other's mutex. */
TEST_F_TIMEOUT(g10_chain, walk_ends_in_a_cycle, 60)
{
	int m[2] = { lock_open(LOCK_TEST_MUTEX), lock_open(LOCK_TEST_MUTEX) }, i;
	struct task *t[2], *r, *w;

	SKIP_WITHOUT_KIND("mutex");
	for (i = 0; i < 2; i++) {
		t[i] = start(m[!i], (struct job){
			.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE, .nice = 19,
			.flags = LOCK_TEST_OUTER_WRITE | LOCK_TEST_OUTER_FIRST, .outer = m[i] });
		ASSERT_REACHED(state(m[i]).writers == 1);
	}
	for (i = 0; i < 2; i++) {
		go(m[i], 1);
		ASSERT_REACHED(state(m[!i]).acquiring_writers == 1);
	}
	r = reader_that_waits(self->fd, m[0]);
	ASSERT_NE(NULL, r);
	w = start(self->fd, fifo(30));
	EXPECT_TRUE(reached(is_lent(t[0]->pid, 30) && is_lent(t[1]->pid, 30)));
	/* the watcher still looks at the lock */
	EXPECT_EQ(-SIGKILL, kill_task(w));
	EXPECT_TRUE(reached(is_lent(t[0]->pid, 0) && is_lent(t[1]->pid, 0)));
	EXPECT_EQ(-SIGKILL, kill_task(t[0]));
	EXPECT_EQ(0, finish(t[1]));
	EXPECT_EQ(0, finish(r));
	close(m[0]);
	close(m[1]);
}

/* --- how long a loan lasts ----------------------------------------------- */

/* The reason goes, step by step. The owner keeps the mutex, the last writer waits for R2. */
TEST_F_TIMEOUT(g10_chain, loan_ends_with_the_chain, 60)
{
	struct task *o, *r, *r2, *w, *w2;

	SKIP_WITHOUT_KIND("mutex");
	o = owner(self->mutex, LOCK_TEST_WRITE);
	r = reader_that_waits(self->fd, self->mutex);
	ASSERT_TRUE(o && r);
	r2 = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 2);
	w = start(self->fd, fifo(20));
	EXPECT_TRUE(reached(is_lent(o->pid, 20)));
	w2 = start(self->fd, fifo(40));
	EXPECT_TRUE(reached(is_lent(o->pid, 40)));
	EXPECT_EQ(-SIGKILL, kill_task(w2));
	EXPECT_TRUE(reached(is_lent(o->pid, 20)));
	EXPECT_EQ(-SIGKILL, kill_task(r));
	EXPECT_TRUE(reached(is_lent(o->pid, 0)));
	EXPECT_EQ(1, state(self->fd).queued_writers);
	EXPECT_EQ(0, end(self->mutex, o));
	EXPECT_EQ(0, end(self->fd, r2));
	EXPECT_EQ(0, finish(w));
}

/* Nothing calls us when the owner releases the mutex. It stays, and runs. */
TEST_F_TIMEOUT(g10_chain, loan_ends_after_the_release, 60)
{
	struct task *r, *r2, *w;
	pid_t o;

	SKIP_WITHOUT_KIND("mutex");
	o = start_and_stay(self->mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO, .nice = 19 });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	r = reader_that_waits(self->fd, self->mutex);
	ASSERT_NE(NULL, r);
	r2 = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 2);
	w = start(self->fd, fifo(30));
	EXPECT_TRUE(reached(is_lent(o, 30)));
	EXPECT_EQ(0, end(self->mutex, r));
	EXPECT_TRUE(reached(is_lent(o, 0)));
	EXPECT_EQ(0, end(self->fd, r2));
	EXPECT_EQ(0, finish(w));
	kill_pid(o);
}

/* A look at an owner that runs renews the loan. Otherwise it would begin anew every other pass. */
TEST_F_TIMEOUT(g10_chain, loan_lasts_while_the_owner_runs, 60)
{
	struct task *o, *r, *w;
	long before, after;
	pid_t busy;

	SKIP_ON_ONE_CPU();
	SKIP_WITHOUT_KIND("mutex");
	pin(0);
	o = start(self->mutex, (struct job){ .mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_BUSY_GO,
					     .nice = 19, .cpu = 2 });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	busy = start_busy(1);
	r = reader_that_waits(self->fd, self->mutex);
	ASSERT_NE(NULL, r);
	w = start(self->fd, fifo(30));
	ASSERT_REACHED(is_lent(o->pid, 30));
	before = counter("chain_loans");
	sleep_ms(1000);
	after = counter("chain_loans");
	EXPECT_LT(0, before);
	EXPECT_GE(before + 10, after);
	EXPECT_EQ(0, end(self->mutex, o));
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(r));
	kill_pid(busy);
	unpin();
}

/* The owner exits before its loan ends, 0.1 s later at least. KASAN would see a wrong access. */
TEST_F_TIMEOUT(g10_chain, owner_exits_with_a_loan, 60)
{
	struct task *o, *r, *w;
	int i;

	SKIP_WITHOUT_KIND("mutex");
	for (i = 0; i < repeats(20); i++) {
		ASSERT_TRUE(set_param("lend_period_us", "1000"));
		o = owner(self->mutex, LOCK_TEST_WRITE);
		r = reader_that_waits(self->fd, self->mutex);
		ASSERT_TRUE(o && r);
		w = start(self->fd, fifo(30));
		ASSERT_REACHED(is_lent(o->pid, 30));
		ASSERT_TRUE(set_param("lend_period_us", "60000000"));
		EXPECT_EQ(0, end(self->mutex, o));
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, finish(w));
	}
}

TEST_HARNESS_MAIN
