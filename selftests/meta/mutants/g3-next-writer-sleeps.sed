# SPDX-License-Identifier: GPL-2.0
# fails: g3_writer_first absent_first_writer_does_not_keep_the_next_one_asleep
# fails: g4_bounded_bypass absent_writer_does_not_keep_readers_out
# The watcher wakes nobody on a free lock.
/^bool __unfair_rwsem_watch/,/^}/ s/^\t\tchoose_next\(sem, wakes\);/\t\t;/
