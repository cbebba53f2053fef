# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse old_ones_leave_by_themselves
# The worker always comes at its higher pace.
s/pace == PACE_FAST \? OVER_MS : q->params.max_age_ms \/ 4/OVER_MS/;s/jiffies \+ reuse_jiffies\(q, PACE_SLOW\)/jiffies + 1/
