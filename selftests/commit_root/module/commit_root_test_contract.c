// SPDX-License-Identifier: GPL-2.0
/*
 * What the calls of commit_root.h promise, on sets of their own, without readers or load.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "contract.h"
#include "commit_root_test_internal.h"

/* The addresses of @root serve as roots. */
struct test_roots {
	char		root[8];
	struct completion *gate;	/* releases wait for it */
	bool		at_gate;
	unsigned int	nr_released;
	struct {
		void	*root;
		u64	generation;
	} released[8];
};

static void note_release(void *private, void *root, u64 generation)
{
	struct test_roots *t = private;

	if (t->gate) {
		WRITE_ONCE(t->at_gate, true);
		wait_for_completion(t->gate);
	}
	if (t->nr_released < ARRAY_SIZE(t->released)) {
		t->released[t->nr_released].root = root;
		t->released[t->nr_released].generation = generation;
	}
	/* pairs with released_at(): a counted entry is complete */
	smp_store_release(&t->nr_released, t->nr_released + 1);
}

static const struct commit_root_ops note_ops = { note_release };

static bool released_at(struct test_roots *t, unsigned int n, unsigned int root, u64 generation)
{
	/* pairs with note_release() */
	return smp_load_acquire(&t->nr_released) > n && t->released[n].root == &t->root[root] &&
	       t->released[n].generation == generation;
}

#define REACHED(cond)								\
({										\
	unsigned int _i;							\
	for (_i = 0; _i < 500 && !(cond); _i++)				\
		msleep(10);							\
	_i < 500;								\
})

struct new_root {
	struct commit_tree	*tree;
	void			*root;
};

static int commit_trees(struct commit_root_set *set, u64 generation, const struct new_root *new,
			unsigned int nr)
{
	struct commit_roots *next = commit_root_prepare(set, GFP_KERNEL);

	CHECK(!IS_ERR(next));
	while (nr--) {
		CHECK(!commit_root_update(next, new->tree, new->root));
		new++;
	}
	CHECK(!commit_root_switch(next, generation));
	return 0;
}

static int commit_tree(struct commit_root_set *set, u64 generation, struct commit_tree *tree,
		       void *root)
{
	const struct new_root new = { tree, root };

	return commit_trees(set, generation, &new, 1);
}

