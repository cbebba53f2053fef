# SPDX-License-Identifier: GPL-2.0
# fails: clone_bugs 1a728dff855a_equals_steal_a_limited_number_of_times
# Who is as important as the first writer takes the free lock over its head at will.
s/w->prio <= first->prio && sem->steals < MAX_STEALS/w->prio <= first->prio/
