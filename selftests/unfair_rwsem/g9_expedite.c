// SPDX-License-Identifier: GPL-2.0
/*
 * G9: between unfair_rwsem_expedite() and unfair_rwsem_unexpedite(), each reader that
 * does not run is lent the caller's priority, although the caller does not wait for the lock.
 *
 * A committer waits for a mutex. The owner of the mutex is a reader of the expedited lock, and a
 * real-time task keeps it off its CPU.
 *
 * Seen failing: the mutants g9-* and g5-never-lends.
 */
#include "common.h"
#include "kernel_log.h"
#include "trace.h"

FIXTURE(g9_expedite) { int fd, mutex; };

FIXTURE_SETUP(g9_expedite)
{
	SKIP_WITHOUT_TEST_DEVICE();
	setup_lending("3");
	self->fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(self->fd, 0);
	/* an rw_semaphore used as a mutex: held for writing only */
	self->mutex = lock_open(LOCK_TEST_RWSEM);
	ASSERT_GE(self->mutex, 0);
}

FIXTURE_TEARDOWN(g9_expedite)
{
	EXPECT_EQ(0, state(self->fd).is_locked);
	EXPECT_EQ(0, state(self->fd).is_contended);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	close(self->fd);
	close(self->mutex);
	restore_lending();
}

static const struct job nice19_reader = {
	.mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO, .nice = 19 };

/* After a section, wait for it: the watcher on another CPU may still be about to end its loan. */
static bool has_own(const struct task *t)
{
	return sched_getscheduler(t->pid) == SCHED_OTHER;
}

/* A new thread has nice 0, too, until it sets its own: the flag tells that this is a loan. */
static bool is_lent_nice_0(const struct task *t)
{
	return sched_getscheduler(t->pid) == (SCHED_OTHER | SCHED_RESET_ON_FORK) &&
	       getpriority(PRIO_PROCESS, t->pid) == 0;
}

static struct task *reader_with_mutex(int fd, int mutex, struct job j)
{
	struct task *t;

	j.mode = LOCK_TEST_WRITE;
	j.hold = LOCK_TEST_UNTIL_GO;
	j.flags = LOCK_TEST_OUTER_READ;
	j.outer = fd;
	t = start(mutex, j);
	return reached(state(mutex).writers == 1 && state(fd).readers == 1 && is_asleep(t)) ?
	       t : NULL;
}

static struct task *committer(int fd, int mutex, int prio, bool expedite)
{
	return start(mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE, .policy = SCHED_FIFO,
		.prio = prio, .cpu = 1, .flags = expedite ? LOCK_TEST_OUTER_EXPEDITE : 0,
		.outer = fd });
}

/* Returns 1 if the committer gets the mutex while a real-time task has the owner's CPU, or 0. */
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
	/* the reader sleeps when the section begins, and is woken and preempted during it */
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

	SKIP_ON_ONE_CPU();
	/* a busy host may have taken the guest's other CPU */
	for (i = 0; i < 8 && !got_it; i++)
		got_it = stuck_on_a_mutex(self->fd, self->mutex, true);
	EXPECT_EQ(1, got_it);
	/* on PREEMPT_RT, the rw_semaphore itself lends by priority inheritance */
	if (!kernel_is_rt())
		EXPECT_EQ(0, stuck_on_a_mutex(self->fd, self->mutex, false));
}

/* A reader that acquires during the section is lent to as well, until the section ends. */
TEST_F_TIMEOUT(g9_expedite, readers_that_come_later, 60)
{
	struct task *owner, *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	c = committer(self->fd, self->mutex, 33, true);
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).acquiring_writers == 1);
	r = start(self->fd, nice19_reader);
	ASSERT_REACHED(has_fifo(r, 33));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	/* the section has ended; the reader still holds the lock */
	EXPECT_TRUE(reached(has_own(r) && getpriority(PRIO_PROCESS, r->pid) == 19));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	EXPECT_EQ(0, finish(owner));
}

