# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=1 -DNR=1
# breaks: nobody_sees_it
# A cookie does not mind a grace period that is on its way.
s/^#define cookie_now.*/#define cookie_now	(ended + 1)/
