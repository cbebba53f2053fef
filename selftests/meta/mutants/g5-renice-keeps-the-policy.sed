# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority what_others_set_wins
# After a renice the lent policy and flag stay.
/^static int take_back_the_rest/,/^}/ s/return return_to\(.*/return 0;/
