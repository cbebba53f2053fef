// SPDX-License-Identifier: GPL-2.0
/*
 * G7: killable, interruptible and timed waits leave nothing behind: no count, no
 * stale waiter, no lost wakeup. The fixture checks that after each test.
 *
 * Seen failing: the mutants g7-killed-writer-leaves-wwait,
 * g7-killed-writer-wakes-nobody, g7-reader-stays-queued, g7-herd, lost-wakeup-by-last-reader.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

LOCK_FIXTURE(g7_clean_retreat)

static const struct way { __u32 how; int signal, error; } ways[] = {
	{ LOCK_TEST_KILLABLE, SIGKILL, -SIGKILL },
	{ LOCK_TEST_INTERRUPTIBLE, SIGKILL, -SIGKILL },
	{ LOCK_TEST_INTERRUPTIBLE, SIGUSR1, EINTR },
	{ LOCK_TEST_TIMEOUT, 0, ETIME },
};

#define NR_WAYS ((int)(sizeof(ways) / sizeof(ways[0])))

static struct task *start_way(int fd, __u32 mode, const struct way *way)
{
	return start(fd, (struct job){ .mode = mode, .how = way->how, .timeout_ms = 60 });
}

/* @cond, or @t has given up by itself: a wait with a timeout may end before the test sees it */
#define WAITS(t, way, cond)						\
	reached((cond) || (!(way)->signal && atomic_load(&(t)->done)))

static int retreat(struct task *t, const struct way *way)
{
	if (way->signal)
		kill(t->pid, way->signal);
	return finish(t);
}

TEST_F(g7_clean_retreat, given_up_wait_leaves_nothing)
{
	int i, mode;

	for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
		for (i = 0; i < NR_WAYS; i++) {
			struct task *holder = start(self->fd, (struct job){
				.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO });
			struct task *t;

			ASSERT_REACHED(state(self->fd).writers == 1);
			t = start_way(self->fd, mode, &ways[i]);
			ASSERT_TRUE(WAITS(t, &ways[i],
					  is_asleep(t) && state(self->fd).is_contended));
			EXPECT_EQ(ways[i].error, retreat(t, &ways[i]));
			EXPECT_EQ(0, state(self->fd).is_contended);
			EXPECT_EQ(0, t->order);
			go(self->fd, 0);
			EXPECT_EQ(0, finish(holder));
		}
	}
}

/* Readers wait because a writer waits. When the writer gives up, they must acquire at once. */
TEST_F(g7_clean_retreat, last_waiting_writer_lets_the_readers_in)
{
	struct job until = { .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO };
	int i, k;

	set_bound(self->fd, 0);
	for (i = 0; i < NR_WAYS; i++) {
		struct task *holder, *w, *r[5];

		until.id = 0;
		holder = start(self->fd, until);
		ASSERT_REACHED(state(self->fd).readers == 1);
		w = start_way(self->fd, LOCK_TEST_WRITE, &ways[i]);
		ASSERT_TRUE(WAITS(w, &ways[i], state(self->fd).queued_writers == 1));
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

/* The first writer gives up, so the second writer becomes the first (rwsem's 6eebd5fb2083). */
TEST_F(g7_clean_retreat, first_writer_leaves_the_second_goes)
{
	int i;

	for (i = 0; i < NR_WAYS; i++) {
		struct task *holder, *first, *second;

		holder = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
		ASSERT_NE(NULL, holder);
		first = start_way(self->fd, LOCK_TEST_WRITE, &ways[i]);
		ASSERT_TRUE(WAITS(first, &ways[i], state(self->fd).queued_writers >= 1));
		second = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE, .nice = 19 });
		ASSERT_REACHED(state(self->fd).acquiring_writers >= 1 && is_asleep(second));
		EXPECT_EQ(ways[i].error, retreat(first, &ways[i]));
		EXPECT_TRUE(reached(state(self->fd).queued_writers == 1));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		EXPECT_EQ(0, finish(second));
	}
}

/*
 * More readers wait than a release wakes. The woken readers are killed before they run, so they
 * must still wake the next ones.
 */
static int killed_chain(int fd)
{
	struct task *holder, *r[24];
	int i, queued, killed = 0;
	struct hog hog;

	holder = hold_until_go(fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
	CHECK(holder);
	for (i = 0; i < 24; i++) {
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .how = LOCK_TEST_KILLABLE,
					       .cpu = 2 });
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
	/* no thundering herd: one reader per CPU was woken */
	CHECK(queued == 24 - cpus());
	return 0;
}

TEST_F_TIMEOUT(g7_clean_retreat, killed_readers_do_not_break_the_chain, 60)
{
	SKIP_ON_ONE_CPU();
	EXPECT_EQ(0, CONCLUSIVE(killed_chain(self->fd)));
}

TEST_F(g7_clean_retreat, timeout_of_zero_looks_once)
{
	struct job zero = { .mode = LOCK_TEST_READ, .how = LOCK_TEST_TIMEOUT };
	struct task *holder, *t;

	t = start(self->fd, zero);
	EXPECT_EQ(0, finish(t));
	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, holder);
	t = start(self->fd, zero);
	EXPECT_EQ(ETIME, finish(t));
	zero.mode = LOCK_TEST_WRITE;
	t = start(self->fd, zero);
	EXPECT_EQ(ETIME, finish(t));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
}

/*
 * A pending signal ends a wait, but not the acquisition of a free lock. The task sleeps for the
 * outer lock, killable, so an ordinary signal stays pending until it acquires the inner one.
 */
TEST_F(g7_clean_retreat, pending_signal_ends_only_a_wait)
{
	int inner = lock_open(LOCK_TEST_UNFAIR), mode, held;
	struct task *holder = NULL, *t;

	ASSERT_GE(inner, 0);
	for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
		for (held = 0; held < 2; held++) {
			if (held) {
				holder = hold_until_go(inner, LOCK_TEST_WRITE,
						       (struct job){ .id = 5 });
				ASSERT_NE(NULL, holder);
			}
			t = start(inner, (struct job){
				.mode = mode, .how = LOCK_TEST_INTERRUPTIBLE, .outer = self->fd,
				.flags = LOCK_TEST_OUTER_WRITE | LOCK_TEST_OUTER_FIRST });
			ASSERT_REACHED(state(self->fd).writers == 1 && is_asleep(t));
			kill(t->pid, SIGUSR1);
			go(self->fd, 1);
			EXPECT_EQ(held ? EINTR : 0, finish(t));
			if (held) {
				go(inner, 5);
				EXPECT_EQ(0, finish(holder));
			}
		}
	}
	close(inner);
}

TEST_HARNESS_MAIN
