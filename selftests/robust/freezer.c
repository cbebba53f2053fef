// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks in a frozen cgroup. A task that is in the kernel is frozen on its way out, so it
 * never is with a lock of ours in its hand; and one that waits either leaves, or gets its
 * turn and passes it on. So a freezer delays nobody else.
 *
 * Seen failing: the mutant g7-killed-writer-wakes-nobody (a_frozen_waiter_is_in_nobodys_way).
 */
#include "common.h"

#define FROZEN	"/sys/fs/cgroup/frozen/"

LOCK_FIXTURE(freezer)

static bool make_group(void)
{
	mkdir(FROZEN, 0755);
	return put(FROZEN "cgroup.freeze", "0");
}

static bool freeze(void)
{
	return put(FROZEN "cgroup.freeze", "1");
}

static bool is_frozen(void)
{
	return file_has(FROZEN "cgroup.events", "frozen 1");
}

static bool thaw(void)
{
	return put(FROZEN "cgroup.freeze", "0") && reached(!is_frozen());
}

#define NEEDS_FREEZER()							\
do {									\
	if (!make_group())						\
		SKIP(return, "no cgroup.freeze: needs cgroup v2");	\
} while (0)

TEST_F(freezer, a_holder_releases_before_it_freezes)
{
	int mode;

	NEEDS_FREEZER();
	for (mode = FCT_READ; mode <= FCT_WRITE; mode++) {
		struct task *holder, *writer;

		holder = start(self->fd, (struct job){ .mode = mode, .hold = FCT_UNTIL_GO,
			       .cgroup = FROZEN "cgroup.procs" });
		ASSERT_REACHED(state(self->fd).readers + state(self->fd).writers == 1);
		writer = start(self->fd, (struct job){ .mode = FCT_WRITE });
		ASSERT_REACHED(state(self->fd).acquiring_writers == 1 && is_asleep(writer));
		ASSERT_TRUE(freeze());
		sleep_ms(20);
		EXPECT_FALSE(is_frozen());
		go(self->fd, 0);
		EXPECT_EQ(0, finish(writer));
		ASSERT_REACHED(is_frozen());
		/* it has released, and not come back from that call */
		EXPECT_EQ(0, holder->done);
		EXPECT_EQ(0, state(self->fd).is_locked);
		ASSERT_TRUE(thaw());
		EXPECT_EQ(0, finish(holder));
	}
	rmdir(FROZEN);
}

static const struct wait { __u32 how; bool leaves; } waits[] = {
	{ FCT_PLAIN, false },
	{ FCT_KILLABLE, false },
	{ FCT_INTERRUPTIBLE, true },
	{ FCT_TIMEOUT, false },
};

TEST_F(freezer, a_frozen_waiter_is_in_nobodys_way)
{
	struct task *holder, *waiter, *reader, *writer;
	int i, mode;

	NEEDS_FREEZER();
	/* no window that lets readers in meanwhile */
	set_bound(self->fd, 0);
	for (i = 0; i < 8; i++) {
		const struct wait *w = &waits[i / 2];

		mode = i % 2;
		/* a reader, so that readers who come are kept out by a writer that waits */
		holder = start(self->fd, (struct job){ .mode = !mode, .hold = FCT_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).readers + state(self->fd).writers == 1);
		waiter = start(self->fd, (struct job){ .mode = mode, .how = w->how,
			       .timeout_ms = FCT_MAX_TIMEOUT_MS, .cgroup = FROZEN "cgroup.procs" });
		ASSERT_REACHED(state(self->fd).queued_readers +
			       state(self->fd).queued_writers == 1);
		reader = start(self->fd, (struct job){ .mode = FCT_READ });
		ASSERT_REACHED(state(self->fd).queued_readers == 1 + !mode);
		ASSERT_TRUE(freeze());
		if (w->leaves) {
			/* the freezer's knock is a signal: it leaves at once, and is frozen */
			ASSERT_REACHED(is_frozen());
			EXPECT_EQ(0, state(self->fd).queued_writers);
			/* and lets in whom it kept out */
			if (mode == FCT_WRITE)
				EXPECT_EQ(0, finish(reader));
			EXPECT_EQ(mode != FCT_WRITE, state(self->fd).is_contended);
		} else {
			sleep_ms(20);
			EXPECT_FALSE(is_frozen());
		}
		writer = start(self->fd, (struct job){ .mode = FCT_WRITE });
		go(self->fd, 0);
		EXPECT_EQ(0, finish(writer));
		if (!w->leaves || mode != FCT_WRITE)
			EXPECT_EQ(0, finish(reader));
		EXPECT_EQ(0, finish(holder));
		ASSERT_REACHED(is_frozen());
		EXPECT_EQ(0, state(self->fd).is_locked);
		EXPECT_EQ(0, state(self->fd).is_contended);
		EXPECT_EQ(0, waiter->done);
		ASSERT_TRUE(thaw());
		EXPECT_EQ(w->leaves ? EINTR : 0, finish(waiter));
	}
	rmdir(FROZEN);
}

/* Frozen wherever they are, again and again: each time others come in while they are. */
TEST_F_TIMEOUT(freezer, storm, 120)
{
	const int rounds = scaled(80);
	struct task *frozen[6], *writer;
	int i, round;

	NEEDS_FREEZER();
	for (i = 0; i < 6; i++)
		frozen[i] = start(self->fd, (struct job){ .mode = i == 0 ? FCT_WRITE : FCT_READ,
				  .how = waits[i % 4].how, .timeout_ms = 5, .hold_us = 50,
				  .hold = i % 2 ? FCT_SLEEP : FCT_BUSY, .repeat = 100000000,
				  .cgroup = FROZEN "cgroup.procs" });
	writer = start(self->fd, (struct job){ .mode = FCT_WRITE, .repeat = 100000000 });
	for (round = 0; round < rounds; round++) {
		int before[6], done;

		ASSERT_TRUE(freeze());
		ASSERT_REACHED(is_frozen());
		for (i = 0; i < 6; i++)
			before[i] = frozen[i]->done;
		done = writer->done;
		ASSERT_REACHED(writer->done > done + 3);
		EXPECT_EQ(0, lock(self->fd, FCT_READ, FCT_PLAIN));
		for (i = 0; i < 6; i++)
			EXPECT_EQ(before[i], frozen[i]->done);
		ASSERT_TRUE(thaw());
		i = round % 6;
		ASSERT_REACHED(frozen[i]->done > before[i]);
	}
	for (i = 0; i < 6; i++) {
		kill(frozen[i]->pid, SIGKILL);
		EXPECT_EQ(-SIGKILL, finish(frozen[i]));
	}
	kill(writer->pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, finish(writer));
	TH_LOG("%d times frozen", rounds);
	rmdir(FROZEN);
}

TEST_HARNESS_MAIN
