# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=1 -DNR=1
# breaks: worker_is_to_come
# C: the worker looks, then stops its pace.
/^proctype worker/,/^}/ { s/^\t\tpace = PACE_STOPPED;$/\t\tskip;/; s/^\t\treuse_set_pace\(wanted\);/\t\tpace = PACE_STOPPED;\n\t\treuse_set_pace(wanted);/ }
