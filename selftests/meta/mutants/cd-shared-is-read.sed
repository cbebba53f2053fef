# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff equal_trees_are_not_read
# fails: cow_diff reads_follow_what_changed
# What both trees have is read.
s/^(\t+)d->shared\+\+;/\1d->shared++;\n\1old->reads++;/
