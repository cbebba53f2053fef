/* SPDX-License-Identifier: GPL-2.0 */
/* For module/compat.h in userspace: see userspace.h. */
#include "../userspace.h"
