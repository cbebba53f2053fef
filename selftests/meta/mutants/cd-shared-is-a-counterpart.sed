# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff counterparts_are_gone_and_reach_there
# What is still in the other tree counts as replaced.
s/!l->ptr\.block \|\| !l->changed \|\| /!l->ptr.block || /
