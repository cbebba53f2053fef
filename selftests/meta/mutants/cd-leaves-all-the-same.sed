# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff leaves_are_left_out_on_request
# The lowest level is not looked at.
s/diff->lowest_level = params->lowest_level;/diff->lowest_level = 0;/
