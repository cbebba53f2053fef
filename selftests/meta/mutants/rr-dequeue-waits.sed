# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse none_is_said_at_once
# With nothing ready, dequeue waits for a grace period.
s/l->counts\[REUSE_NONE\]\+\+;/synchronize_rcu();/
