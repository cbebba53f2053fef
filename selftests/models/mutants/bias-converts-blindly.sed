# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=0
# breaks: was_held|lock_is_free|no_slot_is_left|no_more_than_counted
# A revocation converts a slot that its reader has released.
/^inline revoke_bias/,/^}/ { s/:: atomic \{ slot_sem\[x\] == BIASED -> slot_sem\[x\] = SEM \}/:: slot_sem[x] = SEM/; s/:: atomic \{ slot_sem\[x\] != BIASED -> skip \};$/:: atomic { false -> skip };/ }
