// SPDX-License-Identifier: GPL-2.0
/*
 * The OOM killer kills a cgroup whose tasks hold the lock and wait for it. Each killed holder must
 * release the lock, and tasks outside of the cgroup must acquire it.
 *
 * Seen failing: the mutant lost-wakeup-by-last-reader.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

#define GROUP	"/sys/fs/cgroup/oom/"

LOCK_FIXTURE(oom)

static bool make_group(void)
{
	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	/* no swap */
	put(GROUP "memory.swap.max", "0");
	return put(GROUP "memory.oom.group", "1") && put(GROUP "memory.max", "24M");
}

/* Allocate more memory than the cgroup may use. */
static pid_t start_memory_hog(void)
{
	pid_t pid = fork_task(&(struct job){ .cgroup = GROUP "cgroup.procs" });
	char *p;
	int i;

	if (pid)
		return pid;
	for (i = 0; i < 64; i++) {
		p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED)
			memset(p, i, 1 << 20);
	}
	_exit(0);
}

static int killed(void)
{
	return value_of(GROUP "memory.events", "oom_kill ");
}

#define NR_WAITERS	6

static const __u32 hows[] = { LOCK_TEST_PLAIN, LOCK_TEST_KILLABLE, LOCK_TEST_INTERRUPTIBLE };

/* Kill @holders of @mode and all kinds of waiters; a task outside must acquire the lock. */
static void kill_group(struct __test_metadata *_metadata, int fd, __u32 mode, int holders,
		       __u32 mode_outside)
{
	struct task *holder[4], *waiter[NR_WAITERS], *outside;
	int i, status, before = killed();
	pid_t hog;

	for (i = 0; i < holders; i++)
		holder[i] = start(fd, (struct job){ .mode = mode, .hold = LOCK_TEST_UNTIL_GO,
				  .id = i, .cgroup = GROUP "cgroup.procs" });
	ASSERT_REACHED(state(fd).readers + state(fd).writers == holders);
	/* one that acquires the lock before it is killed holds it until then */
	for (i = 0; i < NR_WAITERS; i++) {
		waiter[i] = start(fd, (struct job){
				  .mode = i < 3 ? LOCK_TEST_WRITE : LOCK_TEST_READ,
				  .how = hows[i % 3], .hold = LOCK_TEST_UNTIL_GO, .id = 63,
				  .cgroup = GROUP "cgroup.procs" });
		/* without a queued writer, a reader would acquire the lock beside other readers */
		if (i == 2)
			ASSERT_REACHED(state(fd).queued_writers > 0);
	}
	ASSERT_REACHED(state(fd).acquiring_writers + state(fd).acquiring_readers == NR_WAITERS);
	outside = start(fd, (struct job){ .mode = mode_outside });
	ASSERT_REACHED(state(fd).acquiring_writers + state(fd).acquiring_readers ==
		       NR_WAITERS + 1);
	hog = start_memory_hog();
	ASSERT_EQ(hog, waitpid(hog, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EXPECT_EQ(0, finish(outside));
	for (i = 0; i < holders; i++)
		EXPECT_EQ(-SIGKILL, finish(holder[i]));
	for (i = 0; i < NR_WAITERS; i++)
		EXPECT_EQ(-SIGKILL, finish(waiter[i]));
	/* the kernel's own count, which has the first victim twice */
	EXPECT_LE(before + holders + NR_WAITERS + 1, killed());
	EXPECT_EQ(0, state(fd).is_locked);
	EXPECT_EQ(0, state(fd).is_contended);
}

#define NEEDS_MEMCG()								\
do {										\
	if (!make_group())							\
		SKIP(return, "no memory.max: needs cgroup v2 and CONFIG_MEMCG"); \
} while (0)

TEST_F_TIMEOUT(oom, readers_are_killed, 120)
{
	int i;

	NEEDS_MEMCG();
	for (i = 0; i < repeats(8); i++)
		kill_group(_metadata, self->fd, LOCK_TEST_READ, 4, i % 2);
	rmdir(GROUP);
}

TEST_F_TIMEOUT(oom, writer_is_killed, 120)
{
	int i;

	NEEDS_MEMCG();
	for (i = 0; i < repeats(8); i++)
		kill_group(_metadata, self->fd, LOCK_TEST_WRITE, 1, i % 2);
	rmdir(GROUP);
}

TEST_HARNESS_MAIN
