# SPDX-License-Identifier: GPL-2.0
# What the kernel makes of the slack of timers under SCHED_FIFO stays.
# fails: g5_lent_priority timer_slack_is_given_back
/WRITE_ONCE\(task->timer_slack_ns/d
