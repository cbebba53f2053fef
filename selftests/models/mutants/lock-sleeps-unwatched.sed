# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=1 -DNW=1
# breaks: spins_or_is_watched
# A waiter sleeps without a watch.
/^#define go_to_sleep/,/unlock_and_wake/ s/^\twatch_start\(\);/\tskip;/
