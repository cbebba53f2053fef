// SPDX-License-Identifier: GPL-2.0
/*
 * The module does not unload while a driver uses it or a file of it is open. It unloads beside
 * tasks that read and write its files, ends its loans then, and leaves no memory allocated after
 * FSCOMMIT_CYCLES cycles (20). kmemleak, which runs after this program on debug kernels, finds
 * smaller leaks.
 *
 * Seen failing: the mutants faults-debugfs-stays, faults-tables-leak and
 * faults-unload-keeps-leases.
 *
 * Needs fscommit.ko and fscommit_test.ko in the current folder, both not loaded.
 */
#include "common.h"
#include "lent.h"
#include "load.h"

#include <dirent.h>

#define PARAMS	"/sys/module/fscommit/parameters"

FIXTURE(load_cycles) { };

FIXTURE_SETUP(load_cycles)
{
	if (access("fscommit.ko", R_OK) || access("fscommit_test.ko", R_OK))
		SKIP(return, "no fscommit.ko and fscommit_test.ko in this folder");
	if (!access("/sys/module/fscommit", F_OK))
		SKIP(return, "fscommit is loaded already");
}

FIXTURE_TEARDOWN(load_cycles) { }

TEST_F(load_cycles, refused_while_in_use)
{
	struct task *holder;
	int fd, file;

	ASSERT_EQ(0, load("fscommit.ko"));
	EXPECT_EQ(EEXIST, load("fscommit.ko"));
	ASSERT_EQ(0, load("fscommit_test.ko"));
	fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(fd, 0);
	holder = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(fd).readers == 1);
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit_test"));
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit"));
	/* the module still works */
	EXPECT_EQ(0, lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	EXPECT_EQ(EAGAIN, lock(fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	/* the holder's task has the device open, too */
	close(fd);
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit_test"));
	kill(holder->pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, finish(holder));
	EXPECT_EQ(0, unload("fscommit_test"));
	if (has_debugfs()) {
		file = open(DEBUGFS "/stats", O_RDONLY);
		ASSERT_GE(file, 0);
		EXPECT_EQ(EWOULDBLOCK, unload("fscommit"));
		close(file);
	}
	EXPECT_EQ(0, unload("fscommit"));
	EXPECT_NE(0, access("/sys/module/fscommit", F_OK));
	EXPECT_NE(0, access(DEBUGFS, F_OK));
}

/*
 * A chain lends to the owner of a mutex. The owner releases it, and the modules are unloaded before
 * the watcher has ended the loan. Return AGAIN if that was too slow.
 */
static int unload_with_a_loan(pid_t *owner)
{
	struct task *r, *w;
	bool has_loan;
	int fd, mutex;

	CHECK(!load_with("fscommit.ko", "lend_cpu_us=1000000"));
	CHECK(!load("fscommit_test.ko"));
	fd = lock_open(LOCK_TEST_UNFAIR);
	mutex = lock_open(LOCK_TEST_MUTEX);
	CHECK(fd >= 0 && mutex >= 0);
	*owner = start_and_stay(mutex, (struct job){
		.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO, .nice = 19 });
	CHECK(reached(state(mutex).writers == 1 && task_state(*owner) != 'R'));
	r = start(mutex, (struct job){ .mode = LOCK_TEST_WRITE, .outer = fd,
				       .flags = LOCK_TEST_OUTER_READ });
	CHECK(reached(state(mutex).acquiring_writers == 1 && is_asleep(r)));
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 30 });
	CHECK(reached(level_of(*owner) == 30));
	/* long periods: the loan outlives the release by 0.1 s and more */
	no_passes();
	go(mutex, 0);
	CHECK(!finish(r));
	CHECK(!finish(w));
	close(mutex);
	close(fd);
	CHECK(reached(!unload("fscommit_test")));
	has_loan = level_of(*owner) == 30;
	CHECK(reached(!unload("fscommit")));
	CHECK(level_of(*owner) == 0);
	return has_loan ? 0 : AGAIN;
}

