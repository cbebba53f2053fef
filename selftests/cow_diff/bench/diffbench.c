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

#define MAX_ROUNDS	100

static struct {
	long keys, rounds;
} opt = { .keys = 100000, .rounds = 9 };

static int open_tree(void)
{
	struct diff_test_setup setup = { .keys = opt.keys, .seed = 1 };
	int fd = open("/dev/cow_diff_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/cow_diff_test: %s (load cow_diff_test.ko)", strerror(errno));
	if (ioctl(fd, DIFF_TEST_SETUP, &setup))
		fatal("a tree of %ld keys: %s", opt.keys, strerror(errno));
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
		.op = DIFF_TEST_INSERT_RANDOM, .first = (opt.keys - 1ULL) * DIFF_TEST_STEP,
		.nr = nr, .step = insert ? 1 : DIFF_TEST_STEP,
	});
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void run(int fd, uint32_t walker)
{
	struct diff_test_walk w;
	uint64_t ns[MAX_ROUNDS];
	int i;

	for (i = 0; i < opt.rounds; i++) {
		w = (struct diff_test_walk){ .walker = walker };
		if (ioctl(fd, DIFF_TEST_WALK, &w))
			fatal("walk: %s", strerror(errno));
		if (w.error == -ENOENT) {
			printf("  %9s %9s", "-", "-");
			return;
		}
		if (w.error || w.missed)
			fatal("walker %u: error %d, %llu blocks missed", walker, w.error,
			      (unsigned long long)w.missed);
		ns[i] = w.ns;
	}
	qsort(ns, opt.rounds, sizeof(*ns), compare_u64);
	printf("  %9llu %9.0f", (unsigned long long)w.marked, ns[opt.rounds / 2] / 1e3);
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: diffbench [OPTIONS]\n"
"  -k NUM   --keys=NUM    of the tree, 1000 to 4000000  [100000]\n"
"  -r NUM   --rounds=NUM  of each walk, 1 to 100                [9]\n"
"           --help\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "keys", 1, NULL, 'k' }, { "rounds", 1, NULL, 'r' }, { "help", 0, NULL, 'h' }, { }
	};
	const struct number_option numbers[] = {
		{ 'k', "--keys", &opt.keys, 1000, DIFF_TEST_MAX_KEYS },
		{ 'r', "--rounds", &opt.rounds, 1, MAX_ROUNDS }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "k:r:", options, NULL)) != -1) {
		if (set_number_option(numbers, c, optarg))
			continue;
		usage(c == 'h' ? stdout : stderr);
		exit(c != 'h');
	}
	if (optind != argc) {
		usage(stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	uint32_t nr, insert, walker;
	int fd;

	parse(argc, argv);
	fd = open_tree();
	/* an insertion splits full blocks on its way, also if it overwrites */
	change(fd, (struct diff_test_change){ .op = DIFF_TEST_INSERT, .nr = opt.keys,
					      .step = DIFF_TEST_STEP });
	printf("%-7s %9s  %9s %9s  %9s %9s  %9s %9s\n", "change", "keys", "whole", "us",
	       "position", "us", "diff", "us");
	for (insert = 0; insert < 2; insert++) {
		for (nr = 1; nr <= opt.keys / 10; nr *= 10) {
			change_some(fd, nr, insert);
			printf("%-7s %9u", insert ? "insert" : "write", nr);
			for (walker = 0; walker < DIFF_TEST_NR_WALKERS; walker++)
				run(fd, walker);
			printf("\n");
			fflush(stdout);
		}
	}
	return 0;
}
