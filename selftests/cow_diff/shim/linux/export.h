/* SPDX-License-Identifier: GPL-2.0 */
/* For module/cow_diff.c in userspace: see userspace.h. */
#include "../userspace.h"
