/* SPDX-License-Identifier: GPL-2.0 */
/* For module/cow_diff.c in userspace: see userspace.h. */
#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
/* the oldest one whose shrinkers need no memory from here; nothing of later ones is called */
#define LINUX_VERSION_CODE		KERNEL_VERSION(6, 7, 0)
