// SPDX-License-Identifier: GPL-2.0
/*
 * Each parameter and each file in debugfs, while tasks contend for locks: random texts,
 * the ends of each range, reads and writes of any size at any offset. A refused value changes
 * nothing, and the log names it and its range in one line. The test then tries the ends of that
 * range. Exclusion is never violated, and all tasks still acquire the lock.
 *
 * FUZZ_SEED repeats a run as far as scheduling allows; FUZZ_SECONDS is the length of each of the
 * two tests (2).
 *
 * Seen failing, with a line broken: param_set() with "v >= p->max" (parameters).
 */
#include "common.h"

#include <ctype.h>
#include <dirent.h>

#define PARAMETERS	"/sys/module/fscommit/parameters/"
#define DEBUGFS		"/sys/kernel/debug/fscommit/"
#define MAX_FILES	32
#define LOCKERS		4

/* --- dice ---------------------------------------------------------------- */

static unsigned long long dice;

static __u32 below(__u32 n)
{
	dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return (__u32)(dice >> 32) % n;
}

/* Numbers, texts that are nearly numbers, or arbitrary text; never empty. */
static void random_text(char *text, size_t size)
{
	static const char *const forms[] = { "%u", "-%u", "0x%x", "0%o", "+%u", " %u", "%u\n",
					     "%u%%s", "%u\n\n", "%ux" };
	static const char odd[] = "YNyn01%\n\t\\\"'=;/\x7f\xff\x01 \xc3";
	size_t i, len;

	if (below(2)) {
		snprintf(text, size, forms[below(sizeof(forms) / sizeof(forms[0]))],
			 below(32) < 20 ? below(20000) : below(~0U));
		return;
	}
	len = 1 + (below(8) ? below(24) : below(size - 2));
	for (i = 0; i < len; i++)
		text[i] = below(2) ? odd[below(sizeof(odd) - 1)] : '!' + below(90);
	text[len] = 0;
}

/* --- lockers ------------------------------------------------------------- */

struct lockers {
	pid_t pid[LOCKERS];
	int fd;
};

