/* SPDX-License-Identifier: GPL-2.0 */
/* Chains of blocked tasks. For the files of the lock only. */
#ifndef _FSCOMMIT_CHAIN_H
#define _FSCOMMIT_CHAIN_H

#include <linux/sched.h>

struct task_struct *chain_owner(struct task_struct *task);

#endif /* _FSCOMMIT_CHAIN_H */
