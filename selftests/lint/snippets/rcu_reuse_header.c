// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of the header: see snippets.py. */
#include <linux/rculist.h>
#include <linux/rcu_reuse.h>

//: 1 lines 1-4, ... is struct hlist_node hash; struct rcu_head rcu;

struct fs {
	struct rcu_reuse_queue nodes;
};

struct node *make_node(struct fs *fs);
void free_node(struct rcu_head *head);

static struct node *__used allocate(struct fs *fs)
{
	struct rcu_reuse_head *head;
	struct node *node;

//: 1 lines 5-10
	return node;
}

static void __used free_one(struct fs *fs, struct node *node)
{
	int ret;

//: 1 lines 11-15
}

#define ITEM_FREE	1

//: 2 lines 1-4, ... is unsigned int flags;

struct items {
	struct rcu_reuse_clock clock;
};

static void __used free_item(struct items *fs, struct item *item)
{
//: 2 lines 6-7
}

static bool __used reuse_item(struct items *fs, struct item *item)
{
//: 2 lines 9-11
	return true;

choose_another:
	return false;
}
