# SPDX-License-Identifier: GPL-2.0
# The kernel's driver without last_reflink_trans in log_csums(): each fsync locks its range of the
# log and deletes the checksums in it. For FSYNC= of selftests/bench/btrfs.sh.
/^static int log_csums\(/,/^}/ s/if \(inode->last_reflink_trans < trans->transid\)/if (false)/
