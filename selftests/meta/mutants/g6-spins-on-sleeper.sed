# SPDX-License-Identifier: GPL-2.0
# fails: g6_spin_on_owner nobody_spins_on_a_sleeping_owner
# Spinning does not ask whether the owner runs.
s/ \|\| !compat_on_cpu\(owner_of\(word\)\)\)$/)/
s/return compat_on_cpu\(owner_of\(word\)\) \?/return true ?/
