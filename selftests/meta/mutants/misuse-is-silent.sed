# SPDX-License-Identifier: GPL-2.0
# silent: up_read_unheld
# silent: up_read_of_write
# silent: up_write_unheld
# silent: downgrade_unheld
# silent: negative_timeout
# silent: unexpedite_unheld
# silent: assert_unheld
# silent: unpin_twice
# silent: switch_back
# silent: prepare_twice
# silent: foreign_tree
# silent: commit_foreign_tree
# silent: search_foreign_tree
# silent: destroy_prepared
# silent: exit_twice
# silent: empty_range
# silent: no_generation
# silent: shared_meanwhile
# silent: lock_empty_range
# silent: unlock_twice
# silent: diff_no_operation
# silent: diff_after_end
# silent: diff_lowest_too_high
# silent: diff_unknown_flags
# silent: diff_no_children
# silent: diff_position_too_high
# silent: enqueue_twice
# silent: enqueue_after_end
# Nobody is told of what no driver may do.
1 i\
#define silent(cond, ...) (!!(cond))
s/\bWARN(_ON)?_ONCE\(/silent(/
