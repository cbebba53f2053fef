// SPDX-License-Identifier: GPL-2.0
/*
 * Load and unload the module FSCOMMIT_CYCLES times (20) while other tasks read and write all its
 * files in debugfs and sysfs. It must not unload while a driver uses it, nor the driver while its
 * file is open. The kernel's allocations must not grow.
 *
 * Seen failing: the mutants faults-debugfs-stays and faults-tables-leak.
 *
 * Needs fscommit.ko and fscommit_test.ko in the current folder, both not loaded.
 */
#include "common.h"
#include "lent.h"
#include "load.h"

#include <dirent.h>

#define DEBUGFS	"/sys/kernel/debug/fscommit"
#define PARAMS	"/sys/module/fscommit/parameters"

/* --- tasks that access the files ----------------------------------------- */

static void read_files(const char *dir, bool write_back, atomic_int *looked)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[512], text[4096];
		int fd, n;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		fd = open(path, O_RDONLY | O_NONBLOCK);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n <= 0)
			continue;
		atomic_fetch_add(looked, 1);
		text[n] = 0;
		if (write_back)
			put(path, text);
	}
	if (d)
		closedir(d);
}

static pid_t start_reader(int i, atomic_int *looked)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (i) {
			read_files(PARAMS, true, looked);
		} else {
			read_files(DEBUGFS, false, looked);
			read_files("/sys/module/fscommit/stats", false, looked);
		}
		sched_yield();
	}
}

/* --- memory allocated by the kernel -------------------------------------- */

#define NR_CACHES	64

struct memory {
	int nr;
	struct { char name[32]; long objects; } cache[NR_CACHES];
	long percpu_kb, vmalloc_areas;
};

/* Free objects kept for the next allocation count as used: up to 840 per cache. */
static void shrink_kmalloc_caches(void)
{
	DIR *d = opendir("/sys/kernel/slab");
	char path[512];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, "kmalloc-", 8))
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", e->d_name);
		put(path, "1");
	}
	if (d)
		closedir(d);
}

static void measure(struct memory *m)
{
	char line[512];
	FILE *f;
	int i;

	*m = (struct memory){ };
	/*
	 * Drop caches first. Dentries keep the names of removed sysfs folders; one pass keeps
	 * those looked up since the last pass.
	 */
	for (i = 0; i < 4; i++)
		put("/proc/sys/vm/drop_caches", "3");
	/* kfree_rcu() batches for 5 s, then waits for a grace period */
	sleep_ms(10000);
	shrink_kmalloc_caches();
	f = fopen("/proc/slabinfo", "r");
	while (f && fgets(line, sizeof(line), f) && m->nr < NR_CACHES)
		if (!strncmp(line, "kmalloc-", 8) &&
		    sscanf(line, "%31s %ld", m->cache[m->nr].name, &m->cache[m->nr].objects) == 2)
			m->nr++;
	if (f)
		fclose(f);
	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Percpu: %ld", &m->percpu_kb);
	if (f)
		fclose(f);
	f = fopen("/proc/vmallocinfo", "r");
	while (f && fgets(line, sizeof(line), f))
		m->vmalloc_areas++;
	if (f)
		fclose(f);
}

/* --- the tests ----------------------------------------------------------- */

static int nr_cycles(void)
{
	const char *s = getenv("FSCOMMIT_CYCLES");

	return s ? atoi(s) : 20;
}

#define NEEDS_MODULES()								\
do {										\
	if (access("fscommit.ko", R_OK) || access("fscommit_test.ko", R_OK))	\
		SKIP(return, "no fscommit.ko and fscommit_test.ko in this folder"); \
	if (!access("/sys/module/fscommit", F_OK))				\
		SKIP(return, "fscommit is loaded already");			\
} while (0)

