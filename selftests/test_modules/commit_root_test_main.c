// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/commit_root_test: see commit_root_test.h.
 *
 * What the rules of commit_root.h are here: a reader holds the lock of its group of
 * extents for reading, so that none of them is overwritten meanwhile (3); blocks of the
 * tree and places of the disk that were freed are reused by commit_root_reusable() (2);
 * and one pin serves a whole request (1).
 */
#include <linux/capability.h>
#include <linux/commit_root.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/unfair_rwsem.h>

#include "commit_root_test.h"
#include "cow_tree.h"
#include "fscommit_test.h"

#define GROUP_LOCKS	1024

struct extent {
	u64	place;		/* of its first block */
	u64	version;
	u64	generation;	/* in which it was written; 0: not known */
};

struct place {
	u64	start;
	u64	freed;		/* generation */
};

struct crt {
	struct crt_setup	setup;
	struct mutex		lock;		/* setup, commits, pins by id */
	struct cow_fs		*fs;		/* NULL until set up */
	struct cow_tree		csums, snapshot;
	bool			has_snapshot, want_snapshot;
	struct extent		*extent;
	struct unfair_rwsem	*group;	/* those who hold them are not what is measured */
	/* places that are free, in the order in which they became so */
	spinlock_t		places_lock;
	struct place		*places;
	unsigned int		nr_places, first_place, last_place;
	u64			last_version;
	char			name[24];
	struct commit_root_set	roots;
	struct commit_tree	tree;
	struct commit_roots	*next;
	struct commit_pin	pin[CRT_MAX_PINS];
	bool			pinned[CRT_MAX_PINS];
	/* as btrfs has it */
	struct rw_semaphore	commit_sem;
	u32			committed_root;
	u64			committed;
	atomic64_t		released, out_of_order, last_released;
};

static u64 csum(u64 place, u64 version)
{
	return hash_64(place ^ version << 32, 64);
}

/* --- the filesystem ------------------------------------------------------ */

static u64 reusable(void *private)
{
	struct crt *c = private;

	if (c->setup.broken & CRT_BREAK_REUSE)
		return ~0ULL;
	if (c->setup.search == CRT_BEHIND_RWSEM)
		return READ_ONCE(c->committed);
	return commit_root_reusable(&c->roots);
}

static void publish(void *private, u64 generation)
{
	struct crt *c = private;

	if (c->setup.search == CRT_BEHIND_RWSEM)
		down_write(&c->commit_sem);
	/* nobody changes the tree now */
	if (c->want_snapshot) {
		if (c->has_snapshot)
			cow_tree_drop(&c->snapshot);
		cow_snapshot(&c->snapshot, &c->csums);
		c->has_snapshot = true;
		c->want_snapshot = false;
	}
	c->committed_root = c->csums.root;
	WRITE_ONCE(c->committed, generation);
	if (c->setup.search == CRT_BEHIND_RWSEM)
		up_write(&c->commit_sem);
	commit_root_update(c->next, &c->tree, (void *)(unsigned long)c->csums.root);
	commit_root_switch(c->next, generation);
}

static const struct cow_ops cow_ops = { reusable, publish };

static void release(void *private, void *root, u64 generation)
{
	struct crt *c = private;

	if (atomic64_xchg(&c->last_released, generation) > generation)
		atomic64_inc(&c->out_of_order);
	atomic64_inc(&c->released);
}

static const struct commit_root_ops root_ops = { release };

static int commit(struct crt *c, struct crt_commit *result)
{
	u64 start = ktime_get_ns();
	int ret;

	c->next = commit_root_prepare(&c->roots, GFP_NOFS);
	if (IS_ERR(c->next))
		return PTR_ERR(c->next);
	result->generation = cow_running(c->fs);
	ret = cow_commit(c->fs, c->setup.rewrite);
	result->ns = ktime_get_ns() - start;
	return ret;
}

static bool take_place(struct crt *c, u64 *start)
{
	u64 up_to = reusable(c);
	struct place *p;
	bool found;

	spin_lock(&c->places_lock);
	p = &c->places[c->first_place];
	found = c->first_place != c->last_place && p->freed <= up_to;
	if (found) {
		*start = p->start;
		c->first_place = (c->first_place + 1) % c->nr_places;
	}
	spin_unlock(&c->places_lock);
	return found;
}

