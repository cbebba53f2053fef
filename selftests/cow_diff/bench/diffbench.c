// SPDX-License-Identifier: GPL-2.0
/*
 * diffbench - what quota marks after a copy-on-write tree has changed, by three walkers
 *
 * In a tree some keys are overwritten, which keeps its shape, or inserted. Then each walker marks
 * the blocks that have changed owners: all blocks of both trees; those that are newer, and the old
 * ones at the same position; or those of a COW diff.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cow_diff_test.h"

#define PROGRAM "diffbench"
#include "options.h"

#define KEYS	100000

static long rounds = 9;

static int open_tree(void)
{
	struct diff_test_setup setup = { .keys = KEYS, .seed = 1 };
	int fd = open("/dev/cow_diff_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/cow_diff_test: %s (load cow_diff_test.ko)", strerror(errno));
	if (ioctl(fd, DIFF_TEST_SETUP, &setup))
		fatal("a tree of %d keys: %s", KEYS, strerror(errno));
	return fd;
}

static void change(int fd, struct diff_test_change c)
{
	if (ioctl(fd, DIFF_TEST_CHANGE, &c))
		fatal("%llu changes: %s", (unsigned long long)c.nr, strerror(errno));
}

/* Commit, then overwrite @nr of the keys, or insert keys between them. */
static void change_some(int fd, uint32_t nr, bool insert)
{
	struct diff_test_mark m = { };

	if (ioctl(fd, DIFF_TEST_MARK, &m))
		fatal("commit: %s", strerror(errno));
	change(fd, (struct diff_test_change){
		.op = DIFF_TEST_INSERT_RANDOM, .first = (KEYS - 1ULL) * DIFF_TEST_STEP,
		.nr = nr, .step = insert ? 1 : DIFF_TEST_STEP,
	});
}

static void run(int fd, uint32_t walker, const char *change)
{
	static const char * const names[DIFF_TEST_NR_WALKERS] = {
		"whole_trees", "by_position", "COW_diff",
	};
	struct diff_test_walk w = { .walker = walker };

	if (ioctl(fd, DIFF_TEST_WALK, &w))
		fatal("walk: %s", strerror(errno));
	/* the shape has changed */
	if (w.error == -ENOENT)
		return;
	if (w.error || w.missed)
		fatal("walker %u: error %d, %llu blocks missed", walker, w.error,
		      (unsigned long long)w.missed);
	print_figure("marked", w.marked, "blocks", change, names[walker]);
	print_figure("time", w.ns / 1e3, "us", change, names[walker]);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: diffbench [OPTIONS]\n"
"  -r NUM   --rounds=NUM  of each walk, 1 to 100                [9]\n"
"           --help\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds", 1, NULL, 'r' }, { "help", 0, NULL, 'h' }, { }
	};
	const struct number_option numbers[] = {
		{ 'r', "--rounds", &rounds, 1, 100 }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "r:", options, NULL)) != -1) {
		if (!set_number_option(numbers, c, optarg))
			show_usage(usage, c == 'h');
	}
	if (optind != argc)
		show_usage(usage, false);
}

int main(int argc, char **argv)
{
	uint32_t nr, insert, turn;
	char name[32];
	int fd, round;

	parse(argc, argv);
	fd = open_tree();
	/* an insertion splits full blocks on its way, also if it overwrites */
	change(fd, (struct diff_test_change){ .op = DIFF_TEST_INSERT, .nr = KEYS,
					      .step = DIFF_TEST_STEP });
	for (insert = 0; insert < 2; insert++) {
		for (nr = 1; nr <= KEYS / 10; nr *= 10) {
			change_some(fd, nr, insert);
			snprintf(name, sizeof(name), "%s:%u", insert ? "insert" : "overwrite", nr);
			for (round = 0; round < rounds; round++)
				for (turn = 0; turn < DIFF_TEST_NR_WALKERS; turn++)
					run(fd, (turn + round) % DIFF_TEST_NR_WALKERS, name);
		}
	}
	return 0;
}
