# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=2 -DNR=0 -DMISSES=0
# breaks: worker_is_to_come
# Who takes another CPU's objects does not mind whether the worker has been there.
s/objects_moved && nr_of\(l\) && PACE_SLOW > pace/false \&\& PACE_SLOW > pace/
