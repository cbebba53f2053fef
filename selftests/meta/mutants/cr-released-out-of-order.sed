# SPDX-License-Identifier: GPL-2.0
# fails: commit_root pin_again_keeps_what_is_pinned
# Roots that nobody has any more overtake older ones that are pinned.
/^static void release_work/,/^}/ s/roots = oldest_roots\(set\);/roots = NULL; { struct commit_roots *_r; list_for_each_entry(_r, \&set->all, node) if (_r->unpinned) { roots = _r; break; } }/
