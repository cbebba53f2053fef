# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=1 -DNX=0
# quick
# breaks: no_writer_within|nobody_within
# B: a biased reader does not look at the word again.
s/:: atomic \{ word & BIAS -> enter_section\(\) \}/:: atomic { enter_section() }/
