# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=0
# breaks: no_bias_in_section
# As it was: expedite revokes, then sets LENT.
/unfair_rwsem_expedite\(\) \*\//,/see_readers/ { s/^\t\tword = word \| LENT;/\t\trevoke_bias();/; t; s/^\t\trevoke_bias\(\);/\t\tword = word | LENT;/ }
