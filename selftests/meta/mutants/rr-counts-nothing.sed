# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse counters_add_up
# What is handed out is not counted.
s/l->counts\[REUSE_DEQUEUE\]\+\+;//
