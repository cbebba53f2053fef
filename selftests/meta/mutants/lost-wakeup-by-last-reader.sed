# SPDX-License-Identifier: GPL-2.0
# fails: g7_clean_retreat first_writer_leaves_the_second_goes
# The last reader leaves without a look at those who wait.
/^void __unfair_up_read_slow/,/^}/ s/window = choose_next\(sem, &wakes\);/window = false;/
