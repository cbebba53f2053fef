# SPDX-License-Identifier: GPL-2.0
# The time as SCHED_FIFO counts from one loan to the next.
# fails: g5_lent_priority rttime_is_given_back
/WRITE_ONCE\(task->rt\.timeout/d
