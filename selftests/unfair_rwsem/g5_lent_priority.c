// SPDX-License-Identifier: GPL-2.0
/*
 * G5: a waiter lends its priority to each holder that does not run, until the release. Then the
 * holder has its own priority again, with the changes that others made meanwhile.
 *
 * A real-time task keeps the holder off its CPU, so the holder runs only if it is lent a higher
 * priority.
 *
 * Seen failing: the mutants g5-never-lends, g5-keeps-what-was-lent,
 * g5-takes-back-what-others-set, g5-lender-forgets, g5-fifo-for-ever, g5-nice-too-high,
 * g5-lender-is-preempted, g5-looks-once, g5-absent-first-lends-nothing, g5-only-sleepers-lend,
 * g5-readers-lend-nothing, g5-mode-of-queued-readers, g5-better-nice-is-enough, g5-lends-99,
 * g5-watch-is-not-handed-over.
 */
#include "common.h"
#include "pi_futex.h"
#include "priority.h"

LENDING_LOCK_FIXTURE(g5_lent_priority, "3")

/*
 * The holder is woken in its section while a real-time task has its CPU. It runs only with a
 * higher priority than that task. Returns 0 if it released and the waiter acquired the lock.
 */
static int preempted_holder(int fd, __u32 mode, struct job holder_job, struct job waiter_job)
{
	struct task *holder, *w;
	struct hog hog;
	int ret;

	holder_job.cpu = 2;
	holder = hold_until_go(fd, mode, holder_job);
	CHECK(holder);
	hog = hog_start(1);
	go(fd, holder_job.id);
	waiter_job.how = LOCK_TEST_TIMEOUT;
	/* less than the time after which the fair server runs the holder anyway, since 6.8 */
	waiter_job.timeout_ms = 400;
	waiter_job.cpu = 1;
	w = start(fd, waiter_job);
	ret = finish(w);
	hog_stop(&hog);
	CHECK(!finish(holder));
	return ret;
}

/* The same for a holder that is lent to. A busy host may take the CPU of either: try again. */
static int gets_on(int fd, __u32 mode, struct job holder_job, struct job waiter_job)
{
	int i, ret = ETIME;

	for (i = 0; i < 8 && ret == ETIME; i++)
		ret = preempted_holder(fd, mode, holder_job, waiter_job);
	return ret;
}

static const struct job rt60_writer = { .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 60 };
/* the fair server does not serve real-time tasks */
static const struct job rr5 = { .policy = SCHED_RR, .prio = 5 };
static const struct job rt60_reader = { .mode = LOCK_TEST_READ, .policy = SCHED_FIFO, .prio = 60 };

TEST_F_TIMEOUT(g5_lent_priority, preempted_reader_gets_on, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_READ, (struct job){ }, rt60_writer));
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 }, rt60_writer));
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_READ, (struct job){ .policy = SCHED_IDLE },
			     rt60_writer));
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_READ, rr5, rt60_writer));
}

TEST_F_TIMEOUT(g5_lent_priority, preempted_owner_gets_on, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_WRITE, (struct job){ .nice = 19 }, rt60_writer));
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_WRITE, (struct job){ .policy = SCHED_IDLE },
			     rt60_reader));
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_WRITE, rr5, rt60_writer));
	EXPECT_EQ(0, gets_on(self->fd, LOCK_TEST_WRITE, rr5, rt60_reader));
}

/* Without lending, the holder keeps the lock for as long as the real-time task runs. */
TEST_F_TIMEOUT(g5_lent_priority, off_means_off, 60)
{
	SKIP_ON_ONE_CPU();
	set_lend(self->fd, LEND_OFF);
	EXPECT_EQ(ETIME, preempted_holder(self->fd, LOCK_TEST_READ, rr5, rt60_writer));
	set_lend(self->fd, LEND_DEFAULT);
	ASSERT_TRUE(set_param("lend", "1"));
	EXPECT_EQ(ETIME, preempted_holder(self->fd, LOCK_TEST_READ, rr5, rt60_writer));
	ASSERT_TRUE(set_param("lend", "1"));
}

/* No loan exceeds the lender's own priority, even if that is too low to preempt the hog. */
TEST_F_TIMEOUT(g5_lent_priority, not_more_than_the_lender_has, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(ETIME, preempted_holder(self->fd, LOCK_TEST_READ, rr5, (struct job){
		.mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 40 }));
	EXPECT_EQ(ETIME, preempted_holder(self->fd, LOCK_TEST_READ, rr5, (struct job){
		.mode = LOCK_TEST_WRITE, .nice = -20 }));
}

/*
 * A holder releases and acquires the lock again. With no reader bound it comes after the writer,
 * which otherwise would lend to it again.
 */
static bool holds_again(int fd, struct task *holder)
{
	set_bound(fd, 0);
	go(fd, 0);
	return reached(atomic_load(&holder->done) == 1 && state(fd).readers == 1 &&
		       is_asleep(holder));
}

/*
 * After its release, a lent task must have priority @own. If a lender is just setting the priority,
 * that task restores it, as soon as it has a CPU.
 */
static int left_with(int fd, struct task *holder, struct priority own)
{
	CHECK(holds_again(fd, holder));
	if (!reached(has_own(holder->pid, own)))
		return report_left(holder->pid);
	go(fd, 0);
	CHECK(!finish(holder));
	return 0;
}

/* The holder has priority @lent while a writer waits, and @own before and afterwards. */
static int lent_to(int fd, struct job holder_job, struct job writer_job, __u32 mode,
		   struct priority lent, struct priority own)
{
	struct task *holder, *w;
	int ret;

