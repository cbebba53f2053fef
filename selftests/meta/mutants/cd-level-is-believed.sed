# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_wrong_level_is_refused
# The level of a block is not looked at.
s/if \(node->level != level\)/if (false)/
