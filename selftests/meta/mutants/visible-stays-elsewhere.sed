# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers many_readers
# A release leaves the slot as it is, where that is not the first one of its task.
/^void __unfair_up_read_elsewhere/,/^}/ s/WRITE_ONCE\(\*slot, 0\);/;/