	set_lend(fd, mode);
	holder_job.repeat = 2;
	holder = hold_until_go(fd, LOCK_TEST_READ, holder_job);
	CHECK(holder);
	CHECK(is(holder->pid, own.policy, own.rt, own.nice));
	writer_job.mode = LOCK_TEST_WRITE;
	w = start(fd, writer_job);
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	CHECK(reached(is(holder->pid, lent.policy, lent.rt, lent.nice)));
	ret = left_with(fd, holder, own);
	CHECK(ret || !finish(w));
	set_lend(fd, LEND_DEFAULT);
	return ret;
}

TEST_F_TIMEOUT(g5_lent_priority, lent_and_given_back, 60)
{
	const struct job nice19 = { .nice = 19 }, idle = { .policy = SCHED_IDLE, .nice = 5 };
	const struct job batch = { .policy = SCHED_BATCH, .nice = 3 };
	const struct job rr = { .policy = SCHED_RR, .prio = 7 };
	const struct job nice_20 = { .nice = -20 }, fifo60 = { .policy = SCHED_FIFO, .prio = 60 };
	const struct job nice10 = { .nice = 10 };
	int fd = self->fd;

	/* long enough that no loan ends early */
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	EXPECT_EQ(0, lent_to(fd, nice19, nice_20, LEND_FULL, P(SCHED_FIFO, 1, 19), P(0, 0, 19)));
	EXPECT_EQ(0, lent_to(fd, nice19, fifo60, LEND_FULL, P(SCHED_FIFO, 60, 19), P(0, 0, 19)));
	EXPECT_EQ(0, lent_to(fd, idle, nice_20, LEND_FULL, P(SCHED_FIFO, 1, 5),
			     P(SCHED_IDLE, 0, 5)));
	EXPECT_EQ(0, lent_to(fd, batch, nice_20, LEND_FULL, P(SCHED_FIFO, 1, 3),
			     P(SCHED_BATCH, 0, 3)));
	EXPECT_EQ(0, lent_to(fd, rr, fifo60, LEND_FULL, P(SCHED_FIFO, 60, 0), P(SCHED_RR, 7, 0)));
	/* the holder acquires again before the writer, which it outranks */
	EXPECT_EQ(0, lent_to(fd, rr, nice_20, LEND_FULL, P(SCHED_RR, 7, 0), P(SCHED_RR, 7, 0)));
	EXPECT_EQ(0, lent_to(fd, nice19, nice10, LEND_FULL, P(0, 0, 10), P(0, 0, 19)));
	EXPECT_EQ(0, lent_to(fd, nice19, nice_20, LEND_NICE, P(0, 0, -20), P(0, 0, 19)));
	EXPECT_EQ(0, lent_to(fd, nice19, nice10, LEND_NICE, P(0, 0, 10), P(0, 0, 19)));
	/* this real-time writer has nice value 0 */
	EXPECT_EQ(0, lent_to(fd, nice19, fifo60, LEND_NICE, P(0, 0, 0), P(0, 0, 19)));
	EXPECT_EQ(0, lent_to(fd, idle, nice_20, LEND_NICE, P(0, 0, -20), P(SCHED_IDLE, 0, 5)));
	EXPECT_EQ(0, lent_to(fd, batch, nice_20, LEND_NICE, P(SCHED_BATCH, 0, -20),
			     P(SCHED_BATCH, 0, 3)));
	EXPECT_EQ(0, lent_to(fd, nice19, nice_20, LEND_OFF, P(0, 0, 19), P(0, 0, 19)));
	/* a holder of the writer's own priority */
	EXPECT_EQ(0, lent_to(fd, nice10, nice10, LEND_NICE, P(0, 0, 10), P(0, 0, 10)));
}

/* Neither a policy nor a nice value. */
#define KEEP	100
#define NOBODY	65534

/* A change of priority, by root or, as far as the kernel permits, by the task's own user. */
struct change {
	uid_t by;
	int policy, rt, nice;
};

#define BY_ROOT(...)	(struct change){ 0, __VA_ARGS__ }
#define BY_USER(...)	(struct change){ NOBODY, __VA_ARGS__ }

static int change(pid_t pid, struct change c)
{
	struct sched_param param = { .sched_priority = c.rt };
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (!child) {
		prepare(&(struct job){ .uid = c.by });
		if (c.nice != KEEP && setpriority(PRIO_PROCESS, pid, c.nice))
			_exit(errno);
		/* an unprivileged user cannot clear the flag */
		if (c.policy != KEEP &&
		    sched_setscheduler(pid, c.policy | (c.by ? SCHED_RESET_ON_FORK : 0), &param))
			_exit(errno);
		if (c.policy == KEEP && c.rt && sched_setparam(pid, &param))
			_exit(errno);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Changes the holder's priority while a writer lends to it. Afterwards it must have @own. */
static int changed_meanwhile(int fd, __u32 mode, struct job holder_job, struct job waiter_job,
			     struct change c, struct priority own)
{
	struct task *holder, *w;
	int ret;

	set_lend(fd, mode);
	holder_job.repeat = 2;
	holder_job.uid = c.by;
	holder = hold_until_go(fd, LOCK_TEST_READ, holder_job);
	CHECK(holder);
	waiter_job.mode = LOCK_TEST_WRITE;
	w = start(fd, waiter_job);
	CHECK(reached(mode == LEND_FULL ?
		      is(holder->pid, SCHED_FIFO, waiter_job.prio ?: 1, holder_job.nice) :
		      is(holder->pid, SCHED_OTHER, 0, waiter_job.nice)));
	CHECK(!change(holder->pid, c));
	ret = left_with(fd, holder, own);
	CHECK(ret || !finish(w));
	set_lend(fd, LEND_DEFAULT);
	return ret;
}

/* What others set stays, and the rest is restored. */
TEST_F_TIMEOUT(g5_lent_priority, what_others_set_wins, 60)
{
	const struct job nice19 = { .nice = 19 }, idle = { .policy = SCHED_IDLE, .nice = 5 };
	const struct job nice_20 = { .nice = -20 };
	int fd = self->fd;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, nice19, nice_20, BY_ROOT(KEEP, 0, 7),
				       P(SCHED_OTHER, 0, 7)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, nice19, nice_20, BY_ROOT(SCHED_RR, 5, KEEP),
				       P(SCHED_RR, 5, 19)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, nice19, nice_20,
				       BY_ROOT(SCHED_FIFO, 2, KEEP), P(SCHED_FIFO, 2, 19)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, nice19, nice_20,
				       BY_ROOT(SCHED_IDLE, 0, KEEP), P(SCHED_IDLE, 0, 19)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, idle, nice_20, BY_ROOT(KEEP, 0, 7),
				       P(SCHED_IDLE, 0, 7)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, nice19, nice_20, BY_ROOT(KEEP, 0, 7),
				       P(SCHED_OTHER, 0, 7)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, idle, nice_20, BY_ROOT(KEEP, 0, 7),
				       P(SCHED_IDLE, 0, 7)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, nice19, nice_20,
				       BY_ROOT(SCHED_BATCH, 0, 3), P(SCHED_BATCH, 0, 3)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, nice19, nice_20,
				       BY_ROOT(SCHED_BATCH, 0, KEEP), P(SCHED_BATCH, 0, 19)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, nice19, nice_20, BY_ROOT(SCHED_RR, 3, KEEP),
				       P(SCHED_RR, 3, 19)));
}

