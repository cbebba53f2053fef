# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1
# breaks: lock_is_free|no_slot_is_left|was_held
# A reader that was counted meanwhile takes that for a refusal.
s/:: atomic \{ slot_sem\[i\] != BIASED -> enter_section\(\) \}/:: atomic { slot_sem[i] != BIASED -> slot_sem[i] = EMPTY; i = 0; goto count }/
