/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The calls of a fuzzed sequence: ioctls of the test devices with arguments of random words.
 * Values that only cost time (sizes, durations) are bounded; values that the module must refuse
 * are not.
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

/* A word of the argument is taken modulo @limit. */
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
/* the high half of a 64-bit field */
#define HIGH(type, field, limit) { offsetof(type, field) / 4 + 1, limit }

static const struct device devices[] = {
	{ "/dev/fscommit_test", {
		{ LOCK_TEST_LOCK, { AT(struct lock_test_op, hold_us, 300),
				    AT(struct lock_test_op, timeout_ms, 4),
				    AT(struct lock_test_op, flags, 2) } },
		{ LOCK_TEST_LOCK, { AT(struct lock_test_op, hold_us, 300),
				    AT(struct lock_test_op, hold, 2),
				    AT(struct lock_test_op, timeout_ms, 4),
				    AT(struct lock_test_op, flags, 2) } },
		{ LOCK_TEST_GO, { { 0, 64 } } },
		{ LOCK_TEST_STATE, { } },
		{ LOCK_TEST_SET_BOUND, { } },
		{ LOCK_TEST_SET_LEND, { } },
		{ LOCK_TEST_LOOP, { AT(struct lock_test_loop, hold_ns, 50000),
				    AT(struct lock_test_loop, pause_us, 100),
				    AT(struct lock_test_loop, duration_ms, 3) } },
		{ LOCK_TEST_PAIRS, { AT(struct lock_test_pairs, pairs, 100),
				     HIGH(struct lock_test_pairs, pairs, 1) } },
	} },
	{ "/dev/commit_root_test", {
		{ ROOT_TEST_SETUP, { AT(struct root_test_setup, extents, 200),
				     AT(struct root_test_setup, broken, 1),
				     AT(struct root_test_setup, search, 3),
				     AT(struct root_test_setup, rewrite, 4) } },
		{ ROOT_TEST_READ, { AT(struct root_test_request, first, 200),
				    AT(struct root_test_request, nr, 5),
				    AT(struct root_test_request, pause_us, 20) } },
		{ ROOT_TEST_WRITE, { { 0, 200 } } }, { ROOT_TEST_MOVE, { { 0, 200 } } },
		{ ROOT_TEST_COMMIT, { } },
		{ ROOT_TEST_PIN, { { 0, 8 } } }, { ROOT_TEST_UNPIN, { { 0, 8 } } },
		{ ROOT_TEST_STATE, { } },
		{ ROOT_TEST_DESTROY, { } },
	} },
	{ "/dev/share_gate_test", {
		{ GATE_TEST_SETUP, { AT(struct gate_test_setup, files, 32),
				     AT(struct gate_test_setup, broken, 1),
				     AT(struct gate_test_setup, mode, 3) } },
		{ GATE_TEST_WRITE, { { 0, 32 }, { 1, 16 } } },
		{ GATE_TEST_CLONE, { { 0, 32 }, { 1, 16 }, { 2, 32 }, { 3, 16 }, { 4, 17 } } },
		{ GATE_TEST_FSYNC, { { 0, 32 } } }, { GATE_TEST_FULL, { { 0, 32 } } },
		{ GATE_TEST_EVICT, { { 0, 32 } } }, { GATE_TEST_COMMIT, { } },
		{ GATE_TEST_CRASH, { } }, { GATE_TEST_STATE, { } },
		{ GATE_TEST_WRITE_FSYNC, { { 0, 32 }, { 1, 16 } } },
	} },
	{ "/dev/cow_diff_test", {
		{ DIFF_TEST_SETUP, { AT(struct diff_test_setup, keys, 2000) } },
		{ DIFF_TEST_CHANGE, { AT(struct diff_test_change, op, 4),
				      AT(struct diff_test_change, of_snapshot, 2),
				      AT(struct diff_test_change, nr, 500),
				      HIGH(struct diff_test_change, nr, 1) } },
		{ DIFF_TEST_MARK, { { 0, 2 } } },
		/* no buffer for pairs */
		{ DIFF_TEST_DIFF, { AT(struct diff_test_diff, pairs_at, 1),
				    HIGH(struct diff_test_diff, pairs_at, 1),
				    AT(struct diff_test_diff, max_pairs, 1) } },
		{ DIFF_TEST_CORRUPT, { { 0, 20 }, { 1, 2 } } },
	} },
	{ "/dev/rcu_reuse_test", {
		/* any parameters of the queue: the module must refuse bad ones */
		{ REUSE_TEST_SETUP, { AT(struct reuse_test_setup, objects, 2000),
				      AT(struct reuse_test_setup, flavour, 3) } },
		{ REUSE_TEST_SETUP, { AT(struct reuse_test_setup, objects, 2000),
				      AT(struct reuse_test_setup, flavour, 3),
				      AT(struct reuse_test_setup, srcu_expedited, 1),
				      AT(struct reuse_test_setup, no_release, 1),
				      AT(struct reuse_test_setup, batch, 64) } },
		{ REUSE_TEST_ENQUEUE, { AT(struct reuse_test_io, nr, 500),
					AT(struct reuse_test_io, cpu, 3) } },
		{ REUSE_TEST_DEQUEUE, { AT(struct reuse_test_io, nr, 500),
					AT(struct reuse_test_io, cpu, 3) } },
		{ REUSE_TEST_STATE, { } }, { REUSE_TEST_DRAIN, { } }, { REUSE_TEST_DESTROY, { } },
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