/* A user must not keep more than the task's own priority by lowering what was lent. */
TEST_F_TIMEOUT(g5_lent_priority, no_user_keeps_what_was_lent, 60)
{
	const struct job nice19 = { .nice = 19 }, idle = { .policy = SCHED_IDLE, .nice = 5 };
	const struct job fifo50 = { .policy = SCHED_FIFO, .prio = 50 }, nice_20 = { .nice = -20 };
	const struct job nice5 = { .nice = 5 };
	int fd = self->fd;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, nice19, fifo50, BY_USER(KEEP, 1, KEEP),
				       P(SCHED_OTHER, 0, 19)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, nice19, nice_20, BY_USER(KEEP, 0, -19),
				       P(SCHED_OTHER, 0, 19)));
	/* less than the task's own priority stays */
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, nice5, nice_20, BY_USER(KEEP, 0, 7),
				       P(SCHED_OTHER, 0, 7)));
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_FULL, nice5, nice_20, BY_USER(KEEP, 0, 7),
				       P(SCHED_OTHER, 0, 7)));
	/* the loan of a nice value took the task out of SCHED_IDLE; it must return there */
	EXPECT_EQ(0, changed_meanwhile(fd, LEND_NICE, idle, nice_20,
				       BY_USER(SCHED_BATCH, 0, KEEP), P(SCHED_IDLE, 0, 5)));
}

/*
 * A loan of SCHED_FIFO does not change the nice value, not even a lent one. The nice value is
 * still lent after the lender of SCHED_FIFO gives up.
 */
TEST_F_TIMEOUT(g5_lent_priority, nice_value_then_fifo, 60)
{
	struct task *holder, *w1, *w2;
	int gives_up;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	for (gives_up = 0; gives_up <= 1; gives_up++) {
		holder = hold_until_go(self->fd, LOCK_TEST_READ,
				       (struct job){ .nice = 19, .repeat = 2 });
		ASSERT_NE(NULL, holder);
		w1 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = 5 });
		ASSERT_REACHED(is(holder->pid, SCHED_OTHER, 0, 5));
		w2 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE,
						   .how = LOCK_TEST_KILLABLE });
		ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 1, 5));
		if (gives_up) {
			kill(w2->pid, SIGKILL);
			ASSERT_REACHED(is(holder->pid, SCHED_OTHER, 0, 5));
		}
		EXPECT_EQ(0, left_with(self->fd, holder, P(SCHED_OTHER, 0, 19)));
		EXPECT_EQ(0, finish(w1));
		EXPECT_EQ(gives_up ? -SIGKILL : 0, finish(w2));
	}
}

/* Since 6.12, a real-time policy clears the timer slack. */
TEST_F(g5_lent_priority, timer_slack_is_given_back)
{
	struct task *holder, *w;
	char path[64];

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19, .repeat = 2 });
	ASSERT_NE(NULL, holder);
	snprintf(path, sizeof(path), "/proc/%d/timerslack_ns", holder->pid);
	ASSERT_TRUE(put(path, "1234567"));
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					  .prio = 20 });
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 20, 19));
	ASSERT_TRUE(holds_again(self->fd, holder));
	EXPECT_TRUE(reached(file_has(path, "1234567\n")));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
	EXPECT_EQ(0, finish(w));
}

/* Waiters that had nothing to lend, or no holder to lend to, when they queued. */
TEST_F_TIMEOUT(g5_lent_priority, waiter_looks_again, 60)
{
	struct task *holder, *w1, *w2;
	__u32 mode;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	/* another waiter lends more, and gives up */
	for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
		holder = hold_until_go(self->fd, mode, (struct job){ .nice = 19 });
		ASSERT_NE(NULL, holder);
		w2 = start(self->fd, (struct job){
			.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE, .policy = SCHED_FIFO,
			.prio = 30 });
		ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 30, 19));
		w1 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
						   .prio = 20 });
		ASSERT_REACHED(state(self->fd).queued_writers == 2 && is_asleep(w1));
		EXPECT_EQ(-SIGKILL, kill_task(w2));
		EXPECT_TRUE(reached(is(holder->pid, SCHED_FIFO, 20, 19)))
			TH_LOG("held for %s", mode == LOCK_TEST_READ ? "reading" : "writing");
		go(self->fd, 0);
		EXPECT_EQ(0, finish(w1));
		EXPECT_EQ(0, finish(holder));
	}
	/* a waiting writer of low priority becomes the owner */
	holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
	ASSERT_NE(NULL, holder);
	w1 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = 19, .id = 1,
					   .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).queued_writers == 1);
	w2 = start(self->fd, (struct job){ .mode = LOCK_TEST_READ });
	ASSERT_REACHED(state(self->fd).queued_readers == 1 && is_asleep(w2));
	set_bound(self->fd, 0);
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
	ASSERT_REACHED(state(self->fd).writers == 1);
	EXPECT_TRUE(reached(is(w1->pid, SCHED_FIFO, 1, 19)));
	go(self->fd, 1);
	EXPECT_EQ(0, finish(w1));
	EXPECT_EQ(0, finish(w2));
}

