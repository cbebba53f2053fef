# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_child_newer_than_its_parent_is_refused
# A child may be newer than its parent.
s/if \(fs_generation_after\(p->generation, parent->node\.generation\)\)/if (false)/
