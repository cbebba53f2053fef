// SPDX-License-Identifier: GPL-2.0
/*
 * What the calls of share_gate.h promise, on gates of their own, and misuse that must be reported.
 */
#include <linux/share_gate.h>

#include "contract.h"
#include "share_gate_test.h"

static bool shared(const struct share_gate *gate, u64 generation)
{
	return share_gate_may_be_shared(gate, generation);
}

static int monotonic(void)
{
	struct share_gate a, b;

	share_gate_init(&a);
	share_gate_init(&b);
	CHECK(!shared(&a, 1) && !shared(&b, 1));
	share_gate_mark(&a, &b, 7);
	/* a late mark of an older generation changes nothing */
	share_gate_mark(&a, &a, 5);
	CHECK(shared(&a, 7) && shared(&b, 7));
	CHECK(shared(&a, 6));
	CHECK(!shared(&a, 8) && !shared(&b, 8));
	share_gate_mark(&b, &a, 9);
	CHECK(shared(&a, 9) && shared(&b, 9));
	/* an unknown generation */
	CHECK(shared(&a, 0) && shared(&a, ~0ULL));
	return 0;
}

static int late_mark(void)
{
	struct share_gate gate;
	u64 marks;

	share_gate_init(&gate);
	share_gate_mark(&gate, &gate, 7);
	marks = share_gate_marks(&gate);
	/* a mark that comes while the older ones are logged */
	share_gate_mark(&gate, &gate, 7);
	share_gate_clear(&gate, marks);
	CHECK(shared(&gate, 7));
	share_gate_clear(&gate, share_gate_marks(&gate));
	CHECK(!shared(&gate, 7));
	/* an old clear does not remove a newer mark */
	share_gate_mark(&gate, &gate, 7);
	share_gate_clear(&gate, marks);
	CHECK(shared(&gate, 7));
	/* nor a newer raise */
	share_gate_clear(&gate, share_gate_marks(&gate));
	share_gate_mark(&gate, &gate, 7);
	marks = share_gate_marks(&gate);
	share_gate_raise(&gate, 7);
	share_gate_clear(&gate, marks);
	CHECK(shared(&gate, 7));
	/* raise to a generation older than the last mark */
	share_gate_clear(&gate, share_gate_marks(&gate));
	share_gate_raise(&gate, 7);
	CHECK(shared(&gate, 7));
	CHECK(!shared(&gate, 8));
	return 0;
}

static int reloaded(void)
{
	struct share_gate gate;
	u64 marks;

	CHECK(sizeof(gate) == 16);
	/* no share_gate_init() before */
	memset(&gate, 0x5a, sizeof(gate));
	share_gate_reloaded(&gate, 7);
	CHECK(shared(&gate, 7));
	CHECK(!shared(&gate, 8));
	/* an unknown generation is shared until everything is logged */
	share_gate_reloaded(&gate, 0);
	CHECK(shared(&gate, 7) && shared(&gate, 1ULL << 62));
	share_gate_mark(&gate, &gate, 8);
	CHECK(shared(&gate, 9));
	share_gate_clear(&gate, share_gate_marks(&gate));
	CHECK(!shared(&gate, 9));
	/* then generations count again */
	share_gate_mark(&gate, &gate, 9);
	CHECK(shared(&gate, 9));
	CHECK(!shared(&gate, 10));
	/* a mark that comes while all is logged keeps the unknown one, until the next clear */
	share_gate_raise(&gate, 0);
	marks = share_gate_marks(&gate);
	share_gate_mark(&gate, &gate, 9);
	share_gate_clear(&gate, marks);
	CHECK(shared(&gate, 10));
	share_gate_clear(&gate, share_gate_marks(&gate));
	share_gate_mark(&gate, &gate, 10);
	CHECK(!shared(&gate, 11));
	return 0;
}

/* The state of a gate after many marks: the test cannot make 2^31 of them. */
static void set_state(struct share_gate *gate, u64 marks, u64 cleared)
{
	atomic64_set(&gate->state, (cleared & SHARE_GATE_NUMBER) << SHARE_GATE_CLEARED_SHIFT |
				   (marks & SHARE_GATE_NUMBER));
}

static int count_wraps(void)
{
	struct share_gate gate;
	u64 marks, i;

	share_gate_init(&gate);
	share_gate_mark(&gate, &gate, 7);
	/* across the last number, with a clear of the one before, and an old one */
	set_state(&gate, SHARE_GATE_NUMBER, SHARE_GATE_NUMBER);
	CHECK(!shared(&gate, 7));
	share_gate_mark(&gate, &gate, 7);
	marks = share_gate_marks(&gate);
	CHECK(!marks && shared(&gate, 7));
	share_gate_mark(&gate, &gate, 7);
	share_gate_clear(&gate, marks);
	CHECK(shared(&gate, 7));
	share_gate_clear(&gate, share_gate_marks(&gate));
	CHECK(!shared(&gate, 7));
	/* marks that nobody clears: their number never is the cleared one */
	set_state(&gate, 5 + SHARE_GATE_BEHIND - 2, 5);
	for (i = 0; i < 4; i++) {
		share_gate_mark(&gate, &gate, 7);
		CHECK(shared(&gate, 7));
	}
	marks = share_gate_marks(&gate);
	CHECK(__share_gate_cleared(atomic64_read(&gate.state)) == marks - SHARE_GATE_BEHIND);
	share_gate_clear(&gate, 5);
	CHECK(shared(&gate, 7));
	share_gate_clear(&gate, marks);
	CHECK(!shared(&gate, 7));
	return 0;
}

