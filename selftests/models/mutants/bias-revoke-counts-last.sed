# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=2 -DNX=0
# breaks: was_held|lock_is_free|no_more_than_counted
# H: a revocation converts a slot before it counts the reader.
/^inline revoke_bias/,/^}/ { s/^\t+word = word \+ READER;.*$//; s/slot_sem\[x\] = SEM \}/slot_sem[x] = SEM };\n\t\t\t\t\tword = word + READER/; s/slot_sem\[x\] != BIASED -> skip \};$/slot_sem[x] != BIASED -> skip }/; s/^\t\t\t\t\tword = word - READER$// }
