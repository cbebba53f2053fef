// SPDX-License-Identifier: GPL-2.0
/* Linked into each ported driver, to import the namespace of fscommit. */
#include <linux/module.h>
#include <linux/version.h>

/* 6.13: the namespace became a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("FSCOMMIT");
#else
MODULE_IMPORT_NS(FSCOMMIT);
#endif
