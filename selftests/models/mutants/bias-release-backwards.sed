# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=0
# breaks: loan_is_given_back|no_loan_is_left
# E: a reader releases the word before its slot.
/^inline up_read\(\)/,/^}/ { s/^\t\treader_slot = 0$/\t\tskip/; s/^\tup_read_counted\(\);/\tup_read_counted();\n\treader_slot = (reader_slot == me + 1 -> 0 : reader_slot);/ }
