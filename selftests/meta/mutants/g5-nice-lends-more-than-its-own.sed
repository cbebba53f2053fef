# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority not_more_than_the_lender_has
# An ordinary task lends more than the lowest priority of SCHED_FIFO.
s/level.rt = 1;/level.rt = 80;/
