/* SPDX-License-Identifier: GPL-2.0 */
/* Chains of blocked tasks. For the files of the lock only. */
#ifndef _FSCOMMIT_CHAIN_H
#define _FSCOMMIT_CHAIN_H

#include "lend.h"

/* Links that a look follows from one holder. */
#define CHAIN_MAX_LINKS	8
/* Links after which a step of a look ends, since interrupts are off: at the end of a chain. */
#define STEP_LINKS	64

void chain_lend(struct unfair_rwsem *sem, struct task_struct *task, u8 level, struct look *look,
		struct lend_work *work);

#endif /* _FSCOMMIT_CHAIN_H */
