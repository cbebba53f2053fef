# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=0 -DNW=3 -DABSENT
# breaks: end state
# There is no watcher.
/^proctype watcher/,/^}/ s/!wait_lock && watch != NOBODY/false \&\& watch != NOBODY/
