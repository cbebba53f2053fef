# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse what_is_over_leaves_by_itself
# What is over is not released.
s/nr = min\(nr, l->over\);/nr = 0;/