/* What a section lends follows the mode of the lock, also if the mode changes meanwhile. */
TEST_F_TIMEOUT(g9_expedite, mode_changes_within_a_section, 60)
{
	struct task *owner, *c, *r[3];
	int i;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	c = committer(self->fd, self->mutex, 33, true);
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).acquiring_writers == 1);
	for (i = 0; i < 3; i++) {
		struct job j = nice19_reader;

		j.id = i;
		set_lend(self->fd, i == 0 ? LEND_FULL : i == 1 ? LEND_NICE : LEND_OFF);
		r[i] = start(self->fd, j);
		if (i == 0)
			ASSERT_REACHED(has_fifo(r[i], 33));
		if (i == 1)
			ASSERT_REACHED(is_lent_nice_0(r[i]));
	}
	ASSERT_REACHED(state(self->fd).readers == 3 && is_asleep(r[2]));
	/* many looks */
	sleep_ms(50);
	EXPECT_TRUE(is_lent_nice_0(r[1]));
	EXPECT_TRUE(has_own(r[2]));
	EXPECT_EQ(19, getpriority(PRIO_PROCESS, r[2]->pid));
	set_lend(self->fd, LEND_DEFAULT);
	EXPECT_TRUE(reached(has_fifo(r[2], 33)));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	for (i = 0; i < 3; i++) {
		go(self->fd, i);
		EXPECT_EQ(0, finish(r[i]));
	}
	EXPECT_EQ(0, finish(owner));
}

/* In its first lend_period_us, a section does not touch the lock: most sections end by then. */
TEST_F_TIMEOUT(g9_expedite, new_section_has_no_effect, 60)
{
	struct task *owner, *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	make_biased(self->fd);
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	ASSERT_TRUE(set_param("lend_period_us", "60000000"));
	c = committer(self->fd, self->mutex, 33, true);
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).acquiring_writers == 1);
	/* the timer runs every 100 ms */
	sleep_ms(250);
	EXPECT_EQ(0, state(self->fd).expedited);
	EXPECT_TRUE(state(self->fd).biased);
	EXPECT_TRUE(has_own(r));
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(reached(state(self->fd).expedited && has_fifo(r, 33)));
	EXPECT_EQ(0, state(self->fd).biased);
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(owner));
	EXPECT_TRUE(reached(has_own(r)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
}

/* The end of an inner section does not end the outer one. */
TEST_F_TIMEOUT(g9_expedite, sections_nest, 60)
{
	struct task *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	c = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){
		.policy = SCHED_FIFO, .prio = 33, .outer = self->fd,
		.flags = LOCK_TEST_OUTER_EXPEDITE | LOCK_TEST_OUTER_NESTED });
	ASSERT_NE(NULL, c);
	r = start(self->fd, nice19_reader);
	ASSERT_REACHED(has_fifo(r, 33));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_TRUE(reached(has_own(r)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
}

/* A committer does not lend on what it was lent itself for another lock. */
TEST_F_TIMEOUT(g9_expedite, lends_its_own_priority_only, 60)
{
	struct task *c, *r, *w;
	int inner = lock_open(LOCK_TEST_UNFAIR);

	ASSERT_GE(inner, 0);
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	r = hold_until_go(inner, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	c = start(inner, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO,
				       .id = 1, .outer = self->fd,
				       .flags = LOCK_TEST_OUTER_READ | LOCK_TEST_EXPEDITE });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(c));
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					  .prio = 33 });
	ASSERT_REACHED(has_fifo(c, 33));
	go(self->fd, 0);
	ASSERT_REACHED(state(inner).readers == 2 && is_asleep(c));
	EXPECT_TRUE(reached(has_fifo(r, 1)));
	EXPECT_TRUE(reached(has_fifo(c, 33)));
	go(inner, 1);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(w));
	EXPECT_TRUE(reached(has_own(r)));
	go(inner, 0);
	EXPECT_EQ(0, finish(r));
	close(inner);
}

