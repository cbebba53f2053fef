// SPDX-License-Identifier: GPL-2.0
/*
 * G8, the part without a report: lockdep accepts nested and ordinary use, and lockdep and
 * lock_stat know the lock by its name. Each misuse that lockdep must report needs a boot of its
 * own: see harness/expected.
 *
 * Seen failing: lock_acquire() taken out of __unfair_acquire().
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

LOCK_FIXTURE(g8_lockdep)

static bool misuse(int fd, const char *name)
{
	struct lock_test_misuse m = { };

	strcpy(m.name, name);
	return !ioctl(fd, LOCK_TEST_MISUSE, &m);
}

TEST_F(g8_lockdep, ordinary_use_is_not_reported)
{
	/* a report panics, or the harness finds it in the log */
	EXPECT_TRUE(misuse(self->fd, "nested"));
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_NESTED));
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_NESTED));
}

TEST_F(g8_lockdep, lockdep_is_still_on)
{
	if (access("/proc/lockdep_stats", F_OK))
		SKIP(return, "CONFIG_PROVE_LOCKING is off");
	EXPECT_EQ(1, value_of("/proc/lockdep_stats", " debug_locks:"));
}

TEST_F(g8_lockdep, each_init_site_has_a_class)
{
	if (access("/proc/lockdep", F_OK))
		SKIP(return, "CONFIG_PROVE_LOCKING is off");
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	EXPECT_TRUE(file_has("/proc/lockdep", "&l->unfair"));
}

TEST_F(g8_lockdep, lock_stat_counts_contention)
{
	struct task *holder, *r;

	if (access("/proc/lock_stat", F_OK))
		SKIP(return, "CONFIG_LOCK_STAT is off");
	put("/proc/sys/kernel/lock_stat", "1");
	holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ });
	ASSERT_NE(NULL, holder);
	r = start(self->fd, (struct job){ .mode = LOCK_TEST_READ });
	ASSERT_REACHED(state(self->fd).queued_readers == 1 && is_asleep(r));
	go(self->fd, 0);
	EXPECT_EQ(0, finish(holder));
	EXPECT_EQ(0, finish(r));
	put("/proc/sys/kernel/lock_stat", "0");
	EXPECT_TRUE(file_has("/proc/lock_stat", "&l->unfair"));
}

TEST_HARNESS_MAIN
