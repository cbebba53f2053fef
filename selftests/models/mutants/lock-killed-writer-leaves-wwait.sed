# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: flags_are_right
# A writer that gives up leaves WWAIT behind (G7).
/leave_write\(\) \*\//,/goto done_write/ s/sync_flags\(w & WINDOW\);/skip;/
