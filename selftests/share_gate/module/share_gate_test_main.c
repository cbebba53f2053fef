// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/share_gate_test: see share_gate_test.h.
 */

#include "share_gate_test_internal.h"
#include "test_device.h"

union gate_test_args {
	struct gate_test_setup setup;
	struct gate_test_slot slot;
	struct gate_test_clone clone;
	struct gate_test_crash crash;
	struct gate_test_state state;
	u32 number;
};

static int with_lock(struct gate_test *s, unsigned int cmd, union gate_test_args *a)
{
	int ret = -ENOTTY;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	if (cmd == GATE_TEST_SETUP)
		ret = gate_test_set_up(s, &a->setup);
	else if (!s->fs)
		ret = -ENXIO;
	else if (cmd == GATE_TEST_COMMIT)
		ret = gate_test_commit(s);
	else if (cmd == GATE_TEST_CRASH)
		ret = gate_test_crash(s, &a->crash);
	mutex_unlock(&s->lock);
	return ret;
}

static int on_files(struct gate_test *s, unsigned int cmd, union gate_test_args *a)
{
	switch (cmd) {
	case GATE_TEST_WRITE:
		return gate_test_write(s, &a->slot, false);
	case GATE_TEST_WRITE_FSYNC:
		return gate_test_write(s, &a->slot, true);
	case GATE_TEST_CLONE:
		return gate_test_clone(s, &a->clone);
	case GATE_TEST_FSYNC:
		return gate_test_fsync(s, a->number);
	case GATE_TEST_FULL:
		return gate_test_full(s, a->number, false);
	case GATE_TEST_EVICT:
		return gate_test_full(s, a->number, true);
	case GATE_TEST_STATE:
		a->state = (struct gate_test_state) {
			.generation = cow_running(s->fs),
			.skipped = atomic64_read(&s->skipped),
			.locked = atomic64_read(&s->locked),
			.deleted = atomic64_read(&s->deleted),
		};
		return 0;
	}
	return with_lock(s, cmd, a);
}

static int gate_test_do(struct gate_test *s, unsigned int cmd, union gate_test_args *a)
{
	switch (cmd) {
	case GATE_TEST_CONTRACT:
		return gate_test_contract(a->number);
	case GATE_TEST_MISUSE:
		return gate_test_misuse(a->number);
	case GATE_TEST_SETUP:
		return with_lock(s, cmd, a);
	}
	return READ_ONCE(s->fs) ? on_files(s, cmd, a) : -ENXIO;
}

static int gate_test_run(void *object, unsigned int cmd, void *args)
{
	struct gate_test *s = object;
	int ret;

	/* setup and crash exclude all other calls */
	if (cmd == GATE_TEST_SETUP || cmd == GATE_TEST_CRASH) {
		if (down_write_killable(&s->life))
			return -EINTR;
		ret = gate_test_do(s, cmd, args);
		up_write(&s->life);
		return ret;
	}
	if (down_read_killable(&s->life))
		return -EINTR;
	ret = gate_test_do(s, cmd, args);
	up_read(&s->life);
	return ret;
}

static int gate_test_open(void **object)
{
	struct gate_test *s = kvzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->lock);
	init_rwsem(&s->life);
	*object = s;
	return 0;
}

static void gate_test_release(void *object)
{
	gate_test_tear_down(object);
	kvfree(object);
}

TEST_DEVICE(share_gate_test, gate_test_open, gate_test_release, gate_test_run,
	    union gate_test_args);

MODULE_DESCRIPTION("Tests of the share gate on a log of checksums");
MODULE_LICENSE("GPL");
