# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=2 -DNX=0
# breaks: was_held|lock_is_free|no_more_than_counted
# A slot is turned into a counted one before it is counted.
/^inline revoke_bias/,/^}/ { s/^\t\t\t\tword = word \+ READER;$//; s/slot\[x\] = SEM \}/slot[x] = SEM };\n\t\t\t\t\tword = word + READER/; s/slot\[x\] != BIASED -> skip \};$/slot[x] != BIASED -> skip }/; s/^\t\t\t\t\tword = word - READER$// }
