# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff goes_on_where_it_stopped
# Which old blocks are gone is forgotten.
/^static bool was_changed/,/^}/ s/pos->changed_old;/0;/