static int unload_and_kill(void)
{
	pid_t owner = 0;
	int ret = unload_with_a_loan(&owner);

	if (owner > 0)
		kill_pid(owner);
	return ret;
}

TEST_F(load_cycles, unloads_with_a_loan)
{
	char kinds[64] = "none";
	int ret;

	ASSERT_EQ(0, load("fscommit.ko"));
	get_param("lend_links_kinds", kinds, sizeof(kinds));
	ASSERT_EQ(0, unload("fscommit"));
	if (!strstr(kinds, "mutex"))
		SKIP(return, "the kernel does not show the owner of a mutex");
	ret = CONCLUSIVE(unload_and_kill());
	EXPECT_TRUE(ret == 0 || ret == AGAIN)
		TH_LOG("line %d", -ret);
	if (ret == AGAIN)
		SKIP(return, "each time the loan had ended before the module was unloaded");
}

/* Read each file of @dir; with @write_back, write what it said. */
static void access_files(const char *dir, bool write_back, atomic_int *count)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[512], text[4096] = "";
		int fd, n;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		fd = open(path, O_RDONLY | O_NONBLOCK);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n > 0) {
			atomic_fetch_add(count, 1);
			if (write_back)
				put(path, text);
		}
	}
	if (d)
		closedir(d);
}

static pid_t start_reader(bool of_params, atomic_int *count)
{
	pid_t pid = fork_task(&(struct job){ });

	if (pid)
		return pid;
	for (;;) {
		if (of_params) {
			access_files(PARAMS, true, count);
		} else {
			access_files(DEBUGFS, false, count);
			access_files("/sys/module/fscommit/stats", false, count);
		}
		sched_yield();
	}
}

/* A reading task may have a file open, and be off its CPU. */
static int unload_beside_readers(const char *name)
{
	double end = seconds() + 30;
	int ret;

	while ((ret = unload(name)) == EWOULDBLOCK && seconds() < end)
		sched_yield();
	return ret;
}

/* One cycle in which the lock is used. 0, or minus the line. */
static int cycle(void)
{
	int fd;

	CHECK(!load("fscommit.ko"));
	CHECK(!load("fscommit_test.ko"));
	fd = lock_open(LOCK_TEST_UNFAIR);
	CHECK(fd >= 0);
	CHECK(!lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	CHECK(!lock(fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
	close(fd);
	CHECK(!unload_beside_readers("fscommit_test"));
	CHECK(!unload_beside_readers("fscommit"));
	return 0;
}

/* A leak of the module's tables is 16 KiB per CPU and cycle. */
static long percpu_kib(void)
{
	return value_of("/proc/meminfo", "Percpu:");
}

TEST_F_TIMEOUT(load_cycles, nothing_grows, 3000)
{
	const char *s = getenv("FSCOMMIT_CYCLES");
	const int cycles = s ? atoi(s) : 20;
	atomic_int *count = share(4096);
	pid_t reader[2];
	long before;
	int i, ret;

	for (i = 0; i < 2; i++)
		reader[i] = start_reader(i, count);
	/* the kernel's own caches fill in the first cycle */
	ASSERT_EQ(0, cycle());
	before = percpu_kib();
	ASSERT_LT(0, before);
	for (i = 0; i < cycles; i++) {
		ret = cycle();
		ASSERT_EQ(0, ret) { TH_LOG("cycle %d", i); }
	}
	/* chunks of the per-CPU allocator may come and go */
	EXPECT_LE(percpu_kib(), before + 2 * cycles);
	for (i = 0; i < 2; i++) {
		kill(reader[i], SIGKILL);
		waitpid(reader[i], NULL, 0);
	}
	EXPECT_LT(0, *count);
	TH_LOG("%d cycles, %d files read; per-CPU memory: from %ld to %ld KiB", cycles, *count,
	       before, percpu_kib());
}

TEST_HARNESS_MAIN
