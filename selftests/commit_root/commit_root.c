// SPDX-License-Identifier: GPL-2.0
/*
 * Commit-root search: what a pin sees, what a switch waits for, what may be reused.
 *
 * The promises of the calls are tested in the module, each on a set of its own. The rules of the
 * callers are tested on a toy filesystem, twice: with the rule, and with the rule disabled. The
 * second run must detect the damage.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "device_test.h"
#include "modules.h"
#include "slowdown.h"
#include "trace.h"
#include "commit_root_test.h"
#include "fscommit_test.h"

NEEDS_MODULES("cow_tree_test", "commit_root_test");

#define EXTENTS		240

static int open_fs(__u32 broken)
{
	struct root_test_setup setup = {
		.search = ROOT_TEST_COMMIT_ROOT, .lock_type = LOCK_TEST_UNFAIR, .extents = EXTENTS,
		.rewrite = 10, .broken = broken,
	};

	return open_device("/dev/commit_root_test", ROOT_TEST_SETUP, &setup);
}

static __u64 stale(int fd)
{
	__u64 nr = ~0ULL;

	ioctl(fd, ROOT_TEST_STALE, &nr);
	return nr;
}

static __u64 commit(int fd)
{
	struct root_test_commit c = { };

	return ioctl(fd, ROOT_TEST_COMMIT, &c) ? 0 : c.generation;
}

static int change(int fd, unsigned long cmd, __u32 extent)
{
	return run_ioctl(fd, cmd, &extent);
}

/* Change an extent and commit. Return the generation, or 0. */
static __u64 write_and_commit(int fd)
{
	return change(fd, ROOT_TEST_WRITE, 1) ? 0 : commit(fd);
}

static int pin(int fd, __u32 id, __u64 *generation)
{
	struct root_test_pin p = { .id = id };
	int ret = run_ioctl(fd, ROOT_TEST_PIN, &p);

	if (generation)
		*generation = p.generation;
	return ret;
}

static int unpin(int fd, __u32 id)
{
	struct root_test_pin p = { .id = id };

	return run_ioctl(fd, ROOT_TEST_UNPIN, &p);
}

static struct root_test_request read_some(int fd, unsigned int pause_us)
{
	struct root_test_request r = { .first = 12, .nr = 4, .pause_us = pause_us };

	if (ioctl(fd, ROOT_TEST_READ, &r))
		r.bad = errno;
	return r;
}

/* A debugfs counter of the newest filesystem; 0 without debugfs. */
static long counter(const char *name)
{
	FILE *f = fopen("/sys/kernel/debug/fscommit/commit_roots", "r");
	long value = f ? -1 : 0, n;
	char line[256], have[64];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %63s %ld", have, &n) == 2 && !strcmp(have, name))
			value = n;
	if (f)
		fclose(f);
	return value;
}