#define CGROUP	"/sys/fs/cgroup/g9"

/* A committer of @nice or of SCHED_FIFO 1, in a section of @fd, that waits for @mutex. */
static struct task *plain_committer(int fd, int mutex, int policy, int nice, const char *cgroup)
{
	return start(mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE, .policy = policy,
		.prio = policy == SCHED_FIFO, .nice = nice, .cgroup = cgroup,
		.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = fd });
}

/*
 * Returns 1 if a sleeping reader of nice -5 is lent SCHED_FIFO during a section, or 0. The reader
 * is in @readers_group, the committer in the root, also of nice -5. Another one, of nice 0, may be
 * in @others_group: it never comes first, and its section may take effect later.
 */
static int equal_is_lent_to(int fd, int mutex, int policy, const char *readers_group,
			    const char *others_group, bool expected)
{
	struct task *owner, *equal, *late[2], *c, *other = NULL;
	int lent, i;

	owner = hold_until_go(mutex, LOCK_TEST_WRITE, (struct job){ });
	CHECK(owner);
	equal = hold_until_go(fd, LOCK_TEST_READ, (struct job){
		.nice = -5, .cgroup = readers_group });
	CHECK(equal);
	c = plain_committer(fd, mutex, policy, -5, NULL);
	CHECK(reached(state(mutex).acquiring_writers == 1 && is_asleep(c)));
	if (others_group) {
		other = plain_committer(fd, mutex, SCHED_OTHER, 0, others_group);
		CHECK(reached(state(mutex).acquiring_writers == 2 && is_asleep(other)));
	}
	/* the look that lends to the second has seen all readers that the first one saw */
	for (i = 0; i < 2; i++) {
		late[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .id = i + 1,
						  .hold = LOCK_TEST_UNTIL_GO, .nice = 19 });
		CHECK(reached(has_fifo(late[i], 1)));
	}
	lent = expected ? reached(has_fifo(equal, 1)) : has_fifo(equal, 1);
	go(fd, 0);
	go(mutex, 0);
	for (i = 0; i < 2; i++) {
		go(fd, i + 1);
		CHECK(!finish(late[i]));
	}
	CHECK(!other || !finish(other));
	CHECK(!finish(c) && !finish(equal) && !finish(owner));
	return lent;
}

/*
 * A reader of the committer's nice value and cgroup competes for the CPU as the committer does: a
 * section lends it nothing. A real-time committer lends to it.
 */
TEST_F_TIMEOUT(g9_expedite, equals_are_lent_nothing, 60)
{
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	EXPECT_EQ(0, equal_is_lent_to(self->fd, self->mutex, SCHED_OTHER, NULL, NULL, false));
	EXPECT_EQ(1, equal_is_lent_to(self->fd, self->mutex, SCHED_FIFO, NULL, NULL, true));
}

/*
 * Returns 1 if a reader of nice 0 that a real-time task preempts is lent to, or 0; AGAIN if it
 * released the lock before it was preempted.
 */
static int preempted_equal_is_lent_to(int fd, int mutex)
{
	struct task *owner, *asleep, *equal, *c, *w;
	struct hog hog;
	int lent;

	owner = hold_until_go(mutex, LOCK_TEST_WRITE, (struct job){ });
	CHECK(owner);
	asleep = hold_until_go(fd, LOCK_TEST_READ, (struct job){ .id = 1 });
	CHECK(asleep);
	c = plain_committer(fd, mutex, SCHED_OTHER, 0, NULL);
	CHECK(reached(state(fd).expedited && is_asleep(c)));
	equal = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO,
					.cpu = 2 });
	CHECK(reached(state(fd).readers == 2));
	/* it lends to the reader that sleeps, and sleeps: from now on the watcher looks */
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 1 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	hog = hog_start(1);
	lent = state(fd).readers == 2 ? reached(has_fifo(equal, 1)) : AGAIN;
	hog_stop(&hog);
	go(fd, 0);
	go(fd, 1);
	go(mutex, 0);
	CHECK(!finish(equal) && !finish(asleep) && !finish(w) && !finish(c) && !finish(owner));
	return lent;
}

