# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority what_others_set_wins
# After chrt the lent nice value stays.
/^static int take_back_the_rest/,/^}/ s/set_user_nice\(.*/;/
