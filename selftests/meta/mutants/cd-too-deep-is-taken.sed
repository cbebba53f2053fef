# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff too_deep_a_tree_is_refused
# A level more than there is room for is not looked at.
s/if \(r->level >= COW_DIFF_MAX_LEVELS\)/if (r->level > COW_DIFF_MAX_LEVELS)/
