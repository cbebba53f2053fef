# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff one_path_of_pairs_for_one_change
# fails: cow_diff quota_adds_up_after_a_balance
# The old block of a pair is not told.
/^static int both_come/,/^}/ s/pair->old = old->coming;/;/
