# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=0 -DNW=3 -DABSENT
# breaks: end state
# The watcher does not wake the next writer when the first one has not run.
s/:: x < nr_writers && !\(asleep & BIT\(writers\[x\]\)\) && called & BIT\(writers\[x\]\) -> x\+\+/:: x < nr_writers \&\& !(asleep \& BIT(writers[x])) \&\& called \& BIT(writers[x]) -> break/
