/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a sequence of the fuzzer is made of: calls of the test devices, each with an argument
 * of random words. What only takes time (sizes, durations) is bounded; what the module has to
 * refuse is not.
 */
#ifndef FSCOMMIT_FUZZ_CALLS_H
#define FSCOMMIT_FUZZ_CALLS_H

#include <stddef.h>
#include <sys/ioctl.h>

#include "commit_root_test.h"
#include "cow_diff_test.h"
#include "fscommit_test.h"
#include "rcu_reuse_test.h"
#include "share_gate_test.h"

#define MAX_CALLS	16
#define WORDS		30

struct call {
	__u8 device, cmd, thread, unused;
	__u32 word[WORDS];
};

struct sequence {
	__u32 nr;
	struct call call[MAX_CALLS];
};

/* A word of an argument: what remains of it when it is divided by @limit. */
struct bound {
	__u8 word;
	__u32 limit;
};

struct command {
	unsigned long cmd;
	struct bound bound[5];
};

struct device {
	const char *path;
	struct command command[16];
};

#define AT(type, field, limit)	{ offsetof(type, field) / 4, limit }
/* the high half of 64 bits */
#define HIGH(type, field, limit) { offsetof(type, field) / 4 + 1, limit }

static const struct device devices[] = {
	{ "/dev/fscommit_test", {
		{ FCT_LOCK, { AT(struct fct_op, hold_us, 300), AT(struct fct_op, timeout_ms, 4),
			      AT(struct fct_op, flags, 2) } },
		{ FCT_LOCK, { AT(struct fct_op, hold_us, 300), AT(struct fct_op, hold, 2),
			      AT(struct fct_op, timeout_ms, 4), AT(struct fct_op, flags, 2) } },
		{ FCT_GO, { { 0, 64 } } },
		{ FCT_STATE, { } },
		{ FCT_SET_BOUND, { } },
		{ FCT_SET_LEND, { } },
		{ FCT_LOOP, { AT(struct fct_loop, hold_ns, 50000),
			      AT(struct fct_loop, pause_us, 100),
			      AT(struct fct_loop, duration_ms, 3) } },
		{ FCT_PAIRS, { AT(struct fct_pairs, pairs, 100),
			       HIGH(struct fct_pairs, pairs, 1) } },
	} },
	{ "/dev/commit_root_test", {
		{ CRT_SETUP, { AT(struct crt_setup, extents, 200), AT(struct crt_setup, broken, 1),
			       AT(struct crt_setup, search, 3),
			       AT(struct crt_setup, rewrite, 4) } },
		{ CRT_READ, { AT(struct crt_request, first, 200), AT(struct crt_request, nr, 5),
			      AT(struct crt_request, pause_us, 20) } },
		{ CRT_WRITE, { { 0, 200 } } }, { CRT_MOVE, { { 0, 200 } } }, { CRT_COMMIT, { } },
		{ CRT_PIN, { { 0, 8 } } }, { CRT_UNPIN, { { 0, 8 } } },
		{ CRT_LOOKUP, { { 0, 8 }, { 1, 200 } } }, { CRT_WHERE, { { 0, 200 } } },
		{ CRT_STATE, { } }, { CRT_SNAPSHOT, { } }, { CRT_FORGET, { { 0, 200 } } },
		{ CRT_DESTROY, { } },
		{ CRT_WANT_SPACE, { } }, { CRT_WANTED, { { 0, 8 } } },
	} },
	{ "/dev/share_gate_test", {
		{ SGT_SETUP, { AT(struct sgt_setup, files, 32), AT(struct sgt_setup, broken, 1),
			       AT(struct sgt_setup, mode, 3) } },
		{ SGT_WRITE, { { 0, 32 }, { 1, 16 } } },
		{ SGT_CLONE, { { 0, 32 }, { 1, 16 }, { 2, 32 }, { 3, 16 }, { 4, 17 } } },
		{ SGT_FSYNC, { { 0, 32 } } }, { SGT_FULL, { { 0, 32 } } },
		{ SGT_EVICT, { { 0, 32 } } }, { SGT_COMMIT, { } }, { SGT_CRASH, { } },
		{ SGT_STATE, { } },
		{ SGT_WRITE_FSYNC, { { 0, 32 }, { 1, 16 } } },
		/* any range: also one that ends before it begins */
		{ SGT_RANGE, { AT(struct sgt_range, ms, 4), AT(struct sgt_range, unused, 1) } },
		{ SGT_RANGE_STATE, { } },
	} },
	{ "/dev/cow_diff_test", {
		{ CDT_SETUP, { AT(struct cdt_setup, keys, 2000) } },
		{ CDT_CHANGE, { AT(struct cdt_change, op, 4), AT(struct cdt_change, tree, 4),
				AT(struct cdt_change, nr, 500), HIGH(struct cdt_change, nr, 1) } },
		{ CDT_MARK, { { 0, 2 } } },
		/* nowhere to write pairs to */
		{ CDT_DIFF, { AT(struct cdt_diff, pairs_at, 1),
			      HIGH(struct cdt_diff, pairs_at, 1),
			      AT(struct cdt_diff, max_pairs, 1) } },
		{ CDT_CORRUPT, { { 0, 20 }, { 1, 2 } } },
		{ CDT_BALANCE, { { 0, 2 }, { 1, 9 } } },
	} },
	{ "/dev/rcu_reuse_test", {
		/* any parameters of the queue: it has to refuse them */
		{ RRT_SETUP, { AT(struct rrt_setup, objects, 2000),
			       AT(struct rrt_setup, flavour, 3) } },
		{ RRT_SETUP, { AT(struct rrt_setup, objects, 2000),
			       AT(struct rrt_setup, flavour, 3),
			       AT(struct rrt_setup, srcu_expedited, 1),
			       AT(struct rrt_setup, no_release, 1),
			       AT(struct rrt_setup, batch, 64) } },
		{ RRT_ENQUEUE, { AT(struct rrt_io, nr, 500), AT(struct rrt_io, cpu, 3) } },
		{ RRT_DEQUEUE, { AT(struct rrt_io, nr, 500), AT(struct rrt_io, cpu, 3) } },
		{ RRT_STATE, { } }, { RRT_DRAIN, { } }, { RRT_DESTROY, { } },
	} },
};

#define NR_DEVICES	(sizeof(devices) / sizeof(devices[0]))

static inline unsigned int nr_commands(const struct device *d)
{
	unsigned int i;

	for (i = 0; i < 16 && d->command[i].cmd; i++)
		;
	return i;
}

static inline void do_call(const int *fd, const struct call *c)
{
	const struct device *d = &devices[c->device % NR_DEVICES];
	const struct command *m = &d->command[c->cmd % nr_commands(d)];
	__u32 arg[256] = { };
	unsigned int i;

	memcpy(arg, c->word, sizeof(c->word));
	for (i = 0; i < 5 && m->bound[i].limit; i++)
		arg[m->bound[i].word] %= m->bound[i].limit;
	ioctl(fd[c->device % NR_DEVICES], m->cmd, arg);
}

#endif /* FSCOMMIT_FUZZ_CALLS_H */
