# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse handed_over_between_cpus
# An open batch of another CPU stays open.
s/ask \|= reuse_close\(q, from\);/;/
