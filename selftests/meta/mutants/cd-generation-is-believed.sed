# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_wrong_generation_is_refused
# The generation of a block is not looked at.
s/if \(node->generation != p->generation\)/if (false)/
