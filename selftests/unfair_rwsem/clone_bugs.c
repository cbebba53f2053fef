// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs that rw_semaphore has had, and that a clone can have again: one test for each
 * of its fixes, named by the commit.
 *
 * Two of them are in g6_spin_on_owner.c: b613c7f31476 (a real-time waiter that is not
 * first spins for ever) and 3f5245538a19 (a real-time waiter spins on an owner that it
 * preempted).
 *
 * Seen failing, each with a line of the lock (module/) broken:
 *  d257cc8cb8d5	leave_write(): atomic_long_sub(WWAIT, &sem->word) for sync_flags();
 *			and with it, try_write(): no WWAIT for one that passes
 *  6eebd5fb2083	leave_read(): no sync_flags()
 *  2f06f702925b	__unfair_read_fast(): without WWAIT; may_open_window(): "past" of an
 *			unsigned type
 *  1a728dff855a	may_pass_first(): without sem->steals < MAX_STEALS; without w->prio
 *			<= first->prio
 */
#include "common.h"

/* as in module/: how often the first writer is passed by its equals */
#define MAX_STEALS	250

LOCK_FIXTURE(clone_bugs)

/*
 * Each of the writers that give up takes the flag back that stands for all of them.
 * If that is done by subtraction, the borrow comes out of the reader count.
 */
TEST_F(clone_bugs, d257cc8cb8d5_flag_taken_back_once_for_all_waiters)
{
	int n, i;

	for (n = 1; n <= 4; n++) {
		struct task *holder, *w[4];

		holder = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).readers == 1);
		for (i = 0; i < n; i++) {
			w[i] = start(self->fd, (struct job){
				.mode = FCT_WRITE, .how = FCT_KILLABLE });
			ASSERT_REACHED(state(self->fd).queued_writers == i + 1 &&
				       is_asleep(w[i]));
		}
		for (i = 0; i < n; i++)
			kill(w[i]->pid, SIGKILL);
		for (i = 0; i < n; i++)
			EXPECT_EQ(-SIGKILL, finish(w[i]));
		/* one reader: no more, no less */
		EXPECT_EQ(1, state(self->fd).is_locked);
		EXPECT_EQ(0, state(self->fd).is_write_locked);
		EXPECT_EQ(0, state(self->fd).is_contended);
		EXPECT_EQ(EAGAIN, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
		ASSERT_EQ(0, lock(self->fd, FCT_READ, FCT_TRYLOCK));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		EXPECT_EQ(0, state(self->fd).is_locked);
		ASSERT_EQ(0, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
	}
}

/*
 * The first one is called, and killed before it has run; another one takes the lock
 * over its head. What the killed one takes back must not be the other one's.
 */
