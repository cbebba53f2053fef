# SPDX-License-Identifier: GPL-2.0
# fails: g4_bounded_bypass absent_writer_does_not_keep_readers_out
# Readers wait for the next release, also if none comes.
/^static bool try_read/,/^}/ s/if \(is_held\(word\) \|\| !w->queued \|\|/if (true || !w->queued ||/
/^bool __unfair_rwsem_watch/,/^}/ s/^	+choose_next\(sem, wakes\);/		w ? wake_first_writer(sem, wakes, now) : choose_next(sem, wakes);/
