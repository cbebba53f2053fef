// SPDX-License-Identifier: GPL-2.0
/*
 * G4: a reader that has waited longer than the lock's bound gets a window at the next release.
 * Writers do not acquire the lock until that reader has it, or until the window has passed.
 *
 * Seen failing: the mutants g4-no-window, g4-window-never-ends,
 * g4-window-for-everybody, g4-absent-writer-keeps-readers-out, g4-youngest-reader-first,
 * g4-real-time-readers-by-age, g4-absent-writer-has-its-bound, g4-overdue-reader-behind-fresh-one,
 * g4-opens-window-for-others.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

/* Readers that a release wakes at most. */
#define MAX_WAKES	16

LOCK_FIXTURE(g4_bounded_bypass)

TEST_F(g4_bounded_bypass, overdue_reader_goes_before_waiting_writer)
{
	int i, first = 0;

	/* a reader that does not run for 10 ms misses its window, as it should: try again */
	set_window("10000");
	set_bound(self->fd, 10000);
	for (i = 0; i < 100 && first < 5; i++)
		first += place_of_reader(self->fd) == 1;
	EXPECT_EQ(5, first);
}

/* Off, or not reached. */
TEST_F(g4_bounded_bypass, bound_off_means_never)
{
	int i;

	for (i = 0; i < 6; i++) {
		set_bound(self->fd, i % 2 ? 10000000 : 0);
		EXPECT_EQ(2, place_of_reader(self->fd));
	}
}

/*
 * A window is for overdue readers only; a new reader waits. It comes after go() on @outer. Returns
 * AGAIN if it is queued after the window or gets overdue, or if the overdue reader runs.
 */
static int new_reader_in_a_window(int fd, int outer)
{
	const struct job new_reader = { .mode = LOCK_TEST_READ, .cpu = 1, .outer = outer,
					.flags = LOCK_TEST_OUTER_WRITE | LOCK_TEST_OUTER_FIRST };
	struct task *holder, *overdue, *w, *late;
	struct hog hog;
	bool ran, open;

	set_window("10000");
	/* long enough that the new reader is never overdue itself */
	set_bound(fd, 400000);
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	overdue = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 2 });
	CHECK(reached(state(fd).queued_readers == 1 && is_asleep(overdue)));
	sleep_ms(450);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 1 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	late = start(fd, new_reader);
	CHECK(reached(state(outer).writers == 1 && is_asleep(late)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(reached(state(fd).window || atomic_load(&w->done)));
	go(outer, 1);
	CHECK(reached(state(fd).acquiring_readers == 2 || atomic_load(&late->done)));
	open = state(fd).window || late->order < w->order;
	CHECK(!finish(holder));
	CHECK(!finish(w));
	CHECK(!finish(late));
	ran = !state(fd).acquiring_readers;
	hog_stop(&hog);
	CHECK(!finish(overdue));
	if (ran || !open || late->wait_ns > 400000000)
		return AGAIN;
	CHECK(w->order - holder->order == 1);
	CHECK(late->order - holder->order == 2);
	CHECK(overdue->order - holder->order == 3);
	return 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, window_is_not_for_new_readers, 60)
{
	/* of two locks, the one that was opened first is the outer one */
	int fd = lock_open(LOCK_TEST_UNFAIR);

	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, CONCLUSIVE(new_reader_in_a_window(fd, self->fd)));
	close(fd);
}

/* The window closes on time although its reader does not run. Then writers acquire as before. */
static int window_without_its_reader(int fd)
{
	struct task *holder, *r, *w;
	int ran, trylock, window;
	struct hog hog;

	set_bound(fd, 10000);
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	r = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 2 });
	CHECK(reached(state(fd).queued_readers == 1 && is_asleep(r)));
	sleep_ms(20);
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	/* the window has passed; closing it takes no other task */
	sleep_ms(5);
	trylock = lock(fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 1, .repeat = 100 });
	CHECK(reached(atomic_load(&w->done) == 100));
	ran = !state(fd).acquiring_readers;
	window = state(fd).window;
	hog_stop(&hog);
	CHECK(!finish(w));
	CHECK(!finish(r));
	if (ran)
		return AGAIN;
	CHECK(!trylock);
	CHECK(!window);
	return 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, window_passes_without_its_reader, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, CONCLUSIVE(window_without_its_reader(self->fd)));
}

