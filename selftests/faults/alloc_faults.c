// SPDX-License-Identifier: GPL-2.0
/*
 * Fail each allocation of an operation once: the first, then the second, until the operation makes
 * fewer. It must succeed or return ENOMEM, leave nothing behind, and succeed the next time. The
 * operations: load the module, use it as drivers do (fault_test.ko), read debugfs. kmemleak, which
 * runs after this program, reports leaks.
 *
 * every_site: a module built with sites.sed has the parameter fault_site: the n-th call of an
 * allocator fails. sites.sh checks in the kernel's log that no call in the source was missed.
 *
 * every_allocation: fail-nth also fails allocations of the kernel, for coverage. The kernel warns
 * if it has no memory for the fields of a module's trace event, so this variant must not run in a
 * guest that panics on warnings.
 *
 * Needs the modules in the current folder, not loaded.
 *
 * Seen failing, with a line broken: no exit_lock() after a failed unfair_stats_setup() (the thread
 * left behind crashes the kernel).
 */
#include "common.h"
#include "load.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define RUN		"/sys/module/fault_test/parameters/run"
#define SITE		"/sys/module/fscommit/parameters/fault_site"
#define FAIL_NTH	"/proc/thread-self/fail-nth"

/* --- operations ---------------------------------------------------------- */

static int use_roots(const char *path)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "1", 1) < 0)
		ret = errno;
	close(fd);
	return ret;
}

static int read_errno(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY), ret = 0;
	ssize_t len;

	if (fd < 0)
		return errno;
	while ((len = read(fd, text, sizeof(text))) > 0)
		;
	if (len < 0)
		ret = errno;
	close(fd);
	return ret;
}

static char load_params[32];	/* selects the allocation that fails during a load */

static int load_fscommit(const char *file) { return load_with(file, load_params); }

static const struct operation {
	const char *name;
	int (*run)(const char *arg);
	const char *arg;
} operations[] = {
	{ "roots", use_roots, RUN },
	{ "read stats", read_errno, DEBUGFS "fscommit/stats" },
	{ "read commit_roots", read_errno, DEBUGFS "fscommit/commit_roots" },
}, loading = { "load", load_fscommit, "fscommit.ko" };

/* --- faults -------------------------------------------------------------- */

struct injector {
	bool (*fail)(int n);	/* make the n-th allocation from now on fail; 0: none */
	int (*left)(void);	/* allocations until then; 0: one has failed */
};

static bool fail_site(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	snprintf(load_params, sizeof(load_params), "fault_site=%d", n);
	/* the module may not be loaded yet */
	return access(SITE, F_OK) || put(SITE, text);
}

/* A module that is not loaded has failed to load: 0. */
static int site_left(void)
{
	char text[16];

	get_line(SITE, text, sizeof(text));
	return atoi(text);
}

static const struct injector by_site = { fail_site, site_left };

static int nth_fd = -1;

static bool set_fail_nth(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(nth_fd, text, len, 0) == len;
}

static int get_fail_nth(void)
{
	char text[16] = "";

	return pread(nth_fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;
}

static const struct injector by_task = { set_fail_nth, get_fail_nth };

static int undo(const struct operation *op)
{
	return op == &loading ? unload("fscommit") : 0;
}

/* Check the result of an operation in which an allocation failed. Returns 0, or minus the line. */
static int check_result(const struct operation *op, int ret, const struct injector *injector)
{
	/* the kernel's own errors when it opens a file or starts a thread */
	bool allowed = !ret || ret == ENOMEM ||
		       (injector == &by_task && (ret == ENFILE || ret == EAGAIN));

	if (!allowed)
		printf("# %s: %s\n", op->name, strerror(ret));
	CHECK(allowed);
	CHECK(ret || !undo(op));
	CHECK(op != &loading || access("/sys/module/fscommit", F_OK));
	return 0;
}

/* Fail each allocation of @op in turn. Returns 0, or minus the line. */
static int fail_each(const struct operation *op, const struct injector *injector)
{
	int n, ret, left, refused = 0;

	for (n = 1; n < 5000; n++) {
		CHECK(injector->fail(n));
		ret = op->run(op->arg);
		left = injector->left();
		CHECK(injector->fail(0));
		if (left) {
			/* fewer than n allocations */
			CHECK(!ret);
			CHECK(!undo(op));
			CHECK(!op->run(op->arg));
			CHECK(!undo(op));
			printf("# %s: %d failures, %d errors\n", op->name, n - 1, refused);
			return 0;
		}
		refused += ret != 0;
		ret = check_result(op, ret, injector);
		if (ret)
			return ret;
	}
	return -__LINE__;
}

/* --- the tests ----------------------------------------------------------- */

FIXTURE(alloc_faults) { };
FIXTURE_VARIANT(alloc_faults) { const struct injector *injector; };
FIXTURE_VARIANT_ADD(alloc_faults, every_site) { .injector = &by_site };
FIXTURE_VARIANT_ADD(alloc_faults, every_allocation) { .injector = &by_task };

static const char *set_up_sites(void)
{
	bool has_sites;

	if (load("fscommit.ko"))
		return "cannot load fscommit.ko";
	has_sites = !access(SITE, F_OK);
	unload("fscommit");
	return has_sites ? NULL : "fscommit.ko was not built with sites.sed";
}

static const char *set_up_fail_nth(void)
{
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		return "no " FAIL_NTH ": a kernel without FAULT_INJECTION";
	if (!put(DEBUGFS "failslab/ignore-gfp-wait", "N") ||
	    !put(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N") ||
	    !put(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N"))
		return "no FAILSLAB or no FAIL_PAGE_ALLOC";
	put(DEBUGFS "failslab/verbose", "0");
	put(DEBUGFS "fail_page_alloc/verbose", "0");
	put(DEBUGFS "fail_page_alloc/min-order", "0");
	return NULL;
}

FIXTURE_SETUP(alloc_faults)
{
	const char *reason;

	if (access("fscommit.ko", R_OK) || access("fault_test.ko", R_OK))
		SKIP(return, "no fscommit.ko and fault_test.ko in this folder");
	reason = variant->injector == &by_site ? set_up_sites() : set_up_fail_nth();
	if (reason)
		SKIP(return, "%s", reason);
}

FIXTURE_TEARDOWN(alloc_faults)
{
	EXPECT_NE(0, access("/sys/module/fscommit", F_OK));
	EXPECT_NE(0, access(DEBUGFS "fscommit", F_OK));
}

TEST_F_TIMEOUT(alloc_faults, failed_load_leaves_nothing, 1200)
{
	EXPECT_EQ(0, fail_each(&loading, variant->injector));
}

TEST_F_TIMEOUT(alloc_faults, failed_call_leaves_nothing, 1200)
{
	unsigned int i;

	ASSERT_EQ(0, load("fscommit.ko"));
	ASSERT_EQ(0, load("fault_test.ko"));
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		EXPECT_EQ(0, fail_each(&operations[i], variant->injector));
	EXPECT_EQ(0, unload("fault_test"));
	EXPECT_EQ(0, unload("fscommit"));
}

TEST_HARNESS_MAIN
