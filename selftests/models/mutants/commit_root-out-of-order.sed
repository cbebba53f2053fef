# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: released_in_order|all_is_released|root_is_there
# Roots are released whether older ones are pinned or not.
/^active proctype worker/,/^}/ s/unpinned\[all_first\]/(unpinned[1] || unpinned[2])/g