/* What queued readers lend follows the mode of the lock, also if the mode changes meanwhile. */
TEST_F_TIMEOUT(g5_lent_priority, mode_changes_while_readers_wait, 60)
{
	static const struct job reader = { .mode = LOCK_TEST_READ };
	struct task *owner, *r, *w;
	__u32 mode;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	set_bound(self->fd, 0);
	for (mode = LEND_OFF; mode <= LEND_NICE; mode++) {
		owner = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ .nice = 19 });
		ASSERT_NE(NULL, owner);
		r = start(self->fd, reader);
		ASSERT_REACHED(is(owner->pid, SCHED_FIFO, 1, 19));
		set_lend(self->fd, mode);
		w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = 19, .id = 1,
						  .hold = LOCK_TEST_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(w));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(owner));
		ASSERT_REACHED(state(self->fd).writers == 1 && is_asleep(w));
		EXPECT_TRUE(mode == LEND_OFF || reached(is(w->pid, SCHED_OTHER, 0, 0)));
		/* many looks */
		sleep_ms(50);
		EXPECT_TRUE(is(w->pid, SCHED_OTHER, 0, mode == LEND_OFF ? 19 : 0));
		set_lend(self->fd, LEND_DEFAULT);
		EXPECT_TRUE(reached(has_fifo(w, 1)));
		go(self->fd, 1);
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, finish(r));
	}
}

/* The next look comes a period after the last one, by the period of now. */
TEST_F_TIMEOUT(g5_lent_priority, shorter_period_takes_effect, 60)
{
	struct task *holder, *w;

	ASSERT_TRUE(set_param("lend_period_us", "60000000"));
	set_lend(self->fd, LEND_OFF);
	holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, holder);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					  .prio = 30 });
	ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(w));
	set_lend(self->fd, LEND_DEFAULT);
	/* one run of the timer */
	sleep_ms(150);
	EXPECT_TRUE(has_own(holder->pid, P(SCHED_OTHER, 0, 19)));
	ASSERT_TRUE(set_param("lend_period_us", "1000"));
	EXPECT_TRUE(reached(has_fifo(holder, 30)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(holder));
}

/* A loan ends when its lender gives up. The loan of another waiter stays. */
TEST_F_TIMEOUT(g5_lent_priority, lender_gives_up, 60)
{
	struct task *holder, *w1, *w2;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, holder);
	w1 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					   .prio = 20 });
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 20, 19));
	w2 = start(self->fd, (struct job){
		.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE, .policy = SCHED_FIFO,
		.prio = 30 });
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 30, 19));
	EXPECT_EQ(-SIGKILL, kill_task(w2));
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 20, 19));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(w1));
	EXPECT_EQ(0, finish(holder));

	holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	ASSERT_NE(NULL, holder);
	w1 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_TIMEOUT,
					   .timeout_ms = 5000, .nice = -20 });
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 1, 19));
	EXPECT_EQ(ETIME, finish(w1));
	/* another lender may be about to restore it, as in left_with() */
	ASSERT_REACHED(has_own(holder->pid, P(SCHED_OTHER, 0, 19)));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
}

/* --- waiters that do not run --------------------------------------------- */

/*
 * Gives the test itself, but not its children, a higher priority than the tasks that it watches.
 * Its timers expire on the CPU to which it is pinned, so it may sleep while a hog has the other.
 */
static void outrank_all(bool on)
{
	struct sched_param p = { .sched_priority = on ? 80 : 0 };

	sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}

#define seen_within(s, cond)						\
({									\
	double _end = seconds() + (s);					\
	bool _seen;							\
									\
	while (!(_seen = (cond)) && seconds() < _end)			\
		usleep(500);						\
	_seen;								\
})

#define BUSY_TASKS	4

static void start_busy_tasks(pid_t *busy)
{
	int i;

	for (i = 0; i < BUSY_TASKS; i++)
		busy[i] = start_busy(0);
}

static void kill_busy_tasks(const pid_t *busy)
{
	int i;

	for (i = 0; i < BUSY_TASKS; i++)
		kill_pid(busy[i]);
}

/* Sets @lent if the reader has that level. Also true once the reader has released the lock. */
static bool loan_is_seen(int fd, pid_t reader, int rt, bool *lent)
{
	*lent = priority_of(reader).rt >= rt;
	return *lent || !state(fd).readers;
}

/*
 * The first waiter queues. Then a real-time task takes the CPU of that waiter, and busy tasks
 * take the CPU of the reader. The second waiter shares that CPU with them. Nothing is lent until
 * both wait. Then the reader, which has 8 ms left to run, must be lent at least @rt although the
 * first waiter does not run. Returns AGAIN if the first waiter ran.
 *
 * @ms: from that moment until the reader has released the lock
 */
