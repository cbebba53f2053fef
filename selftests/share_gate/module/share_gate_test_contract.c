// SPDX-License-Identifier: GPL-2.0
/*
 * What the calls of share_gate.h promise, on gates of their own.
 */
#include <linux/kernel.h>
#include <linux/share_gate.h>

#include "contract.h"
#include "share_gate_test.h"

static bool shared(const struct share_gate *gate, u64 generation)
{
	return share_gate_may_be_shared(gate, generation);
}

static void log_all(struct share_gate *gate)
{
	share_gate_log_end(gate, share_gate_log_begin(gate));
}

static int monotonic(void)
{
	struct share_gate gate;

	CHECK(sizeof(gate) == 8);
	share_gate_init(&gate);
	CHECK(!shared(&gate, 1) && !shared(&gate, 0));
	share_gate_mark(&gate, 7);
	/* a late mark of an older generation changes nothing */
	share_gate_mark(&gate, 5);
	CHECK(shared(&gate, 6) && shared(&gate, 7));
	CHECK(!shared(&gate, 8));
	share_gate_mark(&gate, 9);
	CHECK(shared(&gate, 9));
	/* an unknown running generation */
	CHECK(shared(&gate, 0) && shared(&gate, ~0ULL));
	log_all(&gate);
	CHECK(!shared(&gate, 9));
	return 0;
}

static int late_mark(void)
{
	struct share_gate gate;
	u64 seen;

	share_gate_init(&gate);
	/* a mark that comes while the older ones are logged */
	share_gate_mark(&gate, 7);
	seen = share_gate_log_begin(&gate);
	CHECK(shared(&gate, 7) && !shared(&gate, 8));
	share_gate_mark(&gate, 7);
	share_gate_log_end(&gate, seen);
	CHECK(shared(&gate, 7) && !shared(&gate, 8));
	/* also the first mark, and one of an older generation */
	log_all(&gate);
	seen = share_gate_log_begin(&gate);
	share_gate_mark(&gate, 7);
	share_gate_log_end(&gate, seen);
	CHECK(shared(&gate, 7));
	seen = share_gate_log_begin(&gate);
	share_gate_mark(&gate, 6);
	share_gate_log_end(&gate, seen);
	CHECK(shared(&gate, 6));
	/* not all was logged: the next time all is */
	share_gate_log_begin(&gate);
	CHECK(shared(&gate, 7));
	log_all(&gate);
	CHECK(!shared(&gate, 7));
	return 0;
}

/* Not known: shared until all is logged. Then generations count again. */
static int unknown(void)
{
	struct share_gate gate;

	share_gate_init(&gate);
	share_gate_mark(&gate, 0);
	CHECK(shared(&gate, 7) && shared(&gate, 1ULL << 62));
	share_gate_mark(&gate, 8);
	CHECK(shared(&gate, 9));
	log_all(&gate);
	CHECK(!shared(&gate, 9));
	share_gate_mark(&gate, ~0ULL);
	CHECK(shared(&gate, 1ULL << 62));
	log_all(&gate);
	share_gate_mark(&gate, 9);
	CHECK(shared(&gate, 9) && !shared(&gate, 10));
	return 0;
}

int gate_test_contract(u32 which)
{
	static int (*const scenario[])(void) = {
		[GATE_TEST_MONOTONIC] = monotonic,
		[GATE_TEST_LATE_MARK] = late_mark,
		[GATE_TEST_UNKNOWN] = unknown,
	};

	return which < ARRAY_SIZE(scenario) ? scenario[which]() : -EINVAL;
}
