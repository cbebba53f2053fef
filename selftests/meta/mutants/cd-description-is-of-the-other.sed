# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_wrong_level_is_refused
# The description names the other tree.
s/t->of_new \? "new" : "old"/t->of_new ? "old" : "new"/
