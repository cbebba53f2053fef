# SPDX-License-Identifier: GPL-2.0
# Neither the lookup nor the allocator asks for the stamp, and reuse=1 does not wait: inodes are
# reused before their grace period has passed.
s/!rcu_reuse_passed\(.*stamp\)/false/
s/= rcu_reuse_passed\(.*stamp\);/= true;/
s/cond_synchronize_rcu\(.*;/;/
