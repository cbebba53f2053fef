# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite sections_nest
# The end of an inner section ends the outer one.
s/^		s->nested\+\+;/		;/
