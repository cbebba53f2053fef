// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/commit_root_test: see commit_root_test.h.
 */

#include "commit_root_test_internal.h"
#include "test_device.h"

union root_test_args {
	struct root_test_setup setup;
	struct root_test_request request;
	struct root_test_commit commit;
	struct root_test_pin pin;
	struct root_test_lookup lookup;
	struct root_test_where where;
	struct root_test_state state;
	struct root_test_loop loop;
	u32 number;
};

static int with_lock(struct root_test *c, unsigned int cmd, union root_test_args *a)
{
	switch (cmd) {
	case ROOT_TEST_COMMIT:
		return root_test_do_commit(c, &a->commit);
	case ROOT_TEST_PIN:
		return root_test_take_pin(c, &a->pin);
	case ROOT_TEST_UNPIN:
		return root_test_drop_pin(c, a->pin.id);
	case ROOT_TEST_LOOKUP:
		return root_test_look_up_pinned(c, &a->lookup);
	case ROOT_TEST_CHECK:
		return root_test_check(c);
	case ROOT_TEST_SNAPSHOT:
		c->want_snapshot = true;
		return 0;
	case ROOT_TEST_DESTROY:
		return root_test_tear_down(c, false);
	case ROOT_TEST_WANT_SPACE:
		commit_root_want_space(&c->roots);
		return 0;
	case ROOT_TEST_WANTED:
		if (a->pin.id >= ROOT_TEST_MAX_PINS || !c->pinned[a->pin.id])
			return -EINVAL;
		return commit_root_wanted(&c->pin[a->pin.id]) ? 0 : -ENOENT;
	case ROOT_TEST_CONTRACT:
		return root_test_contract(a->number);
	case ROOT_TEST_MISUSE:
		return root_test_misuse(c, a->number);
	}
	return -ENOTTY;
}

static int where(struct root_test *c, struct root_test_where *w)
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

static int root_test_do(struct root_test *c, unsigned int cmd, union root_test_args *a)
{
	int ret;

	switch (cmd) {
	case ROOT_TEST_READ:
		return root_test_read_extents(c, &a->request);
	case ROOT_TEST_WRITE:
		return root_test_change_extent(c, a->number, false);
	case ROOT_TEST_MOVE:
		return root_test_change_extent(c, a->number, true);
	case ROOT_TEST_WHERE:
		return where(c, &a->where);
	case ROOT_TEST_STATE:
		root_test_get_state(c, &a->state);
		return 0;
	case ROOT_TEST_FORGET:
		if (a->number >= c->setup.extents)
			return -EINVAL;
		c->extent[a->number].generation = 0;
		return 0;
	case ROOT_TEST_PIN_LOOP:
		return root_test_pin_loop(c, &a->loop);
	}
	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	ret = with_lock(c, cmd, a);
	mutex_unlock(&c->lock);
	return ret;
}

/* The filesystem must not use a set before it is set up or after it is destroyed. */
static int root_test_run(void *object, unsigned int cmd, void *args)
{
	union root_test_args *a = args;
	struct root_test *c = object;
	int ret;

	if (cmd == ROOT_TEST_SETUP || cmd == ROOT_TEST_DESTROY) {
		if (down_write_killable(&c->life))
			return -EINTR;
		ret = cmd == ROOT_TEST_SETUP ? root_test_set_up(c, &a->setup) :
		      c->fs ? root_test_do(c, cmd, a) : -ENXIO;
		up_write(&c->life);
		return ret;
	}
	if (down_read_killable(&c->life))
		return -EINTR;
	ret = c->fs ? root_test_do(c, cmd, a) : -ENXIO;
	up_read(&c->life);
	return ret;
}

static int root_test_open(void **object)
{
	struct root_test *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	init_rwsem(&c->life);
	init_rwsem(&c->commit_sem);
	spin_lock_init(&c->places_lock);
	*object = c;
	return 0;
}

static void root_test_release(void *object)
{
	struct root_test *c = object;

	if (c->fs)
		WARN_ON(root_test_tear_down(c, true));
	kvfree(c);
}

TEST_DEVICE(commit_root_test, root_test_open, root_test_release, root_test_run,
	    union root_test_args);

MODULE_DESCRIPTION("Tests of commit-root search on a copy-on-write tree");
MODULE_LICENSE("GPL");
