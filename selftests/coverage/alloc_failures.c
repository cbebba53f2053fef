// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation of the module fails once: the first one of a call, then the second one, and
 * so on, until the call succeeds with none left to fail. A call says ENOMEM or does without;
 * nothing is left behind; and the next one, with memory, works. Of loading the module, of
 * switching the statistics on, of reading debugfs, of making commit roots and reuse queues.
 *
 * Needs /proc/PID/fail-nth (FAILSLAB, FAIL_PAGE_ALLOC), and the modules in MODULES or
 * /fscommit; they must not be loaded. The kernel itself warns when it has no memory for the
 * fields of a module's trace event: so not in a guest that panics for that.
 *
 * Seen failing, with a line broken: no exit_lending() after a failed init_rcu_reuse() (the
 * kernel dies of the thread that is left behind).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "load.h"
#include "put.h"
#include "commit_root_test.h"
#include "fscommit_test.h"
#include "rcu_reuse_test.h"
#include "kselftest_harness.h"

#define DEBUGFS		"/sys/kernel/debug/fscommit"
#define FAIL_NTH	"/proc/thread-self/fail-nth"
/* more than any call of these allocates */
#define MAX_ALLOCATIONS	3000

static int fail_nth;

static bool set_fail_nth(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(fail_nth, text, len, 0) == len;
}

/* How many allocations are left until one fails; 0: it has failed. */
static int get_fail_nth(void)
{
	char text[16] = "";

	return pread(fail_nth, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;
}

/* Returns how often @call failed; @undo is called where it did not. -1: it said another error. */
static int each_failure(int (*call)(void), void (*undo)(void))
{
	int n, error, left, failed = 0;

	for (n = 1; n <= MAX_ALLOCATIONS; n++) {
		if (!set_fail_nth(n))
			return -1;
		error = call();
		left = get_fail_nth();
		set_fail_nth(0);
		if (!error)
			undo();
		else if (error != ENOMEM && error != ENFILE && error != EAGAIN)
			return printf("# allocation %d: error %d\n", n, error), -1;
		failed += !!error;
		if (left)
			/* it had all that it wanted */
			return error ? -1 : failed;
	}
	return -1;
}

static int load_module(const char *name)
{
	const char *folder = getenv("MODULES");
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.ko", folder ? folder : "/fscommit", name);
	return load(path);
}

static void unload_module(const char *name)
{
	int error = unload(name);

	if (error)
		printf("# unloading %s: %s\n", name, strerror(error));
}

static bool is_loaded(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

/* --- the calls ----------------------------------------------------------- */

static int load_product(void)
{
	return load_module("fscommit");
}

static void unload_product(void)
{
	unload_module("fscommit");
}

static int stats_on(void)
{
	int fd = open(DEBUGFS "/stats", O_WRONLY), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "on", 2) != 2)
		error = errno;
	close(fd);
	return error;
}

/* They are allocated once for each load. */
static int load_and_stats_on(void)
{
	int left = get_fail_nth(), error;

	set_fail_nth(0);
	if (load_product())
		return EIO;
	set_fail_nth(left);
	error = stats_on();
	left = get_fail_nth();
	set_fail_nth(0);
	if (error)
		unload_product();
	set_fail_nth(left);
	return error;
}

static const char *file;

static int read_file(void)
{
	char buffer[4096];
	ssize_t len;
	int error, fd = open(file, O_RDONLY);

	if (fd < 0)
		return errno;
	while ((len = read(fd, buffer, sizeof(buffer))) > 0)
		;
	error = len < 0 ? errno : 0;
	close(fd);
	return error;
}

static void nothing(void) { }

/* Of a file of its own. */
static int device_ioctl(const char *path, unsigned long cmd, void *arg)
{
	int error, fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno;
	error = ioctl(fd, cmd, arg) ? errno : 0;
	close(fd);
	return error;
}