static void give_place(struct crt *c, u64 start, u64 freed)
{
	spin_lock(&c->places_lock);
	c->places[c->last_place] = (struct place){ start, freed };
	c->last_place = (c->last_place + 1) % c->nr_places;
	spin_unlock(&c->places_lock);
}

static struct unfair_rwsem *group_of(struct crt *c, u32 extent)
{
	return &c->group[extent / CRT_GROUP % GROUP_LOCKS];
}

static int write_csums(struct crt *c, u64 place, u64 version)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < CRT_EXTENT_BLOCKS && !ret; i++)
		ret = cow_insert(&c->csums, place + i, csum(place + i, version));
	return ret;
}

/* In a transaction. To another place, and perhaps with other data. */
static int rewrite_extent(struct crt *c, u32 n, bool move)
{
	struct extent *e = &c->extent[n];
	u64 place, version;
	unsigned int i;
	int ret;

	if (!take_place(c, &place))
		return -ENOSPC;
	version = e->version;
	if (!move) {
		spin_lock(&c->places_lock);
		version = ++c->last_version;
		spin_unlock(&c->places_lock);
	}
	ret = write_csums(c, place, version);
	for (i = 0; i < CRT_EXTENT_BLOCKS && !ret; i++)
		ret = cow_delete_later(&c->csums, e->place + i);
	if (!ret) {
		/* deleted in this generation, and found by none of the next ones */
		give_place(c, e->place, cow_running(c->fs));
		e->place = place;
		e->version = version;
		if (!move)
			e->generation = cow_running(c->fs);
	} else {
		give_place(c, place, cow_running(c->fs));
	}
	return ret;
}

static int change_extent(struct crt *c, u32 n, bool move)
{
	bool keep = !(c->setup.broken & CRT_BREAK_KEEP);
	int ret;

	if (n >= c->setup.extents)
		return -EINVAL;
	/* readers are waited for out of the transaction, or the commit would wait, too */
	if (keep)
		unfair_down_write(group_of(c, n));
	cow_begin(c->fs);
	ret = rewrite_extent(c, n, move);
	cow_end(c->fs);
	if (keep)
		unfair_up_write(group_of(c, n));
	return ret;
}

/* --- reading ------------------------------------------------------------- */

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
			else if (l->value[i][k] != csum(l->range[i].first + k, l->version[i]))
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

static int read_extents(struct crt *c, struct crt_request *req)
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
	req->committed = req->missed = req->live = req->wrong = req->lost = req->mixed = 0;
	l->c = c;
	l->req = req;
	if (keep)
		unfair_down_read(group_of(c, req->first));
	ret = look_up(c, l);
	if (keep)
		unfair_up_read(group_of(c, req->first));
	if (!ret || ret == -ENOENT) {
		compare_csums(l);
		ret = 0;
	}
	kfree(l);
	return ret;
}

/* --- pins by hand -------------------------------------------------------- */

static int pin(struct crt *c, struct crt_pin *p)
{
	int ret;

	if (p->id >= CRT_MAX_PINS || c->pinned[p->id])
		return -EINVAL;
	ret = commit_root_pin(&c->roots, &c->pin[p->id]);
	if (ret)
		return ret;
	c->pinned[p->id] = true;
	p->generation = commit_root_generation(&c->pin[p->id]);
	return 0;
}

static int unpin(struct crt *c, u32 id)
{
	if (id >= CRT_MAX_PINS || !c->pinned[id])
		return -EINVAL;
	commit_root_unpin(&c->pin[id]);
	c->pinned[id] = false;
	return 0;
}

static int look_up_pinned(struct crt *c, struct crt_lookup *l)
{
	u64 value[CRT_EXTENT_BLOCKS];
	unsigned long found = 0;
	struct cow_range range = { l->place, CRT_EXTENT_BLOCKS, value, &found };
	unsigned int k;
	void *root;
	int ret;

	if (l->id >= CRT_MAX_PINS || !c->pinned[l->id])
		return -EINVAL;
	root = commit_root_of(&c->pin[l->id], &c->tree, NULL);
	if (IS_ERR(root))
		return PTR_ERR(root);
	ret = cow_search_root(c->fs, (unsigned long)root, &range);
	if (ret && ret != -ENOENT)
		return ret;
	l->wrong = l->lost = 0;
	for (k = 0; k < CRT_EXTENT_BLOCKS; k++)
		if (!test_bit(k, &found))
			l->lost++;
		else if (value[k] != csum(l->place + k, l->version))
			l->wrong++;
	return 0;
}

