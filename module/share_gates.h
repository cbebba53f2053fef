/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The share gate's part in main.c.
 */
#ifndef _FSCOMMIT_SHARE_GATES_H
#define _FSCOMMIT_SHARE_GATES_H

struct dentry;

void init_share_gates(struct dentry *debugfs);

#endif /* _FSCOMMIT_SHARE_GATES_H */
