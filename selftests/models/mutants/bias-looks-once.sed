# SPDX-License-Identifier: GPL-2.0
# model: bias -DNR=1 -DNW=1 -DNX=0 -DNS=1 -DBS=1
# breaks: is_a_reader
# A: after the pid, a lender does not look at the semaphore once more.
s/:: p && slot_sem\[x\] == SEM -> assert/:: p -> assert/