TEST_F_TIMEOUT(g9_expedite, equals_are_lent_to_while_a_writer_waits, 60)
{
	int lent;

	SKIP_ON_ONE_CPU();
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	lent = preempted_equal_is_lent_to(self->fd, self->mutex);
	if (lent == AGAIN)
		SKIP(return, "the reader ran until it released the lock");
	EXPECT_EQ(1, lent);
}

/* No nice value tells what share of the CPU a task of another cgroup has. */
TEST_F_TIMEOUT(g9_expedite, readers_in_another_cgroup_are_lent_to, 60)
{
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	make_cgroup(CGROUP);
	if (access(CGROUP "/cpu.weight", F_OK)) {
		rmdir(CGROUP);
		SKIP(return, "no cpu.weight: needs cgroup v2 and CONFIG_FAIR_GROUP_SCHED");
	}
	EXPECT_EQ(1, equal_is_lent_to(self->fd, self->mutex, SCHED_OTHER, CGROUP "/cgroup.procs",
				      NULL, true));
	EXPECT_EQ(1, equal_is_lent_to(self->fd, self->mutex, SCHED_OTHER, NULL,
				      CGROUP "/cgroup.procs", true));
	rmdir(CGROUP);
}

/*
 * Otherwise a lent reader would keep the committer off its CPU. While no task has lent SCHED_FIFO,
 * the committer has none either. Its loan ends with its section.
 */
TEST_F_TIMEOUT(g9_expedite, committer_has_what_it_lends, 60)
{
	struct task *owner, *c, *r;
	siginfo_t info;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	c = plain_committer(self->fd, self->mutex, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(state(self->fd).expedited && is_asleep(c));
	usleep(20000);
	EXPECT_TRUE(has_own(c));
	r = start(self->fd, nice19_reader);
	ASSERT_REACHED(has_fifo(r, 1));
	ASSERT_REACHED(has_fifo(c, 1));
	kill(c->pid, SIGKILL);
	ASSERT_EQ(0, waitid(P_PID, c->pid, &info, WEXITED | WNOWAIT));
	EXPECT_TRUE(reached(has_own(c)));
	EXPECT_EQ(-SIGKILL, finish(c));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(owner));
}

/* Otherwise a reader that runs first keeps it off its CPU: until it sleeps, or its budget ends. */
TEST_F_TIMEOUT(g9_expedite, committer_is_raised_before_its_readers, 60)
{
	struct task *owner, *c, *r;
	struct standing_loan loan;
	char line[512], pid[32];
	int of_committer;

	if (!trace_start())
		SKIP(return, "no tracefs");
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	ASSERT_TRUE(begin_loan(&loan));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	/* the committer is asleep when its section takes effect */
	ASSERT_TRUE(set_param("lend_period_us", "50000"));
	c = plain_committer(self->fd, self->mutex, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(has_fifo(r, 1) && has_fifo(c, 1));
	snprintf(pid, sizeof(pid), " pid=%d ", c->pid);
	of_committer = trace_find(0, " unfair_lend: ", pid, line, sizeof(line));
	EXPECT_GE(of_committer, 0);
	snprintf(pid, sizeof(pid), " pid=%d ", r->pid);
	EXPECT_LT(of_committer, trace_find(0, " unfair_lend: ", pid, line, sizeof(line)));
	trace_stop();
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(owner));
	EXPECT_EQ(0, finish(c));
	EXPECT_TRUE(end_loan(&loan));
}

