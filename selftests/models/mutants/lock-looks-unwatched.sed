# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=1 -DNW=1
# breaks: spins_or_is_watched
# A waiter drops wait_lock for a look, preemptible, before the lock is watched.
/^#define spin_or_look/,/unlock_and_wake/ s/:: watch_start\(\)/:: skip/