static int before_the_first_commit(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_tree tree, late;
	struct commit_roots *next;
	struct commit_gen gen = { };
	struct commit_pin pin;

	commit_gen_add(&gen, 1);
	CHECK(commit_root_pin(set, &pin) == -ENODATA);
	CHECK(!commit_root_eligible(set, &gen));
	CHECK(!commit_root_reusable(set));
	CHECK(!commit_tree_init(&tree, set));
	next = commit_root_prepare(set, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	CHECK(!commit_tree_init(&late, set));
	CHECK(!commit_root_update(next, &tree, &t->root[0]));
	CHECK(!commit_root_switch(next, 7));
	CHECK(!commit_root_pin(set, &pin));
	CHECK(commit_root_of(&pin, &tree, NULL) == &t->root[0]);
	/* a tree created after the commit has no root in it */
	CHECK(commit_root_of(&pin, &late, NULL) == ERR_PTR(-ENOENT));
	CHECK(commit_root_eligible(set, &gen));
	CHECK(commit_root_covers(&pin, &gen));
	CHECK(commit_root_reusable(set) == 7);
	commit_gen_add(&gen, 8);
	CHECK(!commit_root_eligible(set, &gen));
	CHECK(!commit_root_covers(&pin, &gen));
	commit_root_unpin(&pin);
	commit_tree_destroy(&late);
	commit_tree_destroy(&tree);
	return 0;
}

/* A pin is found while older roots are being released. */
static int slow_release(struct commit_root_set *set, struct test_roots *t)
{
	static DECLARE_COMPLETION(gate);
	struct commit_pin_info info;
	struct commit_tree tree;
	struct commit_pin pin;
	bool found;

	CHECK(!commit_tree_init(&tree, set));
	reinit_completion(&gate);
	t->gate = &gate;
	CHECK(!commit_tree(set, 1, &tree, &t->root[0]));
	CHECK(!commit_tree(set, 2, &tree, &t->root[1]));
	CHECK(!commit_root_pin(set, &pin));
	CHECK(!commit_tree(set, 3, &tree, &t->root[2]));
	CHECK(REACHED(READ_ONCE(t->at_gate)));
	found = commit_root_oldest_pin(set, &info);
	complete_all(&gate);
	CHECK(REACHED(commit_root_reusable(set) == 2));
	t->gate = NULL;
	CHECK(found && info.generation == 2);
	commit_root_unpin(&pin);
	return 0;
}

/* After a prepare, a commit takes any number of trees that are added meanwhile. */
static int late_trees(struct commit_root_set *set, struct test_roots *t)
{
	static struct commit_tree trees[200];
	struct commit_roots *next;
	struct commit_pin pin;
	unsigned int i;

	CHECK(!commit_tree_init(&trees[0], set));
	next = commit_root_prepare(set, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	for (i = 0; i < ARRAY_SIZE(trees); i++) {
		CHECK(!i || !commit_tree_init(&trees[i], set));
		CHECK(!commit_root_update(next, &trees[i], &t->root[i % 8]));
		CHECK(commit_root_update(next, &trees[i], &t->root[0]) == -EEXIST);
	}
	CHECK(!commit_root_switch(next, 1));
	CHECK(!commit_root_pin(set, &pin));
	for (i = 0; i < ARRAY_SIZE(trees); i++)
		CHECK(commit_root_of(&pin, &trees[i], NULL) == &t->root[i % 8]);
	commit_root_unpin(&pin);
	/* a tree in the place of a deleted one */
	next = commit_root_prepare(set, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	commit_tree_destroy(&trees[1]);
	CHECK(!commit_tree_init(&trees[1], set));
	CHECK(!commit_root_update(next, &trees[1], &t->root[7]));
	CHECK(!commit_root_switch(next, 2));
	CHECK(!commit_root_pin(set, &pin));
	CHECK(commit_root_of(&pin, &trees[1], NULL) == &t->root[7]);
	commit_root_unpin(&pin);
	return 0;
}

/* Old pins see old roots, through roots that are newer, released or deleted. */
static int pins_of_each_commit(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_tree tree, slow;
	struct commit_pin pin[8];
	u64 generation;
	int i;

	CHECK(!commit_tree_init(&tree, set));
	CHECK(!commit_tree_init(&slow, set));
	for (i = 0; i < 8; i++) {
		const struct new_root new[] = { { &tree, &t->root[i] }, { &slow, &t->root[i] } };

		/* commits 10 to 13 have the first root of @slow */
		CHECK(!commit_trees(set, 10 + i, new, i % 4 ? 1 : 2));
		CHECK(!commit_root_pin(set, &pin[i]));
	}
	/* every other one is released */
	for (i = 1; i < 7; i += 2)
		commit_root_unpin(&pin[i]);
	CHECK(REACHED(t->nr_released == 3));
	for (i = 0; i < 8; i += i < 6 ? 2 : 1) {
		CHECK(commit_root_of(&pin[i], &tree, &generation) == &t->root[i]);
		CHECK(generation == 10 + i);
		CHECK(commit_root_of(&pin[i], &slow, &generation) == &t->root[i & 4]);
		CHECK(generation == 10 + (i & 4));
		commit_root_unpin(&pin[i]);
	}
	CHECK(REACHED(commit_root_reusable(set) == 17));
	CHECK(t->nr_released == 8);
	return 0;
}

/* The shortest of ten switches with one new root, in ns. */
static int time_switches(struct commit_root_set *set, struct commit_tree *tree, u64 generation,
			 u64 *ns)
{
	struct commit_roots *next;
	u64 start;
	int i;

	*ns = U64_MAX;
	for (i = 0; i < 10; i++) {
		next = commit_root_prepare(set, GFP_KERNEL);
		CHECK(!IS_ERR(next));
		CHECK(!commit_root_update(next, tree, tree));
		start = ktime_get_ns();
		CHECK(!commit_root_switch(next, generation + i));
		*ns = min(*ns, ktime_get_ns() - start);
		/* no other CPU, and the same work for each */
		CHECK(REACHED(commit_root_reusable(set) == generation + i));
	}
	return 0;
}

/* What a switch does with interrupts off, and in all, does not grow with trees that it leaves. */
static int switch_of_many_trees(struct commit_root_set *set, struct test_roots *t)
{
	static const unsigned int nr[] = { 10, 1000, 100000 };
	struct commit_tree *trees = vcalloc(nr[2], sizeof(*trees));
	u64 ns[ARRAY_SIZE(nr)], generation = 1;
	struct commit_roots *next;
	unsigned int i, k = 0;
	int ret = 0;

	CHECK(trees);
	for (i = 0; !ret && i < ARRAY_SIZE(nr); i++) {
		unsigned int first = k;

		for (; !ret && k < nr[i]; k++) {
			ret = commit_tree_init(&trees[k], set);
			cond_resched();
		}
		next = ret ? ERR_PTR(ret) : commit_root_prepare(set, GFP_KERNEL);
		if (IS_ERR(next)) {
			ret = PTR_ERR(next);
			break;
		}
		while (!ret && first < k)
			ret = commit_root_update(next, &trees[first++], t);
		ret = ret ?: commit_root_switch(next, generation++);
		ret = ret ?: time_switches(set, &trees[0], generation, &ns[i]);
		generation += 10;
	}
	if (!ret) {
		pr_info("%s: switches with 10, 1,000, 100,000 trees: %llu, %llu, %llu ns\n",
			KBUILD_MODNAME, ns[0], ns[1], ns[2]);
		/* a copy of 100,000 roots takes some hundred times as long */
		if (ns[2] > 10 * ns[0] + 5000)
			ret = -EPROTO;
	}
	vfree(trees);
	return ret;
}

/* A tree that a commit does not name keeps its root, and the root is released once. */
static int several_trees(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_tree a, b, c;
	struct commit_pin old, new;
	u64 generation = 0;

	CHECK(!commit_tree_init(&a, set));
	CHECK(!commit_tree_init(&b, set));
	CHECK(!commit_trees(set, 1, (struct new_root[]){ { &a, &t->root[0] }, { &b, &t->root[1] } },
			    2));
	CHECK(!commit_tree(set, 2, &a, &t->root[2]));
	/* an earlier pin could keep the roots of 1, too */
	CHECK(REACHED(commit_root_reusable(set) == 2));
	CHECK(!commit_root_pin(set, &old));
	CHECK(commit_root_of(&old, &a, &generation) == &t->root[2] && generation == 2);
	CHECK(commit_root_of(&old, &b, &generation) == &t->root[1] && generation == 1);
	CHECK(t->nr_released == 1 && released_at(t, 0, 0, 1));

	/* a new tree takes the place of a deleted one */
	commit_tree_destroy(&b);
	CHECK(!commit_tree_init(&c, set));
	CHECK(!commit_tree(set, 3, &a, &t->root[3]));
	CHECK(!commit_root_pin(set, &new));
	CHECK(commit_root_of(&new, &c, NULL) == ERR_PTR(-ENOENT));
	CHECK(commit_root_of(&old, &c, NULL) == ERR_PTR(-ENOENT));
	CHECK(commit_root_of(&old, &a, NULL) == &t->root[2]);
	CHECK(t->nr_released == 1);
	commit_root_unpin(&new);
	commit_root_unpin(&old);
	CHECK(REACHED(t->nr_released == 3));
	CHECK(released_at(t, 1, 2, 2) && released_at(t, 2, 1, 1));

	/* destroying the set releases the roots of the remaining trees */
	CHECK(!commit_tree(set, 4, &c, &t->root[4]));
	return 0;
}

/* A cancelled commit changes nothing. */
static int cancelled_commit(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_tree tree;
	struct commit_roots *next;
	struct commit_pin pin;

	CHECK(!commit_tree_init(&tree, set));
	CHECK(!commit_tree(set, 1, &tree, &t->root[0]));
	next = commit_root_prepare(set, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	CHECK(!commit_root_update(next, &tree, &t->root[1]));
	commit_root_cancel(next);
	commit_root_cancel(NULL);
	commit_root_cancel(ERR_PTR(-ENOMEM));
	CHECK(!commit_root_pin(set, &pin));
	CHECK(commit_root_of(&pin, &tree, NULL) == &t->root[0]);
	commit_root_unpin(&pin);
	CHECK(!commit_tree(set, 2, &tree, &t->root[2]));
	return 0;
}

/* If a commit names a tree twice, the second root stays the caller's. */
static int named_twice(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_roots *next;
	struct commit_tree tree;
	struct commit_pin pin;

	CHECK(!commit_tree_init(&tree, set));
	next = commit_root_prepare(set, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	CHECK(!commit_root_update(next, &tree, &t->root[0]));
	CHECK(commit_root_update(next, &tree, &t->root[1]) == -EEXIST);
	CHECK(!commit_root_switch(next, 1));
	CHECK(!commit_root_pin(set, &pin));
	CHECK(commit_root_of(&pin, &tree, NULL) == &t->root[0]);
	commit_root_unpin(&pin);
	return 0;
}

/* The age of newly replaced roots is small. */
static int age(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_pin_info info;
	struct commit_tree tree;
	u64 generation;

	CHECK(!commit_tree_init(&tree, set));
	for (generation = 1; generation <= 32; generation++) {
		CHECK(!commit_tree(set, generation, &tree, &t->root[generation % 8]));
		CHECK(!commit_root_oldest_pin(set, &info) || info.age_ms < 3600000);
		usleep_range(1000, 5000);
		/* or else the oldest one is not the newly replaced one */
		CHECK(REACHED(commit_root_reusable(set) == generation));
	}
	return 0;
}

/* More trees than fit into one slab allocation. */
static int many_trees(struct commit_root_set *set, struct test_roots *t)
{
	const unsigned int nr = 140000;
	struct commit_tree *trees = vcalloc(nr, sizeof(*trees));
	unsigned int i;
	int ret = 0;

	CHECK(trees);
	for (i = 0; !ret && i < nr; i++) {
		ret = commit_tree_init(&trees[i], set);
		cond_resched();
	}
	if (!ret)
		ret = commit_trees(set, 1, (struct new_root[]){ { &trees[0], &t->root[0] },
				   { &trees[nr - 1], &t->root[1] } }, 2);
	vfree(trees);
	return ret;
}

static int find_nothing(struct commit_search *s)
{
	unsigned int *nr_searches = s->arg;

	(*nr_searches)++;
	return -ENOENT;
}

static const struct commit_search_ops find_nothing_ops = { find_nothing };

/* A commit that does not have the tree is not searched. A forced search says so. */
static int absent_tree(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_tree tree, late;
	unsigned int nr_searches = 0;
	struct commit_search s = {
		.set = set, .tree = &late, .mode = COMMIT_SEARCH_FORCED, .arg = &nr_searches,
		.ops = &find_nothing_ops, .gen = { .max = 1 },
	};

	CHECK(!commit_tree_init(&tree, set));
	CHECK(commit_root_search(&s) == -ENODATA && !s.generation);
	CHECK(!commit_tree(set, 3, &tree, &t->root[0]));
	CHECK(!commit_tree_init(&late, set));
	CHECK(commit_root_search(&s) == -ENOENT);
	CHECK(!s.committed && !s.missed && !s.live && !nr_searches && s.generation == 3);
	s.mode = COMMIT_SEARCH_OPTIONAL;
	CHECK(commit_root_search(&s) == -ENOENT);
	CHECK(!s.committed && !s.missed && s.live && nr_searches == 1);
	s.mode = COMMIT_SEARCH_FORCED;
	s.tree = &tree;
	CHECK(commit_root_search(&s) == -ENOENT);
	CHECK(s.committed && s.missed && !s.live && nr_searches == 2);
	return 0;
}

/* While a release of one set waits, those of another set go on. */
static int two_sets(struct commit_root_set *set, struct test_roots *t)
{
	static DECLARE_COMPLETION(gate);
	static struct commit_root_set other;
	static struct test_roots notes;
	struct commit_tree tree, tree_of_other;
	bool released;

	memset(&notes, 0, sizeof(notes));
	CHECK(!commit_root_set_init(&other, "contract 2", &note_ops, &notes));
	CHECK(!commit_tree_init(&tree_of_other, &other));
	CHECK(!commit_tree_init(&tree, set));
	reinit_completion(&gate);
	t->gate = &gate;
	CHECK(!commit_tree(set, 1, &tree, &t->root[0]));
	CHECK(!commit_tree(set, 2, &tree, &t->root[1]));
	CHECK(REACHED(READ_ONCE(t->at_gate)));
	CHECK(!commit_tree(&other, 1, &tree_of_other, &notes.root[0]));
	CHECK(!commit_tree(&other, 2, &tree_of_other, &notes.root[1]));
	released = REACHED(released_at(&notes, 0, 0, 1));
	complete_all(&gate);
	CHECK(REACHED(commit_root_reusable(set) == 2));
	t->gate = NULL;
	CHECK(released);
	CHECK(!commit_root_set_destroy(&other));
	CHECK(notes.nr_released == 2);
	return 0;
}

/*
 * Pins leave interrupts as they are. A kernel with PREEMPT_RT and CONFIG_DEBUG_ATOMIC_SLEEP also
 * reports a lock that may sleep.
 */
static int pins_with_interrupts_off(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_pin pin, old;
	struct commit_tree tree;
	unsigned long irqflags;
	bool still_off;
	void *root;
	int ret;

	CHECK(!commit_tree_init(&tree, set));
	CHECK(!commit_tree(set, 1, &tree, &t->root[0]));
	CHECK(!commit_root_pin(set, &old));
	CHECK(!commit_tree(set, 2, &tree, &t->root[1]));
	local_irq_save(irqflags);
	ret = commit_root_pin(set, &pin);
	root = ret ? NULL : commit_root_of(&pin, &tree, NULL);
	if (!ret)
		commit_root_unpin(&pin);
	commit_root_want_space(set);
	if (!commit_root_wanted(&old))
		ret = -EPROTO;
	commit_root_unpin(&old);
	still_off = irqs_disabled();
	local_irq_restore(irqflags);
	CHECK(still_off);
	CHECK(!ret && root == &t->root[1]);
	CHECK(REACHED(commit_root_reusable(set) == 2));
	return 0;
}

struct rcu_reader {
	bool	inside, stop;
};

static int stay_in_rcu(void *arg)
{
	struct rcu_reader *r = arg;
	unsigned long end = jiffies + 10 * HZ;

	set_user_nice(current, 19);
	rcu_read_lock();
	WRITE_ONCE(r->inside, true);
	while (!READ_ONCE(r->stop) && time_before(jiffies, end))
		cpu_relax();
	WRITE_ONCE(r->inside, false);
	rcu_read_unlock();
	while (!kthread_should_stop())
		msleep(10);
	return 0;
}

/* A task stays in an RCU read section, so no grace period ends. */
static int release_beside_rcu(struct commit_root_set *set, struct test_roots *t)
{
	struct rcu_reader r = { };
	struct task_struct *task;
	struct commit_tree tree;
	struct commit_pin pin;
	bool inside, released = false, reusable = false;
	int ret = 0;

	/* without preemption of RCU readers it would need a CPU of its own */
	inside = IS_ENABLED(CONFIG_PREEMPT_RCU) || num_online_cpus() > 1;
	CHECK(!commit_tree_init(&tree, set));
	CHECK(!commit_tree(set, 1, &tree, &t->root[0]));
	if (inside) {
		task = kthread_run(stay_in_rcu, &r, "rcu_reader");
		CHECK(!IS_ERR(task));
		inside = REACHED(READ_ONCE(r.inside));
		ret = commit_tree(set, 2, &tree, &t->root[1]);
		/* 1 has no pin, 2 has one until 3 has replaced it */
		released = !ret && REACHED(released_at(t, 0, 0, 1));
		if (!ret && !commit_root_pin(set, &pin)) {
			ret = commit_tree(set, 3, &tree, &t->root[2]);
			commit_root_unpin(&pin);
			reusable = !ret && REACHED(commit_root_reusable(set) == 3);
		}
		inside = inside && READ_ONCE(r.inside);
		WRITE_ONCE(r.stop, true);
		kthread_stop(task);
		CHECK(inside && !ret && released && reusable);
		return 0;
	}
	CHECK(!commit_tree(set, 2, &tree, &t->root[1]));
	CHECK(!commit_tree(set, 3, &tree, &t->root[2]));
	return 0;
}

/*
 * A destroy that a pin of an older commit refuses keeps the newest roots, too: the search for the
 * older ones begins there. A tree that is destroyed then does not lose its root.
 */
static int refused_destroy(struct commit_root_set *set, struct test_roots *t)
{
	struct commit_tree tree;
	struct commit_pin pin;
	bool kept;

	CHECK(!commit_tree_init(&tree, set));
	CHECK(!commit_tree(set, 1, &tree, &t->root[0]));
	CHECK(!commit_root_pin(set, &pin));
	CHECK(!commit_tree(set, 2, &tree, &t->root[1]));
	CHECK(commit_root_set_destroy(set) == -EBUSY);
	kept = !READ_ONCE(t->nr_released) &&
	       commit_root_of(&pin, &tree, NULL) == &t->root[0];
	commit_tree_destroy(&tree);
	commit_root_unpin(&pin);
	CHECK(kept);
	return 0;
}

int root_test_contract(u32 which)
{
	static int (*const scenario[])(struct commit_root_set *, struct test_roots *) = {
		[ROOT_TEST_EARLY] = before_the_first_commit,
		[ROOT_TEST_TREES] = several_trees,
		[ROOT_TEST_CANCEL] = cancelled_commit,
		[ROOT_TEST_NAMED_TWICE] = named_twice,
		[ROOT_TEST_AGE] = age,
		[ROOT_TEST_MANY_TREES] = many_trees,
		[ROOT_TEST_SLOW_RELEASE] = slow_release,
		[ROOT_TEST_LATE_TREES] = late_trees,
		[ROOT_TEST_EACH_COMMIT] = pins_of_each_commit,
		[ROOT_TEST_SWITCH_COST] = switch_of_many_trees,
		[ROOT_TEST_NO_TREE] = absent_tree,
		[ROOT_TEST_TWO_SETS] = two_sets,
		[ROOT_TEST_IRQS_OFF] = pins_with_interrupts_off,
		[ROOT_TEST_RCU_READER] = release_beside_rcu,
		[ROOT_TEST_REFUSED] = refused_destroy,
	};
	/* number of roots that each scenario has passed to a switch */
	static const unsigned int roots[] = {
		1, 5, 2, 1, 32, 2, 3, 201, 10, 100030, 1, 2, 2, 3, 2,
	};
	/* static: a scenario that fails leaves its set behind */
	static struct commit_root_set sets[ARRAY_SIZE(scenario)];
	static struct test_roots notes[ARRAY_SIZE(scenario)];
	static bool failed[ARRAY_SIZE(scenario)];
	int ret;

	if (which >= ARRAY_SIZE(scenario))
		return -EINVAL;
	CHECK(!failed[which]);
	memset(&notes[which], 0, sizeof(notes[which]));
	ret = commit_root_set_init(&sets[which], "contract", &note_ops, &notes[which]);
	if (ret)
		return ret;
	ret = scenario[which](&sets[which], &notes[which]) ?:
	      commit_root_set_destroy(&sets[which]);
	if (ret) {
		failed[which] = true;
		__module_get(THIS_MODULE);
		return ret;
	}
	CHECK(notes[which].nr_released == roots[which]);
	return 0;
}
