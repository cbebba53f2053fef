# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff goes_on_where_it_stopped
# The last pair is told once more.
s/\(!order \&\& level >= pos->level\)/(!order \&\& level > pos->level)/
