# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_higher_tree_has_no_counterpart_above
# fails: cow_diff pairs_are_those_of_brute_force
# Of one key, the lower level comes first.
s/\(int\)b->coming_level - \(int\)a->coming_level/(int)a->coming_level - (int)b->coming_level/