static int absent_first_waiter(int fd, struct job first_job, struct job second_job, int rt,
			       double *ms)
{
	struct task *reader, *first, *second = NULL;
	pid_t busy[BUSY_TASKS] = { };
	struct hog hog;
	struct lock_test_op op = { .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO };
	bool lent = false;
	double began;
	int ret = 0;
	__u64 ran;

	set_param("lend", "1");
	/* consumes a go that the killed reader of the last round left unused */
	go(fd, 0);
	CHECK(!ioctl(fd, LOCK_TEST_LOCK, &op));
	pin(1);
	outrank_all(true);
	hog = hog_ready(1);
	reader = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY_GO,
					 .hold_us = 8000, .nice = 19, .cpu = 1 });
	if (!reached(state(fd).readers == 1))
		ret = -__LINE__;
	first_job.cpu = 2;
	first_job.how = LOCK_TEST_KILLABLE;
	first = start(fd, first_job);
	if (!ret && !reached(state(fd).queued_writers == 1))
		ret = -__LINE__;
	/* the hog runs as soon as this task leaves the CPU, before the first waiter can */
	hog_go(&hog);
	pin(0);
	ran = cpu_time(first->pid);
	start_busy_tasks(busy);
	if (!ret) {
		second_job.cpu = 1;
		second_job.how = LOCK_TEST_KILLABLE;
		second = start(fd, second_job);
		if (!seen_within(0.2, state(fd).queued_writers + state(fd).queued_readers == 2))
			ret = AGAIN;
	}
	go(fd, 0);
	began = seconds();
	set_param("lend", "1");
	/* less than the time after which the fair server runs the first waiter, since 6.8 */
	if (!ret && !seen_within(0.4, loan_is_seen(fd, reader->pid, rt, &lent)))
		ret = -__LINE__;
	/* a busy host may keep this task from its CPU until the reader has released */
	if (!ret && !lent)
		ret = AGAIN;
	if (!ret && !seen_within(0.4, !state(fd).readers || atomic_load(&second->done)))
		ret = -__LINE__;
	*ms = (seconds() - began) * 1e3;
	/* the second waiter waits for its CPU, too */
	if (!ret && !seen_within(2, atomic_load(&second->done)))
		ret = -__LINE__;
	if (cpu_time(first->pid) != ran)
		ret = AGAIN;
	hog_stop(&hog);
	kill_busy_tasks(busy);
	outrank_all(false);
	kill_task(reader);
	kill_task(first);
	if (second)
		kill_task(second);
	return ret;
}

struct pair {
	const char *name;
	struct job first, second;
	int rt;
};

/*
 * A busy host may take the lender's CPU for the whole try. So only three failed tries in a row
 * count as a failure.
 */
static int loan_in_some_try(int fd, const struct pair *p, double *ms)
{
	int i, ret = AGAIN;

	for (i = 0; i < 3 && ret; i++) {
		ret = CONCLUSIVE_OF(4, absent_first_waiter(fd, p->first, p->second, p->rt, ms));
		if (ret == AGAIN)
			break;
	}
	return ret;
}

#define ROUNDS	10

TEST_F_TIMEOUT(g5_lent_priority, absent_first_waiter_lends_all_the_same, 100)
{
	static const struct pair pairs[] = {
		{ "nice 0, nice 0", { .mode = LOCK_TEST_WRITE }, { .mode = LOCK_TEST_WRITE }, 1 },
		/* the second waiter goes to the head of the queue */
		{ "nice 0, nice -20", { .mode = LOCK_TEST_WRITE },
		  { .mode = LOCK_TEST_WRITE, .nice = -20 }, 1 },
		{ "nice -20, nice -20", { .mode = LOCK_TEST_WRITE, .nice = -20 },
		  { .mode = LOCK_TEST_WRITE, .nice = -20 }, 1 },
		/* the first waiter's level counts, too */
		{ "FIFO 45, nice 0", { .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 45 },
		  { .mode = LOCK_TEST_WRITE }, 45 },
		{ "FIFO 45, FIFO 40", { .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 45 },
		  { .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 40 }, 40 },
		/* a reader lends, too; it may not pass the first writer */
		{ "FIFO 45, reader of FIFO 40",
		  { .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 45 },
		  { .mode = LOCK_TEST_READ, .policy = SCHED_FIFO, .prio = 40 }, 40 },
	};
	double ms, worst, end = seconds() + 60;
	int i, j, ret, unclear = 0;

	SKIP_ON_ONE_CPU();
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		worst = 0;
		ret = 0;
		for (j = 0; j < scaled(ROUNDS) && !ret && seconds() < end; j++) {
			ms = 0;
			ret = loan_in_some_try(self->fd, &pairs[i], &ms);
			worst = ms > worst ? ms : worst;
		}
		if (ret == AGAIN || !j) {
			/* a busy host may take one of the guest's two CPUs for too long */
			TH_LOG("%s: not conclusive in four tries", pairs[i].name);
			unclear++;
			continue;
		}
		EXPECT_EQ(0, ret);
		TH_LOG("%s: the reader released after %.1f ms at most", pairs[i].name, worst);
	}
	if (unclear == i)
		SKIP(return, "the machine is too busy to keep one waiter off its CPU");
}

#define OWNER_GROUP	"/sys/fs/cgroup/g5_owner"

/* The owner has a better nice value than the waiter, but its cgroup may get little CPU time. */
static int owner_is_lent_to(int fd, const char *group, __u32 mode)
{
	struct task *owner, *w;
	siginfo_t info;
	int ret = 0;

	owner = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .nice = -5, .cgroup = group });
	CHECK(owner);
	w = start(fd, (struct job){ .mode = mode });
	if (!reached(is(owner->pid, SCHED_FIFO, 1, -5)))
		ret = report_left(owner->pid);
	go(fd, 0);
	/* an exited task that is not reaped still has its priority */
	CHECK(!waitid(P_PID, owner->pid, &info, WEXITED | WNOWAIT));
	if (!reached(has_own(owner->pid, P(SCHED_OTHER, 0, -5))))
		ret = report_left(owner->pid);
	CHECK(!finish(owner));
	CHECK(!finish(w));
	return ret;
}

