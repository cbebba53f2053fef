# SPDX-License-Identifier: GPL-2.0
# A tree that is named twice in a commit loses the first root.
# fails: commit_root tree_is_named_once
s/^	if \(next->tree\[tree->slot\]\.tree\)/	if (false)/
