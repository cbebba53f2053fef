// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/share_gate_test: see share_gate_test.h.
 */

#include "share_gate_test_internal.h"
#include "test_device.h"

union sgt_args {
	struct sgt_setup setup;
	struct sgt_slot slot;
	struct sgt_clone clone;
	struct sgt_crash crash;
	struct sgt_state state;
	struct sgt_range range;
	struct sgt_range_state range_state;
	u32 number;
};

static int with_lock(struct sgt *s, unsigned int cmd, union sgt_args *a)
{
	int ret = -ENOTTY;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	if (cmd == SGT_SETUP)
		ret = sgt_set_up(s, &a->setup);
	else if (!s->fs)
		ret = -ENXIO;
	else if (cmd == SGT_COMMIT)
		ret = sgt_commit(s);
	else if (cmd == SGT_CRASH)
		ret = sgt_crash(s, &a->crash);
	mutex_unlock(&s->lock);
	return ret;
}

static int on_files(struct sgt *s, unsigned int cmd, union sgt_args *a)
{
	switch (cmd) {
	case SGT_WRITE:
		return sgt_write(s, &a->slot, false);
	case SGT_WRITE_FSYNC:
		return sgt_write(s, &a->slot, true);
	case SGT_CLONE:
		return sgt_clone(s, &a->clone);
	case SGT_FSYNC:
		return sgt_fsync(s, a->number);
	case SGT_FULL:
		return sgt_full(s, a->number, false);
	case SGT_EVICT:
		return sgt_full(s, a->number, true);
	case SGT_STATE:
		a->state = (struct sgt_state) {
			.generation = cow_running(s->fs),
			.skipped = atomic64_read(&s->skipped),
			.locked = atomic64_read(&s->locked),
			.deleted = atomic64_read(&s->deleted),
		};
		return 0;
	}
	return with_lock(s, cmd, a);
}

static int sgt_do(struct sgt *s, unsigned int cmd, union sgt_args *a)
{
	switch (cmd) {
	case SGT_RANGE:
		return sgt_range(&a->range);
	case SGT_RANGE_STATE:
		sgt_range_state(&a->range_state);
		return 0;
	case SGT_CONTRACT:
		return sgt_contract(a->number);
	case SGT_MISUSE:
		return sgt_misuse(a->number);
	case SGT_SETUP:
		return with_lock(s, cmd, a);
	}
	return READ_ONCE(s->fs) ? on_files(s, cmd, a) : -ENXIO;
}

static int sgt_run(void *object, unsigned int cmd, void *args)
{
	struct sgt *s = object;
	int ret;

	/* a crash finds nobody within a call, and nothing works on what is set up in part */
	if (cmd == SGT_SETUP || cmd == SGT_CRASH) {
		if (down_write_killable(&s->life))
			return -EINTR;
		ret = sgt_do(s, cmd, args);
		up_write(&s->life);
		return ret;
	}
	if (down_read_killable(&s->life))
		return -EINTR;
	ret = sgt_do(s, cmd, args);
	up_read(&s->life);
	return ret;
}

static int sgt_open(void **object)
{
	struct sgt *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->lock);
	init_rwsem(&s->life);
	*object = s;
	return 0;
}

static void sgt_release(void *object)
{
	sgt_tear_down(object);
	kfree(object);
}

TEST_DEVICE(share_gate_test, sgt_open, sgt_release, sgt_run, union sgt_args);

MODULE_DESCRIPTION("Tests of the share gate on a log of checksums");
MODULE_LICENSE("GPL");
