# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers bias_comes_and_goes
# No lock is ever biased.
/^static void consider_bias/,/^}/ s/word = atomic_long_read\(.*/return;/
