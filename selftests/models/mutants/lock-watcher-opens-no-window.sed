# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=1 -DABSENT
# breaks: end state
# The watcher does not open a window for a reader behind a writer that does not run.
s/^\t:: readers & overdue && !is_window_open\(\) && \(!window_used \|\| MORE_WINDOWS\) ->/\t:: readers \& overdue \&\& !is_window_open() \&\& (!window_used || MORE_WINDOWS) \&\& !late ->/
