# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1
# breaks: nobody_within|no_writer_within
# C: a writer takes BIAS off, and does not look at slots.
/^inline revoke_bias/,/^}/ { s/^\t\t:: x < NR ->/\t\t:: false ->/; s/^\t\t:: else -> break/\t\t:: true -> break/ }
