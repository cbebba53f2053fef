# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff corrupted_trees_are_no_crash
# A block that is not in order is not released.
/^static int read_coming/,/^}/ s/d->ops->release\(d->private, node\);/;/
