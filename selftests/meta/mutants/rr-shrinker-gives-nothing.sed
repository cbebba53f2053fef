# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse memory_pressure_gets_them
# The shrinker has objects, and releases none.
s/if \(sum < sc->nr_to_scan\)/if (sum > sc->nr_to_scan)/
