# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse never_more_than_max
# The hard bound is not looked at.
s/else if \(!atomic_add_unless\(&q->over, 1, q->params.max - q->params.keep\)\)/else if (atomic_inc_return(\&q->over) < 0)/
