# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# quick
# breaks: readers_are_called
# As it was: SPIN is cleared, then wait_lock is taken.
s/atomic \{ lock\(\); word = word & ~SPIN \}/atomic { word = word \& ~SPIN; check() }; atomic { lock() }/
