# SPDX-License-Identifier: GPL-2.0
# fails: share_gate killed_waiter_leaves_nothing
# Who is killed while he waits leaves his range in the tree.
/^static int lock_range/,/^}/ s/^		leave\(ranges, range\);//
