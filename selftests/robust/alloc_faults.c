// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation fails once: the first of a call, then the second, and so on until the call
 * succeeds with no failure left. A call must work or return ENOMEM, leave nothing behind, and work
 * the next time. kmemleak reports leaks. The calls: load the module, use it as drivers do
 * (fault_test.ko and other test modules), switch the statistics on, read debugfs. There are
 * three means:
 *
 * every_site: The parameter fault_site of a module built with sites.sed makes each call of an
 * allocator in the source return nothing. sites.sh checks in the kernel's log that none was
 * missed.
 *
 * alloc_faults: failslab with fail-nth fails allocations in the module, and those of the kernel
 * with the module on their stack; then all allocations after the first so many bytes. It misses
 * some: on User-Mode Linux a stack trace has 32 entries, stale ones among them. It needs
 * FAULT_INJECTION_DEBUG_FS and the stack filter, because a failure of the kernel's own allocations
 * during a load may end in a WARN.
 *
 * alloc_failures: fail-nth without the filter, for coverage. The kernel warns if it has no memory
 * for the fields of a module's trace event, so do not run it in a guest that panics on warnings.
 *
 * Needs the modules in the current folder, not loaded.
 *
 * Seen failing, with a line broken: no lend_watcher_exit() after a failed rcu_reuse_setup() (the
 * thread left behind crashes the kernel).
 */
#include "common.h"
#include "load.h"
#include "commit_root_test.h"
#include "rcu_reuse_test.h"

#include <dirent.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define RUN		"/sys/module/fault_test/parameters/run"
#define SITE		"/sys/module/fscommit/parameters/fault_site"
#define FAIL_NTH	"/proc/thread-self/fail-nth"

static const char *const caps[] = { "failslab", "fail_page_alloc" };

/* Set an attribute of both kinds of faults. Return how many kinds have it. */
static int set_attr(const char *name, const char *value)
{
	char path[128];
	int i, nr = 0;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s/%s", caps[i], name);
		nr += put(path, value);
	}
	return nr;
}

/* Fail only allocations with a function in this range on the stack. */
static void set_range(unsigned long start, unsigned long end)
{
	char hex[32];

	snprintf(hex, sizeof(hex), "0x%lx", start);
	set_attr("require-start", hex);
	snprintf(hex, sizeof(hex), "0x%lx", end);
	set_attr("require-end", hex);
}

/* Limit failures to one function of the kernel, or to a module. */
static void set_range_to(const char *function, const char *module)
{
	unsigned long addr, from = 0, to = 0;
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], name[256], owner[128], type;
	bool next = false;

	while (f && fgets(line, sizeof(line), f)) {
		owner[0] = 0;
		if (sscanf(line, "%lx %c %255s %127s", &addr, &type, name, owner) < 3 ||
		    (type != 't' && type != 'T'))
			continue;
		if (next && addr != from) {
			to = addr;
			break;
		}
		if (function && !strcmp(name, function)) {
			from = addr;
			next = true;
		}
		if (module && !strcmp(owner, module)) {
			if (!from || addr < from)
				from = addr;
			/* the last function ends on this page or on the next */
			if ((addr | 4095) + 1 > to)
				to = (addr | 4095) + 1;
		}
	}
	if (f)
		fclose(f);
	set_range(from, to);
}

/* --- operations ---------------------------------------------------------- */

static int put_errno(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
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

static int device_ioctl(const char *path, unsigned long cmd, void *arg)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return errno;
	ret = ioctl(fd, cmd, arg) ? errno : 0;
	close(fd);
	return ret;
}

static int make_commit_roots(void)
{
	struct root_test_setup s = {
		.search = ROOT_TEST_COMMIT_ROOT, .lock_type = LOCK_TEST_UNFAIR, .extents = 16,
	};

	return device_ioctl("/dev/commit_root_test", ROOT_TEST_SETUP, &s);
}

static int make_reuse_queue(void)
{
	struct reuse_test_setup s = {
		.flavour = REUSE_TEST_RCU, .objects = 16, .batch = 4, .keep = 8, .max = 64,
		.max_age_ms = 1000,
	};

	return device_ioctl("/dev/rcu_reuse_test", REUSE_TEST_SETUP, &s);
}

static char load_params[32];	/* selects the allocation that fails during a load */
static char file[128];		/* for read_file() */

static int load_it(void)	{ return load_with("fscommit.ko", load_params); }
static int unload_it(void)	{ return unload("fscommit"); }
static int use_roots(void)	{ return put_errno(RUN, "roots"); }
static int use_queue(void)	{ return put_errno(RUN, "queue"); }
static int read_stats(void)	{ return read_errno(DEBUGFS "fscommit/stats"); }
static int read_roots(void)	{ return read_errno(DEBUGFS "fscommit/commit_roots"); }
static int read_reuse(void)	{ return read_errno(DEBUGFS "fscommit/rcu_reuse"); }
static int read_file(void)	{ return read_errno(file); }
static int read_diff(void)	{ return read_errno(DEBUGFS "fscommit/cow_diff"); }
static int read_gates(void)	{ return read_errno(DEBUGFS "fscommit/share_gates"); }

