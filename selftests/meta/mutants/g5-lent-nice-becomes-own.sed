# SPDX-License-Identifier: GPL-2.0
# A nice value that was lent before SCHED_FIFO is taken for one that somebody else has set.
# fails: g5_lent_priority nice_value_then_fifo
s/^\t\tp->lent\.nice = was\.nice;/\t\t;/
