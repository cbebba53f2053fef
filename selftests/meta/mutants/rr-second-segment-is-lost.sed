# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse torture_finds_no_early_reuse
# What waited for the later grace period is lost when the first has passed.
s/^		l->waiting\[0\] = l->waiting\[1\];//
