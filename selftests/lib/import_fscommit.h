/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Include in one source file of each module that uses fscommit.
 */
#ifndef FSCOMMIT_IMPORT_FSCOMMIT_H
#define FSCOMMIT_IMPORT_FSCOMMIT_H

#include <linux/module.h>

/* 6.13: MODULE_IMPORT_NS() takes a string. */
MODULE_INFO(import_ns, "FSCOMMIT");

#endif /* FSCOMMIT_IMPORT_FSCOMMIT_H */
