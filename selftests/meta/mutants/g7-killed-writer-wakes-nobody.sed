# SPDX-License-Identifier: GPL-2.0
# fails: g7_clean_retreat last_waiting_writer_lets_the_readers_in
# fails: freezer a_frozen_waiter_is_in_nobodys_way
# A writer that gives up does not wake the readers behind it.
/^static void leave_write/,/^}/ s/wake_readers\(.*\);/;/
