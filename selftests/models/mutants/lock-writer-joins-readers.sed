# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: nobody_within
# A writer looks only for other writers (G1).
/^try:/,/may = !nap/ s/:: is_held\(word\)/:: word \& WRITER/
s/^\t\(!\(\(old\) & WINDOW\) && !is_held\(old\)\)/(true)/
