# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=0
# breaks: loan_is_given_back|no_loan_is_left
# E: a lender looks at slots, then sets LENT.
/^inline lend_to_readers/,/^}/ { s/^\tword = word \| LENT;.*//; s/^\tx = 0$/\tx = 0;\n\tword = word | LENT/ }
