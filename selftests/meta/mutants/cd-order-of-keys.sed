# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff pairs_are_in_the_order_of_keys
# fails: cow_diff pairs_are_those_of_brute_force
# Of two keys, the higher one comes first.
/^static int which_first/,/^}/ s/return order \? order :/return order ? -order :/
