# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff goes_on_where_it_stopped
# Open blocks of the new tree stay after the end.
/^void cow_diff_end/,/^}/ s/close_level\(diff, \&diff->new\.level\[i\]\);/;/
