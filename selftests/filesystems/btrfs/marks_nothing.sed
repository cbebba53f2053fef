# SPDX-License-Identifier: GPL-2.0
# SHARE_GATE=1: a clone and a dedupe mark no inode. fsync then skips old extents that it received,
# and logs checksums that overlap.
s/share_gate_mark\(&.*;/;/
