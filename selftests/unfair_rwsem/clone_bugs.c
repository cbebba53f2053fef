// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs that rw_semaphore had and that a clone can repeat: one test for each fix, named after
 * the commit.
 *
 * The tests of three more are elsewhere. g6_spin_on_owner.c: b613c7f31476 (a real-time waiter that
 * is not first spins for ever) and 3f5245538a19 (a real-time waiter spins on an owner that it
 * preempted). g7_clean_retreat.c: 6eebd5fb2083 (the last waiter that is killed leaves a flag).
 *
 * Seen failing, each with a line of the lock (module/) broken:
 *  d257cc8cb8d5	leave_write(): atomic_long_sub(WWAIT, &sem->word) for sync_flags();
 *			and, with that, try_write(): no WWAIT for a writer that passes
 *  2f06f702925b	may_open_window(): "past" of an unsigned type
 *  1a728dff855a	may_pass_first(): without sem->steals < MAX_STEALS; without w->prio
 *			<= first->prio
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

/* as in module/unfair_rwsem.c: how often writers of equal priority may pass the first writer */
#define MAX_STEALS	250

LOCK_FIXTURE(clone_bugs)

/*
 * One flag stands for all waiting writers. If each writer that gives up subtracted it, the borrow
 * would come out of the reader count.
 */
TEST_F(clone_bugs, d257cc8cb8d5_flag_taken_back_once_for_all_waiters)
{
	int n, i;

	for (n = 1; n <= 4; n++) {
		struct task *holder, *w[4];

		holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
		ASSERT_NE(NULL, holder);
		for (i = 0; i < n; i++) {
			w[i] = start(self->fd, (struct job){
				.mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE });
			ASSERT_REACHED(state(self->fd).queued_writers == i + 1 &&
				       is_asleep(w[i]));
		}
		for (i = 0; i < n; i++)
			kill(w[i]->pid, SIGKILL);
		for (i = 0; i < n; i++)
			EXPECT_EQ(-SIGKILL, finish(w[i]));
		/* exactly one reader is left */
		EXPECT_EQ(1, state(self->fd).is_locked);
		EXPECT_EQ(0, state(self->fd).is_write_locked);
		EXPECT_EQ(0, state(self->fd).is_contended);
		EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
		ASSERT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_TRYLOCK));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		EXPECT_EQ(0, state(self->fd).is_locked);
		ASSERT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	}
}

/*
 * The first writer is woken, and killed before it runs, while another writer steals the lock. The
 * killed writer must not clear the bits of the new owner.
 */
static int killed_under_the_next_owner(int fd)
{
	struct task *holder, *first, *other;
	struct lock_test_state s;
	struct hog hog;
	int ret;

	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	first = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
					.cpu = 2 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(first)));
	hog = hog_start(1);
	go(fd, 0);
	CHECK(!finish(holder));
	other = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .id = 1, .cpu = 1 });
	CHECK(other);
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
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, CONCLUSIVE(killed_under_the_next_owner(self->fd)));
}

/*
 * All readers are overdue, but each hold of a writer allows one window, which admits as many
 * readers as can run. Returns the writer's place.
 */
static int place_of_writer(int fd, int readers)
{
	struct task *holder, *w, *r[64];
	int i;

	/* long enough that no second window opens for lack of a writer */
	set_bound(fd, 200000);
	set_window("10000");
	holder = hold_until_go(fd, LOCK_TEST_READ, (struct job){ });
	CHECK(holder);
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	for (i = 0; i < readers; i++) {
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ });
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
	int in_a_window = cpus() < 16 ? cpus() : 16, i, place, late = 0;

	for (i = 0; i < 5; i++) {
		place = place_of_writer(self->fd, in_a_window + 12);
		EXPECT_GE(place, 1);
		late += place > in_a_window + 1;
	}
	/* a busy host may keep the writer from its CPU until a second window opens */
	EXPECT_LE(late, 2);
}

/*
 * The lock is free, and the first writer is woken but absent. For the length of a window, a
 * writer that acquires the lock steals it; after that, any writer may pass. A round whose loop
 * may have outlasted the window is inconclusive.
 */
static int count_steals(int fd, int nice, int *stolen)
{
	struct lock_test_loop loop = { .mode = LOCK_TEST_WRITE, .duration_ms = 3 };
	struct task *holder, *first;
	struct lock_test_state s;
	int reads, writes;
	struct hog hog;
	double begin;
	bool ran, late;

	set_bound(fd, 0);
	set_window("10000");
	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	first = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .cpu = 2 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(first)));
	hog = hog_start(1);
	setpriority(PRIO_PROCESS, 0, nice);
	begin = seconds();
	go(fd, 0);
	while ((s = state(fd)).is_locked && seconds() < begin + 1)
		sched_yield();
	reads = lock(fd, LOCK_TEST_READ, LOCK_TEST_TRYLOCK);
	writes = lock(fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK);
	ioctl(fd, LOCK_TEST_LOOP, &loop);
	/* the last acquisition had to wait until the window was over: not a steal */
	*stolen = loop.count - (loop.wait_max_ns > 1500000);
	/*
	 * The window lasts 10 ms. A loop that began 3 ms before its end or later may have
	 * continued after the wait. A loop that did not wait must have ended within the window.
	 */
	late = seconds() - loop.wait_max_ns / 1e9 > begin + 0.007;
	setpriority(PRIO_PROCESS, 0, 0);
	ran = atomic_load(&first->done);
	hog_stop(&hog);
	CHECK(!finish(holder));
	CHECK(!finish(first));
	if (ran || late)
		return AGAIN;
	/* the lock was free, but no trylock may steal it */
	CHECK(!s.is_locked && s.is_contended);
	CHECK(reads == EAGAIN);
	CHECK(writes == EAGAIN);
	return 0;
}

TEST_F_TIMEOUT(clone_bugs, 1a728dff855a_equals_steal_a_limited_number_of_times, 60)
{
	int stolen, most = 0, ret, i;

	SKIP_ON_ONE_CPU();
	for (i = 0; i < 5; i++) {
		ret = CONCLUSIVE(count_steals(self->fd, 0, &stolen));
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

	SKIP_ON_ONE_CPU();
	for (i = 0; i < 5; i++) {
		ret = CONCLUSIVE(count_steals(self->fd, 10, &stolen));
		if (ret == AGAIN)
			SKIP(return, "too slow for a window of 10 ms");
		ASSERT_EQ(0, ret);
		EXPECT_EQ(0, stolen);
	}
}

TEST_HARNESS_MAIN
