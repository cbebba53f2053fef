# SPDX-License-Identifier: GPL-2.0
# fails: share_gate generations_wrap
# Generations are compared as numbers.
s/return \(s64\)\(a - b\) > 0;/return a > b;/
