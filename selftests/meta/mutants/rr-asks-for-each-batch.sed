# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse grace_period_is_asked_for_once
# A grace period is asked for again for each batch.
s/ask = to->cookie != cookie;/ask = true;/
