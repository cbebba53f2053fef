# SPDX-License-Identifier: GPL-2.0
# A task of better nice than the waiter's is not lent SCHED_FIFO.
# fails: g5_lent_priority owner_of_better_nice_is_lent_to
/^static bool would_help/,/^}/ s/return level.rt \|\| policy/return policy/
