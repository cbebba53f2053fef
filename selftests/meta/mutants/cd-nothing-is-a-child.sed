# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_pointer_to_nothing_is_refused
# Block 0 is read.
/^static int look_at_child/,/^}/ s/if \(!p->block\)/if (false)/
