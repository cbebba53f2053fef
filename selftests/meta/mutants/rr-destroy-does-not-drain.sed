# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse destroy_releases_all
# The end leaves the objects behind.
/^void rcu_reuse_destroy/,/^}/ s/rcu_reuse_drain\(q\);//
