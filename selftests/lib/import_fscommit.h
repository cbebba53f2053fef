/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Include in one source file of each module that uses fscommit.
 */
#ifndef FSCOMMIT_IMPORT_FSCOMMIT_H
#define FSCOMMIT_IMPORT_FSCOMMIT_H

#include <linux/module.h>
#include <linux/version.h>

/* 6.13: the namespace became a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("FSCOMMIT");
#else
MODULE_IMPORT_NS(FSCOMMIT);
#endif

#endif /* FSCOMMIT_IMPORT_FSCOMMIT_H */
