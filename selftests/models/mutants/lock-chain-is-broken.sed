# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=3 -DNW=1
# breaks: readers_are_called
# A reader that came in wakes no other one.
/^come_in:/,/^not_yet:/ s/:: !nr_writers -> wake_readers\(1\)/:: !nr_writers -> skip/
