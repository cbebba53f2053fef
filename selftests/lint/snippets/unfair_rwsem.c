// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of docs/unfair_rwsem.rst: see snippets.py. */
#include <linux/unfair_rwsem.h>

static struct unfair_rwsem cp_sem;

static void write_checkpoint(void)
{
}

static void __used page_of_the_lock(void)
{
//: 1
}

//: 2 is not compiled: a table of two CPUs
//: 3 is not compiled: a table of three CPUs
