# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2 -DBOUNDED
# breaks: writer_is_bounded
# More than one window for each write section (G4).
s/^\t:: readers & overdue && !is_window_open\(\) && \(!window_used \|\| MORE_WINDOWS\) ->/\t:: readers \& overdue \&\& !is_window_open() ->/
