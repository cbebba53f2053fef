# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=2 -DNX=0
# breaks: nobody_within|no_writer_within|was_held
# C does not count one more: the lock looks free while slots are converted.
/^inline revoke_bias/,/^}/ { s/\(word & ~BIAS\) \+ READER \}/word \& ~BIAS }/; s/^\t\tword = word - READER\t+.*D.*/\t\tskip/ }
