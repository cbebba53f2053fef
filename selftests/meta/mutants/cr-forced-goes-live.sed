# SPDX-License-Identifier: GPL-2.0
# fails: commit_root forced_is_never_live
# A forced search falls back to the live tree.
/^int commit_root_search/,/^}/ s/ \|\| s->mode == COMMIT_SEARCH_FORCED//