TEST_F_TIMEOUT(g5_lent_priority, owner_of_better_nice_is_lent_to, 60)
{
	const char *group = NULL;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	/* without a cgroup the test is as strict: SCHED_FIFO is more than any nice value */
	if (make_cgroup(OWNER_GROUP) && put(OWNER_GROUP "/cpu.weight", "1"))
		group = OWNER_GROUP "/cgroup.procs";
	EXPECT_EQ(0, owner_is_lent_to(self->fd, group, LOCK_TEST_WRITE));
	EXPECT_EQ(0, owner_is_lent_to(self->fd, group, LOCK_TEST_READ));
	rmdir(OWNER_GROUP);
}

/* No task could preempt a task of SCHED_FIFO 99 to end its loan. */
TEST_F_TIMEOUT(g5_lent_priority, never_lends_99, 60)
{
	static const struct job waiters[] = {
		{ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 99 },
		{ .mode = LOCK_TEST_WRITE, .policy = SCHED_RR, .prio = 99 },
		{ .mode = LOCK_TEST_WRITE, .policy = SCHED_DEADLINE },
	};
	struct task *holder, *w;
	__u32 mode;
	int i;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	for (i = 0; i < 3; i++) {
		for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
			holder = hold_until_go(self->fd, mode, (struct job){ .nice = 19 });
			ASSERT_NE(NULL, holder);
			w = start(self->fd, waiters[i]);
			EXPECT_TRUE(reached(priority_of(holder->pid).policy == SCHED_FIFO));
			EXPECT_EQ(98, priority_of(holder->pid).rt);
			go(self->fd, 0);
			EXPECT_EQ(0, finish(w));
			EXPECT_EQ(0, finish(holder));
		}
	}
}

struct returns {
	atomic_int stop, sections;
	atomic_int with_loan;		/* returns from a section with a loan */
	atomic_int kept;		/* of these: the loan stayed */
};

static bool has_loan(void)
{
	return sched_getscheduler(0) & SCHED_RESET_ON_FORK;
}

static pid_t start_returning_reader(int fd, int cpu, struct returns *r)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prepare(&(struct job){ .nice = 5, .cpu = cpu + 1 });
	while (!atomic_load(&r->stop)) {
		/* long enough that the writer preempts it now and then */
		struct lock_test_op op = { .mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY,
					   .hold_us = 2000 };
		__u64 from;

		ioctl(fd, LOCK_TEST_LOCK, &op);
		atomic_fetch_add(&r->sections, 1);
		if (!has_loan())
			continue;
		atomic_fetch_add(&r->with_loan, 1);
		/*
		 * A lender on another CPU may be about to end the loan, unless a busy host has
		 * taken that CPU. A lender that this task preempts, thanks to the loan, cannot.
		 */
		from = cpu_time(0);
		while (has_loan() && cpu_time(0) - from < 800000000)
			;
		if (has_loan())
			atomic_fetch_add(&r->kept, 1);
		while (has_loan())
			usleep(1000);
	}
	_exit(0);
}

/* The lent task preempts its lender. It must not keep the loan because of that. */
TEST_F_TIMEOUT(g5_lent_priority, no_section_ends_with_a_loan, 60)
{
	struct returns *r = share(sizeof(*r));
	struct task *w;
	pid_t reader[2];
	int i;

	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	for (i = 0; i < 2; i++)
		reader[i] = start_returning_reader(self->fd, 0, r);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
					  .cpu = 1, .hold = LOCK_TEST_SLEEP, .hold_us = 500,
					  .repeat = 1 << 30 });
	sleep_ms(scaled(8000));
	atomic_store(&r->stop, 1);
	for (i = 0; i < 2; i++)
		waitpid(reader[i], NULL, 0);
	EXPECT_EQ(-SIGKILL, kill_task(w));
	TH_LOG("%d sections, %d writes, %d returns with a loan, %d of them kept it",
	       atomic_load(&r->sections), atomic_load(&w->done), atomic_load(&r->with_loan),
	       atomic_load(&r->kept));
	EXPECT_EQ(0, atomic_load(&r->kept));
}

/*
 * RLIMIT_RTTIME counts the time as SCHED_FIFO until the task sleeps with that policy. A lent task
 * may never do so. Unless the module resets it, the time of all loans adds up, until SIGXCPU.
 */
TEST_F_TIMEOUT(g5_lent_priority, rttime_is_given_back, 60)
{
	struct rlimit before, limit;
	struct task *holder, *w;
	double since, fifo = 0;
	pid_t busy;
	int ret;

	SKIP_ON_ONE_CPU();
	/* the holder runs on the other CPU */
	pin(1);
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	busy = start_busy(0);
	ASSERT_EQ(0, getrlimit(RLIMIT_RTTIME, &before));
	limit = (struct rlimit){ .rlim_cur = 300000, .rlim_max = before.rlim_max };
	ASSERT_EQ(0, setrlimit(RLIMIT_RTTIME, &limit));
	holder = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold_us = 100000,
					       .nice = 10, .cpu = 1, .repeat = 12 });
	setrlimit(RLIMIT_RTTIME, &before);
	ASSERT_REACHED(state(self->fd).readers == 1);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
					  .nice = -7, .repeat = 1 << 30 });
	while (task_state(holder->pid) != 'Z') {
		bool had = is(holder->pid, SCHED_FIFO, 1, 10);

		since = seconds();
		usleep(1000);
		if (had && is(holder->pid, SCHED_FIFO, 1, 10))
			fifo += seconds() - since;
	}
	unpin();
	ret = finish(holder);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(-SIGKILL, kill_task(w));
	kill_pid(busy);
	/* the holder must have had more than the limit in all */
	TH_LOG("SCHED_FIFO for %.1f s", fifo);
	if (!ret && fifo < 0.6)
		SKIP(return, "it was lent SCHED_FIFO for %.1f s: not enough to tell", fifo);
}

