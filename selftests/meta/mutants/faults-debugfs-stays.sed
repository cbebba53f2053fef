# SPDX-License-Identifier: GPL-2.0
# fails: load_cycles refused_while_in_use
# What is in debugfs outlives the module.
/^static void __exit fscommit_exit/,/^}/ s/debugfs_remove_recursive\(debugfs_dir\);/;/
