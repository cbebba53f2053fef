// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation that fscommit makes fails, one at a time, and then all of them after the
 * first so many bytes: loading it, what drivers call (fault_test.ko), its files in debugfs.
 * Each call either works or says ENOMEM, and afterwards works again. What leaks is for kmemleak.
 *
 * Twice, by two means:
 *
 * every_site	Each call of an allocator in the source returns nothing, by the parameter
 *		fault_site of a module that was built with sites.sed. sites.sh looks in the
 *		kernel's log whether each was there.
 * alloc_faults	The allocations within, and those of the kernel on behalf of it, by failslab:
 *		fail-nth, for those with the module on their stack. On User-Mode Linux a stack
 *		has room for 32 addresses, and old ones among them: it does not see all.
 *
 * For failslab it needs FAULT_INJECTION_DEBUG_FS and the stack filter: what the kernel allocates
 * for itself while a module is loaded may end in a WARN. And fscommit.ko and fault_test.ko in
 * the current folder, both not loaded.
 */
#include "common.h"
#include "load.h"

#define DEBUGFS	"/sys/kernel/debug/"
#define RUN	"/sys/module/fault_test/parameters/run"
#define SITE	"/sys/module/fscommit/parameters/fault_site"

static const char *const caps[] = { "failslab", "fail_page_alloc" };

/* An attribute of all kinds of faults that the kernel has. */
static bool set_attr(const char *name, const char *value)
{
	char path[128];
	bool any = false;
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s/%s", caps[i], name);
		any |= put(path, value);
	}
	return any;
}

/* Only what is allocated below a function in this range. */
static void set_range(unsigned long start, unsigned long end)
{
	char hex[32];

	snprintf(hex, sizeof(hex), "0x%lx", start);
	set_attr("require-start", hex);
	snprintf(hex, sizeof(hex), "0x%lx", end);
	set_attr("require-end", hex);
}

/* Of one function of the kernel, or of all of a module. */
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

	if (fd < 0)
		return errno;
	if (read(fd, text, sizeof(text)) < 0)
		ret = errno;
	close(fd);
	return ret;
}

/* the allocation that is to fail while it is loaded */
static char load_params[32];

static int load_it(void)	{ return load_with("fscommit.ko", load_params); }
static int unload_it(void)	{ return unload("fscommit"); }
static int use_roots(void)	{ return put_errno(RUN, "roots"); }
static int use_queue(void)	{ return put_errno(RUN, "queue"); }
static int use_section(void)	{ return put_errno(RUN, "section"); }
static int read_locks(void)	{ return read_errno(DEBUGFS "fscommit/locks"); }
static int read_stats(void)	{ return read_errno(DEBUGFS "fscommit/stats"); }
static int read_roots(void)	{ return read_errno(DEBUGFS "fscommit/commit_roots"); }
static int read_reuse(void)	{ return read_errno(DEBUGFS "fscommit/rcu_reuse"); }
static int read_diff(void)	{ return read_errno(DEBUGFS "fscommit/cow_diff"); }
static int read_gates(void)	{ return read_errno(DEBUGFS "fscommit/share_gates"); }
static int stats_on(void)	{ return put_errno(DEBUGFS "fscommit/stats", "on"); }

/* It allocates once in the life of the module. */
static int load_again(void)
{
	return unload("fscommit") ?: load("fscommit.ko");
}

static const struct operation {
	const char *name;
	int (*run)(void), (*undo)(void);
	int at_least;		/* failures */
} operations[] = {
	{ "roots", use_roots, NULL, 4 },
	{ "queue", use_queue, NULL, 1 },
	{ "section", use_section, NULL, 1 },
	{ "read locks", read_locks, NULL, 1 },
	{ "read stats", read_stats, NULL, 1 },
	/* a seq_file's own */
	{ "read commit_roots", read_roots, NULL, 0 },
	{ "read rcu_reuse", read_reuse, NULL, 0 },
	{ "read cow_diff", read_diff, NULL, 0 },
	{ "read share_gates", read_gates, NULL, 0 },
};

static const struct operation loading = { "load", load_it, unload_it, 10 };
static const struct operation counting = { "stats on", stats_on, load_again, 2 };

/* --- faults -------------------------------------------------------------- */

struct tally {
	int injected, refused;
};

static bool fail_nth(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	return put("/proc/thread-self/fail-nth", text);
}

static int not_yet_failed(void)
{
	char text[16];

	get_line("/proc/thread-self/fail-nth", text, sizeof(text));
	return atoi(text);
}

static bool fail_site(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	snprintf(load_params, sizeof(load_params), "fault_site=%d", n);
	/* with none it is to be loaded */
	return access(SITE, F_OK) || put(SITE, text);
}

/* A module that refused to load has met it. */
static int site_left(void)
{
	char text[16];

	get_line(SITE, text, sizeof(text));
	return atoi(text);
}

/* How the n-th one is made to fail, and how many are left until then. */
struct means {
	bool (*fail)(int n);
	int (*left)(void);
};

static const struct means by_stack = { fail_nth, not_yet_failed };
static const struct means by_site = { fail_site, site_left };

/* What an operation may say that an allocation of which has failed. 0, or minus the line. */
static int check_result(const struct operation *op, int ret, struct tally *t)
{
	t->refused += ret != 0;
	if (ret && ret != ENOMEM)
		printf("# %s: %s\n", op->name, strerror(ret));
	CHECK(!ret || ret == ENOMEM);
	CHECK(ret || !op->undo || !op->undo());
	CHECK(op != &loading || access("/sys/module/fscommit", F_OK));
	return 0;
}

static int one_after_the_other(const struct operation *op, const struct means *means,
			       struct tally *t)
{
	int n, ret, left;

	for (n = 1; n < 5000; n++) {
		CHECK(means->fail(n));
		ret = op->run();
		left = means->left();
		CHECK(means->fail(0));
		if (left) {
			/* there was none with that number */
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

/* All of this task's, after the first @bytes. */
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
	struct tally t = { };
	int bytes, ret = one_after_the_other(op, &by_stack, &t);

	/* the second step: pointers for some CPUs fit, but not what they point to */
	for (bytes = 1; !ret && bytes <= 1 << 20; bytes = bytes > 1 ? bytes * 4 : 17)
		ret = all_after(op, bytes, &t);
	CHECK(ret || !op->run());
	CHECK(ret || !op->undo || !op->undo());
	printf("# %s: %d failures, %d times ENOMEM\n", op->name, t.injected, t.refused);
	CHECK(ret || t.injected >= op->at_least);
	return ret;
}

FIXTURE(alloc_faults) { };

FIXTURE_SETUP(alloc_faults)
{
	if (access("fscommit.ko", R_OK) || access("fault_test.ko", R_OK))
		SKIP(return, "no fscommit.ko and fault_test.ko in this folder");
	if (access("/proc/thread-self/fail-nth", W_OK) ||
	    access(DEBUGFS "failslab/require-start", F_OK))
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
	fail_nth(0);
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

TEST_F_TIMEOUT(alloc_faults, stats, 1200)
{
	ASSERT_EQ(0, load("fscommit.ko"));
	set_range_to(NULL, "[fscommit]");
	EXPECT_EQ(0, faults(&counting));
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
	struct tally t = { };
	int ret = one_after_the_other(op, &by_site, &t);

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

TEST_F_TIMEOUT(every_site, stats, 300)
{
	ASSERT_EQ(0, load("fscommit.ko"));
	EXPECT_EQ(0, sites(&counting));
	EXPECT_EQ(0, unload("fscommit"));
}

TEST_HARNESS_MAIN