static const struct operation {
	const char *name;
	int (*run)(void), (*undo)(void);
	int at_least;		/* minimum number of failures */
} operations[] = {
	{ "roots", use_roots, NULL, 4 },
	{ "queue", use_queue, NULL, 1 },
	/* only the seq_file allocates */
	{ "read stats", read_stats, NULL, 0 },
	{ "read commit_roots", read_roots, NULL, 0 },
	{ "read rcu_reuse", read_reuse, NULL, 0 },
	{ "read cow_diff", read_diff, NULL, 0 },
	{ "read share_gates", read_gates, NULL, 0 },
};

static const struct operation loading = { "load", load_it, unload_it, 10 };

/* --- faults -------------------------------------------------------------- */

static int nth_fd = -1;

static bool set_fail_nth(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(nth_fd, text, len, 0) == len;
}

/* The number of allocations left until the failure; 0: it has happened. */
static int get_fail_nth(void)
{
	char text[16] = "";

	return pread(nth_fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;
}

static bool fail_site(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	snprintf(load_params, sizeof(load_params), "fault_site=%d", n);
	/* the module may not be loaded yet */
	return access(SITE, F_OK) || put(SITE, text);
}

/* 0 also if the module is not loaded: then the failure has happened. */
static int site_left(void)
{
	char text[16];

	get_line(SITE, text, sizeof(text));
	return atoi(text);
}

/* How to make the n-th allocation fail, and how many are left until then. */
struct means {
	bool (*fail)(int n);
	int (*left)(void);
	bool any_caller;	/* also allocations without the module on their stack */
};

static const struct means by_stack = { set_fail_nth, get_fail_nth, false };
static const struct means by_task = { set_fail_nth, get_fail_nth, true };
static const struct means by_site = { fail_site, site_left, false };

struct tally {
	const struct means *means;
	int injected, refused;
};

static int run_again(const struct operation *op)
{
	CHECK(!op->run());
	CHECK(!op->undo || !op->undo());
	return 0;
}

/* Check the result of an operation in which an allocation has failed. 0, or minus the line. */
static int check_result(const struct operation *op, int ret, struct tally *t)
{
	/* the kernel says otherwise when it opens a file or starts a thread */
	bool allowed = !ret || ret == ENOMEM ||
		       (t->means->any_caller && (ret == ENFILE || ret == EAGAIN));

	t->refused += ret != 0;
	if (!allowed)
		printf("# %s: %s\n", op->name, strerror(ret));
	CHECK(allowed);
	CHECK(ret || !op->undo || !op->undo());
	CHECK(op != &loading || access("/sys/module/fscommit", F_OK));
	return 0;
}

static int one_after_the_other(const struct operation *op, struct tally *t)
{
	int n, ret, left;

	for (n = 1; n < 5000; n++) {
		CHECK(t->means->fail(n));
		ret = op->run();
		left = t->means->left();
		CHECK(t->means->fail(0));
		if (left) {
			/* fewer than n allocations */
			CHECK(!ret);
			CHECK(!op->undo || !op->undo());
			return 0;
		}
		t->injected++;
		ret = check_result(op, ret, t);
		if (ret)
			return ret;
	}
	return -__LINE__;
}

/* Fail all allocations of this task after the first @bytes. */
static int all_after(const struct operation *op, int bytes, struct tally *t)
{
	char text[16];
	int ret;

	snprintf(text, sizeof(text), "%d", bytes);
	CHECK(put("/proc/self/make-it-fail", "1"));
	set_attr("space", text);
	set_attr("probability", "100");
	ret = op->run();
	set_attr("probability", "0");
	CHECK(put("/proc/self/make-it-fail", "0"));
	t->injected += ret != 0;
	return check_result(op, ret, t);
}

static int faults(const struct operation *op)
{
	struct tally t = { .means = &by_stack };
	int bytes, ret = one_after_the_other(op, &t);

	/* 17: the per-CPU pointers of some CPUs fit, but not the objects they point to */
	for (bytes = 1; !ret && bytes <= 1 << 20; bytes = bytes > 1 ? bytes * 4 : 17)
		ret = all_after(op, bytes, &t);
	ret = ret ?: run_again(op);
	printf("# %s: %d failures, %d times ENOMEM\n", op->name, t.injected, t.refused);
	CHECK(ret || t.injected >= op->at_least);
	return ret;
}

FIXTURE(alloc_faults) { };

FIXTURE_SETUP(alloc_faults)
{
	if (access("fscommit.ko", R_OK) || access("fault_test.ko", R_OK))
		SKIP(return, "no fscommit.ko and fault_test.ko in this folder");
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth_fd < 0 || access(DEBUGFS "failslab/require-start", F_OK))
		SKIP(return, "needs FAILSLAB and FAULT_INJECTION_STACKTRACE_FILTER");
	ASSERT_TRUE(set_attr("ignore-gfp-wait", "N"));
	set_attr("ignore-gfp-highmem", "N");
	set_attr("min-order", "0");
	ASSERT_TRUE(set_attr("probability", "0"));
	ASSERT_TRUE(set_attr("times", "-1"));
	ASSERT_TRUE(set_attr("task-filter", "Y"));
	ASSERT_TRUE(set_attr("verbose", "0"));
	set_attr("stacktrace-depth", "32");
}

