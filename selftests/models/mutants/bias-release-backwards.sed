# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1
# breaks: loan_is_given_back|nothing_is_left
# E: a reader releases the word before its slot.
/^inline up_read\(\)/,/^}/ { s/^\t\tslot\[me\] = EMPTY;$//; s/^\t\tup_read_counted\(\)/\t\tup_read_counted();\n\t\tslot[me] = EMPTY/ }
