# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=0 -DNW=3
# breaks: writers_are_called
# As it was: a queued writer that SPIN keeps out sleeps without a timer.
s/:: may = false; nap = true$/:: may = false/
