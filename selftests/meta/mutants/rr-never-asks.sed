# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse nobody_else_asks_for_grace_periods
# Cookies are taken, and nobody asks for their grace periods.
s/start_poll_synchronize_(srcu\(q->params.srcu\)|rcu_expedited\(\)|rcu\(\));/(void)q;/
