/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks of user space whose owner inherits the priority of a waiter, through an rt_mutex of the
 * kernel. Included after common.h.
 */
#ifndef SELFTESTS_PI_FUTEX_H
#define SELFTESTS_PI_FUTEX_H

#include <linux/futex.h>

#include "priority.h"

static inline int pi_lock(__u32 *futex)
{
	return syscall(SYS_futex, futex, FUTEX_LOCK_PI, 0, NULL) ? errno : 0;
}

static inline bool has_pi_futexes(void)
{
	__u32 futex = 0;

	return !pi_lock(&futex) && !syscall(SYS_futex, &futex, FUTEX_UNLOCK_PI);
}

/*
 * Starts a task of SCHED_FIFO @prio that waits for @futex until it is killed. Returns its pid when
 * @owner has inherited the priority; -1 if it never does.
 */
static inline pid_t start_pi_waiter(pid_t owner, __u32 *futex, int prio)
{
	pid_t pid = fork_task(&(struct job){ .policy = SCHED_FIFO, .prio = prio });

	if (!pid) {
		pi_lock(futex);
		_exit(0);
	}
	return reached(effective_prio(owner) == -1 - prio) ? pid : -1;
}

#endif
