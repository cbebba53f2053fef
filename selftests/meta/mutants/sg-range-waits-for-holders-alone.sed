# SPDX-License-Identifier: GPL-2.0
# fails: share_gate ranges_exclude_each_other
# Who waits is not in anybody's way.
/^static void join/,/^}/ s/range->in_the_way\+\+;/range->in_the_way += !r->in_the_way;/
