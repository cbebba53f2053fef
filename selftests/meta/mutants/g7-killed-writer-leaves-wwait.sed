# SPDX-License-Identifier: GPL-2.0
# fails: g7_clean_retreat from_behind_a_writer
# A writer that gives up leaves its flag behind.
/^static void leave_write/,/^}/ s/sync_flags\(sem\);/;/
