# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: window_is_kept
# A writer that spins takes the lock in a window (G4).
/^inline spin_for_owner/,/^}/ { s/word & \(WWAIT \| WINDOW\) \|\|/word \& WWAIT ||/; s/!\(word & \(WRITER \| WWAIT \| WINDOW\)\)/!(word \& (WRITER | WWAIT))/ }
