// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of the header: see snippets.py. */
#include <linux/commit_root.h>

struct fs {
	struct commit_root_set roots;
	struct commit_tree csum_tree;
};

struct bio_of_fs {
	struct commit_gen gen;
};

static bool search_from(void *root)
{
	return root;
}

static void search_live(void)
{
}

static void __used reader(struct fs *fs, struct bio_of_fs *bio)
{
	bool found = false;
//: 1
}

static int __used committer(struct fs *fs, void *new_root, u64 generation)
{
//: 2
	return 0;
}
