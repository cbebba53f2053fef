// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks in a frozen cgroup. The freezer stops a task on its way out of the kernel, so a frozen task
 * never holds the lock. A waiter either leaves at once, or acquires the lock in its turn and
 * releases it before it freezes. So the freezer delays no other task.
 *
 * Seen failing: the mutant g7-killed-writer-wakes-nobody (frozen_waiter_delays_nobody).
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

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
	for (mode = LOCK_TEST_READ; mode <= LOCK_TEST_WRITE; mode++) {
		struct task *holder, *writer;

		holder = start(self->fd, (struct job){ .mode = mode, .hold = LOCK_TEST_UNTIL_GO,
			       .cgroup = FROZEN "cgroup.procs" });
		ASSERT_REACHED(state(self->fd).readers + state(self->fd).writers == 1);
		writer = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
		ASSERT_REACHED(state(self->fd).acquiring_writers == 1 && is_asleep(writer));
		ASSERT_TRUE(freeze());
		sleep_ms(20);
		EXPECT_FALSE(is_frozen());
		go(self->fd, 0);
		EXPECT_EQ(0, finish(writer));
		ASSERT_REACHED(is_frozen());
		/* it has released the lock but is frozen in that call */
		EXPECT_EQ(0, holder->done);
		EXPECT_EQ(0, state(self->fd).is_locked);
		ASSERT_TRUE(thaw());
		EXPECT_EQ(0, finish(holder));
	}
	rmdir(FROZEN);
}

static const struct wait { __u32 how; bool leaves; } waits[] = {
	{ LOCK_TEST_PLAIN, false },
	{ LOCK_TEST_KILLABLE, false },
	{ LOCK_TEST_INTERRUPTIBLE, true },
	{ LOCK_TEST_TIMEOUT, false },
};

TEST_F(freezer, frozen_waiter_delays_nobody)
{
	struct task *holder, *waiter, *reader, *writer;
	int i, mode;

	NEEDS_FREEZER();
	/* no window for readers */
	set_bound(self->fd, 0);
	for (i = 0; i < 8; i++) {
		const struct wait *w = &waits[i / 2];

		mode = i % 2;
		/* the holder reads, so that a waiting writer blocks new readers */
		holder = start(self->fd, (struct job){ .mode = !mode, .hold = LOCK_TEST_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).readers + state(self->fd).writers == 1);
		waiter = start(self->fd, (struct job){ .mode = mode, .how = w->how,
			       .timeout_ms = LOCK_TEST_MAX_TIMEOUT_MS,
			       .cgroup = FROZEN "cgroup.procs" });
		ASSERT_REACHED(state(self->fd).queued_readers +
			       state(self->fd).queued_writers == 1);
		reader = start(self->fd, (struct job){ .mode = LOCK_TEST_READ });
		ASSERT_REACHED(state(self->fd).queued_readers == 1 + !mode);
		ASSERT_TRUE(freeze());
		if (w->leaves) {
			/* the freezer signals the waiter: it leaves at once and freezes */
			ASSERT_REACHED(is_frozen());
			EXPECT_EQ(0, state(self->fd).queued_writers);
			/* a writer that left must let the reader in */
			if (mode == LOCK_TEST_WRITE)
				EXPECT_TRUE(reached(atomic_load(&reader->done)));
			EXPECT_EQ(mode != LOCK_TEST_WRITE, state(self->fd).is_contended);
		} else {
			sleep_ms(20);
			EXPECT_FALSE(is_frozen());
		}
		writer = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
		go(self->fd, 0);
		EXPECT_EQ(0, finish(writer));
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

TEST_HARNESS_MAIN
