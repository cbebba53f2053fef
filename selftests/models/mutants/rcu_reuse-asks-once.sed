# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=1 -DNR=1 -DOBJECTS=1 -DLIVE
# breaks: livelock
# Nobody asks again for those that wait for long.
s/reuse_close\(\); ask = ask \|\| nr_waiting\[l\] \}/reuse_close() }/
