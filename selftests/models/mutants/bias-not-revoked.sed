# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=0
# breaks: nobody_within|no_writer_within
# C: a writer clears BIAS, and does not look at slots.
/^inline revoke_bias/,/^}/ { s/^\t\t:: x < BS ->/\t\t:: false ->/; s/^\t\t:: else -> break/\t\t:: true -> break/ }