/* A holder that keeps running loses its SCHED_FIFO after the budget, and is lent a nice value. */
TEST_F_TIMEOUT(g5_lent_priority, fifo_ends, 60)
{
	int i, lent = 0, ended = 0;
	struct task *holder, *w;
	pid_t busy;

	ASSERT_TRUE(set_param("lend_fifo_us", "50000"));
	busy = start_busy(0);
	/* the busy task preempts the holder repeatedly; the writer must see that at least once */
	for (i = 0; i < 10 && !ended && (lent || i < 4); i++) {
		holder = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold_us = 700000,
						       .nice = 10, .cpu = 1 });
		ASSERT_REACHED(state(self->fd).readers == 1);
		w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = -7 });
		while (state(self->fd).readers && !ended) {
			lent |= is(holder->pid, SCHED_FIFO, 1, 10);
			ended = lent && is(holder->pid, SCHED_OTHER, 0, -7);
			usleep(1000);
		}
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, finish(holder));
	}
	kill_pid(busy);
	if (!lent)
		SKIP(return, "a task that runs in the kernel is not preempted here");
	EXPECT_TRUE(ended);
}

/* The budget is CPU time: it does not pass while a task of higher priority has the CPU. */
TEST_F_TIMEOUT(g5_lent_priority, fifo_is_of_time_on_a_cpu, 60)
{
	struct task *holder, *w;
	struct hog hog;
	bool lent;

	SKIP_ON_ONE_CPU();
	ASSERT_TRUE(set_param("lend_fifo_us", "10000"));
	holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .nice = 10, .cpu = 2 });
	ASSERT_NE(NULL, holder);
	hog = hog_start(1);
	w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 20,
					  .cpu = 1 });
	lent = reached(is(holder->pid, SCHED_FIFO, 20, 10));
	go(self->fd, 0);
	/* the holder is woken, and kept off its CPU for many times its budget */
	usleep(200000);
	EXPECT_TRUE(is(holder->pid, SCHED_FIFO, 20, 10));
	hog_stop(&hog);
	EXPECT_TRUE(lent);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(holder));
}

/* --- waiters that inherit a priority -------------------------------------- */

/* A writer of nice 15 gives up: the loans of the lock sink to what the others lend. */
static int let_one_give_up(int fd)
{
	struct task *t = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = 15,
						 .how = LOCK_TEST_TIMEOUT, .timeout_ms = 10 });

	return finish(t) == ETIME ? 0 : -__LINE__;
}

/*
 * Waiter T waits for @inner and holds @outer. It inherits FIFO 40 as the owner of a lock of user
 * space, and must lend that. What the waiters of @outer lend it, it must not lend.
 */
static int inherits_and_waits(int outer, int inner, struct job j, struct priority own)
{
	__u32 *futex = share(sizeof(*futex));
	static const int lent[] = { 20, 40, 45 };
	struct task *holder, *t, *w;
	pid_t boosts;
	int i;

	CHECK(futex);
	holder = hold_until_go(inner, LOCK_TEST_WRITE, (struct job){ .nice = 19 });
	CHECK(holder);
	j.how = LOCK_TEST_KILLABLE;
	j.flags = LOCK_TEST_OUTER_READ;
	j.outer = outer;
	j.pi_futex = futex;
	t = start(inner, j);
	CHECK(reached(state(inner).queued_readers + state(inner).queued_writers == 1));
	CHECK(reached(is_asleep(t) && is(holder->pid, own.policy, own.rt, own.nice)));
	boosts = start_pi_waiter(t->pid, futex, 40);
	CHECK(boosts > 0);
	CHECK(reached(has_fifo(holder, 40)));
	for (i = 0; i < 3; i++) {
		w = start(outer, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					       .how = LOCK_TEST_KILLABLE, .prio = lent[i] });
		CHECK(reached(priority_of(t->pid).rt >= lent[i]));
		CHECK(!let_one_give_up(inner));
		CHECK(has_fifo(holder, 40));
		CHECK(kill_task(w) == -SIGKILL);
	}
	kill_pid(boosts);
	CHECK(!let_one_give_up(inner));
	CHECK(reached(own.rt ? has_fifo(holder, own.rt) :
			       is(holder->pid, own.policy, 0, own.nice)));
	go(inner, 0);
	CHECK(!finish(holder));
	CHECK(!finish(t));
	return 0;
}

TEST_F_TIMEOUT(g5_lent_priority, inherited_priority_is_lent, 60)
{
	int inner = lock_open(LOCK_TEST_UNFAIR);

	if (!has_pi_futexes())
		SKIP(return, "no PI futexes");
	ASSERT_GE(inner, 0);
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	/* a chain would pass on what the waiter is lent */
	ASSERT_TRUE(set_param("lend_links", "0"));
	EXPECT_EQ(0, inherits_and_waits(self->fd, inner,
					(struct job){ .mode = LOCK_TEST_WRITE, .nice = 10 },
					P(SCHED_OTHER, 0, 10)));
	/* it lends itself SCHED_FIFO while it sleeps */
	EXPECT_EQ(0, inherits_and_waits(self->fd, inner, (struct job){ .mode = LOCK_TEST_WRITE },
					P(SCHED_FIFO, 1, 19)));
	set_param("lend_links", "8");
	close(inner);
}

/* Two locks, two lenders, one holder: each loan ends with its lock. */
TEST_F_TIMEOUT(g5_lent_priority, two_locks, 60)
{
	struct task *holder, *w1, *w2;
	int inner = lock_open(LOCK_TEST_UNFAIR);

	ASSERT_GE(inner, 0);
	ASSERT_TRUE(set_param("lend_fifo_us", "1000000"));
	holder = hold_until_go(inner, LOCK_TEST_READ, (struct job){
		.nice = 19, .flags = LOCK_TEST_OUTER_READ, .outer = self->fd });
	ASSERT_NE(NULL, holder);
	w1 = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO,
					   .prio = 20 });
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 20, 19));
	w2 = start(inner, (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
					.policy = SCHED_FIFO, .prio = 30 });
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 30, 19));
	EXPECT_EQ(-SIGKILL, kill_task(w2));
	ASSERT_REACHED(is(holder->pid, SCHED_FIFO, 20, 19));
	go(inner, 0);
	EXPECT_EQ(0, finish(w1));
	EXPECT_EQ(0, finish(holder));
	close(inner);
}