/* The woken writer is absent and no other task releases. Readers must not wait for it. */
static int absent_writer(int fd)
{
	struct task *holder, *w, *r[4];
	struct hog hog;
	bool ran;
	int i;

	set_bound(fd, 2000);
	set_param("lend_period_us", "1000");
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 2 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	for (i = 0; i < 4; i++)
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 1, .repeat = 3 });
	for (i = 0; i < 4; i++)
		CHECK(reached(atomic_load(&r[i]->done) == 3));
	ran = !state(fd).acquiring_writers;
	hog_stop(&hog);
	CHECK(!finish(w));
	for (i = 0; i < 4; i++)
		CHECK(!finish(r[i]));
	return ran ? AGAIN : 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, absent_writer_does_not_keep_readers_out, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, CONCLUSIVE(absent_writer(self->fd)));
}

/*
 * The writer is absent, and so are many overdue readers before one that has a CPU. That one must
 * not wait for a bound for each few of them: the ten bounds would take longer than reached() waits.
 */
static int reader_behind_absent_readers(int fd)
{
	int i, nr = 12 * (cpus() < MAX_WAKES ? cpus() : MAX_WAKES);
	struct task *holder, *w, *last, *r[12 * MAX_WAKES];
	struct hog hog;
	bool acquired;

	set_bound(fd, 2000000);
	set_param("lend_period_us", "1000");
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	for (i = 0; i < nr; i++)
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 2,
					       .policy = SCHED_FIFO, .prio = 10 });
	CHECK(reached(state(fd).queued_readers == (unsigned int)nr));
	last = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 1 });
	CHECK(reached(state(fd).queued_readers == (unsigned int)nr + 1 && is_asleep(last)));
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 2, .policy = SCHED_FIFO,
				    .prio = 40 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	sleep_ms(2010);
	hog = hog_start(1);
	go(fd, 0);
	acquired = reached(atomic_load(&last->done));
	hog_stop(&hog);
	CHECK(!finish(holder));
	CHECK(!finish(w));
	CHECK(!finish(last));
	for (i = 0; i < nr; i++)
		CHECK(!finish(r[i]));
	CHECK(acquired);
	return 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, absent_writer_gives_every_reader_its_window, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, reader_behind_absent_readers(self->fd));
}

/*
 * The writer and the older overdue readers are absent. A signal wakes the youngest reader, which
 * opens a window. It must acquire the lock itself.
 */
static int reader_opens_its_window(int fd)
{
	struct task *holder, *w, *last, *r[MAX_WAKES];
	int i, nr = cpus() < MAX_WAKES ? cpus() : MAX_WAKES;
	struct hog hog;

	/* the release must not open a window, nor must the watcher */
	set_bound(fd, 0);
	set_param("lend_period_us", "60000000");
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 2, .policy = SCHED_FIFO,
				    .prio = 40 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	for (i = 0; i < nr; i++)
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 2,
					       .policy = SCHED_FIFO, .prio = 10 });
	CHECK(reached(state(fd).queued_readers == (unsigned int)nr));
	last = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 1,
				       .how = LOCK_TEST_INTERRUPTIBLE });
	CHECK(reached(state(fd).queued_readers == (unsigned int)nr + 1 && is_asleep(last)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	set_bound(fd, 1000);
	sleep_ms(2);
	kill(last->pid, SIGUSR1);
	finish(last);
	hog_stop(&hog);
	CHECK(!finish(w));
	for (i = 0; i < nr; i++)
		CHECK(!finish(r[i]));
	CHECK(!last->error);
	return 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, running_reader_opens_a_window_for_itself, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, reader_opens_its_window(self->fd));
}

/*
 * An overdue real-time reader, one of higher priority that is not overdue, and an overdue fair
 * reader. The release must open a window for the first and the last one.
 */
