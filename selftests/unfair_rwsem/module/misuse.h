/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Misuses of the lock that the kernel must report. Each needs a boot of its own, because lockdep
 * switches itself off after its first report. Some of them test the harness itself.
 */
#ifndef FSCOMMIT_MISUSE_H
#define FSCOMMIT_MISUSE_H

int lock_test_misuse(const char *name);

#endif /* FSCOMMIT_MISUSE_H */