/* Else two committers that overlap would keep each other's loans alive. */
TEST_F_TIMEOUT(g9_expedite, loans_of_committers_do_not_count, 60)
{
	struct task *owner, *c, *c2, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	c = plain_committer(self->fd, self->mutex, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(state(self->fd).expedited && is_asleep(c));
	r = start(self->fd, nice19_reader);
	ASSERT_REACHED(has_fifo(r, 1) && has_fifo(c, 1));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	/* the section of the first goes on, and so does its loan */
	c2 = plain_committer(self->fd, self->mutex, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(state(self->mutex).acquiring_writers == 2 && is_asleep(c2));
	usleep(100000);
	EXPECT_TRUE(has_fifo(c, 1));
	EXPECT_TRUE(has_own(c2));
	EXPECT_EQ(-SIGKILL, kill_task(c2));
	EXPECT_EQ(-SIGKILL, kill_task(c));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(owner));
}

/*
 * A task that is not blocked waits for no reader: its section takes effect a period later than it
 * would otherwise, behind that of a task which began its own later.
 */
TEST_F_TIMEOUT(g9_expedite, section_of_a_task_that_runs, 60)
{
	int fd2 = lock_open(LOCK_TEST_UNFAIR), mutex2 = lock_open(LOCK_TEST_RWSEM);
	struct task *owner, *runs, *blocked;
	bool expedited;
	double began;

	SKIP_ON_ONE_CPU();
	ASSERT_GE(fd2, 0);
	ASSERT_GE(mutex2, 0);
	owner = hold_until_go(mutex2, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	ASSERT_TRUE(set_param("lend_period_us", "2000000"));
	began = seconds();
	runs = start(self->mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_BUSY_GO, .cpu = 2,
		.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	blocked = plain_committer(fd2, mutex2, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(state(fd2).expedited);
	expedited = state(self->fd).expedited;
	/* not on a host that took too long to start the two */
	if (seconds() - began < 3.9)
		EXPECT_FALSE(expedited);
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(reached(state(self->fd).expedited));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(runs));
	go(mutex2, 0);
	EXPECT_EQ(0, finish(blocked));
	EXPECT_EQ(0, finish(owner));
	close(mutex2);
	close(fd2);
}

/*
 * Tasks that have been lent SCHED_FIFO may be what keeps a committer off its CPU. Meanwhile the
 * section of a preempted task takes effect as early as that of a blocked one.
 */
TEST_F_TIMEOUT(g9_expedite, section_of_a_preempted_task, 60)
{
	int lent = lock_open(LOCK_TEST_UNFAIR), fd2 = lock_open(LOCK_TEST_UNFAIR);
	int mutex2 = lock_open(LOCK_TEST_RWSEM);
	struct task *owner, *r, *w, *preempted, *hog, *blocked;
	double began, hindered;

	SKIP_ON_ONE_CPU();
	ASSERT_GE(lent, 0);
	ASSERT_GE(fd2, 0);
	ASSERT_GE(mutex2, 0);
	owner = hold_until_go(mutex2, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	r = hold_until_go(lent, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	w = start(lent, (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
				      .policy = SCHED_FIFO, .prio = 1 });
	ASSERT_REACHED(has_fifo(r, 1));
	ASSERT_TRUE(set_param("lend_period_us", "2000000"));
	began = seconds();
	preempted = start(self->mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_BUSY_GO, .cpu = 2, .nice = 15,
		.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED(state(self->mutex).writers == 1);
	hog = start(fd2, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO,
				       .cpu = 2, .nice = -20 });
	ASSERT_REACHED(state(fd2).readers == 1);
	hindered = seconds() - began;
	blocked = plain_committer(fd2, mutex2, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(state(fd2).expedited);
	if (hindered < 1.9)
		EXPECT_TRUE(state(self->fd).expedited);
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	go(fd2, 0);
	EXPECT_EQ(0, finish(hog));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(preempted));
	go(mutex2, 0);
	EXPECT_EQ(0, finish(blocked));
	EXPECT_EQ(0, finish(owner));
	go(lent, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(r));
	close(mutex2);
	close(fd2);
	close(lent);
}

/* More tasks that run in sections than the timer looks at in one interrupt, then one that waits. */
#define RUNNING	40

TEST_F_TIMEOUT(g9_expedite, many_tasks_that_run, 100)
{
	int fd2 = lock_open(LOCK_TEST_UNFAIR), mutex2 = lock_open(LOCK_TEST_RWSEM), i;
	struct task *runs[RUNNING], *owner, *blocked;

	ASSERT_GE(fd2, 0);
	ASSERT_GE(mutex2, 0);
	owner = hold_until_go(mutex2, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	ASSERT_TRUE(set_param("lend_period_us", "60000000"));
	for (i = 0; i < RUNNING; i++)
		runs[i] = start(self->mutex, (struct job){
			.mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO, .id = i, .nice = 15,
			.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED(state(self->mutex).readers == RUNNING);
	blocked = plain_committer(fd2, mutex2, SCHED_OTHER, 0, NULL);
	ASSERT_REACHED(state(mutex2).acquiring_writers == 1 && is_asleep(blocked));
	EXPECT_FALSE(state(fd2).expedited);
	/* from here on all are due */
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(reached(state(fd2).expedited));
	EXPECT_TRUE(reached(state(self->fd).expedited));
	for (i = 0; i < RUNNING; i++)
		go(self->mutex, i);
	for (i = 0; i < RUNNING; i++)
		EXPECT_EQ(0, finish(runs[i]));
	go(mutex2, 0);
	EXPECT_EQ(0, finish(blocked));
	EXPECT_EQ(0, finish(owner));
	close(mutex2);
	close(fd2);
}

/* Many sections at once, at three levels. The highest counts, and each section ends by itself. */
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
		t[i] = start(self->mutex, (struct job){
			.mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO,
			.how = LOCK_TEST_KILLABLE, .policy = SCHED_FIFO, .prio = prio[i % 3],
			.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED((int)state(self->mutex).readers == nr);
	r = start(self->fd, nice19_reader);
	ASSERT_REACHED(has_fifo(r, 50));
	for (j = 0; j < 3; j++) {
		for (i = order[j]; i < nr; i += 3) {
			EXPECT_TRUE(reached(has_fifo(r, prio[order[j]])));
			EXPECT_EQ(-SIGKILL, kill_task(t[i]));
		}
		if (next[order[j]] > 0)
			ASSERT_REACHED(has_fifo(r, next[order[j]]));
	}
	EXPECT_TRUE(reached(has_own(r)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
}

/* A task exits within its section. The log names it, and the section ends. */
TEST_F(g9_expedite, exit_within_a_section)
{
	static char log[1 << 16];
	struct lock_test_misuse m = { .name = "exit_expedited" };
	int from = log_now();

	ASSERT_LE(0, from);
	ASSERT_EQ(0, ioctl(self->fd, LOCK_TEST_MISUSE, &m));
	log_since(from, log, sizeof(log));
	EXPECT_NE(NULL, strstr(log, "exits within an expedited section"));
	EXPECT_EQ(NULL, strstr(log, "outlives its task"));
}

/* Two callers. The higher priority counts, and each loan ends with its section. */
TEST_F_TIMEOUT(g9_expedite, several_callers, 60)
{
	struct task *owner, *c1, *c2, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	c1 = committer(self->fd, self->mutex, 20, true);
	ASSERT_REACHED(has_fifo(r, 20));
	c2 = committer(self->fd, self->mutex, 40, true);
	ASSERT_REACHED(has_fifo(r, 40));
	EXPECT_EQ(-SIGKILL, kill_task(c2));
	ASSERT_REACHED(has_fifo(r, 20));
	EXPECT_EQ(-SIGKILL, kill_task(c1));
	EXPECT_TRUE(reached(has_own(r)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(owner));
}

/* A writer acquires and releases the expedited lock. Later readers must still be lent to. */
TEST_F_TIMEOUT(g9_expedite, writers_of_the_expedited_lock, 60)
{
	struct task *owner, *c, *w, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	c = committer(self->fd, self->mutex, 33, true);
	ASSERT_REACHED(is_asleep(c) && state(self->mutex).acquiring_writers == 1);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .repeat = 1000 });
	EXPECT_EQ(0, finish(w));
	r = start(self->fd, nice19_reader);
	ASSERT_REACHED(has_fifo(r, 33));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(owner));
}

/*
 * A task that expedites a lock and holds it has two loans. The loan of a waiter ends with the
 * release, the loan of the section ends with the section.
 */
TEST_F_TIMEOUT(g9_expedite, loans_end_each_by_itself, 60)
{
	struct standing_loan loan;
	struct task *c, *w;
	siginfo_t info;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	ASSERT_TRUE(begin_loan(&loan));
	c = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){
		.flags = LOCK_TEST_OUTER_EXPEDITE | LOCK_TEST_STAY, .outer = self->fd });
	ASSERT_NE(NULL, c);
	ASSERT_REACHED(has_fifo(c, 1));
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					  .prio = 50 });
	ASSERT_REACHED(has_fifo(c, 50));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	/* the lender may still be about to end its loan */
	EXPECT_TRUE(reached(is_asleep(c) && has_fifo(c, 1)));
	go(self->fd, 2);
	ASSERT_EQ(0, waitid(P_PID, c->pid, &info, WEXITED | WNOWAIT));
	EXPECT_TRUE(reached(has_own(c)));
	EXPECT_EQ(0, finish(c));
	EXPECT_TRUE(end_loan(&loan));
}

/*
 * Many reads overlap one long read. Without a section that would bias the lock. A reader that
 * acquires afterwards must still be lent to.
 *
 * @others: number of readers that already hold the lock
 */
static int later_reader_is_lent_to(int fd, int prio, unsigned int others)
{
	struct lock_test_pairs pairs = { .mode = LOCK_TEST_READ, .pairs = 2000 };
	struct task *first, *later;
	int ret = 0;

	first = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO,
					.id = 10 });
	CHECK(reached(state(fd).readers == others + 1));
	CHECK(!ioctl(fd, LOCK_TEST_PAIRS, &pairs));
	later = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO,
					.id = 11, .nice = 19 });
	CHECK(reached(state(fd).readers == others + 2 && is_asleep(later)));
	if (!reached(has_fifo(later, prio)))
		ret = -__LINE__;
	go(fd, 10);
	go(fd, 11);
	CHECK(!finish(first));
	CHECK(!finish(later));
	return ret;
}

/* Long after a look: these tests are about the state after a release, which a look repairs. */
static void look_seldom(void)
{
	set_param("lend_period_us", "100000");
}

/*
 * A committer in its active section. It holds the lock until go 0 and ends the section at go 2.
 * Looks are seldom afterwards.
 */
static struct task *committer_with_lock(int fd, struct job j)
{
	struct task *c;

	set_param("lend_period_us", "1000");
	set_param("lend_fifo_us", "1000000");

	j.hold = LOCK_TEST_UNTIL_GO;
	j.policy = SCHED_FIFO;
	j.prio = 33;
	j.flags |= LOCK_TEST_OUTER_EXPEDITE | LOCK_TEST_STAY;
	j.outer = fd;
	c = start(fd, j);
	if (!reached(state(fd).readers + state(fd).writers == 1 && is_asleep(c) &&
		     state(fd).expedited))
		return NULL;
	look_seldom();
	return c;
}

static int end_of_section(int fd, struct task *c)
{
	go(fd, 2);
	return finish(c);
}

/* Several, because the watcher may look in between. */
#define ROUNDS	8

static int lends_after(int fd, struct job j)
{
	struct task *c;
	int i, ret = 0;

	for (i = 0; i < ROUNDS && !ret; i++) {
		c = committer_with_lock(fd, j);
		CHECK(c);
		go(fd, 0);
		CHECK(reached(!state(fd).readers && !state(fd).writers && is_asleep(c)));
		ret = later_reader_is_lent_to(fd, 33, 0);
		CHECK(!end_of_section(fd, c));
	}
	return ret;
}

TEST_F_TIMEOUT(g9_expedite, committer_that_wrote_still_lends, 100)
{
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_WRITE }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
							 .how = LOCK_TEST_KILLABLE }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
							 .how = LOCK_TEST_TRYLOCK }));
}

