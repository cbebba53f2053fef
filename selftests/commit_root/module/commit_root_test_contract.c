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
#include <linux/workqueue.h>

#include "contract.h"
#include "commit_root_test_internal.h"

/* A set with a tree, whose roots are the addresses of @root, and what it released. */
struct test_set {
	struct commit_root_set set;
	struct commit_tree tree;
	char		root[8];
	struct completion *gate;	/* releases wait for it */
	struct completion *destroyed;
	bool		at_gate;
	unsigned int	nr_added;	/* roots of commits */
	unsigned int	nr_released;
	unsigned int	too_early;
	bool		low;		/* a release without a high priority */
	u64		reusable;	/* what was reported last */
	struct {
		void	*root;
		u64	generation;
	} released[8];
};

static void note_release(void *private, void *root, u64 generation)
{
	struct test_set *t = private;

	if (task_nice(current) != MIN_NICE)
		t->low = true;
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

static void note_reusable(void *private, u64 generation)
{
	struct test_set *t = private;

	/* the new generation can be read, and its roots have been released */
	t->too_early += commit_root_reusable(&t->set) != generation;
	WRITE_ONCE(t->reusable, generation);
}

static const struct commit_root_ops note_ops = { note_release, note_reusable };

static bool released_at(struct test_set *t, unsigned int n, unsigned int root, u64 generation)
{
	/* pairs with note_release() */
	return smp_load_acquire(&t->nr_released) > n && t->released[n].root == &t->root[root] &&
	       t->released[n].generation == generation;
}

#define REACHED(cond)								\
({										\
	unsigned int _i;							\
	for (_i = 0; _i < 2000 && !(cond); _i++)			\
		msleep(10);							\
	_i < 2000;								\
})

static int add_root(struct test_set *t, struct commit_roots *next, struct commit_tree *tree,
		    unsigned int root)
{
	int ret = commit_root_update(next, tree, &t->root[root]);

	t->nr_added += !ret;
	return ret;
}

/* Commit: tree @a gets the root @root, and so does @b if it is not NULL. */
static int commit_two(struct test_set *t, u64 generation, struct commit_tree *a,
		      struct commit_tree *b, unsigned int root)
{
	struct commit_roots *next = commit_root_prepare(&t->set, generation, GFP_KERNEL);

	CHECK(!IS_ERR(next));
	CHECK(!add_root(t, next, a, root));
	CHECK(!b || !add_root(t, next, b, root));
	commit_root_switch(next);
	return 0;
}

static int commit_tree(struct test_set *t, u64 generation, struct commit_tree *tree,
		       unsigned int root)
{
	return commit_two(t, generation, tree, NULL, root);
}

/* Commit a root of the tree of @t. */
static int commit_one(struct test_set *t, u64 generation, unsigned int root)
{
	return commit_tree(t, generation, &t->tree, root);
}

static int before_the_first_commit(struct test_set *t)
{
	struct commit_gen gen = { .max = 1 };
	struct commit_tree late;
	struct commit_roots *next;
	struct commit_pin pin;

	CHECK(!commit_root_pin(&t->set, &pin) && !commit_root_is_pinned(&pin));
	CHECK(!commit_root_eligible(&t->set, &gen));
	CHECK(!commit_root_reusable(&t->set));
	next = commit_root_prepare(&t->set, 7, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	commit_tree_init(&late, &t->set);
	CHECK(!add_root(t, next, &t->tree, 0));
	commit_root_switch(next);
	CHECK(commit_root_pin(&t->set, &pin) && commit_root_is_pinned(&pin));
	CHECK(commit_root_of(&pin, &t->tree, NULL) == &t->root[0]);
	/* a tree created after the commit has no root in it */
	CHECK(commit_root_of(&pin, &late, NULL) == ERR_PTR(-ENOENT));
	CHECK(commit_root_eligible(&t->set, &gen));
	CHECK(commit_root_covers(&pin, &gen));
	CHECK(commit_root_reusable(&t->set) == 7);
	commit_root_unpin(&pin);
	commit_tree_destroy(&late);
	commit_tree_destroy(&t->tree);
	return 0;
}

/* A request is as new as its newest extent. An unknown generation may be a new one. */
static int generations(struct test_set *t)
{
	static const u64 unknown[] = { 0, ~0ULL };
	struct commit_gen gen, half;
	struct commit_pin pin;
	unsigned int i;

	CHECK(!commit_one(t, 7, 0));
	CHECK(commit_root_pin(&t->set, &pin));
	gen = (struct commit_gen){ };
	CHECK(!commit_root_eligible(&t->set, &gen));
	commit_gen_add(&gen, 7);
	commit_gen_add(&gen, 3);
	CHECK(commit_root_eligible(&t->set, &gen) && commit_root_covers(&pin, &gen));
	half = gen;
	commit_gen_add(&gen, 8);
	CHECK(!commit_root_eligible(&t->set, &gen) && !commit_root_covers(&pin, &gen));
	CHECK(commit_root_eligible(&t->set, &half) && commit_root_covers(&pin, &half));
	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		gen = (struct commit_gen){ };
		commit_gen_add(&gen, 3);
		commit_gen_add(&gen, unknown[i]);
		CHECK(!commit_root_eligible(&t->set, &gen) && !commit_root_covers(&pin, &gen));
	}
	commit_root_unpin(&pin);
	return 0;
}

/*
 * After a prepare, a commit takes any number of trees that are added meanwhile, each once. A second
 * root of a tree stays the caller's.
 */
static int late_trees(struct test_set *t)
{
	static struct commit_tree trees[200];
	struct commit_roots *next;
	struct commit_pin pin;
	unsigned int i;

	commit_tree_init(&trees[0], &t->set);
	next = commit_root_prepare(&t->set, 1, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	for (i = 0; i < ARRAY_SIZE(trees); i++) {
		if (i)
			commit_tree_init(&trees[i], &t->set);
		CHECK(!add_root(t, next, &trees[i], i % 8));
		CHECK(add_root(t, next, &trees[i], 0) == -EEXIST);
	}
	commit_root_switch(next);
	CHECK(commit_root_pin(&t->set, &pin));
	for (i = 0; i < ARRAY_SIZE(trees); i++)
		CHECK(commit_root_of(&pin, &trees[i], NULL) == &t->root[i % 8]);
	commit_root_unpin(&pin);
	/* a tree in the place of a deleted one */
	next = commit_root_prepare(&t->set, 2, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	commit_tree_destroy(&trees[1]);
	commit_tree_init(&trees[1], &t->set);
	CHECK(!add_root(t, next, &trees[1], 7));
	commit_root_switch(next);
	CHECK(commit_root_pin(&t->set, &pin));
	CHECK(commit_root_of(&pin, &trees[1], NULL) == &t->root[7]);
	commit_root_unpin(&pin);
	return 0;
}

/*
 * Old pins see old roots, through roots that are newer, released or deleted. No switch waits for
 * a pin, and nothing pinned is released or reusable.
 */
static int pins_of_each_commit(struct test_set *t)
{
	struct commit_tree slow;
	struct commit_pin pin[8];
	u64 generation;
	int i;

	commit_tree_init(&slow, &t->set);
	for (i = 0; i < 8; i++) {
		/* commits 10 to 13 have the first root of @slow */
		CHECK(!commit_two(t, 10 + i, &t->tree, i % 4 ? NULL : &slow, i));
		CHECK(commit_root_pin(&t->set, &pin[i]));
	}
	msleep(50);
	CHECK(!READ_ONCE(t->nr_released) && commit_root_reusable(&t->set) == 10);
	/* every other one is released */
	for (i = 1; i < 7; i += 2)
		commit_root_unpin(&pin[i]);
	CHECK(REACHED(t->nr_released == 3));
	CHECK(commit_root_reusable(&t->set) == 10);
	for (i = 0; i < 8; i += i < 6 ? 2 : 1) {
		CHECK(commit_root_of(&pin[i], &t->tree, &generation) == &t->root[i]);
		CHECK(generation == 10 + i);
		CHECK(commit_root_of(&pin[i], &slow, &generation) == &t->root[i & 4]);
		CHECK(generation == 10 + (i & 4));
		commit_root_unpin(&pin[i]);
	}
	CHECK(REACHED(commit_root_reusable(&t->set) == 17));
	CHECK(t->nr_released == 8);
	return 0;
}

/* What one pin keeps does not grow with the commits after it; their blocks wait for the pin. */
static int old_pin(struct test_set *t)
{
	struct commit_pin pin;
	u64 generation;

	CHECK(!commit_one(t, 1, 0));
	CHECK(commit_root_pin(&t->set, &pin));
	for (generation = 2; generation <= 300; generation++)
		CHECK(!commit_one(t, generation, generation % 8));
	CHECK(REACHED(t->nr_released == 298));
	CHECK(commit_root_reusable(&t->set) == 1);
	commit_root_unpin(&pin);
	CHECK(REACHED(t->nr_released == 299 && commit_root_reusable(&t->set) == 300));
	return 0;
}

/* Space is wanted from pins of old commits. A pin of the newest one keeps none. */
static int wanted_space(struct test_set *t)
{
	struct commit_pin old, new;

	CHECK(!commit_one(t, 1, 0));
	CHECK(commit_root_pin(&t->set, &old));
	CHECK(!commit_one(t, 2, 1));
	CHECK(commit_root_pin(&t->set, &new));
	CHECK(!commit_root_wanted(&old));
	commit_root_want_space(&t->set);
	CHECK(commit_root_wanted(&old) && !commit_root_wanted(&new));
	commit_root_unpin(&old);
	CHECK(REACHED(commit_root_reusable(&t->set) == 2));
	commit_root_unpin(&new);
	return 0;
}

/* Each advance is reported, also one that an unpin causes. */
static int reported_reusable(struct test_set *t)
{
	struct commit_pin pin;

	CHECK(!commit_one(t, 1, 0));
	CHECK(!commit_one(t, 2, 1));
	CHECK(REACHED(READ_ONCE(t->reusable) == 2));
	CHECK(commit_root_pin(&t->set, &pin));
	CHECK(!commit_one(t, 3, 2));
	CHECK(!commit_one(t, 4, 3));
	/* 3 has no pin, but 2 does */
	CHECK(REACHED(t->nr_released == 2));
	CHECK(READ_ONCE(t->reusable) == 2);
	commit_root_unpin(&pin);
	CHECK(REACHED(READ_ONCE(t->reusable) == 4));
	CHECK(!t->too_early);
	return 0;
}

struct pin_of_set {
	struct commit_root_set	*set;
	struct commit_pin	pin;
};

static long pin_here(void *arg)
{
	struct pin_of_set *p = arg;

	return commit_root_pin(p->set, &p->pin);
}

static long unpin_here(void *arg)
{
	struct pin_of_set *p = arg;

	commit_root_unpin(&p->pin);
	return 0;
}

/* A pin is dropped by another task, on another CPU. */
static int unpin_elsewhere(struct test_set *t)
{
	struct pin_of_set p = { .set = &t->set };

	CHECK(!commit_one(t, 1, 0));
	CHECK(work_on_cpu(cpumask_first(cpu_online_mask), pin_here, &p));
	CHECK(!commit_one(t, 2, 1));
	work_on_cpu(cpumask_last(cpu_online_mask), unpin_here, &p);
	CHECK(REACHED(commit_root_reusable(&t->set) == 2));
	return 0;
}

/* The shortest of ten switches with one new root, in ns. */
static int time_switches(struct test_set *t, struct commit_tree *tree, u64 generation, u64 *ns)
{
	struct commit_roots *next;
	u64 start;
	int i;

	*ns = U64_MAX;
	for (i = 0; i < 10; i++) {
		next = commit_root_prepare(&t->set, generation + i, GFP_KERNEL);
		CHECK(!IS_ERR(next));
		CHECK(!add_root(t, next, tree, 0));
		start = ktime_get_ns();
		commit_root_switch(next);
		*ns = min(*ns, ktime_get_ns() - start);
		/* no other CPU, and the same work for each */
		CHECK(REACHED(commit_root_reusable(&t->set) == generation + i));
	}
	return 0;
}

/* Add @nr trees, and commit a root for each. */
static int add_trees(struct test_set *t, struct commit_tree *trees, unsigned int nr,
		     u64 generation)
{
	struct commit_roots *next;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		commit_tree_init(&trees[i], &t->set);
		cond_resched();
	}
	next = commit_root_prepare(&t->set, generation, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	for (i = 0; i < nr; i++)
		CHECK(!add_root(t, next, &trees[i], 0));
	commit_root_switch(next);
	return 0;
}

/* What a switch does with interrupts off, and in all, does not grow with trees that it leaves. */
static int switch_of_many_trees(struct test_set *t)
{
	const unsigned int few = 10, many = 100000;
	struct commit_tree *trees = vcalloc(many, sizeof(*trees));
	u64 of_few = 0, of_many = 0;
	int ret;

	CHECK(trees);
	ret = add_trees(t, trees, few, 1) ?:
	      time_switches(t, trees, 2, &of_few) ?:
	      add_trees(t, trees + few, many - few, 12) ?:
	      time_switches(t, trees, 13, &of_many);
	vfree(trees);
	pr_info("%s: a switch with 10 and with 100,000 trees: %llu and %llu ns\n", KBUILD_MODNAME,
		of_few, of_many);
	/* a copy of 100,000 roots takes some hundred times as long */
	CHECK(!ret && of_many <= 10 * of_few + 5000);
	return 0;
}

/* A tree that a commit does not name keeps its root, and the root is released once. */
static int several_trees(struct test_set *t)
{
	struct commit_tree a, b, c;
	struct commit_pin old, new;
	u64 generation = 0;

	commit_tree_init(&a, &t->set);
	commit_tree_init(&b, &t->set);
	CHECK(!commit_two(t, 1, &a, &b, 1));
	CHECK(!commit_tree(t, 2, &a, 2));
	/* an earlier pin could keep the roots of 1, too */
	CHECK(REACHED(commit_root_reusable(&t->set) == 2));
	CHECK(commit_root_pin(&t->set, &old));
	CHECK(commit_root_of(&old, &a, &generation) == &t->root[2] && generation == 2);
	CHECK(commit_root_of(&old, &b, &generation) == &t->root[1] && generation == 1);
	CHECK(t->nr_released == 1 && released_at(t, 0, 1, 1));

	/* a new tree takes the place of a deleted one */
	commit_tree_destroy(&b);
	commit_tree_init(&c, &t->set);
	CHECK(!commit_tree(t, 3, &a, 3));
	CHECK(commit_root_pin(&t->set, &new));
	CHECK(commit_root_of(&new, &c, NULL) == ERR_PTR(-ENOENT));
	CHECK(commit_root_of(&old, &c, NULL) == ERR_PTR(-ENOENT));
	CHECK(commit_root_of(&old, &a, NULL) == &t->root[2]);
	CHECK(t->nr_released == 1);
	commit_root_unpin(&new);
	commit_root_unpin(&old);
	CHECK(REACHED(t->nr_released == 3));
	CHECK(released_at(t, 1, 2, 2) && released_at(t, 2, 1, 1));

	/* destroying the set releases the roots of the remaining trees */
	CHECK(!commit_tree(t, 4, &c, 4));
	return 0;
}

/* A cancelled commit changes nothing. */
static int cancelled_commit(struct test_set *t)
{
	struct commit_roots *next;
	struct commit_pin pin;

	CHECK(!commit_one(t, 1, 0));
	next = commit_root_prepare(&t->set, 5, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	CHECK(!commit_root_update(next, &t->tree, &t->root[1]));
	commit_root_cancel(next);
	commit_root_cancel(NULL);
	commit_root_cancel(ERR_PTR(-ENOMEM));
	CHECK(commit_root_pin(&t->set, &pin));
	CHECK(commit_root_of(&pin, &t->tree, NULL) == &t->root[0]);
	commit_root_unpin(&pin);
	CHECK(!commit_one(t, 2, 2));
	return 0;
}

/* While a release of one set waits, those of another set go on. */
static int two_sets(struct test_set *t)
{
	static DECLARE_COMPLETION(gate);
	static struct test_set other;
	bool released;

	memset(&other, 0, sizeof(other));
	CHECK(!commit_root_set_init(&other.set, "contract 2", &note_ops, &other));
	commit_tree_init(&other.tree, &other.set);
	reinit_completion(&gate);
	t->gate = &gate;
	CHECK(!commit_one(t, 1, 0));
	CHECK(!commit_one(t, 2, 1));
	CHECK(REACHED(READ_ONCE(t->at_gate)));
	CHECK(!commit_one(&other, 1, 0));
	CHECK(!commit_one(&other, 2, 1));
	released = REACHED(released_at(&other, 0, 0, 1));
	complete_all(&gate);
	CHECK(REACHED(commit_root_reusable(&t->set) == 2));
	t->gate = NULL;
	CHECK(released);
	commit_root_set_destroy(&other.set);
	CHECK(other.nr_released == 2);
	return 0;
}

/*
 * Pins leave interrupts as they are. A kernel with PREEMPT_RT and CONFIG_DEBUG_ATOMIC_SLEEP also
 * reports a lock that may sleep.
 */
static int pins_with_interrupts_off(struct test_set *t)
{
	struct commit_pin pin, old;
	unsigned long irqflags;
	bool still_off, ok;
	void *root = NULL;

	CHECK(!commit_one(t, 1, 0));
	CHECK(commit_root_pin(&t->set, &old));
	CHECK(!commit_one(t, 2, 1));
	local_irq_save(irqflags);
	if (commit_root_pin(&t->set, &pin)) {
		root = commit_root_of(&pin, &t->tree, NULL);
		commit_root_unpin(&pin);
	}
	commit_root_want_space(&t->set);
	ok = commit_root_wanted(&old);
	commit_root_unpin(&old);
	still_off = irqs_disabled();
	local_irq_restore(irqflags);
	CHECK(still_off);
	CHECK(ok && root == &t->root[1]);
	CHECK(REACHED(commit_root_reusable(&t->set) == 2));
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

/* A task stays in an RCU read-side critical section, so no grace period ends. */
static int release_beside_rcu(struct test_set *t)
{
	struct rcu_reader r = { };
	struct task_struct *task;
	struct commit_pin pin;
	bool inside, released, reusable;

	/* without preemption of RCU readers it would need a CPU of its own */
	if (!IS_ENABLED(CONFIG_PREEMPT_RCU) && num_online_cpus() == 1)
		return 0;
	CHECK(!commit_one(t, 1, 0));
	task = kthread_run(stay_in_rcu, &r, "rcu_reader");
	CHECK(!IS_ERR(task));
	inside = REACHED(READ_ONCE(r.inside));
	/* 1 has no pin, 2 has one until 3 has replaced it */
	released = !commit_one(t, 2, 1) && REACHED(released_at(t, 0, 0, 1));
	reusable = false;
	if (commit_root_pin(&t->set, &pin)) {
		reusable = !commit_one(t, 3, 2);
		commit_root_unpin(&pin);
		reusable = reusable && REACHED(commit_root_reusable(&t->set) == 3);
	}
	inside = inside && READ_ONCE(r.inside);
	WRITE_ONCE(r.stop, true);
	kthread_stop(task);
	CHECK(inside && released && reusable);
	return 0;
}

/* A commit whose roots are all updated needs one more for a new tree, not one for each. */
static int spare_roots(struct test_set *t)
{
	static struct commit_tree trees[1000];
	struct commit_roots *next;
	struct commit_tree late;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(trees); i++)
		commit_tree_init(&trees[i], &t->set);
	next = commit_root_prepare(&t->set, 1, GFP_KERNEL);
	CHECK(!IS_ERR(next));
	CHECK(!add_root(t, next, &t->tree, 0));
	for (i = 0; i < ARRAY_SIZE(trees); i++)
		CHECK(!add_root(t, next, &trees[i], 0));
	CHECK(t->set.nr_spare == 0);
	commit_tree_init(&late, &t->set);
	CHECK(t->set.nr_spare == 1);
	CHECK(!add_root(t, next, &late, 0));
	commit_root_switch(next);
	/* those that are never updated leave nothing */
	CHECK(!commit_one(t, 2, 1));
	for (i = 0; i < 10000; i++) {
		commit_tree_destroy(&late);
		commit_tree_init(&late, &t->set);
	}
	CHECK(t->set.nr_spare <= ARRAY_SIZE(trees) + 2);
	return 0;
}

static int destroy(void *arg)
{
	struct test_set *t = arg;

	commit_root_set_destroy(&t->set);
	complete(t->destroyed);
	return 0;
}

static bool may_pin(struct test_set *t)
{
	struct commit_pin pin;

	if (!commit_root_pin(&t->set, &pin))
		return false;
	commit_root_unpin(&pin);
	return true;
}

/*
 * Destroy waits for a pin of an older commit, which keeps the newest roots, too: the search for the
 * older ones begins there. New pins fail, and a tree that is destroyed does not lose its root.
 */
static int destroy_of_pinned(struct test_set *unused)
{
	static DECLARE_COMPLETION(destroyed);
	static struct test_set t;
	struct commit_pin pin;

	memset(&t, 0, sizeof(t));
	reinit_completion(&destroyed);
	CHECK(!commit_root_set_init(&t.set, "contract 3", &note_ops, &t));
	commit_tree_init(&t.tree, &t.set);
	CHECK(!commit_one(&t, 1, 0));
	CHECK(commit_root_pin(&t.set, &pin));
	CHECK(!commit_one(&t, 2, 1));
	t.destroyed = &destroyed;
	CHECK(!IS_ERR(kthread_run(destroy, &t, "destroy")));
	CHECK(REACHED(!may_pin(&t)));
	CHECK(!wait_for_completion_timeout(&destroyed, HZ / 10));
	CHECK(!READ_ONCE(t.nr_released));
	CHECK(commit_root_of(&pin, &t.tree, NULL) == &t.root[0]);
	commit_tree_destroy(&t.tree);
	commit_root_unpin(&pin);
	CHECK(wait_for_completion_timeout(&destroyed, 60 * HZ));
	CHECK(t.nr_released == 2);
	return 0;
}

int root_test_contract(u32 which)
{
	static int (*const scenario[])(struct test_set *t) = {
		[ROOT_TEST_EARLY] = before_the_first_commit,
		[ROOT_TEST_GENERATIONS] = generations,
		[ROOT_TEST_TREES] = several_trees,
		[ROOT_TEST_CANCEL] = cancelled_commit,
		[ROOT_TEST_LATE_TREES] = late_trees,
		[ROOT_TEST_SPARE_ROOTS] = spare_roots,
		[ROOT_TEST_EACH_COMMIT] = pins_of_each_commit,
		[ROOT_TEST_OLD_PIN] = old_pin,
		[ROOT_TEST_WANTED] = wanted_space,
		[ROOT_TEST_REUSABLE] = reported_reusable,
		[ROOT_TEST_OTHER_CPU] = unpin_elsewhere,
		[ROOT_TEST_SWITCH_COST] = switch_of_many_trees,
		[ROOT_TEST_TWO_SETS] = two_sets,
		[ROOT_TEST_IRQS_OFF] = pins_with_interrupts_off,
		[ROOT_TEST_RCU_READER] = release_beside_rcu,
		[ROOT_TEST_DESTROY] = destroy_of_pinned,
	};
	/* static: a scenario that fails leaves its set behind */
	static struct test_set sets[ARRAY_SIZE(scenario)];
	static bool failed[ARRAY_SIZE(scenario)];
	struct test_set *t;
	int ret;

	if (which >= ARRAY_SIZE(scenario))
		return -EINVAL;
	CHECK(!failed[which]);
	t = &sets[which];
	memset(t, 0, sizeof(*t));
	ret = commit_root_set_init(&t->set, "contract", &note_ops, t);
	if (ret)
		return ret;
	commit_tree_init(&t->tree, &t->set);
	ret = scenario[which](t);
	if (ret) {
		failed[which] = true;
		__module_get(THIS_MODULE);
		return ret;
	}
	commit_root_set_destroy(&t->set);
	CHECK(t->nr_released == t->nr_added && !t->low);
	return 0;
}
