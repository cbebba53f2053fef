# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2 -DBOUNDED
# breaks: writer_is_bounded
# New readers come in though a writer waits (G3).
s/^(#define kept_out_reader\(w\)).*/\1	((w) \& WRITER)/
