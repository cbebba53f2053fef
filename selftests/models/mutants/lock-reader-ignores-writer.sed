# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: no_writer_within
# A reader comes in while a writer holds the lock (G1).
s/^(#define kept_out_reader\(w\)).*/\1	((w) \& WWAIT)/
