// SPDX-License-Identifier: GPL-2.0
/* Compile the examples of README.md: see snippets.py. */
#include <linux/module.h>
#include <linux/unfair_rwsem.h>

static void write_checkpoint(void)
{
}

static void __used readme(void)
{
//: 1
}
