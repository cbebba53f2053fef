# SPDX-License-Identifier: GPL-2.0
# model: lend
# breaks: one_at_a_time|own_is_not_lent|all_is_given_back
# Two tasks set a priority at once.
s/\(!task \|\| busy\) -> todo = false/!task -> todo = false/; s/todo && !at_it && task && !busy ->/todo \&\& !at_it \&\& task ->/
