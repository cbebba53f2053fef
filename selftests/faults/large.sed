# SPDX-License-Identifier: GPL-2.0
# Memory for each CPU hardly ever comes from a slab, and what is large never does, so failslab
# does not reach it: a byte that does is asked for first, and fails in its place.
s/= (__)?alloc_percpu\([^;]*\);/= ({ void *_p = kmalloc(1, GFP_KERNEL); kfree(_p); _p; }) ? &/
s/= (kcalloc\(p\.max|kvcalloc)[^;]*;/= ({ void *_p = kmalloc(1, GFP_KERNEL); kfree(_p); _p; }) ? &/
s/\? = (.*);/? \1 : NULL;/
