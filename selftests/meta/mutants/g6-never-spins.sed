# SPDX-License-Identifier: GPL-2.0
# fails: g6_spin_on_owner writer_spins_while_owner_runs
# No optimistic spinning.
s/return !IS_ENABLED\(CONFIG_PREEMPT_RT\) && num_online_cpus\(\) > 1;/return false;/
