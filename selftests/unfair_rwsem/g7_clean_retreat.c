// SPDX-License-Identifier: GPL-2.0
/*
 * G7: killable, interruptible and timed waits leave nothing behind: no count, no
 * stale waiter, no lost wakeup. The fixture looks for what is left after each.
 *
 * Seen failing: the mutants g7-killed-writer-leaves-wwait,
 * g7-killed-writer-wakes-nobody, g7-herd, lost-wakeup-by-last-reader.
 */
#include "common.h"

LOCK_FIXTURE(g7_clean_retreat)

static const struct way { __u32 how; int signal, error; } ways[] = {
	{ FCT_KILLABLE, SIGKILL, -SIGKILL },
	{ FCT_INTERRUPTIBLE, SIGKILL, -SIGKILL },
	{ FCT_INTERRUPTIBLE, SIGUSR1, EINTR },
	{ FCT_TIMEOUT, 0, ETIME },
};

#define NR_WAYS ((int)(sizeof(ways) / sizeof(ways[0])))

static struct task *start_way(int fd, __u32 mode, const struct way *way)
{
	return start(fd, (struct job){ .mode = mode, .how = way->how, .timeout_ms = 60 });
}

static int retreat(struct task *t, const struct way *way)
{
	if (way->signal)
		kill(t->pid, way->signal);
	return finish(t);
}

TEST_F(g7_clean_retreat, from_behind_a_writer)
{
	int i, mode;

	for (mode = FCT_READ; mode <= FCT_WRITE; mode++) {
		for (i = 0; i < NR_WAYS; i++) {
			struct task *holder = start(self->fd, (struct job){
				.mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
			struct task *t;

			ASSERT_REACHED(state(self->fd).writers == 1);
			t = start_way(self->fd, mode, &ways[i]);
			ASSERT_REACHED(is_asleep(t) && state(self->fd).is_contended);
			EXPECT_EQ(ways[i].error, retreat(t, &ways[i]));
			EXPECT_EQ(0, state(self->fd).is_contended);
			EXPECT_EQ(0, t->order);
			go(self->fd, 0);
			EXPECT_EQ(0, finish(holder));
		}
	}
}

/* Readers wait for a writer that waits. It leaves: they must come in at once. */
TEST_F(g7_clean_retreat, last_waiting_writer_lets_the_readers_in)
{
	struct job until = { .mode = FCT_READ, .hold = FCT_UNTIL_GO };
	int i, k;

	set_bound(self->fd, 0);
	for (i = 0; i < NR_WAYS; i++) {
		struct task *holder, *w, *r[5];

		until.id = 0;
		holder = start(self->fd, until);
		ASSERT_REACHED(state(self->fd).readers == 1);
		w = start_way(self->fd, FCT_WRITE, &ways[i]);
		ASSERT_REACHED(state(self->fd).queued_writers == 1);
		for (k = 0; k < 5; k++) {
			until.id = k + 1;
			r[k] = start(self->fd, until);
		}
		if (ways[i].signal)
			ASSERT_REACHED(state(self->fd).queued_readers == 5);
		EXPECT_EQ(ways[i].error, retreat(w, &ways[i]));
		ASSERT_REACHED(state(self->fd).readers == 6);
		for (k = 0; k < 6; k++)
			go(self->fd, k);
		for (k = 0; k < 5; k++)
			EXPECT_EQ(0, finish(r[k]));
		EXPECT_EQ(0, finish(holder));
	}
}

/* The first writer leaves: the second one is the first now (rwsem's 6eebd5fb2083). */
TEST_F(g7_clean_retreat, first_writer_leaves_the_second_goes)
{
	int i;

	for (i = 0; i < NR_WAYS; i++) {
		struct task *holder, *first, *second;

		holder = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).readers == 1);
		first = start_way(self->fd, FCT_WRITE, &ways[i]);
		ASSERT_REACHED(state(self->fd).queued_writers >= 1);
		second = start(self->fd, (struct job){ .mode = FCT_WRITE, .nice = 19 });
		ASSERT_REACHED(state(self->fd).acquiring_writers >= 1 && is_asleep(second));
		EXPECT_EQ(ways[i].error, retreat(first, &ways[i]));
		EXPECT_EQ(1, state(self->fd).queued_writers);
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		EXPECT_EQ(0, finish(second));
	}
}

