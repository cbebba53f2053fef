# SPDX-License-Identifier: GPL-2.0
# fails: g4_bounded_bypass absent_writer_does_not_keep_readers_out
# Readers wait for the next release, also if none comes.
s/if \(is_held\(word\) \|\| !w->queued \|\|/if (true || !w->queued ||/
