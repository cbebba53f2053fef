# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_failed_read_loses_nothing
# A block stays when its counterpart cannot be read.
/^static int both_come/,/^}/ s/drop\(d, old, \&old_node\);/;/