static int pin_loop(struct crt *c, struct crt_loop *loop)
{
	struct commit_pin pin;
	u64 i, start;
	int ret = 0;

	if (loop->count > 100000000)
		return -EINVAL;
	start = ktime_get_ns();
	for (i = 0; i < loop->count && !ret; i++) {
		ret = commit_root_pin(&c->roots, &pin);
		if (!ret)
			commit_root_unpin(&pin);
	}
	loop->ns = ktime_get_ns() - start;
	return ret;
}

/* A second pin of roots that are replaced keeps them, when the first one has gone. */
static int pin_again(struct commit_root_set *set, struct commit_tree *tree, struct crt *c)
{
	struct commit_pin first, second;
	struct commit_roots *next;
	unsigned int i;
	int ret = commit_root_pin(set, &first);

	if (ret)
		return ret;
	next = commit_root_prepare(set, GFP_KERNEL);
	if (IS_ERR(next))
		return PTR_ERR(next);
	ret = commit_root_update(next, tree, &c->roots) ?: commit_root_switch(next, 9);
	commit_root_pin_again(&second, &first);
	commit_root_unpin(&first);
	msleep(100);
	if (commit_root_of(&second, tree, NULL) != c || commit_root_generation(&second) != 7 ||
	    commit_root_reusable(set) != 7)
		ret = -EPROTO;
	commit_root_unpin(&second);
	for (i = 0; i < 5000 && commit_root_reusable(set) != 9; i++)
		msleep(1);
	return i == 5000 ? -ETIME : ret;
}

/* What is refused without a warning: 0 if all of it is. */
static int too_early(struct crt *c)
{
	struct commit_tree tree, late;
	struct commit_gen gen = { };
	struct commit_root_set set;
	struct commit_roots *next;
	struct commit_pin pin;
	int ret;

	commit_gen_add(&gen, 1);
	ret = commit_root_set_init(&set, "early", &root_ops, c);
	if (ret)
		return ret;
	if (commit_root_pin(&set, &pin) != -ENODATA || commit_root_eligible(&set, &gen) ||
	    commit_root_reusable(&set))
		ret = -EPROTO;
	ret = ret ?: commit_tree_init(&tree, &set);
	next = commit_root_prepare(&set, GFP_KERNEL);
	if (IS_ERR(next))
		return PTR_ERR(next);
	ret = ret ?: commit_tree_init(&late, &set);
	if (commit_root_update(next, &late, c) != -EAGAIN)
		ret = -EPROTO;
	ret = ret ?: commit_root_update(next, &tree, c) ?: commit_root_switch(next, 7) ?:
		     commit_root_pin(&set, &pin);
	if (ret)
		return ret;
	/* one that came later is not in that commit */
	if (commit_root_of(&pin, &tree, NULL) != c ||
	    commit_root_of(&pin, &late, NULL) != ERR_PTR(-ENOENT) ||
	    !commit_root_eligible(&set, &gen) || !commit_root_covers(&pin, &gen) ||
	    commit_root_reusable(&set) != 7)
		ret = -EPROTO;
	commit_gen_add(&gen, 8);
	if (commit_root_eligible(&set, &gen) || commit_root_covers(&pin, &gen))
		ret = -EPROTO;
	commit_root_unpin(&pin);
	ret = ret ?: pin_again(&set, &tree, c);
	commit_tree_destroy(&late);
	commit_tree_destroy(&tree);
	return commit_root_set_destroy(&set) ?: ret;
}

