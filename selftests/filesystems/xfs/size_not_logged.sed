# SPDX-License-Identifier: GPL-2.0
# A write beyond the end of a file sets its size in memory, but does not log it. A crash test loses
# the end of files.
/^xfs_setfilesize\(/,/^}/s/xfs_trans_log_inode\(.*;/;/
