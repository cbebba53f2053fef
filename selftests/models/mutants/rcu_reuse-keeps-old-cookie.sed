# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=1 -DNR=1 -DOBJECTS=3
# breaks: nobody_sees_it
# What joins a segment does not make its cookie later.
s/^\t\t\twaiting_cookie0\[l\] = cookie_now;/\t\t\twaiting_cookie0[l] = (ask -> cookie_now : waiting_cookie0[l]);/; s/^\t\t\twaiting_cookie1\[l\] = cookie_now;/\t\t\twaiting_cookie1[l] = (waiting_nr1[l] -> waiting_cookie1[l] : cookie_now);/
