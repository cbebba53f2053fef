// SPDX-License-Identifier: GPL-2.0
/*
 * diffbench - what a diff of two copy-on-write trees reads, against a full walk
 *
 * In trees of several sizes some keys change. Then the diff looks for the changed blocks. Its peer
 * reads all blocks of the new tree, through the same operations.
 */
#include <fcntl.h>
#include <getopt.h>
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

static int open_tree(uint32_t keys)
{
	struct diff_test_setup setup = { .keys = keys, .seed = 1 };
	int fd = open("/dev/cow_diff_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/cow_diff_test: %s (load cow_diff_test.ko)", strerror(errno));
	if (ioctl(fd, DIFF_TEST_SETUP, &setup))
		fatal("a tree of %u keys: %s", keys, strerror(errno));
	return fd;
}

/* Commit, then change @changes of the keys. */
static void change(int fd, uint32_t keys, uint32_t changes)
{
	struct diff_test_mark m = { };
	struct diff_test_change c = {
		.op = DIFF_TEST_INSERT_RANDOM, .first = (keys - 1ULL) * DIFF_TEST_STEP,
		.nr = changes, .step = DIFF_TEST_STEP,
	};

	if (ioctl(fd, DIFF_TEST_MARK, &m) || ioctl(fd, DIFF_TEST_CHANGE, &c))
		fatal("%u changes: %s", changes, strerror(errno));
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Print the reads and the time. Return the reads. */
static uint64_t run(int fd, uint32_t flags)
{
	struct diff_test_diff d = { };
	uint64_t ns[MAX_ROUNDS];
	int i;

	for (i = 0; i < opt.rounds; i++) {
		d = (struct diff_test_diff){ .flags = flags | DIFF_TEST_NO_ORACLE };
		if (ioctl(fd, DIFF_TEST_DIFF, &d))
			fatal("diff: %s", strerror(errno));
		if (d.error)
			fatal("diff: %d, %s", d.error, d.text);
		ns[i] = d.ns;
	}
	qsort(ns, opt.rounds, sizeof(*ns), compare_u64);
	printf("  %9llu %9.1f %9.1f", (unsigned long long)d.reads,
	       ns[opt.rounds / 2] / 1e3, ns[opt.rounds - 1] / 1e3);
	return d.reads;
}

static void usage(FILE *f)
{
	fprintf(f,
"Usage: diffbench [OPTIONS]\n"
"  -k NUM   --keys=NUM    of the largest tree, 1000 to 4000000  [100000]\n"
"  -r NUM   --rounds=NUM  of each diff and walk, 1 to 100       [9]\n"
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
	uint32_t keys, changes;

	parse(argc, argv);
	printf("%9s %9s  %9s %9s %9s  %9s %9s %9s\n", "", "", "COW diff", "us", "us", "full walk",
	       "us", "us");
	printf("%9s %9s  %9s %9s %9s  %9s %9s %9s\n", "keys", "changes", "reads", "p50", "max",
	       "reads", "p50", "max");
	for (keys = 1000; keys <= opt.keys; keys *= 10) {
		int fd = open_tree(keys);

		for (changes = 1; changes <= keys / 10; changes *= 10) {
			uint64_t diff, walk;

			change(fd, keys, changes);
			printf("%9u %9u", keys, changes);
			diff = run(fd, 0);
			walk = run(fd, DIFF_TEST_NO_OLD);
			printf("  %8.1fx\n", (double)walk / diff);
			fflush(stdout);
		}
		close(fd);
	}
	return 0;
}
