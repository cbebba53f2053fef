// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cow_diff_test: compare diffs with brute force.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "cow_diff_test_internal.h"

struct walk {
	struct diff_test_diff	*d;
	struct cow_diff_reader	reader;
	struct cow_diff_params	params;
	struct cow_diff_pair	*expected;
	unsigned long		nr_expected;
};

static struct cow_diff_params params_of(struct diff_test *c, struct walk *w)
{
	u32 old = w->d->flags & DIFF_TEST_NO_OLD ? 0 : c->marked.root;
	u32 new = w->d->flags & DIFF_TEST_SAME ? old : c->tree.root;
	u64 bound = c->generation + w->d->bound;
	struct cow_diff_params p;

	if (w->d->flags & DIFF_TEST_SNAPSHOT && c->nr_snapshots) {
		old = c->snapshot[c->nr_snapshots - 1].root;
		bound = 0;
	}
	if (w->d->flags & DIFF_TEST_SWAP)
		swap(old, new);
	p = cow_diff_params_of(&w->reader, old, new, bound);
	p.lowest_level = w->d->lowest_level;
	p.flags = w->d->flags & DIFF_TEST_UNREAD ? COW_DIFF_UNREAD : 0;
	return p;
}

static int expect(struct diff_test *c, struct walk *w)
{
	unsigned long max = 2UL * c->fs->nr_blocks + 2, new_blocks, all_blocks;
	long nr;

	w->expected = cow_alloc(max * sizeof(*w->expected));
	if (!w->expected)
		return -ENOMEM;
	nr = cow_diff_expect(c->fs, &w->params, w->expected, max, &all_blocks);
	if (nr < 0)
		return nr;
	w->nr_expected = nr;
	w->d->blocks = cow_diff_changed(w->expected, nr, &new_blocks);
	w->d->all_blocks = all_blocks;
	w->d->new_blocks = new_blocks;
	w->d->old_blocks = w->d->blocks - new_blocks;
	w->reader.was_read = cow_alloc((c->fs->nr_blocks / BITS_PER_LONG + 1) * sizeof(long));
	return w->reader.was_read ? 0 : -ENOMEM;
}

static int take_pair(struct walk *w, const struct cow_diff_pair *p)
{
	struct diff_test_pair __user *to = u64_to_user_ptr(w->d->pairs_at);
	struct diff_test_pair pair = {
		.old = p->old.block, .new = p->new.block, .level = p->level,
		.key = cow_diff_key_of(p->new.block && !p->new_again ? &p->new.key : &p->old.key),
		.old_again = p->old_again, .new_again = p->new_again,
	};
	u64 n = w->d->pairs++;

	if (w->expected)
		w->d->differs += n >= w->nr_expected ||
				 !cow_diff_same_pair(p, &w->expected[n]);
	if (!to || n >= w->d->max_pairs)
		return 0;
	return copy_to_user(&to[n], &pair, sizeof(pair)) ? -EFAULT : 0;
}

static int walk(struct diff_test *c, struct walk *w)
{
	struct cow_diff_pair pair;
	unsigned int n = 0;
	int ret, err = 0;

	ret = cow_diff_begin(&c->diff, &w->params);
	while (!ret) {
		if (w->d->fail_in && !w->reader.fail_in)
			w->reader.fail_in = w->d->fail_in;
		ret = cow_diff_next(&c->diff, &pair);
		if (ret == -EIO && w->d->fail_in) {
			w->d->failed++;
			ret = 0;
			continue;
		}
		if (ret <= 0)
			break;
		ret = 0;
		err = take_pair(w, &pair);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			break;
		if (!(++n % 1024))
			cond_resched();
		if (n == w->d->stop_after)
			break;
	}
	cow_diff_end(&c->diff);
	w->d->error = ret;
	return err;
}

int diff_test_diff(struct diff_test *c, struct diff_test_diff *d)
{
	struct walk w = { .d = d, .reader = { .fs = c->fs } };
	u64 start;
	int ret = 0;

	if (d->flags & ~DIFF_TEST_FLAGS || d->lowest_level >= COW_DIFF_MAX_LEVELS)
		return -EINVAL;
	d->pairs = 0;
	d->failed = 0;
	d->differs = 0;
	w.params = params_of(c, &w);
	if (!(d->flags & DIFF_TEST_NO_ORACLE))
		ret = expect(c, &w);
	if (!ret) {
		start = ktime_get_ns();
		ret = walk(c, &w);
		d->ns = ktime_get_ns() - start;
		d->reads = cow_diff_reads(&c->diff);
		d->shared = c->diff.shared;
		d->problem = c->diff.trouble.problem;
		cow_diff_describe(&c->diff, d->text, sizeof(d->text));
		d->open = w.reader.open;
		/* the retry of a failed read may read its counterpart again */
		d->read_twice = d->fail_in ? 0 : w.reader.read_twice;
		d->levels[0] = w.params.old.ptr.block ? w.params.old.level + 1 : 0;
		d->levels[1] = w.params.new.ptr.block ? w.params.new.level + 1 : 0;
		if (w.expected && !d->error && !d->stop_after && d->pairs != w.nr_expected)
			d->differs++;
	}
	cow_free(w.reader.was_read);
	cow_free(w.expected);
	return ret;
}
