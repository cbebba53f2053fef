# SPDX-License-Identifier: GPL-2.0
# fails: clone_bugs 1a728dff855a_lower_priority_does_not_steal
# A free lock is taken over the first writer's head by whoever it is.
s/w->prio <= first->prio && sem->steals < MAX_STEALS/sem->steals < MAX_STEALS/
