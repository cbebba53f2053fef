/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Setup of commit-root search. For main.c.
 */
#ifndef _FSCOMMIT_COMMIT_ROOTS_H
#define _FSCOMMIT_COMMIT_ROOTS_H

struct dentry;

int init_commit_roots(struct dentry *debugfs);
void exit_commit_roots(void);

#endif /* _FSCOMMIT_COMMIT_ROOTS_H */
