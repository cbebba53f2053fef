// SPDX-License-Identifier: GPL-2.0
/*
 * G4: a reader that waited longer than the lock's bound opens a window at the next
 * release: writers stand back until it is in, or the window has passed.
 *
 * Seen failing: the mutants g4-no-window, g4-window-never-ends,
 * g4-window-for-everybody, g4-absent-writer-keeps-readers-out.
 */
#include "common.h"

LOCK_FIXTURE(g4_bounded_bypass)

/*
 * A holder, a writer and a reader that wait: who comes next, after the reader has
 * waited for longer than @bound?  Returns the reader's place.
 */
static int place_of_reader(int fd, __u32 bound)
{
	struct task *holder, *w, *r;
	int place;

	set_bound(fd, bound);
	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	if (!reached(state(fd).writers == 1))
		return -1;
	r = start(fd, (struct job){ .mode = FCT_READ });
	if (!reached(state(fd).queued_readers == 1 && is_asleep(r)))
		return -2;
	w = start(fd, (struct job){ .mode = FCT_WRITE });
	if (!reached(state(fd).queued_writers == 1 && is_asleep(w)))
		return -3;
	/* past the bound, if there is one of 10 ms */
	sleep_ms(20);
	go(fd, 0);
	finish(holder);
	finish(w);
	finish(r);
	place = r->order - holder->order;
	return w->order - holder->order == 3 - place ? place : -4;
}

TEST_F(g4_bounded_bypass, overdue_reader_goes_before_waiting_writer)
{
	int i, first = 0;

	/* a reader that is not scheduled for 10 ms misses its window: rightly so */
	set_window("10000");
	for (i = 0; i < 10; i++)
		first += place_of_reader(self->fd, 10000) == 1;
	EXPECT_GE(first, 5);
}

TEST_F(g4_bounded_bypass, bound_off_means_never)
{
	int i;

	for (i = 0; i < 5; i++)
		EXPECT_EQ(2, place_of_reader(self->fd, 0));
}

TEST_F(g4_bounded_bypass, bound_not_reached_means_no_window)
{
	int i;

	for (i = 0; i < 5; i++)
		EXPECT_EQ(2, place_of_reader(self->fd, 10000000));
}