static bool is_in_debugfs(const char *text)
{
	FILE *f = fopen("/sys/kernel/debug/fscommit/commit_roots", "r");
	bool found = !f;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		found |= !!strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

FIXTURE(commit_root) {
	int fd;
};

FIXTURE_SETUP(commit_root)
{
	self->fd = open_fs(0);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(commit_root)
{
	close(self->fd);
}

/* --- promises of the calls ----------------------------------------------- */

#define CONTRACT(name, which)	DEVICE_CONTRACT(commit_root, name, ROOT_TEST_CONTRACT, which)

CONTRACT(refused_before_the_first_commit, ROOT_TEST_EARLY)
CONTRACT(newest_and_unknown_generations_decide, ROOT_TEST_GENERATIONS)
CONTRACT(each_pin_sees_its_commit, ROOT_TEST_EACH_COMMIT)
CONTRACT(unpinned_roots_are_released_at_once, ROOT_TEST_OLD_PIN)
CONTRACT(space_is_wanted_from_old_pins, ROOT_TEST_WANTED)
CONTRACT(reusable_is_reported, ROOT_TEST_REUSABLE)
CONTRACT(unpin_by_another_task, ROOT_TEST_OTHER_CPU)
CONTRACT(pins_do_not_sleep, ROOT_TEST_IRQS_OFF)
CONTRACT(prepared_commit_takes_new_trees, ROOT_TEST_LATE_TREES)
CONTRACT(new_tree_allocates_one_root, ROOT_TEST_SPARE_ROOTS)
CONTRACT(trees_switch_together, ROOT_TEST_TREES)
CONTRACT(cancelled_commit_changes_nothing, ROOT_TEST_CANCEL)
CONTRACT(switch_costs_what_it_changes, ROOT_TEST_SWITCH_COST)
CONTRACT(sets_do_not_wait_for_each_other, ROOT_TEST_TWO_SETS)
CONTRACT(release_waits_for_no_rcu_reader, ROOT_TEST_RCU_READER)
CONTRACT(destroy_waits_for_the_last_pin, ROOT_TEST_DESTROY)

/* --- observability ------------------------------------------------------- */

/* Pins are traced only while a trace event is enabled, also those that are older than that. */
TEST_F(commit_root, pins_switches_and_releases_are_traced)
{
	char was_old[64], was_pinned[64], switched[128];
	__u64 old, pinned, generation;

	ASSERT_EQ(0, pin(self->fd, 0, &old));
	if (!trace_start())
		SKIP(return, "no trace events");
	snprintf(was_old, sizeof(was_old), "generation=%llu\n", (unsigned long long)old);
	EXPECT_EQ(0, unpin(self->fd, 0));
	EXPECT_TRUE(trace_has("commit_root_unpin: ", was_old));
	EXPECT_FALSE(trace_has("commit_root_pin: ", was_old));

	ASSERT_NE(0, write_and_commit(self->fd));
	ASSERT_TRUE(REACHED(is_in_debugfs(" kept=1\n")));
	ASSERT_EQ(0, pin(self->fd, 1, &pinned));
	snprintf(was_pinned, sizeof(was_pinned), "generation=%llu\n", (unsigned long long)pinned);
	EXPECT_TRUE(trace_has("commit_root_pin: ", was_pinned));
	EXPECT_FALSE(trace_has("commit_root_unpin: ", was_pinned));

	/* the set keeps the commit of the pin and the new one */
	generation = write_and_commit(self->fd);
	snprintf(switched, sizeof(switched), "generation=%llu reusable=%llu kept=2",
		 (unsigned long long)generation, (unsigned long long)pinned);
	EXPECT_TRUE(trace_has("commit_root_switch: ", switched)) TH_LOG("%s", switched);

	/* a root is released after its pin ends, not before */
	usleep(100000);
	EXPECT_FALSE(trace_has("commit_root_release: ", was_pinned));
	EXPECT_EQ(0, unpin(self->fd, 1));
	EXPECT_TRUE(trace_has("commit_root_unpin: ", was_pinned));
	EXPECT_TRUE(REACHED(trace_has("commit_root_release: ", was_pinned)));
	trace_stop();
}

/* --- searches, and rules of the caller ----------------------------------- */

TEST_F(commit_root, old_data_is_found_committed)
{
	struct root_test_request r = read_some(self->fd, 0);

	EXPECT_EQ(1, r.committed);
	EXPECT_EQ(0, r.missed + r.live + r.bad);
	/* an extent of the running generation is searched in the live tree */
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 13));
	r = read_some(self->fd, 0);
	EXPECT_EQ(1, r.live);
	EXPECT_EQ(0, r.committed + r.bad);
	commit(self->fd);
	/* an old extent that was moved is not where the committed tree had it */
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_MOVE, 13));
	r = read_some(self->fd, 0);
	EXPECT_EQ(3, r.committed + r.missed + r.live);
	EXPECT_EQ(0, r.bad);
}

/* Fork a child that overwrites random extents and commits. */
static pid_t start_changes(int fd, unsigned int extents)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		change(fd, ROOT_TEST_WRITE, random() % extents);
		if (!(random() % 4))
			commit(fd);
	}
}

