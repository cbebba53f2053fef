# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority fifo_ends
# SCHED_FIFO does not end.
s/^		b->fifo_spent = true;//
