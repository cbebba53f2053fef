# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers each_is_seen_and_leaves_nothing
# fails: visible_readers stopped_reader_releases_first
# A reader on the fast path fills no slot.
/bool __unfair_read_fast/,/^}/ s/WRITE_ONCE\(\*slot, .*\);/;/
