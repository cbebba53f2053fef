# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse old_ones_leave_by_themselves
# The worker leaves a pace behind, so nobody has it come again.
s/^	WRITE_ONCE\(q->pace, PACE_STOPPED\);//
