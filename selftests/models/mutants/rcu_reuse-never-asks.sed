# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=1 -DNR=1
# breaks: is_asked_for
# Nobody asks for a grace period.
s/asked = \(cookie_now > asked -> cookie_now : asked\); ask = false/ask = false/
