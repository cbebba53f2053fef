# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: (writers|readers)_are_called
# A writer that gives up wakes nobody (G7).
/leave_write\(\) \*\//,/atomic/ { s/-> wake_readers\(MAX_WAKES\)/-> skip/; s/-> wake_first_writer\(\)/-> skip/ }
