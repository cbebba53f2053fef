# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite committer_on_a_mutex
# Readers are lent to for the sake of writers only.
/^bool __unfair_rwsem_look/,/^}/ s/!\(first_writer\(sem\) \|\| sem->expedited\)/!first_writer(sem)/
