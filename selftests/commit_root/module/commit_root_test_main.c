// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/commit_root_test: see commit_root_test.h.
 */

#include "commit_root_test_internal.h"
#include "test_device.h"

union crt_args {
	struct crt_setup setup;
	struct crt_request request;
	struct crt_commit commit;
	struct crt_pin pin;
	struct crt_lookup lookup;
	struct crt_where where;
	struct crt_state state;
	struct crt_loop loop;
	u32 number;
};

static int with_lock(struct crt *c, unsigned int cmd, union crt_args *a)
{
	switch (cmd) {
	case CRT_COMMIT:
		return crt_do_commit(c, &a->commit);
	case CRT_PIN:
		return crt_take_pin(c, &a->pin);
	case CRT_UNPIN:
		return crt_give_pin(c, a->pin.id);
	case CRT_LOOKUP:
		return crt_look_up_pinned(c, &a->lookup);
	case CRT_CHECK:
		return crt_check(c);
	case CRT_SNAPSHOT:
		c->want_snapshot = true;
		return 0;
	case CRT_DESTROY:
		return crt_tear_down(c, false);
	case CRT_WANT_SPACE:
		commit_root_want_space(&c->roots);
		return 0;
	case CRT_WANTED:
		if (a->pin.id >= CRT_MAX_PINS || !c->pinned[a->pin.id])
			return -EINVAL;
		return commit_root_wanted(&c->pin[a->pin.id]) ? 0 : -ENOENT;
	case CRT_CONTRACT:
		return crt_contract(a->number);
	case CRT_MISUSE:
		return crt_misuse(c, a->number);
	}
	return -ENOTTY;
}

static int where(struct crt *c, struct crt_where *w)
{
	const struct extent *e;

	if (w->extent >= c->setup.extents)
		return -EINVAL;
	e = &c->extent[w->extent];
	w->place = e->place;
	w->version = e->version;
	w->generation = e->generation;
	return 0;
}

static int crt_do(struct crt *c, unsigned int cmd, union crt_args *a)
{
	int ret;

	switch (cmd) {
	case CRT_READ:
		return crt_read_extents(c, &a->request);
	case CRT_WRITE:
		return crt_change_extent(c, a->number, false);
	case CRT_MOVE:
		return crt_change_extent(c, a->number, true);
	case CRT_WHERE:
		return where(c, &a->where);
	case CRT_STATE:
		crt_get_state(c, &a->state);
		return 0;
	case CRT_FORGET:
		if (a->number >= c->setup.extents)
			return -EINVAL;
		c->extent[a->number].generation = 0;
		return 0;
	case CRT_PIN_LOOP:
		return crt_pin_loop(c, &a->loop);
	}
	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	ret = with_lock(c, cmd, a);
	mutex_unlock(&c->lock);
	return ret;
}

/* Nobody pins in a set that is not there yet, or not any more: that is up to the driver. */
static int crt_run(void *object, unsigned int cmd, void *args)
{
	union crt_args *a = args;
	struct crt *c = object;
	int ret;

	if (cmd == CRT_SETUP || cmd == CRT_DESTROY) {
		if (down_write_killable(&c->life))
			return -EINTR;
		ret = cmd == CRT_SETUP ? crt_set_up(c, &a->setup) :
		      c->fs ? crt_do(c, cmd, a) : -ENXIO;
		up_write(&c->life);
		return ret;
	}
	if (down_read_killable(&c->life))
		return -EINTR;
	ret = c->fs ? crt_do(c, cmd, a) : -ENXIO;
	up_read(&c->life);
	return ret;
}

static int crt_open(void **object)
{
	struct crt *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	init_rwsem(&c->life);
	init_rwsem(&c->commit_sem);
	spin_lock_init(&c->places_lock);
	*object = c;
	return 0;
}

static void crt_release(void *object)
{
	struct crt *c = object;

	if (c->fs)
		WARN_ON(crt_tear_down(c, true));
	kvfree(c);
}

TEST_DEVICE(commit_root_test, crt_open, crt_release, crt_run, union crt_args);

MODULE_DESCRIPTION("Tests of commit-root search on a copy-on-write tree");
MODULE_LICENSE("GPL");
