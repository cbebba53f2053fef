// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of the header: see snippets.py. */
#include <linux/mutex.h>
#include <linux/share_gate.h>

struct file_of_fs {
	struct share_gate gate;
};

struct log {
	struct mutex range_lock;	/* of the log */
};

static const struct share_gate_ops range_lock_ops;

static void delete_items(struct log *log, u64 first, u64 last)
{
}

static void insert_items(struct log *log, u64 first, u64 last)
{
}

static int __used log_extent(struct file_of_fs *inode, struct log *log, u64 running, u64 first,
			     u64 last)
{
//: 1
	return 0;
}
