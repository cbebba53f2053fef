// SPDX-License-Identifier: GPL-2.0
/*
 * How the toy filesystem looks up checksums: live, behind an rwsem as btrfs does, or by
 * commit_root_search().
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "commit_root_test_internal.h"

struct lookup {
	struct crt		*c;
	struct crt_request	*req;
	unsigned int		first, nr;	/* of the request's extents */
	struct cow_range	range[CRT_GROUP];
	u64			version[CRT_GROUP];
	u64			generation[CRT_GROUP];	/* where it was searched */
	unsigned long		found[CRT_GROUP];
	u64			value[CRT_GROUP][CRT_EXTENT_BLOCKS];
};

static void pause_for(const struct crt_request *req)
{
	if (req->pause_us)
		usleep_range(req->pause_us, 2 * req->pause_us);
}

static int search_ranges(struct lookup *l, bool live, u32 root)
{
	struct crt *c = l->c;
	unsigned int i;
	int ret = 0;

	for (i = l->first; i < l->first + l->nr; i++) {
		int err = live ? cow_search_live(&c->csums, &l->range[i]) :
				 cow_search_root(c->fs, root, &l->range[i]);

		if (err && err != -ENOENT)
			return err;
		ret = ret ?: err;
		if (!live)
			pause_for(l->req);
	}
	return ret;
}

static int search(struct commit_search *s)
{
	struct lookup *l = s->arg;
	unsigned int i;

	for (i = l->first; s->root && i < l->first + l->nr; i++)
		l->generation[i] = s->generation;
	return search_ranges(l, !s->root, (unsigned long)s->root);
}

static bool compare(struct commit_search *s, struct commit_difference *diff)
{
	struct lookup *l = s->arg;
	u64 value[CRT_EXTENT_BLOCKS];
	unsigned int i, k;

	for (i = l->first; i < l->first + l->nr; i++) {
		unsigned long found = 0;
		struct cow_range range = l->range[i];

		range.value = value;
		range.found = &found;
		cow_search_live(&l->c->csums, &range);
		for (k = 0; k < range.nr; k++) {
			bool has = test_bit(k, &found);

			if (has && value[k] == l->value[i][k])
				continue;
			diff->key = range.first + k;
			snprintf(diff->committed, sizeof(diff->committed), "%llx", l->value[i][k]);
			if (has)
				snprintf(diff->live, sizeof(diff->live), "%llx", value[k]);
			else
				strscpy(diff->live, "nothing", sizeof(diff->live));
			return false;
		}
	}
	return true;
}

static const struct commit_search_ops search_ops = { search, compare };

static bool is_eligible(const struct crt *c, const struct commit_gen *gen)
{
	return commit_root_eligible(&c->roots, gen);
}

/* As btrfs does it. */
static int search_behind_rwsem(struct lookup *l, const struct commit_gen *gen)
{
	struct crt *c = l->c;
	int ret = -ENOENT;

	if (is_eligible(c, gen)) {
		down_read(&c->commit_sem);
		if (is_eligible(c, gen)) {
			l->req->committed++;
			ret = search_ranges(l, false, c->committed_root);
		}
		up_read(&c->commit_sem);
		if (!ret || (ret != -ENOENT))
			return ret;
		l->req->missed++;
	}
	l->req->live++;
	return search_ranges(l, true, 0);
}

static int search_extents(struct lookup *l, const struct commit_gen *gen)
{
	struct crt *c = l->c;
	struct commit_search s = {
		.set = &c->roots, .tree = &c->tree, .gen = *gen, .ops = &search_ops, .arg = l,
		.mode = l->req->forced ? COMMIT_SEARCH_FORCED : COMMIT_SEARCH_OPTIONAL,
	};
	int ret;

	switch (c->setup.search) {
	case CRT_LIVE:
		l->req->live++;
		return search_ranges(l, true, 0);
	case CRT_BEHIND_RWSEM:
		return search_behind_rwsem(l, gen);
	}
	if (c->setup.broken & CRT_BREAK_MISS && is_eligible(c, gen))
		s.mode = COMMIT_SEARCH_FORCED;
	ret = commit_root_search(&s);
	l->req->committed += s.committed;
	l->req->missed += s.missed;
	l->req->live += s.live;
	return ret;
}

static void add_generation(struct crt *c, struct commit_gen *gen, const struct extent *e)
{
	if (c->setup.broken & CRT_BREAK_MAXIMUM && gen->max)
		return;
	if (c->setup.broken & CRT_BREAK_UNKNOWN && !e->generation)
		return;
	commit_gen_add(gen, e->generation);
}

static void compare_csums(struct lookup *l)
{
	unsigned int i, k;

	for (i = 1; i < l->req->nr && !l->req->split; i++)
		l->req->mixed += l->generation[i] != l->generation[0];
	for (i = 0; i < l->req->nr; i++)
		for (k = 0; k < CRT_EXTENT_BLOCKS; k++)
			if (!test_bit(k, &l->found[i]))
				l->req->lost++;
			else if (l->value[i][k] != crt_csum(l->range[i].first + k, l->version[i]))
				l->req->wrong++;
}

static int look_up(struct crt *c, struct lookup *l)
{
	struct crt_request *req = l->req;
	unsigned int i, half = req->split ? req->nr / 2 : 0;
	struct commit_gen gen = { }, second = { };
	int ret = 0;

	for (i = 0; i < req->nr; i++) {
		struct extent *e = &c->extent[req->first + i];

		l->range[i] = (struct cow_range) {
			.first = e->place, .nr = CRT_EXTENT_BLOCKS, .value = l->value[i],
			.found = &l->found[i],
		};
		l->version[i] = e->version;
		add_generation(c, &gen, e);
	}
	/* from here on, what is known of them must not change */
	pause_for(req);
	if (c->setup.broken & CRT_BREAK_ADD && req->first)
		add_generation(c, &gen, &c->extent[req->first - 1]);
	/* the second half takes the decision along */
	second = gen;
	if (half && c->setup.broken & CRT_BREAK_SPLIT)
		commit_gen_reset(&second);
	if (c->setup.broken & CRT_BREAK_ONE_PIN) {
		for (i = 0; i < req->nr && (!ret || ret == -ENOENT); i++) {
			l->first = i;
			l->nr = 1;
			ret = search_extents(l, &gen);
		}
		return ret;
	}
	if (half) {
		l->nr = half;
		ret = search_extents(l, &gen);
	}
	if (!ret || ret == -ENOENT) {
		l->first = half;
		l->nr = req->nr - half;
		ret = search_extents(l, &second);
	}
	return ret;
}

int crt_read_extents(struct crt *c, struct crt_request *req)
{
	bool keep = !(c->setup.broken & CRT_BREAK_KEEP);
	struct lookup *l;
	int ret;

	if (!req->nr || req->nr > CRT_GROUP - req->first % CRT_GROUP ||
	    req->first >= c->setup.extents || req->nr > c->setup.extents - req->first)
		return -EINVAL;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return -ENOMEM;
	req->committed = 0;
	req->missed = 0;
	req->live = 0;
	req->wrong = 0;
	req->lost = 0;
	req->mixed = 0;
	l->c = c;
	l->req = req;
	if (keep)
		unfair_down_read(crt_group_of(c, req->first));
	ret = look_up(c, l);
	if (keep)
		unfair_up_read(crt_group_of(c, req->first));
	if (!ret || ret == -ENOENT) {
		compare_csums(l);
		ret = 0;
	}
	kfree(l);
	return ret;
}