FIXTURE_TEARDOWN(alloc_faults)
{
	set_fail_nth(0);
	set_attr("probability", "0");
}

TEST_F_TIMEOUT(alloc_faults, load, 1200)
{
	set_range_to("do_one_initcall", NULL);
	EXPECT_EQ(0, faults(&loading));
}

TEST_F_TIMEOUT(alloc_faults, use, 1200)
{
	unsigned int i;

	ASSERT_EQ(0, load("fscommit.ko"));
	ASSERT_EQ(0, load("fault_test.ko"));
	set_range_to(NULL, "[fscommit]");
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		EXPECT_EQ(0, faults(&operations[i]));
	EXPECT_EQ(0, unload("fault_test"));
	EXPECT_EQ(0, unload("fscommit"));
}

FIXTURE(every_site) { };

FIXTURE_SETUP(every_site)
{
	bool counts;

	if (access("fscommit.ko", R_OK) || access("fault_test.ko", R_OK))
		SKIP(return, "no fscommit.ko and fault_test.ko in this folder");
	load_params[0] = 0;
	ASSERT_EQ(0, load("fscommit.ko"));
	counts = !access(SITE, F_OK);
	ASSERT_EQ(0, unload("fscommit"));
	if (!counts)
		SKIP(return, "fscommit.ko was not built with sites.sed");
}

FIXTURE_TEARDOWN(every_site)
{
}

static int sites(const struct operation *op)
{
	struct tally t = { .means = &by_site };
	int ret = one_after_the_other(op, &t);

	printf("# %s: %d sites, %d times ENOMEM\n", op->name, t.injected, t.refused);
	return ret;
}

TEST_F_TIMEOUT(every_site, load, 300)
{
	EXPECT_EQ(0, sites(&loading));
}

TEST_F_TIMEOUT(every_site, use, 300)
{
	unsigned int i;

	ASSERT_EQ(0, load("fscommit.ko"));
	ASSERT_EQ(0, load("fault_test.ko"));
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		EXPECT_EQ(0, sites(&operations[i]));
	EXPECT_EQ(0, unload("fault_test"));
	EXPECT_EQ(0, unload("fscommit"));
}

FIXTURE(alloc_failures) { };

FIXTURE_SETUP(alloc_failures)
{
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		SKIP(return, "no " FAIL_NTH ": a kernel without FAULT_INJECTION");
	if (set_attr("ignore-gfp-wait", "N") < 2 || !set_attr("ignore-gfp-highmem", "N"))
		SKIP(return, "no FAILSLAB or no FAIL_PAGE_ALLOC");
	set_attr("verbose", "0");
	set_attr("min-order", "0");
	if (!access("/sys/module/fscommit", F_OK))
		SKIP(return, "fscommit is loaded");
}

FIXTURE_TEARDOWN(alloc_failures)
{
	set_fail_nth(0);
	EXPECT_NE(0, access("/sys/module/fscommit", F_OK));
	EXPECT_NE(0, access(DEBUGFS "fscommit", F_OK));
	EXPECT_EQ(0, run_again(&loading));
	close(nth_fd);
}

/* Return the number of calls that failed, or < 0. */
static int failures(const struct operation *op)
{
	struct tally t = { .means = &by_task };
	int ret = one_after_the_other(op, &t) ?: run_again(op);

	printf("# %s: %d failures, %d errors\n", op->name, t.injected, t.refused);
	return ret ?: t.refused;
}

TEST_F_TIMEOUT(alloc_failures, load, 300)
{
	EXPECT_GT(failures(&loading), 10);
}

TEST_F_TIMEOUT(alloc_failures, debugfs, 100)
{
	const struct operation reading = { file, read_file, NULL, 0 };
	struct dirent *e;
	DIR *d;

	ASSERT_EQ(0, load("fscommit.ko"));
	d = opendir(DEBUGFS "fscommit");
	ASSERT_NE(NULL, d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), DEBUGFS "fscommit/%.60s", e->d_name);
		EXPECT_GT(failures(&reading), 0);
	}
	closedir(d);
	EXPECT_EQ(0, unload("fscommit"));
}

/* The ioctl of a test device, which allocates memory of its own, too. */
static void make(struct __test_metadata *_metadata, const char *module, int (*run)(void))
{
	const struct operation making = { module, run, NULL, 0 };
	char path[64];
	int i;

	snprintf(path, sizeof(path), "%s.ko", module);
	ASSERT_EQ(0, load("fscommit.ko"));
	if (load("cow_tree_test.ko") || load(path)) {
		unload("cow_tree_test");
		unload("fscommit");
		SKIP(return, "no %s", module);
	}
	/* a slab cache does not need new pages each time: repeat, so that none is skipped */
	for (i = 0; i < 3; i++)
		EXPECT_GT(failures(&making), 2);
	EXPECT_EQ(0, unload(module));
	EXPECT_EQ(0, unload("cow_tree_test"));
	EXPECT_EQ(0, unload("fscommit"));
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
