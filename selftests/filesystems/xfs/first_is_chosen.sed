# SPDX-License-Identifier: GPL-2.0
# A search that finds no record chooses the first inode of the record that XFS has chosen.
/^int xfs_reuse_choose\(/,/^}/s/, \.offset = -1//
