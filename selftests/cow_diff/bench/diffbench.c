// SPDX-License-Identifier: GPL-2.0
/*
 * diffbench - what a diff of two copy-on-write trees costs and saves
 *
 *	diffbench balance	balance with quota and snapshots: dirty blocks and time if
 *				whole subtrees are marked, and if the diff is used: at
 *				the swap, and only for subtrees that change afterwards
 *	diffbench growth	blocks read against blocks changed, in trees of many sizes
 */
#define _GNU_SOURCE
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
#include "json.h"

#define MAX_ROUNDS	16
#define MAX_POINTS	64
#define KEY_STEP	10

static struct {
	int snapshots, keys, groups, files, leaf_items, node_items, rounds, percent;
	const char *json, *title;
	bool in_order;
} opt = {
	.snapshots = 64, .keys = 100000, .groups = 4, .files = 3, .leaf_items = 32,
	.node_items = 121, .rounds = 3, .percent = 10,
};

static const struct variant {
	const char *option, *shown;
	bool whole, delayed;
} variants[] = {
	{ "subtree", "whole subtrees", true, false },
	{ "diff", "COW diff", false, false },
	{ "subtree-delayed", "whole, delayed", true, true },
	{ "delayed", "COW diff, delayed", false, true },
};

#define SUBTREE	0
#define DIFF	1
#define SUBTREE_DELAYED	2
#define DELAYED	3
#define NR	4

static struct result {
	uint64_t ns[MAX_ROUNDS], dirty, relocated, swapped, visited;
} results[NR];

/* From the btrfs change: dirty extents and seconds. */
static const struct {
	int snapshots;
	unsigned int before, after;
	double before_s, after_s;
} published[] = {
	{ 16, 225251, 140431, 42.163, 25.173 },
	{ 64, 314380, 140826, 197.395, 90.529 },
};

static struct point {
	struct diff_test_diff d;
	uint32_t keys, changes;
} points[MAX_POINTS];

static unsigned int nr_points;

static int open_tree(uint32_t keys, uint64_t seed)
{
	struct diff_test_setup setup = {
		.keys = keys, .in_order = opt.in_order, .leaf_items = opt.leaf_items,
		.node_items = opt.node_items, .seed = seed,
	};
	int fd = open("/dev/cow_diff_test", O_RDWR);

	if (fd < 0)
		fatal("/dev/cow_diff_test: %s (load cow_diff_test.ko)", strerror(errno));
	if (ioctl(fd, DIFF_TEST_SETUP, &setup))
		fatal("a tree of %u keys: %s", keys, strerror(errno));
	return fd;
}

static void mark(int fd, bool snapshot)
{
	struct diff_test_mark m = { .snapshot = snapshot };

	if (ioctl(fd, DIFF_TEST_MARK, &m))
		fatal("a commit: %s", strerror(errno));
}

static void change(int fd, unsigned int tree, uint32_t keys, uint64_t nr)
{
	struct diff_test_change c = {
		.op = DIFF_TEST_INSERT_RANDOM, .tree = tree, .first = (keys - 1ULL) * KEY_STEP,
		.nr = nr, .step = KEY_STEP,
	};

	if (ioctl(fd, DIFF_TEST_CHANGE, &c))
		fatal("%llu changes: %s", (unsigned long long)nr, strerror(errno));
}

/* --- balance ------------------------------------------------------------- */

