# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=2 -DNW=0
# breaks: expedited_is_counted
# BIAS is set though a flag is.
s/!\(word & \(FLAGS \| BIAS\)\)/!(word \& (WRITER | BIAS))/
