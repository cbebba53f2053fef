# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff what_is_not_in_the_old_tree_is_refused
# fails: cow_diff the_bound_is_exclusive
# What is not newer than the bound is told as new.
/^static int check_is_new/,/^}/ s/if \(!d->newer_than \|\| fs_generation_after\(p->generation, d->newer_than\)\)/if (true)/
