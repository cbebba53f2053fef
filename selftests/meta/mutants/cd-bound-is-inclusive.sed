# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff the_bound_is_exclusive
# What is of the generation of the bound counts as new.
/^static int check_is_new/,/^}/ s/!d->newer_than \|\| fs_generation_after\(p->generation, d->newer_than\)/p->generation >= d->newer_than/
