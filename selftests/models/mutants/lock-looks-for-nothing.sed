# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=1 -DNW=1 -DLIVE
# breaks: livelock
# A reader that spins looks again and again, though it is still in the queue.
/^#ifdef LIVE/,/^#else/ s/^#define reader_looks.*/#define reader_looks	true/
