# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=0 -DNX=0 -DNS=1 -DBS=1
# breaks: finds_its_slot|was_held
# A: a reader clears its pid after the release of the slot, where there is the next one's.
/^inline up_read\(\)/,/^}/ { s/^\t\tslot_pid\[i\] = 0;$//; s/slot_sem\[i\] = EMPTY; i = 0; goto released \}/slot_sem[i] = EMPTY }; atomic { slot_pid[i] = 0; i = 0; goto released }/ }
