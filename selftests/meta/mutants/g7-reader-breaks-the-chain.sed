# SPDX-License-Identifier: GPL-2.0
# fails: g7_clean_retreat killed_readers_do_not_break_the_chain
# A reader that is let in does not wake the next one.
/^static bool try_read/,/^}/ s/wake_readers\(sem, wakes, 1, now\);/;/
