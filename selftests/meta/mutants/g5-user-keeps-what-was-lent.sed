# SPDX-License-Identifier: GPL-2.0
# Whatever somebody has made of what was lent stays, also what only that was lent allowed.
# fails: g5_lent_priority no_user_keeps_what_was_lent
s/v->nice != p->lent\.nice && nice_may_stay\(task, p, v\)/v->nice != p->lent.nice/
s/ \|\| !policy_may_stay\(task, p, v\)//
