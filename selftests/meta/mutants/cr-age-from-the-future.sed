# SPDX-License-Identifier: GPL-2.0
# Roots are replaced a jiffy later than now, half of the time.
# fails: commit_root replaced_roots_are_young
s/return \(jiffies - 1\) \| 1;/return jiffies | 1;/
