// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds up the checkpoint, and what is counted: debugfs, the log, trace events.
 *
 * Seen failing: the mutants obs-no-holdup, obs-counts-nothing.
 */
#include "common.h"

#include <sys/klog.h>
#include <sys/mount.h>

#define DIR	"/sys/kernel/debug/fscommit"

LENDING_LOCK_FIXTURE(observability, "3")

static bool has_debugfs(void)
{
	if (access(DIR, F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	return !access(DIR, F_OK);
}

/* The counter of that name, of the lock's class; -1 if it has none. */
static long counter(const char *name)
{
	FILE *f = fopen(DIR "/stats", "r");
	char line[512], key[64];
	bool mine = false;
	long value = -1, v;

	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] != ' ')
			mine = strstr(line, "unfair");
		else if (mine && sscanf(line, " %63s %ld", key, &v) == 2 && !strcmp(key, name))
			value = v;
	}
	if (f)
		fclose(f);
	return value;
}

TEST_F(observability, statistics)
{
	int i;

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	EXPECT_TRUE(put(DIR "/stats", "on"));
	EXPECT_TRUE(put(DIR "/stats", "reset"));
	EXPECT_EQ(-1, counter("reads"));
	for (i = 0; i < 30; i++)
		lock(self->fd, FCT_READ, i % 2 ? FCT_PLAIN : FCT_TRYLOCK);
	for (i = 0; i < 20; i++)
		lock(self->fd, FCT_WRITE, i % 2 ? FCT_PLAIN : FCT_TRYLOCK);
	EXPECT_EQ(30, counter("reads"));
	EXPECT_EQ(20, counter("writes"));
	EXPECT_EQ(-1, counter("writes_slow"));
	EXPECT_TRUE(put(DIR "/stats", "off"));
	lock(self->fd, FCT_READ, FCT_PLAIN);
	EXPECT_EQ(30, counter("reads"));
	EXPECT_FALSE(put(DIR "/stats", "maybe"));
}

/* One wait, and what is said of it. */
static int held_up(int fd, int holdup_ms, char *log, int size)
{
	struct task *r, *w;
	char line[128];
	int len;

	ioctl(fd, FCT_SET_HOLDUP, &holdup_ms);
	klogctl(5 /* clear */, NULL, 0);
	put(DIR "/stats", "on");
	put(DIR "/stats", "reset");
	r = start(fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .nice = 19 });
	CHECK(reached(state(fd).readers == 1 && is_asleep(r)));
	w = start(fd, (struct job){ .mode = FCT_WRITE, .nice = -20 });
	CHECK(reached(state(fd).queued_writers == 1 && is_asleep(w)));
	sleep_ms(200);
	snprintf(line, sizeof(line), "holds read %d ", r->pid);
	CHECK(reached(file_has(DIR "/locks", line)));
	snprintf(line, sizeof(line), "waits write %d ", w->pid);
	CHECK(reached(file_has(DIR "/locks", line)));
	go(fd, 0);
	CHECK(!finish(w));
	CHECK(!finish(r));
	CHECK(!file_has(DIR "/locks", line));
	CHECK(counter("writes_slow") == 1);
	CHECK(counter("lent") == 1);
	CHECK(counter("returned") == 1);
	put(DIR "/stats", "off");
	len = klogctl(4 /* read and clear */, log, size - 1);
	log[len > 0 ? len : 0] = 0;
	snprintf(line, sizeof(line), "read by %.8s", "observab");
	return strstr(log, "has waited") && strstr(log, line) && strstr(log, "asleep") ? 1 : 0;
}

TEST_F(observability, who_holds_up_the_writer)
{
	static char log[65536];

	if (!has_debugfs())
		SKIP(return, "no debugfs");
	/* the log's limit is three in five seconds */
	EXPECT_EQ(1, held_up(self->fd, 50, log, sizeof(log)));
	EXPECT_EQ(0, held_up(self->fd, 5000, log, sizeof(log)));
	EXPECT_EQ(0, held_up(self->fd, -1, log, sizeof(log)));
}

TEST_F(observability, threshold_out_of_range)
{
	__u32 ms = 65535;

	EXPECT_EQ(-1, ioctl(self->fd, FCT_SET_HOLDUP, &ms));
	EXPECT_EQ(EINVAL, errno);
	ms = 65534;
	EXPECT_EQ(0, ioctl(self->fd, FCT_SET_HOLDUP, &ms));
	EXPECT_FALSE(set_param("holdup_ms", "3600001"));
	EXPECT_FALSE(set_param("lend", "4"));
	EXPECT_FALSE(set_param("lend", "0"));
	EXPECT_FALSE(set_param("lend_fifo_us", "99"));
	EXPECT_FALSE(set_param("lend_period_us", "49"));
	ms = 4;
	EXPECT_EQ(-1, ioctl(self->fd, FCT_SET_LEND, &ms));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
