# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=0 -DNW=3
# quick
# breaks: watch_is_there|spins_or_is_watched
# A waiter takes the watch with it when it leaves, though others sleep.
s/^\twatch = \(watch != \(id\) -> watch : .*/\twatch = (watch != (id) -> watch : (0 -> 0 : \t\t\\/
s/^\t\t\(readers -> .*NOBODY\)\)\)$/\t\tNOBODY))/