/*
 * The woken first one is killed before it has run: what it was woken for is the next
 * one's.
 */
static int killed_when_woken(int fd, __u32 mode)
{
	struct task *holder, *first, *second;
	struct hog hog;
	int ret;

	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	first = start(fd, (struct job){
		.mode = mode, .how = FCT_KILLABLE, .cpu = 2, .nice = -10 });
	CHECK(reached(state(fd).is_contended && is_asleep(first)));
	second = start(fd, (struct job){ .mode = mode, .cpu = 1 });
	CHECK(reached(state(fd).queued_readers + state(fd).queued_writers == 2 &&
		      is_asleep(second)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	kill(first->pid, SIGKILL);
	hog_stop(&hog);
	ret = finish(first);
	CHECK(!finish(second));
	if (!ret || first->order)
		return AGAIN;
	CHECK(ret == -SIGKILL);
	return 0;
}

TEST_F_TIMEOUT(g7_clean_retreat, killed_between_wakeup_and_lock, 60)
{
	int i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, CONCLUSIVE(killed_when_woken(self->fd, FCT_READ)));
		EXPECT_EQ(0, CONCLUSIVE(killed_when_woken(self->fd, FCT_WRITE)));
	}
}

/*
 * More readers than are woken at once, and those woken first are killed before they
 * have run: the chain must go on.
 */
static int killed_chain(int fd)
{
	struct task *holder, *r[24];
	int i, queued, killed = 0;
	struct hog hog;

	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	for (i = 0; i < 24; i++) {
		r[i] = start(fd, (struct job){ .mode = FCT_READ, .how = FCT_KILLABLE, .cpu = 2 });
		CHECK(reached(state(fd).queued_readers == (unsigned int)i + 1 &&
			      is_asleep(r[i])));
	}
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	queued = state(fd).queued_readers;
	for (i = 0; i < cpus(); i++)
		kill(r[i]->pid, SIGKILL);
	hog_stop(&hog);
	for (i = 0; i < 24; i++)
		killed += finish(r[i]) == -SIGKILL && !r[i]->order;
	if (killed != cpus())
		return AGAIN;
	/* no herd: as many as there are CPUs were woken */
	CHECK(queued == 24 - cpus());
	return 0;
}

TEST_F_TIMEOUT(g7_clean_retreat, killed_readers_do_not_break_the_chain, 60)
{
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_EQ(0, CONCLUSIVE(killed_chain(self->fd)));
}

TEST_F(g7_clean_retreat, timeout_of_zero_looks_once)
{
	struct job zero = { .mode = FCT_READ, .how = FCT_TIMEOUT };
	struct task *holder, *t;

	t = start(self->fd, zero);
	EXPECT_EQ(0, finish(t));
	holder = start(self->fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).writers == 1);
	t = start(self->fd, zero);
	EXPECT_EQ(ETIME, finish(t));
	zero.mode = FCT_WRITE;
	t = start(self->fd, zero);
	EXPECT_EQ(ETIME, finish(t));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
}

/* At every moment that a dice finds. */
TEST_F_TIMEOUT(g7_clean_retreat, at_random, 120)
{
	double end = seconds() + scaled(20);
	struct task *t[16];
	int i, round;

	srand(1);
	/* a kernel that checks everything does fewer */
	for (round = 0; round < scaled(40) && (round < 5 || seconds() < end); round++) {
		for (i = 0; i < 16; i++) {
			const struct way *way = &ways[rand() % NR_WAYS];

			t[i] = start(self->fd, (struct job){
				.mode = rand() % 3 == 0, .how = way->how,
				.timeout_ms = rand() % 8, .hold = rand() % 2 ? FCT_BUSY : FCT_SLEEP,
				.hold_us = rand() % 500, .repeat = 20, .nice = rand() % 20,
			});
		}
		for (i = 0; i < 16; i++) {
			if (rand() % 2)
				kill(t[i]->pid, rand() % 2 ? SIGKILL : SIGUSR1);
			if (rand() % 4 == 0)
				sleep_ms(rand() % 2);
		}
		for (i = 0; i < 16; i++)
			finish(t[i]);
		ASSERT_EQ(0, state(self->fd).is_locked);
		ASSERT_EQ(0, state(self->fd).is_contended);
	}
}

TEST_HARNESS_MAIN