/* The window is for those that waited too long, not for whoever comes by. */
static int new_reader_in_a_window(int fd)
{
	struct task *holder, *overdue, *w, *late;
	struct hog hog;
	bool ran;

	set_window("10000");
	set_bound(fd, 10000);
	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	overdue = start(fd, (struct job){ .mode = FCT_READ, .cpu = 2 });
	CHECK(reached(state(fd).queued_readers == 1 && is_asleep(overdue)));
	sleep_ms(20);
	w = start(fd, (struct job){ .mode = FCT_WRITE, .cpu = 1 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	/* it comes while the window is open, unless this machine is very slow */
	late = start(fd, (struct job){ .mode = FCT_READ, .cpu = 1 });
	CHECK(!finish(w));
	CHECK(!finish(late));
	ran = !state(fd).acquiring_readers;
	hog_stop(&hog);
	CHECK(!finish(overdue));
	if (ran)
		return AGAIN;
	CHECK(w->order - holder->order == 1);
	CHECK(late->order - holder->order == 2);
	CHECK(overdue->order - holder->order == 3);
	return 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, window_is_not_for_new_readers, 60)
{
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_EQ(0, CONCLUSIVE(new_reader_in_a_window(self->fd)));
}

/* It closes on time though nobody comes, and then the writers go on as ever. */
static int window_without_its_reader(int fd)
{
	struct task *holder, *r, *w;
	int ran, trylock, window;
	struct hog hog;

	set_bound(fd, 10000);
	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	r = start(fd, (struct job){ .mode = FCT_READ, .cpu = 2 });
	CHECK(reached(state(fd).queued_readers == 1 && is_asleep(r)));
	sleep_ms(20);
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	/* the window is long over: nobody else has to ask for that to be so */
	sleep_ms(5);
	trylock = lock(fd, FCT_WRITE, FCT_TRYLOCK);
	w = start(fd, (struct job){ .mode = FCT_WRITE, .cpu = 1, .repeat = 100 });
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
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_EQ(0, CONCLUSIVE(window_without_its_reader(self->fd)));
}

/*
 * A writer that uses the fast path again and again after a window was used: the
 * next overdue reader has its own.
 */
TEST_F_TIMEOUT(g4_bounded_bypass, every_write_section_may_have_its_window, 60)
{
	struct task *w, *r;
	int i;

	set_bound(self->fd, 1000);
	w = start(self->fd, (struct job){ .mode = FCT_WRITE, .hold_us = 300, .repeat = 100000000 });
	ASSERT_REACHED(state(self->fd).taken > 10);
	for (i = 0; i < scaled(50); i++) {
		r = start(self->fd, (struct job){
			.mode = FCT_READ, .how = FCT_TIMEOUT, .timeout_ms = 5000, .nice = 19 });
		EXPECT_EQ(0, finish(r));
	}
	kill(w->pid, SIGKILL);
	finish(w);
}

/* Nobody releases, as the writer that was called is absent: readers help themselves. */
static int absent_writer(int fd)
{
	struct task *holder, *w, *r[4];
	struct hog hog;
	bool ran;
	int i;

	set_bound(fd, 2000);
	watch_every("1000");
	holder = start(fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
	CHECK(reached(state(fd).writers == 1));
	w = start(fd, (struct job){ .mode = FCT_WRITE, .cpu = 2 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	for (i = 0; i < 4; i++)
		r[i] = start(fd, (struct job){ .mode = FCT_READ, .cpu = 1, .repeat = 3 });
	for (i = 0; i < 4; i++)
		CHECK(reached(atomic_load(&r[i]->done) == 3));
	ran = !state(fd).acquiring_writers;
	watch_as_before();
	hog_stop(&hog);
	CHECK(!finish(w));
	for (i = 0; i < 4; i++)
		CHECK(!finish(r[i]));
	return ran ? AGAIN : 0;
}

TEST_F_TIMEOUT(g4_bounded_bypass, absent_writer_does_not_keep_readers_out, 60)
{
	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_EQ(0, CONCLUSIVE(absent_writer(self->fd)));
}

/* A running reader among back-to-back writers always gets its turn. */
TEST_F_TIMEOUT(g4_bounded_bypass, running_reader_among_back_to_back_writers, 60)
{
	struct task *w[4], *r;
	int i;

	set_bound(self->fd, 2000);
	for (i = 0; i < 4; i++)
		w[i] = start(self->fd, (struct job){
			.mode = FCT_WRITE, .hold_us = 20, .repeat = 100000000,
		});
	ASSERT_REACHED(state(self->fd).taken > 1000);
	r = start(self->fd, (struct job){ .mode = FCT_READ, .repeat = 200 });
	ASSERT_REACHED(atomic_load(&r->done) == 200);
	EXPECT_EQ(0, finish(r));
	for (i = 0; i < 4; i++) {
		kill(w[i]->pid, SIGKILL);
		finish(w[i]);
	}
}

/* Many overdue readers: each of them comes in, nobody is forgotten. */
TEST_F_TIMEOUT(g4_bounded_bypass, many_overdue_readers, 60)
{
	struct task *holder, *w, *r[40];
	int i;

	set_bound(self->fd, 1000);
	holder = start(self->fd, (struct job){ .mode = FCT_WRITE, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).writers == 1);
	for (i = 0; i < 40; i++)
		r[i] = start(self->fd, (struct job){ .mode = FCT_READ });
	ASSERT_REACHED(state(self->fd).queued_readers == 40);
	w = start(self->fd, (struct job){ .mode = FCT_WRITE, .repeat = 2000 });
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
	for (i = 0; i < 40; i++)
		EXPECT_EQ(0, finish(r[i]));
	EXPECT_EQ(0, finish(w));
}

TEST_HARNESS_MAIN
