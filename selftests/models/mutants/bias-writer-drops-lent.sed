# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=1
# breaks: expedited_is_counted|no_bias_in_section
# A writer that releases in an expedited section leaves the word without LENT.
s/word = \(queued -> WWAIT : 0\) \| \(expedited -> LENT : 0\);/word = (queued -> WWAIT : 0);/
