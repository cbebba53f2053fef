# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: (writers|readers)_are_called
# The last reader leaves without a look at those who wait.
/^inline up_read/,/^}/ s/:: !is_held\(word\) -> choose_next\(\)/:: !is_held(word) -> win = is_window_open()/
