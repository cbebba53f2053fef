# SPDX-License-Identifier: GPL-2.0
# The table of roots is one piece of memory.
# fails: commit_root room_for_many_trees
s/roots = kvzalloc\(/roots = kzalloc(/