static int overdue_behind_fresh(int fd)
{
	struct job job = { .mode = LOCK_TEST_READ, .cpu = 2, .policy = SCHED_FIFO, .prio = 10 };
	struct task *holder, *w, *r[3];
	unsigned int queued, i;
	struct hog hog;
	double fresh;

	set_bound(fd, 500000);
	set_param("lend_period_us", "60000000");
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	r[0] = start(fd, job);
	r[1] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .cpu = 2, .nice = 19 });
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 2, .policy = SCHED_FIFO,
				    .prio = 40 });
	CHECK(reached(state(fd).queued_readers == 2 && state(fd).queued_writers == 1));
	sleep_ms(510);
	fresh = seconds();
	job.prio = 20;
	r[2] = start(fd, job);
	CHECK(reached(state(fd).queued_readers == 3 && is_asleep(r[2]) && is_asleep(w)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	fresh = seconds() - fresh;
	/* the readers that it woke have left the queue */
	queued = state(fd).queued_readers;
	hog_stop(&hog);
	CHECK(!finish(w));
	for (i = 0; i < 3; i++)
		CHECK(!finish(r[i]));
	if (fresh > 0.5)
		return AGAIN;
	CHECK(queued == 1);
	return 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, overdue_real_time_reader_behind_a_fresh_one, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, CONCLUSIVE(overdue_behind_fresh(self->fd)));
}

/* A running reader among back-to-back writers always acquires the lock. */
TEST_F_TIMEOUT(g4_bounded_bypass, running_reader_among_back_to_back_writers, 60)
{
	struct task *w[4], *r;
	int i;

	set_bound(self->fd, 2000);
	for (i = 0; i < 4; i++)
		w[i] = start(self->fd, (struct job){
			.mode = LOCK_TEST_WRITE, .hold_us = 20, .repeat = 100000000,
		});
	ASSERT_REACHED(state(self->fd).taken > 1000);
	r = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .repeat = repeats(200) });
	EXPECT_EQ(0, finish(r));
	for (i = 0; i < 4; i++) {
		kill_task(w[i]);
	}
}

/*
 * A release wakes one reader per CPU. The hog keeps them from running, so the one left in the queue
 * is the last one in order. @first queues first, then as many of @others as there are CPUs. Returns
 * the number of the one that is left; AGAIN if a woken reader ran, and has woken that one.
 */
static int last_in_order(int fd, struct job first, struct job others)
{
	struct task *holder, *r[MAX_WAKES + 1];
	int i, left = -1, nr = 0;
	struct hog hog;

	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	for (i = 0; i <= cpus(); i++) {
		struct job job = i ? others : first;

		job.mode = LOCK_TEST_READ;
		job.cpu = 2;
		r[i] = start(fd, job);
		CHECK(reached(state(fd).queued_readers == (unsigned int)i + 1 && is_asleep(r[i])));
	}
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	for (i = 0; i <= cpus(); i++) {
		if (is_asleep(r[i])) {
			left = i;
			nr++;
		}
	}
	hog_stop(&hog);
	for (i = 0; i <= cpus(); i++)
		CHECK(!finish(r[i]));
	return nr == 1 ? left : AGAIN;
}

/* Real-time readers by priority, then by age; the others behind them, by age only. */
TEST_F_TIMEOUT(g4_bounded_bypass, readers_are_woken_in_order, 60)
{
	struct job low = { .nice = 19 }, high = { .nice = -20 };
	struct job fifo_10 = { .policy = SCHED_FIFO, .prio = 10 };
	struct job fifo_20 = { .policy = SCHED_FIFO, .prio = 20 };

	SKIP_ON_ONE_CPU();
	if (cpus() > MAX_WAKES)
		SKIP(return, "more than %d CPUs", MAX_WAKES);
	EXPECT_EQ(cpus(), CONCLUSIVE(last_in_order(self->fd, low, high)));
	EXPECT_EQ(0, CONCLUSIVE(last_in_order(self->fd, high, fifo_10)));
	EXPECT_EQ(0, CONCLUSIVE(last_in_order(self->fd, fifo_10, fifo_20)));
	EXPECT_EQ(cpus(), CONCLUSIVE(last_in_order(self->fd, fifo_10, fifo_10)));
}

TEST_HARNESS_MAIN
