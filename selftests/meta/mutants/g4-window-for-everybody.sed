# SPDX-License-Identifier: GPL-2.0
# fails: g4_bounded_bypass window_is_not_for_new_readers
# Whoever comes by may use the window.
s/return is_window_open\(sem\) && w->window == sem->window_seq;/return is_window_open(sem);/
