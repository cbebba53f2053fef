// SPDX-License-Identifier: GPL-2.0
/*
 * Readers are seen: wherever they run, also where they are not counted in the lock's
 * word (bias), and where there are more of them than slots.
 *
 * Seen failing: the mutants visible-not-published, visible-stays, bias-not-revoked.
 */
#include "common.h"

LOCK_FIXTURE(visible_readers)

/* So many slots has a lock on each CPU, at least; FCT_STATE counts no more. */
#define SLOTS	8

TEST_F(visible_readers, each_is_seen_and_leaves_nothing)
{
	struct task *r[4];
	int i;

	for (i = 0; i < 4; i++) {
		r[i] = start(self->fd, (struct job){
			.mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = i, .cpu = 1 + i % cpus() });
		ASSERT_REACHED((int)state(self->fd).readers == i + 1);
		EXPECT_EQ(i + 1, (int)state(self->fd).seen);
	}
	for (i = 0; i < 4; i++) {
		go(self->fd, i);
		EXPECT_EQ(0, finish(r[i]));
		EXPECT_EQ(3 - i, (int)state(self->fd).seen);
	}
}

/* It releases on another CPU than it came in on. */
TEST_F(visible_readers, migrated_reader_leaves_nothing)
{
	struct task *r;
	cpu_set_t set;
	int i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 8; i++) {
		r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO,
						  .cpu = 1 });
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
		CPU_ZERO(&set);
		CPU_SET(1, &set);
		ASSERT_EQ(0, sched_setaffinity(r->pid, sizeof(set), &set));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, state(self->fd).seen);
		EXPECT_EQ(0, state(self->fd).is_locked);
	}
}

/* A task that is stopped or traced cannot be so in the kernel, with the lock. */
TEST_F(visible_readers, stopped_reader_releases_first)
{
	struct task *r;

	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
	kill(r->pid, SIGSTOP);
	sleep_ms(20);
	EXPECT_EQ('D', task_state(r->pid));
	EXPECT_EQ(1, state(self->fd).seen);
	go(self->fd, 0);
	ASSERT_REACHED(task_state(r->pid) == 'T');
	EXPECT_EQ(0, state(self->fd).seen);
	EXPECT_EQ(0, lock(self->fd, FCT_WRITE, FCT_PLAIN));
	kill(r->pid, SIGCONT);
	EXPECT_EQ(0, finish(r));
}

/* More than there are slots: they hold it all the same, and it excludes a writer. */
TEST_F_TIMEOUT(visible_readers, more_readers_than_slots, 60)
{
	struct task *r[100];
	unsigned int i, n = sizeof(r) / sizeof(*r);

	for (i = 0; i < n; i++)
		r[i] = start(self->fd, (struct job){
			.mode = FCT_READ, .hold = FCT_UNTIL_GO, .cpu = 1, .id = i % 60 });
	ASSERT_REACHED(state(self->fd).readers == n);
	EXPECT_GE(state(self->fd).seen, SLOTS);
	EXPECT_EQ(EAGAIN, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
	for (i = 0; i < n; i++)
		kill(r[i]->pid, SIGKILL);
	for (i = 0; i < n; i++)
		finish(r[i]);
	EXPECT_EQ(0, state(self->fd).seen);
	EXPECT_EQ(0, state(self->fd).readers);
}

/* Many that overlap; then the lock is biased. */
static void make_biased(int fd)
{
	struct task *r;
	int i;

	r = start(fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = 63 });
	reached(state(fd).readers == 1);
	for (i = 0; i < 600 && !state(fd).biased; i++)
		lock(fd, FCT_READ, FCT_PLAIN);
	go(fd, 63);
	finish(r);
}

TEST_F_TIMEOUT(visible_readers, biased_reader_excludes_writers, 60)
{
	struct task *r, *w;
	int i;

	for (i = 0; i < 6; i++) {
		make_biased(self->fd);
		ASSERT_TRUE(state(self->fd).biased);
		EXPECT_EQ(0, state(self->fd).is_locked);
		r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
		EXPECT_TRUE(state(self->fd).biased);
		EXPECT_TRUE(state(self->fd).is_locked);
		EXPECT_EQ(1, state(self->fd).seen);
		if (i % 2) {
			EXPECT_EQ(EAGAIN, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
			EXPECT_EQ(0, state(self->fd).biased);
			EXPECT_EQ(1, state(self->fd).seen);
		}
		w = start(self->fd, (struct job){ .mode = FCT_WRITE });
		ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(w));
		EXPECT_EQ(0, atomic_load(&w->done));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, state(self->fd).seen);
	}
}

/* Bias comes and goes under readers and writers; exclusion is checked in the kernel. */
TEST_F_TIMEOUT(visible_readers, bias_comes_and_goes, 60)
{
	struct task *r[4], *w;
	double end = seconds() + 2;
	int i, seen = 0;

	for (i = 0; i < 4; i++)
		r[i] = start(self->fd, (struct job){ .mode = FCT_READ, .hold_us = 5,
						     .repeat = 100000000 });
	while (seconds() < end) {
		w = start(self->fd, (struct job){ .mode = FCT_WRITE, .repeat = 50 });
		EXPECT_EQ(0, finish(w));
		/* A guest short of CPU needs its time for 255 reads that overlap. */
		for (i = 0; i < (seen ? 20 : 5000) && !state(self->fd).biased; i++)
			sleep_ms(1);
		seen += state(self->fd).biased;
	}
	for (i = 0; i < 4; i++) {
		kill(r[i]->pid, SIGKILL);
		finish(r[i]);
	}
	TH_LOG("%d times biased", seen);
	if (cpus() > 1)
		EXPECT_GT(seen, 0);
	EXPECT_EQ(0, state(self->fd).violations);
}

TEST_HARNESS_MAIN
