# SPDX-License-Identifier: GPL-2.0
# fails: commit_root trees_switch_together
# A tree that a commit does not name has no root.
/^static void fill_in/,/^}/ s/else if \(old && /else if (false \&\& old \&\& /