static int wrap(void)
{
	struct share_gate gate;

	share_gate_init(&gate);
	share_gate_mark(&gate, &gate, ~0ULL - 1);
	CHECK(shared(&gate, ~0ULL - 1));
	/* the count skips 0 and ~0 */
	CHECK(!shared(&gate, 1));
	share_gate_mark(&gate, &gate, 1);
	CHECK(shared(&gate, 1));
	share_gate_mark(&gate, &gate, ~0ULL - 1);
	CHECK(shared(&gate, 1));
	CHECK(!shared(&gate, 2));
	return 0;
}

static unsigned int locks, unlocks;

static int count_lock(void *lock, u64 first, u64 last, void *private)
{
	locks++;
	return *(int *)private;
}

static void count_unlock(void *lock, u64 first, u64 last, void *private)
{
	unlocks++;
}

static const struct share_gate_ops count_ops = { count_lock, count_unlock };

/* The caller gets the range lock's error; a range that was not locked is not unlocked. */
static int lock_fails(void)
{
	struct share_gate_section section;
	struct share_gate gate;
	int error = -EINTR;

	locks = 0;
	unlocks = 0;
	share_gate_init(&gate);
	CHECK(share_gate_enter(&section, &gate, 7, &count_ops, NULL, &error, 1, 2) ==
	      SHARE_GATE_SKIPPED);
	share_gate_exit(&section);
	CHECK(!locks && !unlocks);
	share_gate_mark(&gate, &gate, 7);
	CHECK(share_gate_enter(&section, &gate, 7, &count_ops, NULL, &error, 1, 2) == -EINTR);
	CHECK(locks == 1 && !unlocks);
	/* a positive value must not look like SHARE_GATE_LOCKED */
	error = SHARE_GATE_LOCKED;
	CHECK(share_gate_enter(&section, &gate, 7, &count_ops, NULL, &error, 1, 2) == -EIO);
	CHECK(locks == 2 && !unlocks);
	error = 0;
	CHECK(share_gate_enter(&section, &gate, 7, &count_ops, NULL, &error, 1, 1) ==
	      SHARE_GATE_LOCKED);
	CHECK(locks == 3 && !unlocks);
	/* exit unlocks although the gate has been cleared meanwhile */
	share_gate_clear(&gate, share_gate_marks(&gate));
	share_gate_exit(&section);
	CHECK(locks == 3 && unlocks == 1);
	return 0;
}

int gate_test_contract(u32 which)
{
	static int (*const scenario[])(void) = {
		[GATE_TEST_MONOTONIC] = monotonic,
		[GATE_TEST_LATE_MARK] = late_mark,
		[GATE_TEST_RELOADED] = reloaded,
		[GATE_TEST_WRAP] = wrap,
		[GATE_TEST_LOCK_FAILS] = lock_fails,
		[GATE_TEST_COUNT_WRAPS] = count_wraps,
	};

	return which < ARRAY_SIZE(scenario) ? scenario[which]() : -EINVAL;
}

/* --- misuse -------------------------------------------------------------- */

int gate_test_misuse(u32 which)
{
	struct share_gate_section section;
	struct share_gate gate;
	int no_error = 0, ret;

	share_gate_init(&gate);
	switch (which) {
	case GATE_TEST_EXIT_TWICE:
		ret = share_gate_enter(&section, &gate, 7, &count_ops, NULL, &no_error, 1, 2);
		share_gate_exit(&section);
		share_gate_exit(&section);
		return ret;
	case GATE_TEST_EMPTY_RANGE:
		ret = share_gate_enter(&section, &gate, 7, &count_ops, NULL, &no_error, 2, 1);
		return ret == -EINVAL ? 0 : -EPROTO;
	case GATE_TEST_NO_GENERATION:
		share_gate_mark(&gate, &gate, 0);
		return share_gate_may_be_shared(&gate, 1000) ? 0 : -EPROTO;
	case GATE_TEST_SHARED_MEANWHILE:
		ret = share_gate_enter(&section, &gate, 7, &count_ops, NULL, &no_error, 1, 2);
		share_gate_mark(&gate, &gate, 7);
		share_gate_exit(&section);
		return ret;
	}
	return -EINVAL;
}
