# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# quick
# breaks: no_window_with_writer
# As it was: WINDOW is set though a writer that spins was quicker.
s/^\tf = \(word & WRITER -> f & ~WINDOW : f\);//
