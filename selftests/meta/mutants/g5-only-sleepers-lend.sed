# SPDX-License-Identifier: GPL-2.0
# What a waiter has that has not come to sleep is not lent by others for it.
# fails: g5_lent_priority absent_first_waiter_lends_all_the_same
/^static struct lend_level highest_level/,/^}/ s/^	if \(w\)/	if (w \&\& (w->asleep || w->task == current))/
