# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: window_is_kept
# A writer takes the lock in a window (G4).
/^try:/,/^keep_waiting:/ { s/may = !nap$/may = true/ }
