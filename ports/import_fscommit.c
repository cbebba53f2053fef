// SPDX-License-Identifier: GPL-2.0
/* Linked into each ported driver, to import the namespace of fscommit. */
#include <linux/module.h>

/* 6.13: MODULE_IMPORT_NS() takes a string. */
MODULE_INFO(import_ns, "FSCOMMIT");
