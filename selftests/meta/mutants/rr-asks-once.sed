# SPDX-License-Identifier: GPL-2.0
# Nobody asks again for those that wait for long.
# fails: rcu_reuse grace_period_that_polling_missed
s/^	if \(due && l->nr_waiting && !ask\)/	if (false)/
