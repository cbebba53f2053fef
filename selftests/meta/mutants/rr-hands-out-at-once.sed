# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse not_reused_while_a_reader_is_in
# fails: rcu_reuse torture_finds_no_early_reuse
# Each grace period is said to have passed.
/^static inline bool reuse_passed/,/^}/ s/return q->params.srcu/return true ? true : q->params.srcu/
