# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse what_is_over_leaves_by_itself
# With one object over, all leave.
s/nr = min\(nr, l->over\);/nr = l->ready.nr;/
