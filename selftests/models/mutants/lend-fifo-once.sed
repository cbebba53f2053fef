# SPDX-License-Identifier: GPL-2.0
# model: lend -DSTARVED -DSPENDS=1
# breaks: end state
# A budget that was spent stays so.
s/:: !has_fifo -> fifo_spent = false$/:: !has_fifo \&\& !fifo_spent -> skip/; s/:: has_fifo$/:: has_fifo || fifo_spent/; s/\(fifo_spent && !has_fifo && highest_level\(s\) == RT\)/false/
