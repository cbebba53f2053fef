// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of the header: see snippets.py. */
#include <linux/unfair_rwsem.h>

static void write_checkpoint(void)
{
}

static void __used overview(void)
{
//: 1
}
