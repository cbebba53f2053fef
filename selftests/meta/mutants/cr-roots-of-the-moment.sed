# SPDX-License-Identifier: GPL-2.0
# fails: commit_root pin_sees_one_commit
# A pin shows the newest roots, not those that were pinned.
/^void \*commit_root_of/,/^}/ s/const struct commit_roots \*roots = pin->roots;/const struct commit_roots *roots = pin->roots ? rcu_dereference_check(pin->set->roots, true) : NULL;/
