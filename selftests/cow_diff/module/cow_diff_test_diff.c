// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: read the trees, and compare diffs with brute force.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cow_diff_test_internal.h"

/* --- operations ---------------------------------------------------------- */

static int read_block(void *private, const struct cow_diff_ptr *ptr, struct cow_diff_node *node)
{
	struct diff_test_reader *r = private;
	struct cow_block *b;

	if (++r->reads == r->fail_at)
		return -EIO;
	if (!ptr->block || ptr->block > cow_nr_blocks(r->fs))
		return -ENXIO;
	b = cow_block(r->fs, ptr->block);
	node->level = b->level;
	node->nr = b->nr;
	node->generation = b->generation;
	/* a node has no key for its first child: use the key from the parent */
	node->key = b->level ? ptr->key : diff_test_key(b->entry[0].key);
	node->data = b;
	r->open++;
	if (r->was_read)
		r->read_twice += __test_and_set_bit(ptr->block, r->was_read);
	return 0;
}

static void get_child(void *private, const struct cow_diff_node *node, unsigned int i,
		      struct cow_diff_ptr *child)
{
	const struct cow_block *b = node->data;

	child->block = b->entry[i].block;
	child->generation = b->entry[i].generation;
	child->key = i ? diff_test_key(b->entry[i].key) : node->key;
}

static void release_block(void *private, struct cow_diff_node *node)
{
	struct diff_test_reader *r = private;

	r->open--;
	node->data = NULL;
}

const struct cow_diff_ops diff_test_ops = {
	.max_children = COW_ENTRIES,
	.read = read_block,
	.child = get_child,
	.release = release_block,
};

static struct cow_diff_root root_of(struct cow_fs *fs, u32 block)
{
	const struct cow_block *b = block ? cow_block(fs, block) : NULL;

	return (struct cow_diff_root) {
		.ptr = { .block = block, .generation = b ? b->generation : 0 },
		.level = b ? b->level : 0,
	};
}

struct cow_diff_params diff_test_params(struct diff_test_reader *reader, u32 old, u32 new,
					u64 newer_than)
{
	return (struct cow_diff_params) {
		.ops = &diff_test_ops,
		.private = reader,
		.old = root_of(reader->fs, old),
		.new = root_of(reader->fs, new),
		.newer_than = newer_than,
	};
}

/* --- a diff -------------------------------------------------------------- */

struct walk {
	struct diff_test_diff	*d;
	struct diff_test_reader	reader;
	struct cow_diff_params	params;
	struct cow_diff_pair	*expected;
	unsigned long		nr_expected;
};

static struct cow_diff_params params_of(struct diff_test *c, struct walk *w)
{
	u32 flags = w->d->flags, old = c->marked.root, new = c->tree.root;
	u64 bound = c->generation + w->d->bound;

	if (flags & DIFF_TEST_SAME)
		new = old;
	if (flags & DIFF_TEST_NO_OLD)
		old = COW_NO_BLOCK;
	if (flags & DIFF_TEST_SNAPSHOT)
		old = c->snapshot.root;
	if (flags & (DIFF_TEST_NO_OLD | DIFF_TEST_SNAPSHOT))
		bound = 0;
	if (flags & DIFF_TEST_SWAP)
		swap(old, new);
	return diff_test_params(&w->reader, old, new, bound);
}

static int expect(struct diff_test *c, struct walk *w)
{
	unsigned long max = 2UL * cow_nr_blocks(c->fs) + 2, i;
	long nr;

	w->expected = kvcalloc(max, sizeof(*w->expected), GFP_KERNEL);
	w->reader.was_read = kvcalloc(BITS_TO_LONGS(cow_nr_blocks(c->fs) + 1), sizeof(long),
				      GFP_KERNEL);
	if (!w->expected || !w->reader.was_read)
		return -ENOMEM;
	nr = diff_test_expect(c->fs, &w->params, w->expected, max);
	if (nr < 0)
		return nr;
	w->nr_expected = nr;
	for (i = 0; i < nr; i++) {
		w->d->old_blocks += w->expected[i].old.block && !w->expected[i].old_again;
		w->d->new_blocks += w->expected[i].new.block && !w->expected[i].new_again;
	}
	return 0;
}

static bool is_same_ptr(const struct cow_diff_ptr *a, const struct cow_diff_ptr *b)
{
	return a->block == b->block && a->generation == b->generation &&
	       !memcmp(&a->key, &b->key, sizeof(a->key));
}

static bool is_same_pair(const struct cow_diff_pair *a, const struct cow_diff_pair *b)
{
	return is_same_ptr(&a->old, &b->old) && is_same_ptr(&a->new, &b->new) &&
	       a->level == b->level && a->old_again == b->old_again &&
	       a->new_again == b->new_again;
}

static int take_pair(struct walk *w, const struct cow_diff_pair *p)
{
	struct diff_test_pair __user *to = u64_to_user_ptr(w->d->pairs_at);
	struct diff_test_pair pair = {
		.old = p->old.block, .new = p->new.block, .level = p->level,
		.old_again = p->old_again, .new_again = p->new_again,
	};
	u64 n = w->d->pairs++;

	w->d->differs += n >= w->nr_expected || !is_same_pair(p, &w->expected[n]);
	if (!to || n >= w->d->max_pairs)
		return 0;
	return copy_to_user(&to[n], &pair, sizeof(pair)) ? -EFAULT : 0;
}

static int walk(struct diff_test *c, struct walk *w)
{
	struct cow_diff_pair pair;
	int ret, err = 0;

	ret = cow_diff_begin(&c->diff, &w->params);
	while (!ret) {
		ret = cow_diff_next(&c->diff, &pair);
		if (ret <= 0)
			break;
		ret = 0;
		err = take_pair(w, &pair);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err || w->d->pairs == w->d->stop_after)
			break;
		if (!(w->d->pairs % 1024))
			cond_resched();
	}
	/* an error is final */
	if (ret < 0 && w->d->fail_at && cow_diff_next(&c->diff, &pair) != ret)
		err = -EPROTO;
	cow_diff_end(&c->diff);
	w->d->error = ret;
	return err;
}

int diff_test_diff(struct diff_test *c, struct diff_test_diff *d)
{
	struct walk w = { .d = d, .reader = { .fs = c->fs, .fail_at = d->fail_at } };
	int ret;

	if (d->flags & ~DIFF_TEST_FLAGS)
		return -EINVAL;
	d->pairs = 0;
	d->differs = 0;
	d->old_blocks = 0;
	d->new_blocks = 0;
	w.params = params_of(c, &w);
	ret = expect(c, &w) ?: walk(c, &w);
	if (!ret) {
		d->reads = w.reader.reads;
		strscpy(d->problem, c->diff.problem ?: "", sizeof(d->problem));
		d->open = w.reader.open;
		d->read_twice = w.reader.read_twice;
		d->levels[0] = w.params.old.ptr.block ? w.params.old.level + 1 : 0;
		d->levels[1] = w.params.new.ptr.block ? w.params.new.level + 1 : 0;
		if (!d->error && !d->stop_after && d->pairs != w.nr_expected)
			d->differs++;
	}
	kvfree(w.reader.was_read);
	kvfree(w.expected);
	return ret;
}
