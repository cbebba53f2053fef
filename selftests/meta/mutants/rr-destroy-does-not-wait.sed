# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse destroy_releases_all
# The end releases objects that readers have.
/^static void wait_for_cookie/,/^}/ s/while \(!reuse_passed\(q, cookie\)\)/while (0)/
/^void rcu_reuse_destroy/,/^}/ s/synchronize_s?rcu\(.*\);/(void)0;/
/^void reuse_poll/,/^}/ s/reuse_passed\(q, l->waiting\[0\].cookie\)/(q->ending || reuse_passed(q, l->waiting[0].cookie))/
