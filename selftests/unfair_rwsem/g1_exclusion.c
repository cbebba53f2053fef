// SPDX-License-Identifier: GPL-2.0
/*
 * G1: a writer excludes all other tasks; readers share the lock.
 *
 * Seen failing: the mutants g1-writer-joins-readers, g1-reader-joins-writer,
 * g1-reader-breaks-the-chain, and on the busted lock, which a test below checks.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

LOCK_FIXTURE(g1_exclusion)

TEST_F(g1_exclusion, readers_share)
{
	struct job read = { .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO };
	struct task *t[4];
	int i;

	for (i = 0; i < 4; i++) {
		read.id = i;
		t[i] = start(self->fd, read);
	}
	ASSERT_REACHED(state(self->fd).readers == 4);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_TRYLOCK));
	EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	EXPECT_EQ(1, state(self->fd).is_locked);
	EXPECT_EQ(0, state(self->fd).is_write_locked);
	for (i = 0; i < 4; i++) {
		go(self->fd, i);
		EXPECT_EQ(0, finish(t[i]));
	}
}

/* More readers than a release wakes at once. None releases before all of them hold the lock. */
TEST_F(g1_exclusion, readers_that_waited_share)
{
	struct task *holder, *t[24];
	int i;

	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ .id = 63 });
	ASSERT_NE(NULL, holder);
	for (i = 0; i < 24; i++)
		t[i] = start(self->fd, (struct job){
			.mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO, .id = i });
	ASSERT_REACHED(state(self->fd).queued_readers == 24);
	go(self->fd, 63);
	EXPECT_EQ(0, finish(holder));
	EXPECT_TRUE(reached(state(self->fd).readers == 24));
	for (i = 0; i < 24; i++)
		go(self->fd, i);
	for (i = 0; i < 24; i++)
		EXPECT_EQ(0, finish(t[i]));
}

TEST_F(g1_exclusion, downgrade_lets_readers_in_and_no_writer)
{
	struct job write = {
		.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO, .flags = LOCK_TEST_DOWNGRADE,
	};
	struct task *w = start(self->fd, write), *r;

	ASSERT_REACHED(state(self->fd).writers == 1);
	r = start(self->fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO,
					  .id = 9 });
	ASSERT_REACHED(state(self->fd).queued_readers == 1);
	go(self->fd, 0);
	ASSERT_REACHED(state(self->fd).readers == 2);
	EXPECT_EQ(0, state(self->fd).is_write_locked);
	EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	go(self->fd, 1);
	go(self->fd, 9);
	EXPECT_EQ(0, finish(w));
	EXPECT_EQ(0, finish(r));
}

/* Readers and writers at once, which acquire the lock in several ways. */
static unsigned long long stress(int fd)
{
	static const __u32 how[] = { LOCK_TEST_PLAIN, LOCK_TEST_KILLABLE, LOCK_TEST_TIMEOUT,
				     LOCK_TEST_TRYLOCK };
	struct task *t[12];
	int i;

	for (i = 0; i < 12; i++)
		t[i] = start(fd, (struct job){
			.mode = i % 3 == 0 ? LOCK_TEST_WRITE : LOCK_TEST_READ, .how = how[i % 4],
			.timeout_ms = 2, .hold_us = i * 3, .repeat = 2000,
			.nice = i % 2 ? 19 : 0,
		});
	for (i = 0; i < 12; i++)
		finish(t[i]);
	return state(fd).violations;
}

TEST_F_TIMEOUT(g1_exclusion, contended_lock_excludes, 120)
{
	EXPECT_EQ(0, stress(self->fd));
}

/* A check that finds no fault in the busted lock would prove nothing about unfair_rwsem. */
TEST_F_TIMEOUT(g1_exclusion, the_check_finds_a_busted_lock, 120)
{
	int i, fd = lock_open(LOCK_TEST_BUSTED);
	unsigned long long found = 0;

	SKIP_ON_ONE_CPU();
	/* on a busy host the sections of one round may not overlap */
	for (i = 0; i < 10 && !found; i++)
		found = stress(fd);
	EXPECT_NE(0, found);
	close(fd);
}

TEST_HARNESS_MAIN