/* Read the extents 12 to 15 until damage is seen. */
static int damage(int fd, unsigned int extents, int tries)
{
	pid_t pid = start_changes(fd, extents);
	int bad = 0;

	while (tries-- && !bad) {
		struct root_test_request r = read_some(fd, 3000);

		bad = r.bad + r.mixed;
	}
	stop(pid);
	return bad + stale(fd);
}

#define RULE(name, flag, extents)					\
TEST_F_TIMEOUT(commit_root, name, 60)					\
{									\
	int fd = open_fs(flag);			\
									\
	ASSERT_GE(fd, 0);						\
	EXPECT_EQ(0, damage(self->fd, extents, 60));			\
	/* without the rule */						\
	EXPECT_NE(0, damage(fd, extents, 3000));			\
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_CHECK, NULL));	\
	close(fd);							\
}

RULE(one_pin_for_one_lookup, ROOT_TEST_BREAK_ONE_PIN, 8)
RULE(no_reuse_under_a_pin, ROOT_TEST_BREAK_REUSE, 8)
RULE(extents_stay_while_they_are_read, ROOT_TEST_BREAK_KEEP, 16)

/* --- all at once --------------------------------------------------------- */

static atomic_long *sums;
enum { READS, BAD, COMMITTED, MISSED, LIVE, NR_SUMS };

static void read_for_ever(int fd)
{
	for (;;) {
		struct root_test_request r = {
			.first = random() % (EXTENTS / ROOT_TEST_GROUP) * ROOT_TEST_GROUP,
			.nr = 1 + random() % ROOT_TEST_GROUP,
			.pause_us = random() % 50 ? 0 : 2000,
		};

		if (ioctl(fd, ROOT_TEST_READ, &r))
			atomic_fetch_add(&sums[BAD], 1);
		atomic_fetch_add(&sums[READS], 1);
		atomic_fetch_add(&sums[BAD], r.bad + r.mixed);
		atomic_fetch_add(&sums[COMMITTED], r.committed);
		atomic_fetch_add(&sums[MISSED], r.missed);
		atomic_fetch_add(&sums[LIVE], r.live);
	}
}

static void change_for_ever(int fd)
{
	for (;;) {
		change(fd, random() % 4 ? ROOT_TEST_WRITE : ROOT_TEST_MOVE, random() % EXTENTS);
		if (!(random() % 8))
			usleep(random() % 1000);
	}
}

/* Readers at the lowest priority against writers, moves and commits. */
TEST_F_TIMEOUT(commit_root, readers_writers_and_commits_at_once, 90)
{
	pid_t pid[8];
	int i;

	sums = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 8; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		srandom(getpid());
		if (i < 2)
			change_for_ever(self->fd);
		setpriority(PRIO_PROCESS, 0, 19);
		read_for_ever(self->fd);
	}
	/* run on until a search has missed a moved extent */
	for (i = 0; i < repeats(200) || (i < 1000 && !atomic_load(&sums[MISSED])); i++) {
		usleep(20000);
		if (!commit(self->fd) && errno != ENOMEM)
			EXPECT_EQ(0, errno);
	}
	for (i = 0; i < 8; i++)
		stop(pid[i]);
	TH_LOG("%ld reads: %ld committed, %ld missed, %ld live", sums[READS], sums[COMMITTED],
	       sums[MISSED], sums[LIVE]);
	EXPECT_GT(sums[COMMITTED], 0);
	EXPECT_GT(sums[MISSED], 0);
	EXPECT_GT(sums[LIVE], 0);
	EXPECT_EQ(0, sums[BAD]);
	EXPECT_EQ(0, stale(self->fd));
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_CHECK, NULL));
	EXPECT_EQ(0, counter("switches_slept"));
	EXPECT_EQ(0, counter("misuses"));
}

TEST_HARNESS_MAIN
