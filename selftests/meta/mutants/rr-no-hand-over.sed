# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse handed_over_between_cpus
# Each CPU looks at its own objects only.
s/^#define HAND_OVER_CPUS.*/#define HAND_OVER_CPUS	0/
