# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse batch_shares_a_cookie
# Each object has a cookie of its own.
s/l->open.nr >= q->params.batch/l->open.nr >= 1/
