// SPDX-License-Identifier: GPL-2.0
/*
 * The OOM killer takes a cgroup whose tasks hold the lock and wait for it: the lock is
 * released by each of them, and those outside come in.
 *
 * Seen failing: the mutant lost-wakeup-by-last-reader.
 */
#include "common.h"

#define GROUP	"/sys/fs/cgroup/oom/"

LOCK_FIXTURE(oom)

static bool make_group(void)
{
	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	/* where there is swap */
	put(GROUP "memory.swap.max", "0");
	return put(GROUP "memory.oom.group", "1") && put(GROUP "memory.max", "24M");
}

/* Wants more memory than there is. */
static pid_t start_glutton(void)
{
	pid_t pid = fork();
	char *p;
	int i;

	if (pid)
		return pid;
	put(GROUP "cgroup.procs", "0");
	for (i = 0; i < 64; i++) {
		p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED)
			memset(p, i, 1 << 20);
	}
	_exit(0);
}

static int killed_in(const char *file)
{
	char line[128];
	FILE *f = fopen(file, "r");
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "oom_kill %d", &n);
	if (f)
		fclose(f);
	return n;
}

#define NR_WAITERS	6

static const __u32 hows[] = { FCT_PLAIN, FCT_KILLABLE, FCT_INTERRUPTIBLE };

/* @holders of @mode and all kinds of waiters are killed; one outside must come in. */
static void kill_group(struct __test_metadata *_metadata, int fd, __u32 mode, int holders,
		       __u32 mode_outside)
{
	struct task *holder[4], *waiter[NR_WAITERS], *outside;
	int i, status, before = killed_in(GROUP "memory.events");
	pid_t glutton;

	for (i = 0; i < holders; i++)
		holder[i] = start(fd, (struct job){ .mode = mode, .hold = FCT_UNTIL_GO, .id = i,
				  .cgroup = GROUP "cgroup.procs" });
	ASSERT_REACHED(state(fd).readers + state(fd).writers == holders);
	for (i = 0; i < NR_WAITERS; i++)
		waiter[i] = start(fd, (struct job){ .mode = i < 3 ? FCT_WRITE : FCT_READ,
				  .how = hows[i % 3], .cgroup = GROUP "cgroup.procs" });
	ASSERT_REACHED(state(fd).acquiring_writers + state(fd).acquiring_readers == NR_WAITERS);
	outside = start(fd, (struct job){ .mode = mode_outside });
	ASSERT_REACHED(state(fd).acquiring_writers + state(fd).acquiring_readers ==
		       NR_WAITERS + 1);
	glutton = start_glutton();
	ASSERT_EQ(glutton, waitpid(glutton, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EXPECT_EQ(0, finish(outside));
	for (i = 0; i < holders; i++)
		EXPECT_EQ(-SIGKILL, finish(holder[i]));
	for (i = 0; i < NR_WAITERS; i++)
		EXPECT_EQ(-SIGKILL, finish(waiter[i]));
	/* the kernel's own count; the first victim is in it twice */
	EXPECT_LE(before + holders + NR_WAITERS + 1, killed_in(GROUP "memory.events"));
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
	for (i = 0; i < scaled(8); i++)
		kill_group(_metadata, self->fd, FCT_READ, 4, i % 2);
	rmdir(GROUP);
}

TEST_F_TIMEOUT(oom, writer_is_killed, 120)
{
	int i;

	NEEDS_MEMCG();
	for (i = 0; i < scaled(8); i++)
		kill_group(_metadata, self->fd, FCT_WRITE, 1, i % 2);
	rmdir(GROUP);
}

TEST_HARNESS_MAIN
