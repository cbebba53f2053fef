# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1
# breaks: lock_is_free|nothing_is_left|was_held
# A reader that was counted meanwhile takes that for a refusal.
s/:: atomic \{ slot\[me\] != BIASED -> enter_section\(\); goto read \}/:: atomic { slot[me] != BIASED -> slot[me] = EMPTY }/