static int killed_under_the_next_owner(int fd)
{
	struct task *holder, *first, *other;
	struct fct_state s;
	struct hog hog;
	int ret;

	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	first = start(fd, (struct job){ .mode = FCT_WRITE, .how = FCT_KILLABLE, .cpu = 2 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(first)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	other = start(fd, (struct job){
		.mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .id = 1, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	kill(first->pid, SIGKILL);
	hog_stop(&hog);
	ret = finish(first);
	s = state(fd);
	go(fd, 1);
	CHECK(!finish(other));
	if (ret != -SIGKILL || first->order)
		return AGAIN;
	CHECK(s.is_write_locked);
	CHECK(s.writers == 1);
	CHECK(!s.is_contended);
	CHECK(!state(fd).is_locked);
	return 0;
}

TEST_F_TIMEOUT(clone_bugs, d257cc8cb8d5_killed_waiter_and_next_owner, 60)
{
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_EQ(0, CONCLUSIVE(killed_under_the_next_owner(self->fd)));
}

/* Nobody is left who could take a flag back: then the lock is closed for ever. */
TEST_F(clone_bugs, 6eebd5fb2083_killed_waiter_leaves_no_flag)
{
	int held, waits, i;

	set_bound(self->fd, 0);
	for (i = 0; i < 4; i++) {
		struct task *holder, *w = NULL, *t;

		held = i & 1;
		waits = i >> 1;
		holder = start(self->fd, (struct job){ .mode = held, .hold = FCT_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).is_locked);
		/* a reader waits for a reader only behind a writer */
		if (held == FCT_READ && waits == FCT_READ) {
			w = start(self->fd, (struct job){ .mode = FCT_WRITE });
			ASSERT_REACHED(state(self->fd).queued_writers == 1);
		}
		t = start(self->fd, (struct job){ .mode = waits, .how = FCT_KILLABLE });
		ASSERT_REACHED((waits == FCT_READ ? state(self->fd).queued_readers :
				state(self->fd).queued_writers) == 1 && is_asleep(t));
		kill(t->pid, SIGKILL);
		EXPECT_EQ(-SIGKILL, finish(t));
		EXPECT_EQ(!!w, state(self->fd).is_contended);
		if (held == FCT_READ && !w)
			EXPECT_EQ(0, lock(self->fd, FCT_READ, FCT_TRYLOCK));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		if (w)
			EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, state(self->fd).is_contended);
		EXPECT_EQ(0, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
		EXPECT_EQ(0, lock(self->fd, FCT_READ, FCT_TRYLOCK));
	}
}

/* The next reader asks before the last one leaves, again and again. */
TEST_F_TIMEOUT(clone_bugs, 2f06f702925b_relay_of_readers_does_not_starve_the_writer, 60)
{
	struct job read = { .mode = FCT_READ, .hold = FCT_UNTIL_GO };
	struct task *r[20], *w = NULL;
	int i;

	set_bound(self->fd, 0);
	for (i = 0; i < 20; i++) {
		read.id = i;
		r[i] = start(self->fd, read);
		if (!i) {
			ASSERT_REACHED(state(self->fd).readers == 1);
			w = start(self->fd, (struct job){ .mode = FCT_WRITE });
			ASSERT_REACHED(state(self->fd).queued_writers == 1);
			continue;
		}
		/* in, or in the queue */
		ASSERT_REACHED(is_asleep(r[i]) && (state(self->fd).queued_readers ||
						   state(self->fd).readers >= 1));
		go(self->fd, i - 1);
		EXPECT_EQ(0, finish(r[i - 1]));
	}
	go(self->fd, 19);
	EXPECT_EQ(0, finish(r[19]));
	EXPECT_EQ(0, finish(w));
	/* after the one that held it when the writer came */
	EXPECT_EQ(2, w->order);
}

/*
 * The same by windows: all of them have waited too long, but there is one window for
 * each write section, and it takes as many as can run. Returns the writer's place.
 */
static int place_of_writer(int fd, int readers)
{
	struct task *holder, *w, *r[64];
	int i;

	/* so long that a second one, because no writer comes, is out of the question */
	set_bound(fd, 200000);
	set_window("10000");
	holder = start(fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
	CHECK(reached(state(fd).readers == 1));
	w = start(fd, (struct job){ .mode = FCT_WRITE });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	for (i = 0; i < readers; i++) {
		r[i] = start(fd, (struct job){ .mode = FCT_READ });
		CHECK(reached(state(fd).queued_readers == i + 1 && is_asleep(r[i])));
	}
	sleep_ms(250);
	go(fd, 0);
	CHECK(!finish(holder));
	for (i = 0; i < readers; i++)
		CHECK(!finish(r[i]));
	CHECK(!finish(w));
	return w->order - holder->order;
}

TEST_F_TIMEOUT(clone_bugs, 2f06f702925b_overdue_readers_do_not_starve_the_writer, 60)
{
	int in_a_window = cpus() < 16 ? cpus() : 16, i, place;

	for (i = 0; i < 5; i++) {
		place = place_of_writer(self->fd, in_a_window + 12);
		EXPECT_GE(place, 1);
		EXPECT_LE(place, in_a_window + 1);
	}
}

/* A stream of short, overlapping sections, asleep and awake: writers get through. */
TEST_F_TIMEOUT(clone_bugs, 2f06f702925b_stream_of_readers_does_not_starve_the_writer, 60)
{
	struct task *r[8], *w;
	int i;

	for (i = 0; i < 8; i++)
		r[i] = start(self->fd, (struct job){
			.mode = FCT_READ, .hold = i % 4 ? FCT_SLEEP : FCT_BUSY,
			.hold_us = 500 + i * 300, .repeat = 100000000 });
	ASSERT_REACHED(state(self->fd).taken > 50);
	w = start(self->fd, (struct job){
		.mode = FCT_WRITE, .how = FCT_TIMEOUT, .timeout_ms = 8000, .repeat = 20 });
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(20, atomic_load(&w->done));
	for (i = 0; i < 8; i++) {
		kill(r[i]->pid, SIGKILL);
		finish(r[i]);
	}
}

/*
 * The lock is free, and the first writer is called and absent. For as long as a
 * window it may still come; who takes the lock meanwhile, steals it. A round in which
 * the loop may have gone on beyond the window is none: there everybody takes the lock.
 */
static int thefts(int fd, int nice, int *stolen)
{
	struct fct_loop loop = { .mode = FCT_WRITE, .duration_ms = 3 };
	struct task *holder, *first;
	struct fct_state s;
	int reads, writes;
	struct hog hog;
	double begin;
	bool ran, late;

	set_bound(fd, 0);
	set_window("10000");
	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	first = start(fd, (struct job){ .mode = FCT_WRITE, .cpu = 2 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(first)));
	hog = hog_start(1);
	setpriority(PRIO_PROCESS, 0, nice);
	begin = seconds();
	go(fd, 0);
	while ((s = state(fd)).is_locked && seconds() < begin + 1)
		sched_yield();
	reads = lock(fd, FCT_READ, FCT_TRYLOCK);
	writes = lock(fd, FCT_WRITE, FCT_TRYLOCK);
	ioctl(fd, FCT_LOOP, &loop);
	/* the last one had to wait, until the absent one was late: that is no theft */
	*stolen = loop.count - (loop.wait_max_ns > 1500000);
	/*
	 * The window is of 10 ms. A loop that began 3 ms before its end or later may
	 * have gone on after the wait; one that did not wait must have ended in it.
	 */
	late = seconds() - loop.wait_max_ns / 1e9 > begin + 0.007;
	setpriority(PRIO_PROCESS, 0, 0);
	ran = atomic_load(&first->done);
	hog_stop(&hog);
	CHECK(!finish(holder));
	CHECK(!finish(first));
	if (ran || late)
		return AGAIN;
	/* it never was anybody's without waiting */
	CHECK(!s.is_locked && s.is_contended);
	CHECK(reads == EAGAIN);
	CHECK(writes == EAGAIN);
	return 0;
}

TEST_F_TIMEOUT(clone_bugs, 1a728dff855a_equals_steal_a_limited_number_of_times, 60)
{
	int stolen, most = 0, ret, i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 5; i++) {
		ret = CONCLUSIVE(thefts(self->fd, 0, &stolen));
		if (ret == AGAIN)
			SKIP(return, "too slow for a window of 10 ms");
		ASSERT_EQ(0, ret);
		EXPECT_LE(stolen, MAX_STEALS);
		most = stolen > most ? stolen : most;
	}
	TH_LOG("at most %d", most);
}

TEST_F_TIMEOUT(clone_bugs, 1a728dff855a_lower_priority_does_not_steal, 60)
{
	int stolen, ret, i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 5; i++) {
		ret = CONCLUSIVE(thefts(self->fd, 10, &stolen));
		if (ret == AGAIN)
			SKIP(return, "too slow for a window of 10 ms");
		ASSERT_EQ(0, ret);
		EXPECT_EQ(0, stolen);
	}
}

TEST_HARNESS_MAIN