/* Unloading is refused while in use, and the module still works. */
TEST(refused_while_in_use)
{
	struct task *holder;
	int fd, look;

	NEEDS_MODULES();
	ASSERT_EQ(0, load("fscommit.ko"));
	EXPECT_EQ(EEXIST, load("fscommit.ko"));
	ASSERT_EQ(0, load("fscommit_test.ko"));
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit"));
	fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(fd, 0);
	holder = start(fd, (struct job){ .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO });
	ASSERT_REACHED(state(fd).readers == 1);
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit_test"));
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit"));
	EXPECT_EQ(0, lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	EXPECT_EQ(EAGAIN, lock(fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	/* the holder's task has the file open, too */
	close(fd);
	EXPECT_EQ(EWOULDBLOCK, unload("fscommit_test"));
	kill(holder->pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, finish(holder));
	EXPECT_EQ(0, unload("fscommit_test"));
	look = open(DEBUGFS "/locks", O_RDONLY);
	if (look >= 0) {
		EXPECT_EQ(EWOULDBLOCK, unload("fscommit"));
		close(look);
	}
	EXPECT_EQ(0, unload("fscommit"));
	EXPECT_NE(0, access("/sys/module/fscommit", F_OK));
	EXPECT_NE(0, access(DEBUGFS, F_OK));
}

/* --- loans that a lock of the kernel leaves ------------------------------- */

/* Holds @mutex until go(), then lets go of the device and stays. */
static pid_t start_owner(int fd, int mutex)
{
	struct lock_test_op op = { .mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_UNTIL_GO };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prepare(&(struct job){ .nice = 19 });
	ioctl(mutex, LOCK_TEST_LOCK, &op);
	close(mutex);
	close(fd);
	for (;;)
		pause();
}

/*
 * A chain lends to the owner of a mutex. The owner releases it, and the modules are unloaded before
 * the watcher has ended the loan. Returns AGAIN if that was too slow.
 */
static int unload_with_a_loan(pid_t *owner)
{
	struct task *r, *w;
	bool has_loan;
	int fd, mutex;

	/* long periods: the loan outlives the release by 0.1 s and more */
	CHECK(!load_with("fscommit.ko", "lend_cpu_us=1000000 lend_period_us=60000000"));
	CHECK(!load("fscommit_test.ko"));
	fd = lock_open(LOCK_TEST_UNFAIR);
	mutex = lock_open(LOCK_TEST_MUTEX);
	CHECK(fd >= 0 && mutex >= 0);
	*owner = start_owner(fd, mutex);
	CHECK(reached(state(mutex).writers == 1 && task_state(*owner) != 'R'));
	r = start(mutex, (struct job){ .mode = LOCK_TEST_WRITE, .outer = fd,
				       .flags = LOCK_TEST_OUTER_READ });
	CHECK(reached(state(mutex).acquiring_writers == 1 && is_asleep(r)));
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 30 });
	CHECK(reached(level_of(*owner) == 30));
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

TEST(unloads_with_a_loan)
{
	char kinds[64] = "none";
	int ret;

	NEEDS_MODULES();
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

/* --- many cycles --------------------------------------------------------- */

/* One cycle in which the lock is used. Return how often unloading was refused, or -line. */
static int cycle(void)
{
	int fd, refused = 0, ret;
	double end;

	CHECK(!load("fscommit.ko"));
	CHECK(!load("fscommit_test.ko"));
	fd = lock_open(LOCK_TEST_UNFAIR);
	CHECK(fd >= 0);
	CHECK(!lock(fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	CHECK(!lock(fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
	CHECK(unload("fscommit_test") == EWOULDBLOCK);
	CHECK(unload("fscommit") == EWOULDBLOCK);
	close(fd);
	/* a reading task may have a file open, and be off its CPU */
	end = seconds() + 30;
	while ((ret = unload("fscommit_test")) == EWOULDBLOCK && seconds() < end) {
		refused++;
		sched_yield();
	}
	CHECK(!ret);
	while ((ret = unload("fscommit")) == EWOULDBLOCK && seconds() < end) {
		refused++;
		sched_yield();
	}
	CHECK(!ret);
	return refused;
}

static bool has_grown(struct __test_metadata *_metadata, const char *what, long before, long after,
		      long limit)
{
	if (after - before > limit / 2 || before - after > limit / 2)
		TH_LOG("%s: from %ld to %ld", what, before, after);
	return after - before > limit;
}

/*
 * A leak of one object per cycle adds as many objects as cycles. Half of that is more than the
 * noise if there are enough cycles.
 */
FIXTURE(load_cycles) { };
FIXTURE_SETUP(load_cycles) { }
FIXTURE_TEARDOWN(load_cycles) { }

TEST_F_TIMEOUT(load_cycles, nothing_grows, 3000)
{
	const int cycles = nr_cycles(), warm = cycles / 10 + 1;
	atomic_int *looked = share(4096);
	struct memory before = { }, after;
	int i, c, ret, grown = 0, refused = 0;
	pid_t reader[2];

	NEEDS_MODULES();
	for (i = 0; i < 2; i++)
		reader[i] = start_reader(i, looked);
	for (c = 0; c < warm + cycles; c++) {
		if (c == warm && cycles >= 200) {
			for (i = 0; i < 2; i++)
				kill(reader[i], SIGSTOP);
			measure(&before);
			for (i = 0; i < 2; i++)
				kill(reader[i], SIGCONT);
		}
		ret = cycle();
		ASSERT_GE(ret, 0) { TH_LOG("cycle %d", c); }
		refused += ret;
	}
	for (i = 0; i < 2; i++) {
		kill(reader[i], SIGKILL);
		waitpid(reader[i], NULL, 0);
	}
	if (cycles >= 200) {
		measure(&after);
		for (i = 0; i < before.nr && i < after.nr; i++)
			grown += has_grown(_metadata, before.cache[i].name, before.cache[i].objects,
					   after.cache[i].objects, cycles / 2);
		/* a leak is 16 KiB per CPU and cycle; a chunk may come and go */
		grown += has_grown(_metadata, "Percpu kB", before.percpu_kb, after.percpu_kb,
				   cycles);
		grown += has_grown(_metadata, "vmalloc areas", before.vmalloc_areas,
				   after.vmalloc_areas, cycles / 2);
		EXPECT_EQ(0, grown);
	}
	EXPECT_LT(0, *looked);
	TH_LOG("%d cycles, %d times refused besides 3 in each, %d files read", c, refused,
	       *looked);
}

TEST_HARNESS_MAIN