static int make_commit_roots(void)
{
	struct crt_setup s = { .search = CRT_COMMIT_ROOT, .lock_type = FCT_UNFAIR, .extents = 16 };

	return device_ioctl("/dev/commit_root_test", CRT_SETUP, &s);
}

static int make_reuse_queue(void)
{
	struct rrt_setup s = {
		.flavour = RRT_RCU, .objects = 16, .batch = 4, .keep = 8, .max = 64,
		.max_age_ms = 1000,
	};

	return device_ioctl("/dev/rcu_reuse_test", RRT_SETUP, &s);
}

/* --- the tests ----------------------------------------------------------- */

FIXTURE(alloc_failures) { };

FIXTURE_SETUP(alloc_failures)
{
	static const char *const knobs[] = {
		"failslab/ignore-gfp-wait", "fail_page_alloc/ignore-gfp-wait",
		"fail_page_alloc/ignore-gfp-highmem",
	};
	char path[128];
	int i;

	fail_nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (fail_nth < 0)
		SKIP(return, "no " FAIL_NTH ": a kernel without FAULT_INJECTION");
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", knobs[i]);
		if (!put(path, "N"))
			SKIP(return, "no FAILSLAB or no FAIL_PAGE_ALLOC");
	}
	put("/sys/kernel/debug/failslab/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	if (is_loaded("fscommit"))
		SKIP(return, "fscommit is loaded");
}

FIXTURE_TEARDOWN(alloc_failures)
{
	set_fail_nth(0);
	EXPECT_FALSE(is_loaded("fscommit"));
	EXPECT_NE(0, access(DEBUGFS, F_OK));
	/* nothing is left behind that a load minds */
	EXPECT_EQ(0, load_module("fscommit"));
	unload_module("fscommit");
	close(fail_nth);
}

TEST_F_TIMEOUT(alloc_failures, load, 300)
{
	int failed = each_failure(load_product, unload_product);

	TH_LOG("%d failures", failed);
	EXPECT_GT(failed, 10);
}

TEST_F_TIMEOUT(alloc_failures, statistics, 100)
{
	int failed = each_failure(load_and_stats_on, unload_product);

	TH_LOG("%d failures", failed);
	EXPECT_GT(failed, 1);
}

TEST_F_TIMEOUT(alloc_failures, debugfs, 100)
{
	char path[128];
	struct dirent *e;
	DIR *d;

	ASSERT_EQ(0, load_module("fscommit"));
	EXPECT_EQ(0, stats_on());
	d = opendir(DEBUGFS);
	ASSERT_NE(NULL, d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), DEBUGFS "/%.60s", e->d_name);
		file = path;
		EXPECT_GT(each_failure(read_file, nothing), 0) TH_LOG("%s", path);
	}
	closedir(d);
	unload_module("fscommit");
}

/* Each by the ioctl of a test device, which allocates, too. */
static void make(struct __test_metadata *_metadata, const char *module, int (*call)(void))
{
	int failed, i;

	ASSERT_EQ(0, load_module("fscommit"));
	if (load_module("cow_tree_test") || load_module(module)) {
		unload_module("cow_tree_test");
		unload_module("fscommit");
		SKIP(return, "no %s", module);
	}
	/* pages for caches count, too, and are not wanted each time: one may be passed over */
	for (i = 0; i < 3; i++) {
		failed = each_failure(call, nothing);
		TH_LOG("%d failures", failed);
		EXPECT_GT(failed, 2);
		EXPECT_EQ(0, call());
	}
	unload_module(module);
	unload_module("cow_tree_test");
	unload_module("fscommit");
}

TEST_F_TIMEOUT(alloc_failures, commit_roots, 100)
{
	make(_metadata, "commit_root_test", make_commit_roots);
}

TEST_F_TIMEOUT(alloc_failures, reuse_queue, 100)
{
	make(_metadata, "rcu_reuse_test", make_reuse_queue);
}

TEST_HARNESS_MAIN
