# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff what_was_merged_away_is_told
# fails: cow_diff a_lower_tree_tells_all_that_has_gone
# fails: cow_diff pairs_are_those_of_brute_force
# Old blocks that no new one replaces are not told.
/^static int old_comes/,/^}/ s/return 1;/return 0;/
