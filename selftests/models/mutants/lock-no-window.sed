# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=1 -DNW=3 -DBOUNDED
# breaks: reader_is_bounded
# There is no window for who waited too long (G4).
s/^\t:: readers & overdue && !is_window_open\(\) && \(!window_used \|\| MORE_WINDOWS\) ->/\t:: false ->/
