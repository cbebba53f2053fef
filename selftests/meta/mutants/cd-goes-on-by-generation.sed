# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_lower_bound_finds_the_same
# fails: cow_diff trees_that_both_have_changed
# Whatever is newer than the bound is taken for new, to go on.
/^static bool was_changed/,/^}/ s/return changed >> s->coming_level \& 1;/return s == \&d->new ? s->coming.generation > d->newer_than : changed >> s->coming_level \& 1;/
