# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: (writers|readers)_are_called|end state
# A writer queues and sleeps without another look at the word.
/^keep_waiting:/,/^sleep:/ { /sync_flags\(is_window_open\(\)\);/,/goto try/ s/goto try/wake_nobody = true; go_to_sleep(false); goto sleep/ }
s/^bool window_used;/bool window_used, wake_nobody;/
