/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What no driver may do, for the tests that want to see it reported. Each is for
 * a boot of its own: lockdep reports once and then switches itself off. Some are for
 * the harness, which must notice.
 */
#ifndef FSCOMMIT_MISUSE_H
#define FSCOMMIT_MISUSE_H

int fct_misuse(const char *name);

#endif /* FSCOMMIT_MISUSE_H */