static int misuse(struct crt *c, u32 which)
{
	struct commit_root_set other;
	struct commit_tree foreign;
	struct commit_roots *next;
	struct commit_pin pin;
	int ret;

	switch (which) {
	case CRT_EARLY:
		return too_early(c);
	case CRT_UNPIN_TWICE:
		ret = commit_root_pin(&c->roots, &pin);
		if (ret)
			return ret;
		commit_root_unpin(&pin);
		commit_root_unpin(&pin);
		return 0;
	case CRT_SWITCH_BACK:
		next = commit_root_prepare(&c->roots, GFP_KERNEL);
		if (IS_ERR(next))
			return PTR_ERR(next);
		ret = commit_root_switch(next, commit_root_reusable(&c->roots));
		if (ret)
			commit_root_cancel(next);
		return ret;
	case CRT_PREPARE_TWICE:
		next = commit_root_prepare(&c->roots, GFP_KERNEL);
		if (IS_ERR(next))
			return PTR_ERR(next);
		ret = PTR_ERR_OR_ZERO(commit_root_prepare(&c->roots, GFP_KERNEL));
		commit_root_cancel(next);
		return ret;
	case CRT_FOREIGN_TREE:
		ret = commit_root_set_init(&other, "other", &root_ops, c);
		if (ret)
			return ret;
		ret = commit_tree_init(&foreign, &other) ?: commit_root_pin(&c->roots, &pin);
		if (ret)
			return ret;
		ret = PTR_ERR_OR_ZERO(commit_root_of(&pin, &foreign, NULL));
		commit_root_unpin(&pin);
		commit_tree_destroy(&foreign);
		return commit_root_set_destroy(&other) ?: ret;
	}
	return -EINVAL;
}

/* --- setup --------------------------------------------------------------- */

static void free_crt(struct crt *c)
{
	if (c->fs)
		cow_fs_destroy(c->fs);
	c->fs = NULL;
	kvfree(c->extent);
	kvfree(c->places);
	kvfree(c->group);
}

/* All extents in one transaction, and a commit. */
static int make_extents(struct crt *c)
{
	struct crt_commit result;
	u32 i;
	int ret = 0;

	for (i = 0; i < GROUP_LOCKS; i++)
		init_unfair_rwsem(&c->group[i]);
	for (i = 0; i < c->nr_places - 1; i++)
		give_place(c, 1 + (u64)i * CRT_EXTENT_BLOCKS, 0);
	cow_begin(c->fs);
	for (i = 0; i < c->setup.extents && !ret; i++) {
		struct extent *e = &c->extent[i];

		e->version = ++c->last_version;
		e->generation = cow_running(c->fs);
		ret = take_place(c, &e->place) ? write_csums(c, e->place, e->version) : -ENOSPC;
		cond_resched();
	}
	cow_end(c->fs);
	return ret ?: commit(c, &result);
}

static int set_up(struct crt *c, const struct crt_setup *s)
{
	static atomic_t nr;
	struct cow_params params = {
		/* half full, twice for what is pinned */
		.max_blocks = s->extents / 3 + 20000, .lock_type = s->lock_type,
	};
	int ret = -ENOMEM;

	if (s->search >= CRT_NR_SEARCHES || s->extents < CRT_GROUP ||
	    s->extents > CRT_MAX_EXTENTS || s->broken & ~CRT_BREAKS || s->unused ||
	    (s->lock_type != FCT_RWSEM && s->lock_type != FCT_F2FS &&
	     s->lock_type != FCT_UNFAIR))
		return -EINVAL;
	if (c->fs)
		return -EBUSY;
	c->setup = *s;
	c->nr_places = s->extents * 2 + 4096;
	c->extent = kvcalloc(s->extents, sizeof(*c->extent), GFP_KERNEL);
	c->places = kvcalloc(c->nr_places, sizeof(*c->places), GFP_KERNEL);
	c->group = kvcalloc(GROUP_LOCKS, sizeof(*c->group), GFP_KERNEL);
	if (!c->extent || !c->places || !c->group)
		goto fail;
	snprintf(c->name, sizeof(c->name), "crt%u", atomic_inc_return(&nr));
	ret = commit_root_set_init(&c->roots, c->name, &root_ops, c);
	if (ret)
		goto fail;
	ret = commit_tree_init(&c->tree, &c->roots);
	if (ret)
		goto fail_set;
	ret = cow_fs_create(&c->fs, &params, &cow_ops, c);
	if (!ret)
		ret = cow_tree_create(&c->csums, c->fs);
	if (!ret)
		ret = make_extents(c);
	if (!ret)
		return 0;
fail_set:
	WARN_ON(commit_root_set_destroy(&c->roots));
fail:
	free_crt(c);
	return ret;
}

/* Whatever is pinned by id is given up. */
static int tear_down(struct crt *c, bool unpin_all)
{
	u32 id;
	int ret;

	for (id = 0; unpin_all && id < CRT_MAX_PINS; id++)
		unpin(c, id);
	ret = commit_root_set_destroy(&c->roots);
	if (!ret)
		free_crt(c);
	return ret;
}

