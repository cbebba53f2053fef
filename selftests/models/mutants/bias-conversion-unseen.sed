# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=0
# breaks: lock_is_free|end state
# A biased reader releases its slot by a store, whether it was converted or not.
/^inline up_read\(\)/,/^}/ s/:: atomic \{ slot_sem\[i\] == BIASED -> slot_sem\[i\] = EMPTY/:: atomic { slot_sem[i] = EMPTY/