TEST_F_TIMEOUT(g9_expedite, committer_that_read_still_lends, 60)
{
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_READ }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_READ,
							 .how = LOCK_TEST_TRYLOCK }));
}

TEST_F_TIMEOUT(g9_expedite, committer_after_an_inner_section_still_lends, 60)
{
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
							 .flags = LOCK_TEST_OUTER_NESTED }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
							 .flags = LOCK_TEST_INNER_SECTION }));
	EXPECT_EQ(0, lends_after(self->fd, (struct job){ .mode = LOCK_TEST_READ,
							 .flags = LOCK_TEST_INNER_SECTION }));
}

/* While the committer holds the lock for reading, and after its release. */
TEST_F_TIMEOUT(g9_expedite, committer_that_downgraded_still_lends, 60)
{
	struct task *c;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		c = committer_with_lock(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
								.flags = LOCK_TEST_DOWNGRADE });
		ASSERT_NE(NULL, c);
		go(self->fd, 0);
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(c));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 1));
		go(self->fd, 1);
		ASSERT_REACHED(!state(self->fd).readers && is_asleep(c));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 0));
		EXPECT_EQ(0, end_of_section(self->fd, c));
	}
}

/* Another task gives up waiting, writes, or ends a section of its own. */
TEST_F_TIMEOUT(g9_expedite, committer_lends_whatever_others_do, 100)
{
	struct task *c, *other;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		c = committer_with_lock(self->fd, (struct job){ .mode = LOCK_TEST_READ });
		ASSERT_NE(NULL, c);
		/* a writer that gives up */
		other = start(self->fd, (struct job){
			.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_TIMEOUT, .timeout_ms = 10 });
		EXPECT_EQ(ETIME, finish(other));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 1));
		go(self->fd, 0);
		ASSERT_REACHED(!state(self->fd).readers && is_asleep(c));
		/* a writer that writes */
		other = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
		EXPECT_EQ(0, finish(other));
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 0));
		/* a writer with a section that ends, in most rounds an active one */
		set_param("lend_period_us", "1000");
		other = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .outer = self->fd,
						      .flags = LOCK_TEST_OUTER_EXPEDITE,
						      .hold = LOCK_TEST_SLEEP, .hold_us = 5000 });
		EXPECT_EQ(0, finish(other));
		look_seldom();
		ASSERT_EQ(0, later_reader_is_lent_to(self->fd, 33, 0));
		EXPECT_EQ(0, end_of_section(self->fd, c));
	}
}

/* See g5_lent_priority.never_lends_99. */
TEST_F_TIMEOUT(g9_expedite, never_lends_99, 60)
{
	struct task *owner, *c, *r;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	owner = hold_until_go(self->mutex, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, owner);
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, r);
	c = committer(self->fd, self->mutex, 99, true);
	EXPECT_TRUE(reached(!has_own(r)));
	EXPECT_TRUE(has_fifo(r, 98));
	go(self->mutex, 0);
	EXPECT_EQ(0, finish(c));
	EXPECT_EQ(0, finish(owner));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
}

TEST_HARNESS_MAIN