static void get_state(struct crt *c, struct crt_state *state)
{
	struct commit_pin_info info;
	struct cow_usage usage;

	bool has_pin = commit_root_oldest_pin(&c->roots, &info);

	cow_usage(c->fs, &usage);
	*state = (struct crt_state) {
		.running = cow_running(c->fs),
		.reusable = commit_root_reusable(&c->roots),
		.released = atomic64_read(&c->released),
		.out_of_order = atomic64_read(&c->out_of_order),
		.has_pin = has_pin,
		.oldest_generation = info.generation,
		.oldest_age_ms = info.age_ms,
		.oldest_pid = info.pid,
		.blocks = usage.blocks,
		.free = usage.free,
		.pending = usage.pending,
		.stale = usage.stale,
		.cowed = usage.cowed,
	};
}

static int check(struct crt *c)
{
	struct cow_tree *trees[] = { &c->csums, &c->snapshot };
	long n = cow_check_tree(c->fs, c->csums.root);

	if (n < 0)
		return n;
	return cow_check_blocks(c->fs, trees, c->has_snapshot ? 2 : 1);
}

/* --- the device ---------------------------------------------------------- */

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
		return commit(c, &a->commit);
	case CRT_PIN:
		return pin(c, &a->pin);
	case CRT_UNPIN:
		return unpin(c, a->pin.id);
	case CRT_LOOKUP:
		return look_up_pinned(c, &a->lookup);
	case CRT_CHECK:
		return check(c);
	case CRT_SNAPSHOT:
		c->want_snapshot = true;
		return 0;
	case CRT_DESTROY:
		return tear_down(c, false);
	case CRT_WANT_SPACE:
		commit_root_want_space(&c->roots);
		return 0;
	case CRT_WANTED:
		if (a->pin.id >= CRT_MAX_PINS || !c->pinned[a->pin.id])
			return -EINVAL;
		return commit_root_wanted(&c->pin[a->pin.id]) ? 0 : -ENOENT;
	case CRT_MISUSE:
		return misuse(c, a->number);
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
		return read_extents(c, &a->request);
	case CRT_WRITE:
		return change_extent(c, a->number, false);
	case CRT_MOVE:
		return change_extent(c, a->number, true);
	case CRT_WHERE:
		return where(c, &a->where);
	case CRT_STATE:
		get_state(c, &a->state);
		return 0;
	case CRT_FORGET:
		if (a->number >= c->setup.extents)
			return -EINVAL;
		c->extent[a->number].generation = 0;
		return 0;
	case CRT_PIN_LOOP:
		return pin_loop(c, &a->loop);
	}
	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	ret = with_lock(c, cmd, a);
	mutex_unlock(&c->lock);
	return ret;
}

static long crt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct crt *c = file->private_data;
	void __user *user = (void __user *)arg;
	union crt_args a = { };
	int ret;

	if (_IOC_SIZE(cmd) > sizeof(a))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&a, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == CRT_SETUP) {
		mutex_lock(&c->lock);
		ret = set_up(c, &a.setup);
		mutex_unlock(&c->lock);
		return ret;
	}
	if (!READ_ONCE(c->fs))
		return -ENXIO;
	ret = crt_do(c, cmd, &a);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &a, _IOC_SIZE(cmd)))
		return -EFAULT;
	return ret;
}

static int crt_open(struct inode *inode, struct file *file)
{
	struct crt *c;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	c = kvzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	init_rwsem(&c->commit_sem);
	spin_lock_init(&c->places_lock);
	file->private_data = c;
	return 0;
}

static int crt_release(struct inode *inode, struct file *file)
{
	struct crt *c = file->private_data;

	if (c->fs)
		WARN_ON(tear_down(c, true));
	kvfree(c);
	return 0;
}

static const struct file_operations crt_fops = {
	.owner = THIS_MODULE,
	.open = crt_open,
	.release = crt_release,
	.unlocked_ioctl = crt_ioctl,
};

static struct miscdevice crt_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "commit_root_test",
	.fops = &crt_fops,
	.mode = 0600,
};
module_misc_device(crt_device);

MODULE_DESCRIPTION("Tests of commit-root search on a copy-on-write tree");
MODULE_LICENSE("GPL");