static void balance(unsigned int v, int round)
{
	struct diff_test_balance b = {
		.whole = variants[v].whole, .groups = opt.groups,
		.delayed = variants[v].delayed, .percent = opt.percent,
	};
	struct result *r = &results[v];
	int fd = open_tree(opt.keys, round + 1), i;

	for (i = 1; i <= opt.snapshots; i++) {
		mark(fd, true);
		change(fd, i, opt.keys, opt.files);
	}
	if (ioctl(fd, DIFF_TEST_BALANCE, &b))
		fatal("balance: %s", strerror(errno));
	if (b.quota_wrong)
		fatal("%s: the quota of %u trees is wrong", variants[v].shown, b.quota_wrong);
	if (ioctl(fd, DIFF_TEST_CHECK))
		fatal("the trees: %s", strerror(errno));
	close(fd);
	r->ns[round] = b.ns;
	/* from the first round: the trees of other rounds differ */
	if (!round) {
		r->dirty = b.dirty;
		r->relocated = b.relocated;
		r->swapped = b.swapped;
		r->visited = b.visited;
	}
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double fewer(double before, double after)
{
	return before ? 100 * (before - after) / before : 0;
}

static void print_balance(void)
{
	uint64_t *t[NR] = { results[0].ns, results[1].ns, results[2].ns, results[3].ns };
	unsigned int v, i;

	printf("\n%-18s %10s %10s %12s %10s %10s\n", "dirty is", "relocated", "swapped", "dirty",
	       "time (s)", "visited");
	for (v = 0; v < NR; v++) {
		qsort(t[v], opt.rounds, sizeof(uint64_t), compare_u64);
		printf("%-18s %10llu %10llu %12llu %10.3f %10llu\n", variants[v].shown,
		       (unsigned long long)results[v].relocated,
		       (unsigned long long)results[v].swapped,
		       (unsigned long long)results[v].dirty, t[v][opt.rounds / 2] / 1e9,
		       (unsigned long long)results[v].visited);
	}
	printf("dirty blocks %.1f %% fewer, time %.1f %% less\n",
	       fewer(results[SUBTREE].dirty, results[DIFF].dirty),
	       fewer(t[SUBTREE][opt.rounds / 2], t[DIFF][opt.rounds / 2]));
	printf("delayed: %d %% of the swapped subtrees change before the commit: ", opt.percent);
	printf("%.1f %% fewer, %.1f %% less\n",
	       fewer(results[SUBTREE_DELAYED].dirty, results[DELAYED].dirty),
	       fewer(t[SUBTREE_DELAYED][opt.rounds / 2], t[DELAYED][opt.rounds / 2]));
	printf("%d snapshots, %d changes in each, %d keys, ", opt.snapshots, opt.files, opt.keys);
	printf("%d groups of blocks, median of %d rounds\n", opt.groups, opt.rounds);
	for (i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		if (published[i].snapshots != opt.snapshots)
			continue;
		printf("btrfs published: %u to %u dirty extents, %.1f %% fewer; ",
		       published[i].before, published[i].after,
		       fewer(published[i].before, published[i].after));
		printf("%.3f to %.3f s, %.1f %% less\n", published[i].before_s,
		       published[i].after_s, fewer(published[i].before_s, published[i].after_s));
	}
}

static void run_balance(void)
{
	int round;

	for (round = 0; round < opt.rounds; round++) {
		unsigned int turn;

		for (turn = 0; turn < NR; turn++) {
			unsigned int v = (turn + round) % NR;

			balance(v, round);
			printf("round %d of %d: %-16s %9.3f s\n", round + 1, opt.rounds,
			       variants[v].shown, results[v].ns[round] / 1e9);
			fflush(stdout);
		}
	}
	print_balance();
}

/* --- growth -------------------------------------------------------------- */

static void run_growth(void)
{
	uint32_t keys, changes;

	printf("%9s %9s %12s %12s %9s %12s %10s\n", "keys", "changes", "both trees", "changed",
	       "read", "limit", "us");
	for (keys = 1000; keys <= (uint32_t)opt.keys; keys *= 10) {
		int fd = open_tree(keys, 1);

		for (changes = 1; changes <= keys / 10; changes *= 10) {
			struct point *p = &points[nr_points++];

			mark(fd, false);
			change(fd, 0, keys, changes);
			p->keys = keys;
			p->changes = changes;
			if (ioctl(fd, DIFF_TEST_DIFF, &p->d))
				fatal("diff: %s", strerror(errno));
			if (p->d.error || p->d.differs)
				fatal("diff: %d, %s", p->d.error, p->d.text);
			printf("%9u %9u %12llu %12llu %9llu %12llu %10.1f\n", keys, changes,
			       (unsigned long long)p->d.all_blocks,
			       (unsigned long long)p->d.new_blocks,
			       (unsigned long long)p->d.reads,
			       (unsigned long long)(2 * p->d.new_blocks + p->d.levels[0] +
						    p->d.levels[1]), p->d.ns / 1e3);
			fflush(stdout);
		}
		close(fd);
	}
	printf("changed: blocks of the new tree; limit: twice as many plus both heights\n");
}

/* --- JSON ---------------------------------------------------------------- */

static void print_one(FILE *f, const char *name, uint64_t min, uint64_t median, uint64_t max)
{
	fprintf(f, "\"%s\": { \"min\": %llu, \"median\": %llu, \"max\": %llu }", name,
		(unsigned long long)min, (unsigned long long)median, (unsigned long long)max);
}

static void print_balance_json(FILE *f)
{
	unsigned int v, i;

	fprintf(f, "  \"parameters\": { \"snapshots\": %d, \"keys\": %d, \"groups\": %d, ",
		opt.snapshots, opt.keys, opt.groups);
	fprintf(f, "\"files\": %d, \"rounds\": %d, \"percent\": %d },\n", opt.files, opt.rounds,
		opt.percent);
	for (i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		if (published[i].snapshots == opt.snapshots) {
			fprintf(f, "  \"published\": { \"dirty\": [%u, %u], ",
				published[i].before, published[i].after);
			fprintf(f, "\"seconds\": [%.3f, %.3f] },\n",
				published[i].before_s, published[i].after_s);
		}
	fprintf(f, "  \"locks\": {");
	for (v = 0; v < NR; v++) {
		struct result *r = &results[v];

		fprintf(f, "%s\n    \"%s\": { ", v ? "," : "", variants[v].option);
		print_one(f, "dirty", r->dirty, r->dirty, r->dirty);
		fprintf(f, ", ");
		print_one(f, "time", r->ns[0], r->ns[opt.rounds / 2], r->ns[opt.rounds - 1]);
		fprintf(f, ", \"relocated\": %llu, \"swapped\": %llu, \"visited\": %llu }",
			(unsigned long long)r->relocated, (unsigned long long)r->swapped,
			(unsigned long long)r->visited);
	}
	fprintf(f, "\n  }");
}

static void print_growth_json(FILE *f)
{
	unsigned int i;

	fprintf(f, "  \"points\": [");
	for (i = 0; i < nr_points; i++) {
		const struct point *p = &points[i];

		fprintf(f, "%s\n    { \"keys\": %u, \"changes\": %u, ", i ? "," : "", p->keys,
			p->changes);
		fprintf(f, "\"all\": %llu, \"new\": %llu, \"old\": %llu, \"reads\": %llu, ",
			(unsigned long long)p->d.all_blocks, (unsigned long long)p->d.new_blocks,
			(unsigned long long)p->d.old_blocks, (unsigned long long)p->d.reads);
		fprintf(f, "\"heights\": %u, \"ns\": %llu }", p->d.levels[0] + p->d.levels[1],
			(unsigned long long)p->d.ns);
	}
	fprintf(f, "\n  ],\n  \"locks\": { \"diff\": { } }");
}

static void print_json(int argc, char **argv, time_t start, bool growth)
{
	FILE *f;

	if (growth) {
		f = json_begin(opt.json, "growth", argc, argv, start, "blocks that a diff reads");
		print_growth_json(f);
	} else {
		f = json_begin(opt.json, "balance", argc, argv, start,
			       "a balance with quota, %d snapshots", opt.snapshots);
		print_balance_json(f);
	}
	json_end(f, opt.json);
}

/* --- options ------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
"Usage: diffbench balance|growth [OPTIONS]\n"
"  -s NUM   --snapshots=NUM  0 to 126                                 [64]\n"
"  -k NUM   --keys=NUM       1000 to 4000000; growth: the maximum     [100000]\n"
"  -g NUM   --groups=NUM     groups of blocks to relocate, 1 to 64    [4]\n"
"  -f NUM   --files=NUM      keys changed in each snapshot, 0 to 1000 [3]\n"
"  -r NUM   --rounds=NUM     rounds in rotated order, 1 to 16         [3]\n"
"           --percent=NUM    delayed: subtrees that change, 0 to 100  [10]\n"
"           --leaf-items=NUM   4 to 169, 0: as many as fit            [32]\n"
"           --node-items=NUM   likewise                               [121]\n"
"           --in-order       insert keys in order instead of at random\n"
"           --json=FILE      -: stdout\n"
"           --help\n");
}

enum { OPT_LEAF = 256, OPT_NODE, OPT_IN_ORDER, OPT_PERCENT, OPT_JSON, OPT_HELP };

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "snapshots", 1, NULL, 's' }, { "keys", 1, NULL, 'k' }, { "groups", 1, NULL, 'g' },
		{ "files", 1, NULL, 'f' }, { "rounds", 1, NULL, 'r' },
		{ "leaf-items", 1, NULL, OPT_LEAF }, { "node-items", 1, NULL, OPT_NODE },
		{ "in-order", 0, NULL, OPT_IN_ORDER }, { "percent", 1, NULL, OPT_PERCENT },
		{ "json", 1, NULL, OPT_JSON }, { "help", 0, NULL, OPT_HELP }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:k:g:f:r:", options, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.snapshots = number("--snapshots", optarg, 0, DIFF_TEST_MAX_SNAPSHOTS);
			break;
		case 'k':
			opt.keys = number("--keys", optarg, 1000, DIFF_TEST_MAX_KEYS);
			break;
		case 'g':
			opt.groups = number("--groups", optarg, 1, 64);
			break;
		case 'f':
			opt.files = number("--files", optarg, 0, 1000);
			break;
		case 'r':
			opt.rounds = number("--rounds", optarg, 1, MAX_ROUNDS);
			break;
		case OPT_LEAF:
			opt.leaf_items = number("--leaf-items", optarg, 0, DIFF_TEST_MAX_ITEMS);
			break;
		case OPT_NODE:
			opt.node_items = number("--node-items", optarg, 0, DIFF_TEST_MAX_ITEMS);
			break;
		case OPT_IN_ORDER:
			opt.in_order = true;
			break;
		case OPT_PERCENT:
			opt.percent = number("--percent", optarg, 0, 100);
			break;
		case OPT_JSON:
			opt.json = optarg;
			break;
		case OPT_HELP:
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	time_t start = time(NULL);
	bool growth;

	parse(argc, argv);
	if (optind + 1 != argc) {
		usage(stderr);
		return 1;
	}
	growth = !strcmp(argv[optind], "growth");
	if (!growth && strcmp(argv[optind], "balance"))
		fatal("'%s': must be balance or growth", argv[optind]);
	if (growth)
		run_growth();
	else
		run_balance();
	if (opt.json)
		print_json(argc, argv, start, growth);
	return 0;
}
