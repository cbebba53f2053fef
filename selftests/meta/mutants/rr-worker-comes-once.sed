# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse old_ones_leave_by_themselves
# The worker does not come again while there are objects.
s/^	reuse_set_pace\(q, pace\);/(void)pace;/
