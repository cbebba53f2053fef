# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers each_is_seen_and_leaves_nothing
# fails: visible_readers migrated_reader_leaves_nothing
# A release leaves the slot as it is.
/^static inline void unfair_up_read\(/,/^}/ s/WRITE_ONCE\(\*slot, 0\);/;/
