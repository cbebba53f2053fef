/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What no driver may do, for the tests that want to see it reported. Each is for
 * a boot of its own: lockdep reports once and then switches itself off.
 */
#ifndef FSCOMMIT_MISUSE_H
#define FSCOMMIT_MISUSE_H

int fct_misuse(unsigned int what);

#endif /* FSCOMMIT_MISUSE_H */
