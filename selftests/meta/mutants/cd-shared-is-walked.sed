# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff half_as_many_dirty_blocks_with_64_snapshots
# fails: cow_diff equal_trees_are_not_read
# What both trees have is a pair, too.
s/if \(old->coming\.block == new->coming\.block \&\&/if (false \&\&/
s/if \(!old \|\| old->block != new->block\)/if (true)/
/^static int check_is_new/,/^}/ s/if \(!d->newer_than \|\| fs_generation_after\(p->generation, d->newer_than\)\)/if (true)/