/*
 * The test renices and kills readers and writers of all priorities, moves them to other CPUs and
 * cgroups, and unplugs a CPU. In the end each task has the priority that it was given last, and
 * no child that it forked has a loan.
 */
#define CROWD	12
#define SECONDS	4

#define CROWD_GROUP	"/sys/fs/cgroup/g5"
#define CROWD_CPU	"/sys/devices/system/cpu/cpu1/online"

static void fork_one(atomic_int *heirs)
{
	pid_t pid = fork();

	if (!pid) {
		if (sched_getscheduler(0) & SCHED_RESET_ON_FORK || priority_of(0).rt)
			atomic_fetch_add(heirs, 1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void move_to_group(pid_t pid, const char *group)
{
	char path[64], id[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(id, sizeof(id), "%d", pid);
	put(path, id);
}

/* @stop: two counters, the second is the number of children that inherited a loan */
static pid_t start_crowd(int fd, int i, atomic_int *stop)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srandom(getpid());
	while (!atomic_load(stop)) {
		struct lock_test_op op = {
			.mode = i < CROWD * 3 / 4 ? LOCK_TEST_READ : LOCK_TEST_WRITE,
			.how = random() % 3 ? LOCK_TEST_KILLABLE : LOCK_TEST_TIMEOUT,
			.timeout_ms = random() % 5,
			.hold = random() % 2 ? LOCK_TEST_BUSY : LOCK_TEST_SLEEP,
			.hold_us = random() % 3000,
		};

		ioctl(fd, LOCK_TEST_LOCK, &op);
		if (op.mode == LOCK_TEST_WRITE)
			usleep(random() % 2000);
		if (!(random() % 16))
			fork_one(stop + 1);
	}
	for (;;)
		pause();
}

struct crowd {
	struct { pid_t pid; int policy, nice; } member[CROWD];
	atomic_int *stop;
	bool groups;
	int changes, kills, moves, offline;
};

static void start_member(struct crowd *c, int fd, int i)
{
	c->member[i].pid = start_crowd(fd, i, c->stop);
	c->member[i].policy = SCHED_OTHER;
	c->member[i].nice = 0;
}

/* Returns false if a priority could not be set. */
static bool disturb_member(struct crowd *c, int fd, int i)
{
	static const int policies[] = { SCHED_OTHER, SCHED_BATCH, SCHED_IDLE };
	struct sched_param param = { };
	pid_t pid = c->member[i].pid;
	cpu_set_t set;

	switch (random() % 10) {
	case 8:
		if (c->groups)
			move_to_group(pid, c->moves++ % 2 ? "/sys/fs/cgroup" : CROWD_GROUP);
		return true;
	case 9:
		/* rarely: hotplug is slow on an emulator */
		if (!(random() % 64))
			c->offline += put(CROWD_CPU, "0") && put(CROWD_CPU, "1");
		return true;
	case 0:
		kill_pid(pid);
		start_member(c, fd, i);
		c->kills++;
		return true;
	case 1:
		CPU_ZERO(&set);
		CPU_SET(random() % cpus(), &set);
		sched_setaffinity(pid, sizeof(set), &set);
		return true;
	case 2:
	case 3:
		c->member[i].policy = policies[random() % 3];
		if (sched_setscheduler(pid, c->member[i].policy, &param))
			return false;
		/* this also set the nice value of the moment, which may have been lent */
		__attribute__((fallthrough));
	default:
		c->member[i].nice = random() % 40 - 20;
		c->changes++;
		return !setpriority(PRIO_PROCESS, pid, c->member[i].nice);
	}
}

TEST_F_TIMEOUT(g5_lent_priority, nobody_is_left_with_it, 100)
{
	struct crowd c = { .stop = share(2 * sizeof(*c.stop)) };
	double end = seconds() + scaled(SECONDS);
	int i, raced = 0;

	ASSERT_TRUE(set_param("lend_fifo_us", "2000"));
	c.groups = make_cgroup(CROWD_GROUP) && put(CROWD_GROUP "/cpu.weight", "1");
	for (i = 0; i < CROWD; i++)
		start_member(&c, self->fd, i);
	while (seconds() < end) {
		ASSERT_TRUE(disturb_member(&c, self->fd, random() % CROWD));
		usleep(random() % 2000);
	}
	atomic_store(c.stop, 1);
	for (i = 0; i < CROWD; i++)
		ASSERT_REACHED(task_state(c.member[i].pid) == 'S');
	ASSERT_REACHED(!state(self->fd).is_locked);
	for (i = 0; i < CROWD; i++) {
		pid_t pid = c.member[i].pid;

		/* each loan sets the flag, and its end clears it */
		EXPECT_TRUE(reached(!(sched_getscheduler(pid) & SCHED_RESET_ON_FORK) &&
				    !priority_of(pid).rt));
		if (!is(pid, c.member[i].policy, 0, c.member[i].nice)) {
			TH_LOG("set to policy %d, nice %d:", c.member[i].policy, c.member[i].nice);
			report_left(pid);
			raced++;
		}
		kill_pid(pid);
	}
	EXPECT_EQ(0, atomic_load(c.stop + 1));
	if (c.groups)
		rmdir(CROWD_GROUP);
	TH_LOG("%d changes, %d kills, %d moves, %d times offline, %d overwritten", c.changes,
	       c.kills, c.moves, c.offline, raced);
	/* the module loses a change between its check and its setting: see lent_priority.rst */
	EXPECT_LE(raced, CROWD / 4);
}

TEST_HARNESS_MAIN
