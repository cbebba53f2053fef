# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse later_objects_wait_longer
# A batch joins one that waits, whose cookie is older.
s/cookie = reuse_cookie\(q\);/cookie = l->nr_waiting ? l->waiting[l->nr_waiting - 1].cookie : reuse_cookie(q);/
