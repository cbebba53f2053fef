# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority fifo_is_of_time_on_a_cpu
# SCHED_FIFO ends by the clock.
/^static void charge_fifo/,/^}/ s/u64 used = .*;/u64 used = t->charged + (now - t->charged_at);/
