// SPDX-License-Identifier: GPL-2.0
/* The trace events of trace.h. */
#include <linux/sched.h>

#include "internal.h"
#include "stats.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
