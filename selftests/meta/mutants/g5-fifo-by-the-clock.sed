# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority fifo_is_of_time_on_a_cpu
# SCHED_FIFO ends by the clock.
/^static void end_fifo/,/^}/ s/\(s64\)left > 0/false/
