# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff leaves_are_told_unread_on_request
# Leaves are read all the same.
s/diff->flags = params->flags;/diff->flags = 0;/