static void lockers_start(struct lockers *l)
{
	int i;

	for (i = 0; i < LOCKERS; i++) {
		fflush(NULL);
		l->pid[i] = fork();
		if (l->pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (nice(i % 2 ? 10 : 0) < 0)
			_exit(1);
		for (;;) {
			struct lock_test_loop loop = {
				.mode = i % 2 ? LOCK_TEST_READ : LOCK_TEST_WRITE, .hold_ns = 20000,
				.pause_us = 100, .duration_ms = 20,
			};

			ioctl(l->fd, LOCK_TEST_LOOP, &loop);
		}
	}
}

static void lockers_stop(struct lockers *l)
{
	int i;

	for (i = 0; i < LOCKERS; i++)
		kill(l->pid[i], SIGKILL);
	for (i = 0; i < LOCKERS; i++)
		waitpid(l->pid[i], NULL, 0);
}

/* --- files --------------------------------------------------------------- */

static int list(const char *folder, char path[MAX_FILES][96])
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int nr = 0;

	while (d && nr < MAX_FILES && (e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(path[nr++], 96, "%s%.60s", folder, e->d_name);
	if (d)
		closedir(d);
	return nr;
}

/* Finds the range of parameter @name in the part of the log that @kmsg has not read. */
static bool range_in_log(int kmsg, const char *name, int *min, int *max)
{
	char line[8192], start[80], *p;
	bool found = false;
	ssize_t len;

	snprintf(start, sizeof(start), "fscommit: %s=", name);
	while ((len = read(kmsg, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		line[len] = 0;
		p = strstr(line, start);
		/* the value itself may contain such a text: the last match counts */
		for (; p && (p = strstr(p, ": must be a number from ")); p++)
			found = sscanf(p, ": must be a number from %d to %d", min, max) == 2;
	}
	return found;
}

static bool is_bool(const char *value)
{
	return *value == 'Y' || *value == 'N';
}

/* True if the value read back is the value written. */
static bool is_value_of(const char *now, const char *text)
{
	char *end;

	/* kstrtobool() checks only the first one or two letters */
	if (is_bool(now))
		return strchr("YyTtEe1OoNnFfDd0", *text);
	return strtoll(now, NULL, 10) == strtoll(text, &end, 0) && (!*end || *end == '\n');
}

/* --- the tests ----------------------------------------------------------- */

static double duration(void)
{
	const char *s = getenv("FUZZ_SECONDS");

	return s && atof(s) > 0 ? atof(s) : 2;
}

FIXTURE(fuzz_files) { struct lockers l; };

FIXTURE_SETUP(fuzz_files)
{
	const char *seed = getenv("FUZZ_SEED");

	SKIP_WITHOUT_TEST_DEVICE();
	dice = seed ? strtoull(seed, NULL, 0) : (unsigned long long)time(NULL) << 20 ^ getpid();
	TH_LOG("FUZZ_SEED=%llu FUZZ_SECONDS=%g", dice, duration());
	self->l.fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(self->l.fd, 0);
	/* the lockers pause, so a loan of SCHED_FIFO does not let them starve other tasks */
	lockers_start(&self->l);
}

FIXTURE_TEARDOWN(fuzz_files)
{
	struct lock_test_state s;
	__u64 taken = state(self->l.fd).taken;

	ASSERT_REACHED(state(self->l.fd).taken > taken + 10);
	lockers_stop(&self->l);
	s = state(self->l.fd);
	EXPECT_EQ(0, s.violations);
	EXPECT_EQ(0, s.is_locked + s.queued_readers + s.queued_writers);
	close(self->l.fd);
}

static void fuzz_parameter(struct __test_metadata *_metadata, const char *path, int kmsg)
{
	const char *name = strrchr(path, '/') + 1;
	char before[64], now[64], text[4000];
	int min, max;
	struct stat st;
	int error;

	ASSERT_EQ(0, stat(path, &st));
	/* some can only be read */
	if (!(st.st_mode & 0200))
		return;
	get_line(path, before, sizeof(before));
	ASSERT_NE(0, before[0]);
	random_text(text, sizeof(text));
	lseek(kmsg, 0, SEEK_END);
	error = write_error(path, text);
	get_line(path, now, sizeof(now));
	if (!error) {
		EXPECT_TRUE(is_value_of(now, text)) TH_LOG("%s: %s is %s", name, text, now);
	} else {
		EXPECT_EQ(EINVAL, error) TH_LOG("%s=%s", name, text);
		EXPECT_STREQ(before, now) TH_LOG("%s=%s", name, text);
		/* the kernel itself parses a bool, without a range */
		if (!is_bool(before)) {
			ASSERT_TRUE(range_in_log(kmsg, name, &min, &max))
				TH_LOG("not in the log: %s=%.80s", name, text);
			snprintf(text, sizeof(text), "%d", min - 1);
			EXPECT_EQ(EINVAL, write_error(path, text)) TH_LOG("%s=%s", name, text);
			snprintf(text, sizeof(text), "%d", max + 1);
			EXPECT_EQ(EINVAL, write_error(path, text)) TH_LOG("%s=%s", name, text);
			snprintf(text, sizeof(text), "%d", min);
			EXPECT_EQ(0, write_error(path, text)) TH_LOG("%s=%s", name, text);
			snprintf(text, sizeof(text), "%d", max);
			EXPECT_EQ(0, write_error(path, text)) TH_LOG("%s=%s", name, text);
		}
	}
	EXPECT_EQ(0, write_error(path, before));
}

TEST_F_TIMEOUT(fuzz_files, parameters, 3600)
{
	char path[MAX_FILES][96];
	int nr = list(PARAMETERS, path), kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	double end = seconds() + duration();
	int n = 0;

	ASSERT_GE(kmsg, 0);
	ASSERT_GE(nr, 7);
	for (; (seconds() < end || n < nr) && !_metadata->exit_code; n++)
		fuzz_parameter(_metadata, path[n % nr], kmsg);
	TH_LOG("%d parameters, %d texts", nr, n);
	EXPECT_GE(n, nr);
	close(kmsg);
}

/* Reads any size at any offset, sometimes to a bad address. */
static void read_somewhere(int fd)
{
	static char buffer[1 << 17];
	size_t size = below(4) ? 1 + below(300) : below(sizeof(buffer));
	void *to = below(16) ? buffer : below(2) ? NULL : (void *)-4096L;

	switch (below(5)) {
	case 0:
		lseek(fd, below(2) ? below(5000) : -(off_t)below(5000), below(3));
		break;
	case 1:
		if (pread(fd, to, size, below(8) ? below(9000) : (off_t)below(~0U) << 20) < 0)
			break;
		break;
	default:
		if (read(fd, to, size) < 0)
			break;
	}
}

/* No file takes anything. */
static void write_something(struct __test_metadata *_metadata, const char *path)
{
	/* volatile, or the compiler warns of the null pointer */
	static void *volatile nowhere;
	char text[3000];
	int fd = open(path, O_WRONLY);

	ASSERT_GE(fd, 0);
	random_text(text, sizeof(text));
	EXPECT_EQ(-1, write(fd, text, strlen(text))) TH_LOG("%s took '%s'", path, text);
	EXPECT_EQ(-1, write(fd, nowhere, 1 + below(5000)));
	close(fd);
}

TEST_F_TIMEOUT(fuzz_files, debugfs, 3600)
{
	char path[MAX_FILES][96];
	int nr = list(DEBUGFS, path), fd, i, n = 0;
	double end = seconds() + duration();

	if (!nr)
		SKIP(return, "no debugfs");
	ASSERT_GE(nr, 5);
	for (; seconds() < end && !_metadata->exit_code; n++) {
		fd = open(path[n % nr], O_RDONLY);
		ASSERT_GE(fd, 0);
		for (i = 0; i < 20; i++)
			read_somewhere(fd);
		close(fd);
		write_something(_metadata, path[n % nr]);
	}
	TH_LOG("%d files, %d times", nr, n);
}

TEST_HARNESS_MAIN
